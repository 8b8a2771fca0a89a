"""Data directories of the reference implementation of A-Memorix."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...errors import InvalidRequest
from ...language.normalise import normalise_name
from ...store.read_only_database import ReadOnlyDatabase
from ..records import Bad, Reader, Record
from .foreign_values import digest, entities, id_of, joined, left, metadata, moment, name, relation, text_of, texts

__all__ = ["AMemorixDirectory"]

EXPECTED = "a data directory of A-Memorix: metadata/metadata.db with the table `paragraphs` (hash, content)"
PLACES = ("metadata/metadata.db", "metadata.db", "")
TRIPLE = ("hash", "subject", "predicate", "object")
SNAPSHOT = ("person_id", "profile_version", "aliases_json")
_ROW_BITS, _PART_BITS = 38, 12
MOST_PARTS = 2**_PART_BITS - 1

Row = Mapping[str, Any]


class AMemorixDirectory(Reader):
    """The directory, its folder `metadata`, or the file `metadata.db`; any schema version, also while it is in use.

    - A live paragraph becomes a text (a chat's summary that nothing hangs on becomes a summary) with its times, source,
      persons, entities and relations; where it has several external ids, or belongs to several chats, one for each. What
      was deleted, superseded by a correction or has expired stays behind.
    - The text is shown where it was: to its chats, or to everyone if it was global. One of which that cannot be told
      goes to the chat that is named here, so that only a call without a chat finds it, as before.
    - A relation comes with every paragraph that it rests on, with its confidence. Forgotten ones stay behind; those that
      merely faded come along. One that was never read from a paragraph becomes a text of its own.
    - Manual profiles and the aliases of the last profiles follow. Episodes and profiles are derived again, vectors are
      made again; an entity that nothing mentions has nothing to stand on, and stays behind.
    """

    what = "A data directory of A-Memorix as it comes with MaiBot, of any version. MaiBot 自带的 A-Memorix 数据目录。"
    fields = "the directory, its folder `metadata`, or the file `metadata.db`"
    example = "data/a-memorix"
    folder = True
    live = True
    default_chat = "a-memorix"

    def read(self, path: Path, start: int = 0) -> Iterator[tuple[int, Record | Bad]]:
        """A position is made of the table, its row and the record's number among those of the row."""
        known = Known({}, {}, {})

        def paragraphs(row: Row) -> Iterator[Record | Bad]:
            return paragraph_records(row, known, self._chat_id, self._clock.now(), self._zone)

        stages: tuple[tuple[str, tuple[str, ...], str, Callable[[Row], Iterator[Record | Bad]]], ...] = (
            ("paragraphs", ("hash", "content"), "paragraphs_after", paragraphs),
            ("relations", TRIPLE, "loose_relations_after", lambda row: loose_relation(row, self._chat_id, self._zone)),
            ("person_profile_overrides", ("person_id", "override_text"), "overrides_after", _override),
            ("person_profile_snapshots", SNAPSHOT, "last_snapshots_after", _aliases),
        )
        file = next((one for place in PLACES if (one := path / place if place else path).is_file()), None)
        wrong = InvalidRequest(f"{path.name} is not {EXPECTED}.", field="path")
        if file is None:
            raise wrong
        with ReadOnlyDatabase(file) as db:
            if not db.has("paragraphs", "hash", "content"):
                raise wrong
            _prepare(db)
            last = db.last("last_paragraph")
            first, after = divmod(start >> _PART_BITS, 1 << _ROW_BITS)
            for number, (table, columns, query, read) in enumerate(stages):
                if number < first or not db.has(table, *columns):
                    continue
                for page in db.pages(query, (after if number == first else 0) - 1):
                    if number == 0:
                        known = _known(db, page)
                    for row in page:
                        self.share = 1.0 if number else min(row["row_"] / last, 1.0)
                        made = read(row)
                        place = (number << _ROW_BITS | row["row_"]) << _PART_BITS
                        for which, record in enumerate(made, start=1):
                            if which == MOST_PARTS and isinstance(record, Record):  # there is no place for more
                                record = replace(record, left={**record.left, "records": sum(1 for _ in made)})
                            yield place | which, record


def _override(row: Row) -> Iterator[Record | Bad]:
    person, text = name(row.get("person_id")), text_of(row.get("override_text"))
    if person and text:
        arguments = {"person_id": person, "text": text, "chat_id": ""}
        yield Record("override", arguments, f"person_profile_overrides row {row['row_']}")


def _aliases(row: Row) -> Iterator[Record | Bad]:
    place, person = f"person_profile_snapshots row {row['row_']}", name(row.get("person_id"))
    try:
        given = json.loads(row.get("aliases_json") or "[]")
    except (TypeError, ValueError, RecursionError):
        yield Bad(place, "its `aliases_json` is no JSON")
        return
    for one in texts(given if isinstance(given, list) else []):
        if person and one != person and any(char.isalnum() for char in one):
            yield Record("alias", {"person_id": person, "alias": one, "chat_id": ""}, place)


def _known(db: ReadOnlyDatabase, page: Sequence[Row]) -> Known:
    """What hangs on the paragraphs of a page."""
    asked = json.dumps([row["hash"] for row in page if isinstance(row["hash"], str)])

    def by_paragraph(query: str, there: bool) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in db.rows(query, paragraphs=asked) if there else ():
            found.setdefault(row["paragraph_"], []).append(row)
        return found

    entities = db.has("paragraph_entities", "paragraph_hash", "entity_hash") and db.has("entities", "hash", "name")
    return Known(
        by_paragraph("relations_of_paragraphs", db.has("relations", *TRIPLE)),
        by_paragraph("entities_of_paragraphs", entities),
        by_paragraph("references_of_paragraphs", db.has("external_memory_refs", "paragraph_hash", "external_id")),
    )


def _prepare(db: ReadOnlyDatabase) -> None:
    """Say which paragraphs a relation rests on, whichever way this version keeps it, and make links quick to find."""
    db.prepare("evidence_table", "evidence_by_relation")
    links = db.has("paragraph_relations", "paragraph_hash", "relation_hash")
    steps = {
        "evidence_of_links": links,
        "evidence_of_renamed_links": links and db.has("relation_hash_aliases", "alias32", "hash"),
        "evidence_of_sources": db.has("relations", "hash", "source_paragraph"),
        "evidence_gone_stale": db.has("paragraph_stale_relation_marks", "paragraph_hash", "relation_hash"),
    }
    db.prepare(*(step for step, there in steps.items() if there))
    for table, copied, indexed in (
        ("paragraph_entities", "entity_links_copied", "entity_links_indexed"),
        ("external_memory_refs", "references_copied", "references_indexed"),
    ):
        if db.has(table, "paragraph_hash") and "paragraph_hash" not in db.indexed.get(table, ()):
            db.prepare(copied, indexed)


# paragraphs as texts of ours

MARGIN_SECONDS = 3_600.0
"""What expires within this time is passed over: it would be gone before it is stored."""
CHAT_KEYS = ("chat_id", "session_id", "stream_id", "chat_ids", "session_ids", "stream_ids")
ORIGIN = "a-memorix"
FOR_ALL = "web_import:"
SUMMARIES = "chat_summary:"
KNOWLEDGE = ("factual", "narrative", "quote")
FADED = "decay"
"""The reason that stands with a relation which nobody put to rest."""
LONGEST_SOURCE_TYPE = 64
_CARRIED = frozenset({"tags", "person_ids", "participants"})
"""Metadata that has arguments of its own."""


@dataclass(frozen=True, slots=True)
class Known:
    """What hangs on paragraphs, by their hashes."""

    relations: Mapping[str, Sequence[Row]]
    entities: Mapping[str, Sequence[Row]]
    references: Mapping[str, Sequence[Row]]


def paragraph_records(
    row: Row, known: Known, fallback: str, now: float, zone: tzinfo | None = None
) -> Iterator[Record | Bad]:
    """The records of a paragraph: one for each of its external ids, and for each of its chats that has none.

    `zone`: that of times which name none, the machine's if not given.
    """
    place = f"paragraphs row {row['row_']}"
    key, text, about = name(row["hash"]), text_of(row["content"]), _json(row.get("metadata"))
    change, expires = about.get("memory_change"), moment(row.get("expires_at"), zone=zone)
    superseded = isinstance(change, dict) and change.get("valid_to") is not None
    if row.get("is_deleted") or superseded or (expires is not None and expires <= now + MARGIN_SECONDS):
        return
    if not key or not text:
        yield Bad(place, "has no content" if key else "has no hash")
        return
    references = known.references.get(key, ())
    arguments = _arguments(row, text, about, known, references, zone)
    left_out = left(_relation(one) for one in known.relations.get(key, ()) if _stands(one))
    everyone, chats = _scope(row, about, fallback)
    for external_id, chat in _identities(key, everyone, chats, references):
        yield _record(arguments, external_id, everyone, chat, place, left_out)


def loose_relation(row: Row, fallback: str, zone: tzinfo | None = None) -> Iterator[Record | Bad]:
    """A relation that rests on no paragraph, as a text of its own."""
    made = _relation(row)
    if made is None:
        return
    about = _json(row.get("metadata"))
    arguments = {
        "source_type": "relation",
        "source": f"{ORIGIN}:relations",
        "text": joined(made),
        "timestamp": moment(row.get("created_at"), zone=zone),
        "knowledge_type": "factual",
        "metadata": metadata({**about, "a_memorix": {"hash": row.get("hash")}}),
        "relations": [made],
    }
    key = name(row.get("hash")) or digest(made["subject"], made["predicate"], made["object"])
    everyone, chats = _scope(row, about, fallback)
    place = f"relations row {row['row_']}"
    yield _record(arguments, id_of(ORIGIN, "relation", key), everyone, chats[0], place, {})


def _record(
    arguments: dict[str, Any], external_id: str, everyone: bool, chat: str, place: str, left_out: Mapping[str, int]
) -> Record:
    scope = {"external_id": external_id, "chat_id": chat, **({"scope": "global"} if everyone else {})}
    told = {normalise_name(one) for key in ("participants", "person_ids") for one in arguments.get(key, ())}
    more = [one for one in arguments.get("entities", ()) if normalise_name(one["name"]) not in told]
    beyond = arguments["relations"] or more or arguments.get("person_aliases")  # what a summary cannot hold
    if arguments["source"] == f"{SUMMARIES}{chat}" and not everyone and not beyond:
        kept = ("text", "participants", "person_ids", "time_start", "time_end", "tags", "metadata", "expires_at")
        summary = {key: arguments[key] for key in kept if key in arguments}
        if "timestamp" in arguments:
            summary["time_start"] = arguments["timestamp"]
        return Record("summary", {**scope, **summary}, place, left_out)
    return Record("text", {**arguments, **scope}, place, left_out)


def _arguments(
    row: Row, text: str, about: dict[str, Any], known: Known, references: Sequence[Row], zone: tzinfo | None
) -> dict[str, Any]:
    key = row["hash"]
    source = name(row.get("source"))
    kind = name(about.get("source_type")) or next((name(one.get("source_type")) for one in references), "")
    persons = texts([*texts(about.get("person_ids")), about.get("person_id")])
    made = [one for found in known.relations.get(key, ()) if (one := _relation(found))]
    there = [found["name"] for found in known.entities.get(key, ()) if not found.get("is_deleted")]
    knowledge, called = row.get("knowledge_type"), name(about.get("person_name"))
    further = len(persons) == 1 and bool(normalise_name(called)) and called != persons[0]
    rest = {key: value for key, value in about.items() if key not in _CARRIED}
    return {
        "source_type": (kind or source.partition(":")[0] or "text")[:LONGEST_SOURCE_TYPE].strip(),
        "source": source or ORIGIN,
        "text": text,
        "person_ids": persons,
        "participants": texts(about.get("participants")),
        **({"person_aliases": {persons[0]: [called]}} if further else {}),
        **_times(row, zone),
        "expires_at": moment(row.get("expires_at"), zone=zone),
        "tags": texts(about.get("tags")),
        "knowledge_type": knowledge if knowledge in KNOWLEDGE else "auto",
        "metadata": metadata({**rest, "a_memorix": _origin(row)}),
        "entities": entities(there),
        "relations": made,
    }


def _times(row: Row, zone: tzinfo | None) -> dict[str, float | None]:
    """When it happened; where nobody said so the reference goes by when it was stored, and so does this."""
    start = moment(row.get("event_time_start"), zone=zone)
    start = moment(row.get("event_time"), zone=zone) if start is None else start
    end = moment(row.get("event_time_end"), "end", zone)
    if start is None and end is None:
        return {"timestamp": moment(row.get("created_at"), zone=zone)}
    return {"time_start": start, "time_end": None if start is not None and end is not None and end < start else end}


def _origin(row: Row) -> dict[str, Any]:
    """What ours has no place for, kept for whoever asks."""
    kept = ("hash", "created_at", "updated_at", "time_granularity", "time_confidence", "knowledge_type", "is_permanent")
    plain = {key: value for key in kept if isinstance(value := row.get(key), str | int | float) and value}
    return {key: value for key, value in plain.items() if not isinstance(value, float) or math.isfinite(value)}


def _stands(row: Row) -> bool:
    """Whether nobody put the relation to rest."""
    return not row.get("is_inactive") or row.get("inactive_reason") == FADED


def _relation(row: Row) -> dict[str, Any] | None:
    if not _stands(row):
        return None
    return relation(row.get("subject"), row.get("predicate"), row.get("object"), row.get("confidence"))


def _scope(row: Row, about: dict[str, Any], fallback: str) -> tuple[bool, tuple[str, ...]]:
    """(whether everyone may see it, its chats), as the reference tells it: by the metadata at any depth, else by the source.

    What it cannot tell it hides.
    """
    sources = [name(row.get("source")), name(about.get("source"))]
    everyone = about.get("scope_type") == "global" or any(one.startswith(FOR_ALL) for one in sources)
    found = dict.fromkeys(_chats(about))
    found |= dict.fromkeys(chat for one in sources if (chat := one.removeprefix(SUMMARIES)) != one and chat)
    return everyone, tuple(found) or (("",) if everyone else (fallback,))


def _chats(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > 20:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in CHAT_KEYS:
                yield from texts(inner)
            else:
                yield from _chats(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _chats(inner, depth + 1)


def _identities(key: str, everyone: bool, chats: Sequence[str], references: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """(external id, chat) of each record: the reference keeps one row where two chats said the same."""
    covered: set[str] = set()
    for one in references:
        if not (external_id := name(one.get("external_id"))):
            continue
        own = [chat for chat in _chats(_json(one.get("metadata_json"))) if chat in chats]
        own = own or [chat for chat in chats if chat and chat in external_id]
        chat = own[0] if own else chats[0]
        covered.add(chat)
        yield external_id, chat
    if everyone and covered:
        return
    for chat in chats[:1] if everyone else chats:
        if chat not in covered:
            yield id_of(ORIGIN, key, *(() if chat == chats[0] else (chat,))), chat


def _json(raw: Any) -> dict[str, Any]:
    """A JSON object of a column; an empty one for anything else, without numbers that are none."""
    try:
        value = json.loads(raw or "{}", parse_constant=lambda _: None)
    except (TypeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

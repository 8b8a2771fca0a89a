"""Paragraphs of the reference implementation as texts of ours."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from ...language.normalise import normalise_name
from ..records import Bad, Record
from .foreign_values import digest, entities, id_of, joined, left, metadata, moment, name, relation, text_of, texts

__all__ = ["Known", "loose_relation", "paragraph_records"]

Row = Mapping[str, Any]
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
    if arguments["source"] == f"{SUMMARIES}{chat}" and not everyone and not _hangs_on(arguments):
        kept = ("text", "participants", "person_ids", "time_start", "time_end", "tags", "metadata", "expires_at")
        summary = {key: arguments[key] for key in kept if key in arguments}
        if "timestamp" in arguments:
            summary["time_start"] = arguments["timestamp"]
        return Record("summary", {**scope, **summary}, place, left_out)
    return Record("text", {**arguments, **scope}, place, left_out)


def _hangs_on(arguments: Mapping[str, Any]) -> bool:
    """Whether there is something that a summary cannot hold."""
    told = {normalise_name(one) for one in (*arguments["participants"], *arguments["person_ids"])}
    more = [one for one in arguments["entities"] if normalise_name(one["name"]) not in told]
    return bool(arguments["relations"] or more or arguments.get("person_aliases"))


def _arguments(
    row: Row, text: str, about: dict[str, Any], known: Known, references: Sequence[Row], zone: tzinfo | None
) -> dict[str, Any]:
    key = row["hash"]
    source = name(row.get("source"))
    kind = name(about.get("source_type")) or next((name(one.get("source_type")) for one in references), "")
    persons = texts([*_listed(about, "person_ids"), about.get("person_id")])
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
        "participants": texts(_listed(about, "participants")),
        **({"person_aliases": {persons[0]: [called]}} if further else {}),
        **_times(row, zone),
        "expires_at": moment(row.get("expires_at"), zone=zone),
        "tags": texts(_listed(about, "tags")),
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
    return {key: value for key in kept if (value := row.get(key)) not in (None, "", 0) and _plain(value)}


def _plain(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


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


def _listed(about: Mapping[str, Any], key: str) -> list[Any]:
    value = about.get(key)
    return value if isinstance(value, list) else [value]

"""Data directories of the reference implementation of A-Memorix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...clock import Clock, SystemClock
from ...errors import InvalidRequest
from ...store.read_only_database import ReadOnlyDatabase
from ..records import Bad, Reader, Record
from .foreign_paragraphs import Known, loose_relation, paragraph_records
from .foreign_values import name, text_of, texts

__all__ = ["AMemorixDirectory"]

EXPECTED = "a data directory of A-Memorix: metadata/metadata.db with the table `paragraphs` (hash, content)"
PLACES = ("metadata/metadata.db", "metadata.db", "")
TRIPLE = ("hash", "subject", "predicate", "object")
SNAPSHOT = ("person_id", "profile_version", "aliases_json")
_ROW_BITS, _PART_BITS = 38, 12
MOST_PARTS = 2**_PART_BITS - 1

Row = Mapping[str, Any]
Records = Iterator[tuple[int, Iterator[Record | Bad]]]
"""(row, what it becomes)."""


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

    def __init__(self, *, chat_id: str = "a-memorix", clock: Clock | None = None, zone: tzinfo | None = None) -> None:
        self._chat_id = chat_id
        self._zone = zone
        self._clock = clock or SystemClock()

    def read(self, path: Path, start: int = 0) -> Iterator[tuple[int, Record | Bad]]:
        """A position is made of the table, its row and the record's number among those of the row."""
        stages: tuple[tuple[str, tuple[str, ...], str, Callable[[ReadOnlyDatabase, Sequence[Row]], Records]], ...] = (
            ("paragraphs", ("hash", "content"), "paragraphs_after", self._paragraphs),
            ("relations", TRIPLE, "loose_relations_after", self._loose),
            ("person_profile_overrides", ("person_id", "override_text"), "overrides_after", _overrides),
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
            first, row = divmod(start >> _PART_BITS, 1 << _ROW_BITS)
            for number, (table, columns, query, make) in enumerate(stages):
                if number < first or not db.has(table, *columns):
                    continue
                for page in db.pages(query, (row if number == first else 0) - 1):
                    for at, made in make(db, page):
                        self.share = 1.0 if number else min(at / last, 1.0)
                        yield from _placed((number << _ROW_BITS | at) << _PART_BITS, made)

    def _paragraphs(self, db: ReadOnlyDatabase, page: Sequence[Row]) -> Records:
        known = _known(db, [row["hash"] for row in page if isinstance(row["hash"], str)])
        for row in page:
            yield row["row_"], paragraph_records(row, known, self._chat_id, self._clock.now(), self._zone)

    def _loose(self, _: ReadOnlyDatabase, page: Sequence[Row]) -> Records:
        for row in page:
            yield row["row_"], loose_relation(row, self._chat_id, self._zone)


def _placed(place: int, made: Iterator[Record | Bad]) -> Iterator[tuple[int, Record | Bad]]:
    """The records of a row with their positions; those for which there is no position are counted with the last."""
    for which, record in enumerate(made, start=1):
        if which == MOST_PARTS and isinstance(record, Record):
            record = replace(record, left={**record.left, "records": sum(1 for _ in made)})
        yield place | which, record


def _overrides(_: ReadOnlyDatabase, page: Sequence[Row]) -> Records:
    for row in page:
        person, text = name(row.get("person_id")), text_of(row.get("override_text"))
        arguments = {"person_id": person, "text": text, "chat_id": ""}
        made = Record("override", arguments, f"person_profile_overrides row {row['row_']}")
        yield row["row_"], iter([made] if person and text else [])


def _aliases(_: ReadOnlyDatabase, page: Sequence[Row]) -> Records:
    for row in page:
        place, person = f"person_profile_snapshots row {row['row_']}", name(row.get("person_id"))
        try:
            given = json.loads(row.get("aliases_json") or "[]")
        except (TypeError, ValueError, RecursionError):
            yield row["row_"], iter([Bad(place, "its `aliases_json` is no JSON")])
            continue
        names = texts(given if isinstance(given, list) else [])
        known = [one for one in names if person and one != person and any(char.isalnum() for char in one)]
        yield row["row_"], (Record("alias", {"person_id": person, "alias": one, "chat_id": ""}, place) for one in known)


def _known(db: ReadOnlyDatabase, hashes: list[str]) -> Known:
    """What hangs on the paragraphs of a page."""
    asked = json.dumps(hashes)

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

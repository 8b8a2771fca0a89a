"""The records beside the memory that quote or name what is purged."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ..language.name_pattern import NamePattern
from ..language.normalise import normalise_name
from ..lazy_regex import lazy_regex
from ..store.metadata_store import MetadataStore
from ..store.operations import Item
from ..store.ports import Connection
from . import text_references
from .byte_search import Needles
from .id_matcher import Ids
from .purge_rows import ErasureRepository, Targets
from .text_references import Going, Record, leaves

__all__ = ["NOTHING", "NO_MARKS", "ONLY_IDS", "Marks", "PurgeRecords", "Sought", "marks_of", "quoting", "sought"]

PORTION = 200
"""Records that are looked through together before each is by itself."""
NAMING = ("undo_records", "delete_operations")
"""Tables that are looked through for the names of things as well: such a name may be a common word."""
ONLY_IDS = ("import_tasks",)
"""Tables whose rows count only by the ids in them: what a task imports into is what it says it does."""
_KEY = lazy_regex(r'"([nr])([0-9]{1,18})"')
_OWN_WORD = lazy_regex(r"[a-z_]+")
"""Words such as the program writes into JSON of its own."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What tells that a record or a file speaks of what is purged."""

    persons: NamePattern
    things: NamePattern
    rows: frozenset[str] = frozenset()
    """Public ids of entities and relations that go."""
    ids: Ids = field(default_factory=lambda: Ids({}))

    def in_export(self, text: str) -> bool:
        """Whether an export of the graph shows it."""
        if any(f"{letter}{row}" in self.rows for letter, row in _KEY.findall(text)):
            return True
        return self.persons.held(text) or self.things.held(text)

    def in_record(self, table: str, record: Record) -> bool:
        """Whether a row of a table names it."""
        if self.ids.among(record.fields):
            return True
        if table in ONLY_IDS:
            return False
        words = record.words
        return self.persons.held(words) or self.ids.held(words) or (table in NAMING and self.things.held(words))


NO_MARKS = Marks(NamePattern(()), NamePattern(()))


@dataclass(frozen=True, slots=True)
class Sought:
    """What a purge looks for; kept in memory only."""

    files: Needles
    """In the bytes of files: texts, names and ids."""
    quotes: Needles
    """In records, where persons and ids are told by the marks: texts, and names of things."""
    marks: Marks
    moved: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """(kind, row) of what the deletion took out: a copy made before holds it in its place."""


NOTHING = Sought(Needles({}), Needles({}), NO_MARKS)


class PurgeRecords:
    """Finds and empties the records; everything that reads is blocking."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    def going(self, items: Sequence[Item], targets: Targets) -> Going:
        """Who and what goes altogether; a person who was deleted in one chat only may stay."""
        whole = [item.id for item in items if item.kind == "person" and not item.detail.get("limited")]
        aliases = [item.detail.get("row", {}).get("alias", "") for item in items if item.kind == "person_alias"]
        asked = replace(targets, persons=tuple(whole))
        return self._store.read_here(lambda db: text_references.going(db, asked, aliases, normalise_name))

    def about(
        self,
        operation: int,
        table: str,
        targets: Targets,
        going: Going,
        wanted: Sought,
        kept: Callable[[], Needles],
    ) -> list[int | str]:
        """Rows of a table that point at what goes, name it, or hold a text of `kept`, which nothing that stays holds."""
        named = self._quoting(operation, table, lambda record: wanted.marks.in_record(table, record))
        found = {*self._store.read_here(lambda db: text_references.about(db, table, targets, going)), *named}
        if self._quoted(operation, table, wanted.quotes):
            found.update(self._quoted(operation, table, kept()))
        if table == "delete_operation_items":
            found.update(
                key for key, _ in self._store.read_here(lambda db: text_references.kept_of(db, operation, targets))
            )
        return list(found)

    def asked(self, table: str, marks: Marks) -> list[int]:
        """Rows of a table that name who asked, where that is a person who goes."""
        return self._store.read_here(lambda db: text_references.asked(db, table, marks.persons.held))

    def _quoted(self, operation: int, table: str, needles: Needles) -> list[int | str]:
        if table in ONLY_IDS:
            return []
        return self._store.read_here(lambda db: quoting(needles, text_references.records(db, table, operation)))

    def _quoting(self, operation: int, table: str, quotes: Callable[[Record], bool]) -> list[int | str]:
        return self._store.read_here(lambda db: text_references.quoting(db, table, operation, quotes))


def quoting(needles: Needles, records: Iterator[Record]) -> list[int | str]:
    """Keys of the records that hold one of the needles."""
    found: list[int | str] = []
    while len(needles) and (some := list(islice(records, PORTION))):
        if needles.met("\n".join(record.raw for record in some)):
            found += [record.key for record in some if needles.met(record.raw)]
    return found


def marks_of(going: Going, targets: Targets) -> Marks:
    """What to look for in records and exports."""
    rows = {f"n{id_}" for id_ in going.entities} | {f"r{id_}" for id_ in targets.relations}
    persons, things = NamePattern(going.person_names), NamePattern(going.entity_names)
    return Marks(persons, things, frozenset(rows), Ids(going.ids, going.told_ids))


def sought(
    db: Connection, rows: ErasureRepository, targets: Targets, going: Going, more: Iterable[object] = ()
) -> Sought:
    """What to look for when these rows go; `more`: values of rows that were moved away."""
    persons, entities = {*targets.persons, *going.persons}, {*targets.entities, *going.entities}
    named = replace(targets, persons=tuple(persons), entities=tuple(entities))
    said = rows.traces(db, named)
    texts = [*said.texts, *(text for value in (*said.texts, *more) for text in _said(value))]
    files = Needles.of(texts, [*said.names, *said.things], said.ids)
    return Sought(files, Needles.of(texts, said.things), marks_of(going, targets))


def _said(value: object) -> Iterator[str]:
    """The texts of a value of a row; of JSON those within it, without the program's own words."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            yield from (text for _, text in leaves(json.loads(value)) if text and not _OWN_WORD.fullmatch(text))
            return
    if isinstance(value, str) and value:
        yield value

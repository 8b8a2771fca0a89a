"""The records beside the memory that quote or name what is purged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..storage.delete_operations import Item
from ..storage.erasure import Targets
from ..storage.metadata_store import MetadataStore
from ..storage.quoting import Going
from ..text import normalise_name
from .name_pattern import NamePattern
from .remnants import Needles

__all__ = ["NAMING", "NO_MARKS", "Marks", "PurgeRecords", "marks_of"]

NAMING = ("undo_records", "delete_operations")
"""Tables that are looked through for the names of things as well: such a name may be a common word."""
_KEY = re.compile(r'"([nr])([0-9]{1,18})"')


@dataclass(frozen=True, slots=True)
class Marks:
    """What tells that a record or a file speaks of what is purged."""

    persons: NamePattern
    things: NamePattern
    rows: frozenset[str] = frozenset()
    """Public ids of entities and relations that go."""

    def in_export(self, text: str) -> bool:
        """Whether an export of the graph shows it."""
        if any(f"{letter}{row}" in self.rows for letter, row in _KEY.findall(text)):
            return True
        return self.persons.held(text) or self.things.held(text)


NO_MARKS = Marks(NamePattern(()), NamePattern(()))


class PurgeRecords:
    """Finds and empties the records; everything that reads is blocking."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._rows = store.quoting

    def marks(self, going: Going, targets: Targets) -> Marks:
        """What to look for in records and exports."""
        return marks_of(going, targets)

    def going(self, items: Sequence[Item], targets: Targets) -> Going:
        """Who and what goes altogether; a person who was deleted in one chat only may stay."""
        whole = [item.id for item in items if item.kind == "person" and not item.detail.get("limited")]
        aliases = [item.detail.get("row", {}).get("alias", "") for item in items if item.kind == "person_alias"]
        asked = replace(targets, persons=tuple(whole))
        return self._store.read_here(lambda db: self._rows.going(db, asked, aliases, normalise_name))

    def about(
        self,
        operation: int,
        table: str,
        targets: Targets,
        going: Going,
        marks: Marks,
        needles: Needles,
        said_by_others: Callable[[Needles], Needles],
    ) -> list[int | str]:
        """Rows of a table that point at what goes, name it, or hold a fragment that no other paragraph holds."""
        named = self._quoting(operation, table, lambda text: self._named(table, marks, text))
        found = {*self._store.read_here(lambda db: self._rows.about(db, table, targets, going)), *named}
        if self._quoting(operation, table, needles.met):
            found.update(self._quoting(operation, table, said_by_others(needles).met))
        if table == "delete_operation_items":
            found.update(key for key, _ in self._store.read_here(lambda db: self._rows.kept_of(db, operation, targets)))
        return list(found)

    def asked(self, table: str, marks: Marks) -> list[int]:
        """Rows of a table that name who asked, where that is a person who goes."""
        return self._store.read_here(lambda db: self._rows.asked(db, table, marks.persons.held))

    def _named(self, table: str, marks: Marks, text: str) -> bool:
        return marks.persons.held(text) or (table in NAMING and marks.things.held(text))

    def _quoting(self, operation: int, table: str, quotes: Callable[[str], bool]) -> list[int | str]:
        return self._store.read_here(lambda db: self._rows.quoting(db, table, operation, quotes))


def marks_of(going: Going, targets: Targets) -> Marks:
    """What to look for in records and exports."""
    rows = {f"n{id_}" for id_ in going.entities} | {f"r{id_}" for id_ in targets.relations}
    return Marks(NamePattern(going.person_names), NamePattern(going.entity_names), frozenset(rows))

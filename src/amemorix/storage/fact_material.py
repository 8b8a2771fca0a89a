"""Paragraphs as facts are read from them, with whom they may be about."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from .queries import array, queries

__all__ = ["FactMaterial", "FactMaterialRepository", "PersonThere"]


@dataclass(frozen=True, slots=True)
class FactMaterial:
    """A paragraph as facts are read from it."""

    id: int
    scope: int
    kind: str
    speaker: int
    source_type: str
    event_start: float | None
    recorded_at: float
    content: str
    metadata: str
    live: int


@dataclass(frozen=True, slots=True)
class PersonThere:
    """A person that a paragraph is bound to; role 1 said it, 3: it is about them."""

    person: int
    role: int
    name: str


class FactMaterialRepository:
    """Reads paragraphs, persons and entities; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    def changed(self, db: sqlite3.Connection, cursor: int, limit: int) -> tuple[int, list[int], frozenset[int]]:
        """(how far this reads, paragraphs that changed, those in which a name became known) after `cursor`."""
        rows = db.execute(self._q["fact_changes"], {"cursor": cursor, "limit": limit}).fetchall()
        named = frozenset(row[1] for row in rows if row[2])
        return (rows[-1][0] if rows else cursor), sorted({row[1] for row in rows}), named

    def paragraphs_after(self, db: sqlite3.Connection, after: int, limit: int) -> list[int]:
        """The next paragraphs by row."""
        return [row[0] for row in db.execute(self._q["fact_paragraphs_after"], {"after": after, "limit": limit})]

    def material(self, db: sqlite3.Connection, ids: Iterable[int]) -> list[FactMaterial]:
        """The paragraphs, by row."""
        return [FactMaterial(*row) for row in db.execute(self._q["fact_material"], {"ids": array(ids)})]

    def persons(self, db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, list[PersonThere]]:
        """Paragraph -> persons, who said it first."""
        found: dict[int, list[PersonThere]] = {}
        for paragraph, *person in db.execute(self._q["fact_persons_of"], {"ids": array(ids)}):
            found.setdefault(paragraph, []).append(PersonThere(*person))
        return found

    def lone_speaker(self, db: sqlite3.Connection, scopes: Iterable[int]) -> int | None:
        """The one person who speaks in these chats; None if there are more, or nobody."""
        found = db.execute(self._q["fact_lone_speakers"], {"scopes": array(scopes)}).fetchall()
        return found[0][0] if len(found) == 1 else None

    def entities_named(self, db: sqlite3.Connection, text: str) -> dict[int, str]:
        """Entities that facts are about and whose normalised name the text holds: row -> name."""
        return dict(db.execute(self._q["fact_entities_named"], {"text": text}).fetchall())

    def entity(self, db: sqlite3.Connection, norm: str) -> int | None:
        """The entity of this normalised name or alias."""
        row = db.execute(self._q["fact_entity_by_norm"], {"norm": norm}).fetchone()
        return None if row is None else row[0]

    def person_names(self, db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Person row -> (id, name)."""
        rows = db.execute(self._q["fact_person_names"], {"ids": array(ids)})
        return {row: (person_id, name) for row, person_id, name in rows}

    def chats(self, db: sqlite3.Connection, scopes: Iterable[int]) -> dict[int, str]:
        """Scope -> the chat's id."""
        return dict(db.execute(self._q["fact_scope_chats"], {"ids": array(scopes)}).fetchall())

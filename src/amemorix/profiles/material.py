"""What profiles are made of: a person's paragraphs, relations and facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import entity_names

__all__ = ["SPEAKER", "FactOf", "Line", "RelationOf"]

Scopes = Sequence[int] | None
SPEAKER, PARTICIPANT, NAMED = 1, 2, 0
"""How a person stands to a paragraph: said it, was bound to it, or is only named in it."""
OWN = ("direct_user", "manual")
"""Authorities of what a person said themselves, or a hand confirmed."""
FIRST = 200
"""Paragraphs read from the old end of the news: what was restored or reworded long ago is found there."""
RELATIONS_LOOKED_AT = 300
SIEVED = 20
"""Paragraphs looked at for each one wanted when only those of some scopes are."""


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph that has to do with a person; one that is not alive is only a sign that its scope has news."""

    id: int
    scope: int
    chat: int
    kind: str
    source_type: str
    role: int
    at: float
    content: str
    alive: bool


@dataclass(frozen=True, slots=True)
class RelationOf:
    """A relation with the newest paragraph of a scope that supports it."""

    id: int
    subject: str
    predicate: str
    object: str
    confidence: float
    paragraph: int


@dataclass(frozen=True, slots=True)
class FactOf:
    """A fact about a person, with the paragraphs that speak of it.

    One that does not hold was true, was held true, or is contested: another says otherwise, and nobody has decided.
    """

    id: int
    attribute: str
    value: str
    polarity: int
    confidence: float
    at: float
    holds: bool
    evidence: tuple[int, ...]
    contested: bool = False
    own: bool = False
    """Said by the person themselves, or confirmed by hand."""


def lines(db: Connection, person: int, since: float, scopes: Scopes, limit: int, now: float) -> list[Line]:
    """The newest paragraphs bound to a person from the row `since` on, and the first few of them."""
    values = {"person": person, "since": since, "scopes": optional_array(scopes), "now": now}
    sieve = 1 if scopes is None else SIEVED
    some = {**values, "limit": limit, "looked_at": limit * sieve}
    newest = db.run("profile_material_newest", **some).fetchall()
    first = []
    if len(newest) == limit:
        some = {**values, "limit": FIRST, "looked_at": FIRST * sieve}
        first = db.run("profile_material_first", **some).fetchall()
    return [_line(row) for row in {row[0]: row for row in (*newest, *first)}.values()]


def told(db: Connection, entities: Iterable[int], since: float, scopes: Scopes, limit: int, now: float) -> list[Line]:
    """The newest paragraphs that name one of the entities, from the row `since` on."""
    found: dict[int, Line] = {}
    for entity in entities:
        values = {"entity": entity, "since": since, "scopes": optional_array(scopes), "limit": limit, "now": now}
        found |= {row[0]: _line(row) for row in db.run("profile_material_told", **values)}
    return list(found.values())


def relations(db: Connection, entities: Iterable[int], scope: int, limit: int, now: float) -> list[RelationOf]:
    """Live relations that end at one of the entities and rest on a paragraph of the scope, the surest first."""
    values = {"entities": array(entities), "scope": scope, "limit": limit, "now": now}
    rows = db.run("profile_relations", **values, looked_at=RELATIONS_LOOKED_AT).fetchall()
    names = entity_names.shown(db, {end for row in rows for end in (row[1], row[3])}, (scope,))
    return [
        RelationOf(id_, names[subject], said, names[object_], *more)
        for id_, subject, said, object_, *more in rows
        if subject in names and object_ in names
    ]


def facts(db: Connection, persons: Iterable[int], scope: int, limit: int, now: float) -> list[FactOf]:
    """Facts of a scope about any of these persons, those that hold and are surest first."""
    values = {"persons": array(persons), "scope": scope, "limit": limit, "now": now}
    return [
        FactOf(*row, holds=bool(holds), evidence=_rows(evidence), contested=bool(contested), own=authority in OWN)
        for *row, holds, evidence, contested, authority in db.run("profile_facts", **values)
    ]


def chats_met(db: Connection, persons: Iterable[int]) -> list[int]:
    """Chats where any of these persons was met."""
    return [row[0] for row in db.run("profile_scopes_met", persons=array(persons))]


def _line(row: tuple[Any, ...]) -> Line:
    *columns, alive = row
    return Line(*columns, alive=bool(alive))


def _rows(joined: str | None) -> tuple[int, ...]:
    return tuple(int(one) for one in joined.split(",")) if joined else ()

"""Profiles as rows: what they are made of (paragraphs, relations and facts of a person), snapshots and overrides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import entity_names

__all__ = ["SPEAKER", "FactOf", "Line", "OverrideRow", "RelationOf", "SnapshotRow"]

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


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A stored snapshot."""

    scope: int
    version: int
    content: str
    confidence: float
    derived_at: float


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """What somebody wrote in the place of a profile."""

    text: str
    updated_by: str
    source: str
    updated_at: float


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
        FactOf(
            *row,
            holds=bool(holds),
            evidence=tuple(map(int, evidence.split(","))) if evidence else (),
            contested=bool(contested),
            own=authority in OWN,
        )
        for *row, holds, evidence, contested, authority in db.run("profile_facts", **values)
    ]


def chats_met(db: Connection, persons: Iterable[int]) -> list[int]:
    """Chats where any of these persons was met."""
    return [row[0] for row in db.run("profile_scopes_met", persons=array(persons))]


def newest(db: Connection, person: int, scopes: Scopes, limit: int) -> list[SnapshotRow]:
    """The newest snapshot of each scope, the last derived first."""
    values = {"person": person, "scopes": optional_array(scopes), "limit": limit}
    return [SnapshotRow(*row) for row in db.run("profile_newest", **values)]


def history(db: Connection, person: int, limit: int, offset: int) -> tuple[list[SnapshotRow], int]:
    """(snapshots, the last derived first; how many there are)."""
    rows = [SnapshotRow(*row) for row in db.run("profile_history", person=person, limit=limit, offset=offset)]
    return rows, db.run("profile_history_count", person=person).fetchone()[0]


def override(db: Connection, person: int) -> OverrideRow | None:
    """What stands in the place of the person's profile."""
    row = db.run("profile_override", person=person).fetchone()
    return None if row is None else OverrideRow(*row)


def put_override(db: Connection, person: int, text: str, *, updated_by: str, source: str, now: float) -> None:
    """Put a text in the place of the person's profile."""
    values = {"person": person, "text": text, "updated_by": updated_by, "source": source, "now": now}
    db.run("profile_override_put", **values)


def delete_override(db: Connection, person: int) -> bool:
    """Let the derived profile be seen again; False if nothing stood in its place."""
    return db.run("profile_override_delete", person=person).rowcount > 0


def listed(
    db: Connection, keyword: str | None, folded: str | None, limit: int, offset: int
) -> tuple[list[tuple[int, float]], int]:
    """((person, when the profile changed last) whose id, name or alias holds the keyword, the newest first; how many)."""
    values = {"keyword": keyword, "folded": folded}
    rows = db.run("profiles_list", **values, limit=limit, offset=offset).fetchall()
    return rows, db.run("profiles_count", **values).fetchone()[0]


def news(db: Connection, cursor: int, seen: int, limit: int) -> tuple[int, int, list[tuple[int, float]]]:
    """(how far this reads, the last paragraph met, persons with the first paragraph that is news to them).

    For the changes after `cursor`, of which the paragraphs up to `seen` have been met before.
    """
    upto, highest = db.run("profile_news_upto", cursor=cursor, limit=limit).fetchone()
    if upto is None:
        return cursor, seen, []
    values = {"cursor": cursor, "upto": upto, "seen": seen}
    return upto, max(seen, highest), db.run("profile_news", **values).fetchall()


def _line(row: tuple[Any, ...]) -> Line:
    *columns, alive = row
    return Line(*columns, alive=bool(alive))

"""Profiles as rows: what they are made of (facts, relations and lines of a person), how it changed, and overrides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..facts.rows import FactRow
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import entity_names

__all__ = ["Line", "OverrideRow", "RelationOf", "Said", "Version"]

Scopes = Sequence[int] | None
LOOKED_AT = 300
"""Facts of a person that are looked at, the weightiest, and relations, the newest."""


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph that a person said."""

    id: int
    at: float
    content: str


@dataclass(frozen=True, slots=True)
class RelationOf:
    """A relation with the newest paragraph that supports it, and when that was said."""

    id: int
    subject: str
    predicate: str
    object: str
    confidence: float
    paragraph: int
    at: float


@dataclass(frozen=True, slots=True)
class Said:
    """A paragraph that a fact rests on: when it was said, the whole sentence, and the name of another who said it."""

    paragraph: int
    at: float
    sentence: str
    teller: str


@dataclass(frozen=True, slots=True)
class Version:
    """That what is known of a person from one scope changed."""

    scope: int
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """What somebody wrote in the place of a profile."""

    text: str
    updated_by: str
    source: str
    updated_at: float


def facts(db: Connection, persons: Iterable[int], scopes: Scopes, now: float) -> list[FactRow]:
    """What is held true of these persons, the weightiest first."""
    values = {"scopes": optional_array(scopes), "now": now, "limit": LOOKED_AT}
    return [FactRow(*row) for person in persons for row in db.run("profile_facts", person=person, **values)]


def said(
    db: Connection, facts: Iterable[int], persons: Iterable[int], now: float, as_of: float | None = None
) -> dict[int, list[Said]]:
    """Fact -> the live paragraphs that it rests on, or those that were held at a time; the newest first."""
    values = {"ids": array(facts), "persons": array(persons), "now": now, "as_of": as_of}
    found: dict[int, list[Said]] = {}
    for fact, *row in db.run("profile_said", **values):
        found.setdefault(fact, []).append(Said(*row))
    return found


def relations(db: Connection, entities: Iterable[int], scopes: Scopes, limit: int, now: float) -> list[RelationOf]:
    """Live relations that end at one of the entities and rest on a paragraph within sight, the surest first."""
    values = {"entities": array(entities), "scopes": optional_array(scopes), "limit": limit, "now": now}
    rows = db.run("profile_relations", **values, looked_at=LOOKED_AT).fetchall()
    names = entity_names.shown(db, {end for row in rows for end in (row[1], row[3])}, scopes)
    return [
        RelationOf(id_, names[subject], said, names[object_], *more)
        for id_, subject, said, object_, *more in rows
        if subject in names and object_ in names
    ]


def lines(db: Connection, persons: Iterable[int], scopes: Scopes, limit: int, now: float) -> list[Line]:
    """The newest paragraphs that these persons said."""
    values = {"persons": array(persons), "scopes": optional_array(scopes), "limit": limit, "now": now}
    return [Line(*row) for row in db.run("profile_lines", **values)]


def chats_met(db: Connection, persons: Iterable[int]) -> list[int]:
    """Chats where any of these persons was met."""
    return [row[0] for row in db.run("profile_scopes_met", persons=array(persons))]


def last_change(db: Connection, persons: Iterable[int], scopes: Scopes) -> tuple[int, float]:
    """(how often what is known of these persons changed, when it did last)."""
    values = {"persons": array(persons), "scopes": optional_array(scopes)}
    count, at = db.run("profile_last_change", **values).fetchone()
    return count, at or 0.0


def history(db: Connection, persons: Iterable[int], limit: int, offset: int) -> tuple[list[Version], int]:
    """(changes of what is known of these persons, the last first; how many there are)."""
    ids = array(persons)
    rows = [Version(*row) for row in db.run("profile_history", persons=ids, limit=limit, offset=offset)]
    return rows, last_change(db, persons, None)[0]


def override(db: Connection, person: int) -> OverrideRow | None:
    """What stands in the place of the person's profile."""
    row = db.run("profile_override", person=person).fetchone()
    return None if row is None else OverrideRow(*row)


def put_override(db: Connection, person: int, text: str, *, updated_by: str, source: str, now: float) -> None:
    """Put a text in the place of the person's profile."""
    values = {"person": person, "text": text, "updated_by": updated_by, "source": source, "now": now}
    db.run("profile_override_put", **values)


def delete_override(db: Connection, person: int) -> bool:
    """Let what is known be seen again; False if nothing stood in its place."""
    return db.run("remove_profile_override", person=person).rowcount > 0


def listed(
    db: Connection, keyword: str | None, folded: str | None, limit: int, offset: int
) -> tuple[list[tuple[int, float]], int]:
    """((person, when something was last said or written of them) whose id, name or alias holds the keyword, the newest
    first; how many)."""
    values = {"keyword": keyword, "folded": folded}
    rows = db.run("profiles_list", **values, limit=limit, offset=offset).fetchall()
    return rows, db.run("profiles_count", **values).fetchone()[0]

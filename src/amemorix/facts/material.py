"""Paragraphs as facts are read from them, with whom they may be about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array

__all__ = ["FactMaterial", "PersonThere"]


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
    chat_id: str


@dataclass(frozen=True, slots=True)
class PersonThere:
    """A person that a paragraph is bound to; role 1 said it, 3: it is about them."""

    person: int
    role: int
    name: str


def material(db: Connection, ids: Iterable[int]) -> list[FactMaterial]:
    """The paragraphs, by row."""
    return [FactMaterial(*row) for row in db.run("fact_material", ids=array(ids))]


def just_before(db: Connection, paragraph: int, limit: int, seconds: float) -> list[tuple[str, int, int]]:
    """(content, speaker, row) of the messages before one in its chat, no older than so much, the newest first."""
    values = {"id": paragraph, "limit": limit, "seconds": seconds}
    return db.run("fact_just_before", **values).fetchall()


def persons(db: Connection, ids: Iterable[int]) -> dict[int, list[PersonThere]]:
    """Paragraph -> persons, who said it first."""
    found: dict[int, list[PersonThere]] = {}
    for paragraph, *person in db.run("fact_persons_of", ids=array(ids)):
        found.setdefault(paragraph, []).append(PersonThere(*person))
    return found


def entity(db: Connection, norm: str) -> int | None:
    """The entity of this normalised name or alias."""
    row = db.run("fact_entity_by_norm", norm=norm).fetchone()
    return None if row is None else row[0]


def person_names(db: Connection, ids: Iterable[int], scopes: Sequence[int] | None) -> dict[int, tuple[str, str]]:
    """Person row -> (id, the name by which these chats met them last, the id where they never did)."""
    known = {row: (key, name) for row, key, name in db.run("fact_person_names", ids=array(ids))}
    if scopes is None:
        return known
    called: dict[int, list[str]] = {}
    for row, name in db.run("fact_person_names_seen", ids=array(known), scopes=array(scopes)):
        called.setdefault(row, []).append(name)
    return {row: (key, _newest(db, row, called.get(row, ()), scopes) or key) for row, (key, _) in known.items()}


def _newest(db: Connection, person: int, names: Sequence[str], scopes: Sequence[int]) -> str:
    if len(set(names)) < 2:
        return next(iter(names), "")
    values = {"person": person, "names": array(names), "scopes": array(scopes)}
    found = db.run("fact_person_name_newest", **values).fetchone()
    return found[0] if found else names[0]


def chats(db: Connection, scopes: Iterable[int]) -> dict[int, str]:
    """Scope -> the chat's id."""
    return dict(db.run("fact_scope_chats", ids=array(scopes)).fetchall())

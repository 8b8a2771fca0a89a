"""Plans that correct what is stored, and the rows that they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import entity_names

__all__ = ["Plan", "Resting"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it is kept; `plan` and `result` are JSON, times epoch seconds."""

    id: int
    request: str
    chat_id: str
    person_id: str
    plan: str
    status: str
    result: str
    requested_by: str
    reason: str
    created_at: float
    executed_at: float | None
    rolled_back_at: float | None


@dataclass(frozen=True, slots=True)
class Resting:
    """A fact that paragraphs state; `elsewhere` if others state it too."""

    id: int
    value: str
    elsewhere: bool


def listed(
    db: Connection, *, statuses: Sequence[str] | None, chat: int | None, limit: int, offset: int
) -> tuple[list[Plan], int]:
    """(plans, the newest first; how many there are in all)."""
    values = {"statuses": optional_array(statuses), "chat": chat}
    rows = db.run("correction_list", **values, limit=limit, offset=offset)
    found = [Plan(*row) for row in rows]
    return found, db.run("correction_count", **values).fetchone()[0]


def relations(db: Connection, ids: Collection[int]) -> dict[int, tuple[str, str, str]]:
    """Relation -> subject, predicate and object, of the live relations that these paragraphs support, in the names of their chats."""
    rows = db.run("correction_relations", ids=array(ids)).fetchall()
    scopes = [row[0] for row in db.run("correction_scopes", ids=array(ids))]
    names = entity_names.shown(db, {end for row in rows for end in (row[1], row[3])}, scopes)
    return {
        id_: (names.get(subject, ""), predicate.replace("_", " "), names.get(object_, ""))
        for id_, subject, predicate, object_ in rows
    }


def alone(db: Connection, relations: Iterable[int], ids: Iterable[int]) -> list[int]:
    """Those of the relations that no other live paragraph supports."""
    values = {"relations": array(relations), "ids": array(ids)}
    return [row[0] for row in db.run("correction_relations_alone", **values)]


def facts(db: Connection, ids: Iterable[int]) -> list[Resting]:
    """The facts held true that rest on these paragraphs."""
    return [Resting(id_, value, bool(more)) for id_, value, more in db.run("correction_facts", ids=array(ids))]


def held(
    db: Connection, *, persons: Iterable[int], scopes: Scopes, now: float, held_at: float, limit: int
) -> list[int]:  # fmt: skip
    """The paragraphs that the newest facts held true now, or at a time, of these persons rest on."""
    values = {"persons": array(persons), "scopes": optional_array(scopes), "now": now, "held_at": held_at}
    return [row[0] for row in db.run("correction_held", **values, limit=limit)]


def newest(db: Connection, persons: Collection[int], scopes: Scopes, limit: int) -> list[int]:
    """The newest paragraphs that are bound to these persons."""
    values = {"persons": array(persons), "scopes": optional_array(scopes), "limit": limit}
    return [row[0] for row in db.run("correction_newest", **values)]


def linked_entity_names(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    """Entity -> name, of those the paragraphs are linked to."""
    return dict(db.run("correction_entity_names", ids=array(ids)).fetchall())

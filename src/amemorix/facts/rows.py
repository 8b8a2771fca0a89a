"""Facts with what supports them and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["FactGroup", "FactRow", "Transition"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact; times in epoch seconds. The subject is a person or an entity, polarity -1 says that it is not so."""

    id: int
    person: int | None
    entity: int | None
    scope: int
    attribute: str
    value: str
    norm: str
    polarity: int
    cardinality: str
    stability: str
    authority: str
    status: str
    confidence: float
    asserted_at: float | None
    pinned: int
    merged: int
    valid_from: float
    valid_to: float | None
    recorded_at: float
    superseded_at: float | None
    superseded_by: int | None
    outdone_at: float | None


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts that may contradict each other: one attribute of one subject in one scope, of a set one value."""

    person: int | None
    entity: int | None
    scope: int
    attribute: str
    norm: str | None = None
    """None where an attribute has one value at a time."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of a fact's status, and the fact and the undo record that go with it."""

    was: str
    became: str
    cause: int | None
    undo: int | None
    requested_by: str
    reason: str
    at: float


def groups_of(db: Connection, paragraphs: Iterable[int]) -> list[tuple[FactGroup, float]]:
    """The groups of the facts that rest on these paragraphs, or gave way to them, each with the time of the first."""
    rows = db.run("fact_groups_of", ids=array(paragraphs))
    return [(FactGroup(person, entity, scope, attribute, norm), at)
            for person, entity, scope, attribute, norm, at in rows]  # fmt: skip


def in_group(db: Connection, group: FactGroup) -> list[FactRow]:
    """The facts of a group, the oldest first."""
    name = "facts_in_group" if group.norm is None else "facts_in_group_of_norm"
    return [FactRow(*row) for row in db.run(name, **_values(group))]


def open_facts(
    db: Connection,
    group: FactGroup,
    polarity: int,
    since: float,
    *,
    norms: Iterable[int | str] | None = None,
    limit: int,
) -> list[FactRow]:
    """The facts of a group that nothing has put an end to before a time, and those that a hand decides.

    With `norms` only those of these values; at most `limit` that have an end, the first, and `limit` that have none.
    """
    values = {
        **_values(group),
        "polarity": polarity,
        "since": since,
        "limit": limit,
        "norms": optional_array(norms),
    }
    name = "facts_open" if norms is None else "facts_open_of_norms"
    return [FactRow(*row) for row in db.run(name, **values)]


def given_up_for(db: Connection, facts: Iterable[int], before: float) -> float | None:
    """When the first of those was given up that gave way to one of these facts before a time, by the rules."""
    return db.run("facts_given_up_for", ids=array(facts), before=before).fetchone()[0]


def standing(db: Connection, facts: Iterable[int]) -> set[int]:
    """Those of the facts that something supports and nobody retracted."""
    return {row[0] for row in db.run("facts_standing", ids=array(facts))}


def insert(db: Connection, values: dict[str, Any]) -> int:
    """A new fact; returns its row."""
    return db.run("fact_insert", **values).fetchone()[0]


def update(db: Connection, values: dict[str, Any]) -> None:
    """What the rules make of a fact."""
    db.run("fact_update", **values)


def decide(db: Connection, values: dict[str, Any]) -> None:
    """What a hand makes of a fact."""
    db.run("fact_decide", **values)


def transition(db: Connection, fact: int, change: Transition) -> None:
    """Keep a change of status."""
    values = {
        "fact": fact, "was": change.was, "became": change.became, "cause": change.cause, "undo": change.undo,
        "requested_by": change.requested_by, "reason": change.reason, "at": change.at,
    }  # fmt: skip
    db.run("fact_transition_insert", **values)


def current(
    db: Connection,
    persons: Iterable[int],
    scopes: Scopes,
    *,
    now: float,
    entities: Iterable[int] = (),
    limit: int = 200,
) -> list[FactRow]:
    """What is held true now of these persons and entities, the newest first."""
    values = _subjects(persons, entities, scopes, limit) | {"at": now, "now": now}
    return [FactRow(*row) for row in db.run("facts_of_subjects", **values)]


def valid_at(
    db: Connection,
    persons: Iterable[int],
    scopes: Scopes,
    *,
    at: float,
    now: float,
    entities: Iterable[int] = (),
    limit: int = 200,
) -> list[FactRow]:
    """What was true at a time, by what is known now."""
    values = _subjects(persons, entities, scopes, limit) | {"at": at, "now": now}
    return [FactRow(*row) for row in db.run("facts_valid_at", **values)]


def as_of(
    db: Connection,
    persons: Iterable[int],
    scopes: Scopes,
    *,
    as_of: float,
    now: float,
    entities: Iterable[int] = (),
    limit: int = 200,
) -> list[tuple[FactRow, str]]:
    """What the memory held true at a time, with the status that each fact had then."""
    values = _subjects(persons, entities, scopes, limit) | {"as_of": as_of, "now": now}
    return [(FactRow(*row[:-1]), row[-1]) for row in db.run("facts_as_of", **values)]


def _subjects(persons: Iterable[int], entities: Iterable[int], scopes: Scopes, limit: int) -> dict[str, Any]:
    return {
        "persons": array(persons), "entities": array(entities), "scopes": optional_array(scopes), "limit": limit,
    }  # fmt: skip


def listed(db: Connection, **values: Any) -> list[FactRow]:
    """Facts by what is asked for (persons, entity, attribute, statuses, text, scopes), the newest first."""
    given = {**values}
    for name in ("persons", "statuses", "scopes"):
        given[name] = optional_array(given.get(name))
    return [FactRow(*row) for row in db.run("facts_listed", **given)]


def one(db: Connection, row: int) -> FactRow | None:
    """A fact by its row."""
    found = db.run("fact_one", id=row).fetchone()
    return None if found is None else FactRow(*found)


def gave_way(db: Connection, fact: int, successor: int) -> float | None:
    """When the fact first gave way to the other on the word of a paragraph that counts; None if it never did."""
    row = db.run("fact_gave_way", fact=fact, successor=successor).fetchone()
    return row[0] if row else None


def transitions(db: Connection, fact: int) -> list[Transition]:
    """Every change of a fact, the first first."""
    return [Transition(*row) for row in db.run("fact_transitions_of", fact=fact)]


def counts(db: Connection) -> dict[str, int]:
    """Status -> how many facts."""
    return dict(db.run("fact_counts").fetchall())


def _values(group: FactGroup) -> dict[str, Any]:
    return {"person": group.person, "entity": group.entity, "scope": group.scope, "attribute": group.attribute,
            "norm": group.norm}  # fmt: skip

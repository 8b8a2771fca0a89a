"""Facts with what supports them and what became of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .queries import array, optional_array, queries

__all__ = [
    "Evidence",
    "FactGroup",
    "FactMaterial",
    "FactRepository",
    "FactRow",
    "PersonThere",
    "PointRow",
    "Transition",
]

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


@dataclass(frozen=True, slots=True)
class PointRow:
    """What a live paragraph says of a fact."""

    fact: int
    paragraph: int
    at: float
    value: str
    authority: str
    confidence: float
    until: float | None
    told: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A paragraph that supports or refutes a fact."""

    fact: int
    paragraph: int
    stance: str
    at: float
    authority: str
    confidence: float


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


class FactRepository:
    """Reads and writes facts; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    # what is to be read

    def changed(self, db: sqlite3.Connection, cursor: int, limit: int) -> tuple[int, list[int]]:
        """(how far this reads, paragraphs that changed) for the changes after `cursor`."""
        rows = db.execute(self._q["fact_changes"], {"cursor": cursor, "limit": limit}).fetchall()
        return (rows[-1][0] if rows else cursor), sorted({row[1] for row in rows})

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

    # groups

    def groups_of(self, db: sqlite3.Connection, paragraphs: Iterable[int]) -> list[tuple[FactGroup, float]]:
        """The groups of the facts that rest on these paragraphs, or gave way to them, each with the time of the first."""
        rows = db.execute(self._q["fact_groups_of"], {"ids": array(paragraphs)})
        return [(FactGroup(person, entity, scope, attribute, norm), at)
                for person, entity, scope, attribute, norm, at in rows]  # fmt: skip

    def in_group(self, db: sqlite3.Connection, group: FactGroup) -> list[FactRow]:
        """The facts of a group, the oldest first."""
        name = "facts_in_group" if group.norm is None else "facts_in_group_of_norm"
        return [FactRow(*row) for row in db.execute(self._q[name], _values(group))]

    def open(
        self,
        db: sqlite3.Connection,
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
        values = {**_values(group), "polarity": polarity, "since": since, "limit": limit, "norms": optional_array(norms)}
        name = "facts_open" if norms is None else "facts_open_of_norms"
        return [FactRow(*row) for row in db.execute(self._q[name], values)]

    def points(self, db: sqlite3.Connection, facts: Iterable[int]) -> list[PointRow]:
        """What live paragraphs say of these facts."""
        return [PointRow(*row) for row in db.execute(self._q["fact_points"], {"ids": array(facts)})]

    def newest_points(self, db: sqlite3.Connection, facts: Iterable[int], most: int) -> list[PointRow]:
        """The same, at most so many of each fact: those that were said last."""
        values = {"ids": array(facts), "most": most}
        return [PointRow(*row) for row in db.execute(self._q["fact_points_newest"], values)]

    def refuted(self, db: sqlite3.Connection, facts: Iterable[int]) -> set[int]:
        """Those of the facts that a statement was taken from."""
        return {row[0] for row in db.execute(self._q["facts_refuted"], {"ids": array(facts)})}

    def given_up_for(self, db: sqlite3.Connection, facts: Iterable[int], before: float) -> float | None:
        """When the first of those was given up that gave way to one of these facts before a time, by the rules."""
        return db.execute(self._q["facts_given_up_for"], {"ids": array(facts), "before": before}).fetchone()[0]

    def standing(self, db: sqlite3.Connection, facts: Iterable[int]) -> set[int]:
        """Those of the facts that something supports and nobody retracted."""
        return {row[0] for row in db.execute(self._q["facts_standing"], {"ids": array(facts)})}

    # writing

    def insert(self, db: sqlite3.Connection, values: dict[str, Any]) -> int:
        """A new fact; returns its row."""
        return db.execute(self._q["fact_insert"], values).fetchone()[0]

    def update(self, db: sqlite3.Connection, values: dict[str, Any]) -> None:
        """What the rules make of a fact."""
        db.execute(self._q["fact_update"], values)

    def decide(self, db: sqlite3.Connection, values: dict[str, Any]) -> None:
        """What a hand makes of a fact."""
        db.execute(self._q["fact_decide"], values)

    def put_evidence(self, db: sqlite3.Connection, point: PointRow) -> None:
        """Let a paragraph support a fact."""
        values = {
            "fact": point.fact, "paragraph": point.paragraph, "value": point.value, "at": point.at,
            "until": point.until, "told": point.told, "authority": point.authority, "confidence": point.confidence,
        }  # fmt: skip
        db.execute(self._q["fact_evidence_put"], values)

    def move_evidence(self, db: sqlite3.Connection, fact: int, paragraph: int, to: int) -> None:
        """Let it support another fact of the same words."""
        db.execute(self._q["fact_evidence_move"], {"fact": fact, "paragraph": paragraph, "to": to})

    def set_stance(self, db: sqlite3.Connection, fact: int, paragraph: int, stance: str) -> None:
        """Let a paragraph count for a fact or not."""
        db.execute(self._q["fact_evidence_refute"], {"fact": fact, "paragraph": paragraph, "stance": stance})

    def said_before(self, db: sqlite3.Connection, group: FactGroup, paragraph: int, norm: str, polarity: int) -> bool:
        """Whether the paragraph has been read as saying this."""
        values = {
            "paragraph": paragraph, "attribute": group.attribute, "norm": norm, "polarity": polarity,
            "scope": group.scope, "person": group.person, "entity": group.entity,
        }  # fmt: skip
        return db.execute(self._q["fact_said_before"], values).fetchone() is not None

    def read_as(self, db: sqlite3.Connection, paragraph: int, person: int, attribute: str) -> int | None:
        """The fact of this attribute that the paragraph supports, None if there is none."""
        values = {"paragraph": paragraph, "person": person, "attribute": attribute}
        row = db.execute(self._q["fact_statement_read"], values).fetchone()
        return None if row is None else row[0]

    def transition(self, db: sqlite3.Connection, fact: int, change: Transition) -> None:
        """Keep a change of status."""
        values = {
            "fact": fact, "was": change.was, "became": change.became, "cause": change.cause, "undo": change.undo,
            "requested_by": change.requested_by, "reason": change.reason, "at": change.at,
        }  # fmt: skip
        db.execute(self._q["fact_transition_insert"], values)

    # undoing

    def keep_undo(
        self, db: sqlite3.Connection, kind: str, detail: str, requested_by: str, reason: str, now: float
    ) -> int:
        """A record from which something can be undone; returns its row."""
        values = {"kind": kind, "detail": detail, "requested_by": requested_by, "reason": reason, "now": now}
        return db.execute(self._q["undo_insert"], values).fetchone()[0]

    def undo_record(self, db: sqlite3.Connection, row: int) -> tuple[str, str, float | None] | None:
        """(kind, detail, when it was undone), None if there is no such record."""
        return db.execute(self._q["undo_one"], {"id": row}).fetchone()

    def mark_undone(self, db: sqlite3.Connection, row: int, now: float) -> None:
        """The record has been used."""
        db.execute(self._q["undo_done"], {"id": row, "now": now})

    # reading

    def current(
        self,
        db: sqlite3.Connection,
        persons: Iterable[int],
        scopes: Scopes,
        *,
        now: float,
        entities: Iterable[int] = (),
        limit: int = 200,
    ) -> list[FactRow]:
        """What is held true now of these persons and entities, the newest first."""
        values = self._subjects(persons, entities, scopes, limit) | {"at": now, "now": now}
        return [FactRow(*row) for row in db.execute(self._q["facts_of_subjects"], values)]

    def valid_at(
        self,
        db: sqlite3.Connection,
        persons: Iterable[int],
        scopes: Scopes,
        *,
        at: float,
        now: float,
        entities: Iterable[int] = (),
        limit: int = 200,
    ) -> list[FactRow]:
        """What was true at a time, by what is known now."""
        values = self._subjects(persons, entities, scopes, limit) | {"at": at, "now": now}
        return [FactRow(*row) for row in db.execute(self._q["facts_valid_at"], values)]

    def as_of(
        self,
        db: sqlite3.Connection,
        persons: Iterable[int],
        scopes: Scopes,
        *,
        as_of: float,
        now: float,
        entities: Iterable[int] = (),
        limit: int = 200,
    ) -> list[tuple[FactRow, str]]:
        """What the memory held true at a time, with the status that each fact had then."""
        values = self._subjects(persons, entities, scopes, limit) | {"as_of": as_of, "now": now}
        return [(FactRow(*row[:-1]), row[-1]) for row in db.execute(self._q["facts_as_of"], values)]

    @staticmethod
    def _subjects(persons: Iterable[int], entities: Iterable[int], scopes: Scopes, limit: int) -> dict[str, Any]:
        return {
            "persons": array(persons), "entities": array(entities), "scopes": optional_array(scopes), "limit": limit,
        }  # fmt: skip

    def listed(self, db: sqlite3.Connection, **values: Any) -> list[FactRow]:
        """Facts by what is asked for (persons, entity, attribute, statuses, text, scopes), the newest first."""
        given = {**values}
        for name in ("persons", "statuses", "scopes"):
            given[name] = optional_array(given.get(name))
        return [FactRow(*row) for row in db.execute(self._q["facts_listed"], given)]

    def one(self, db: sqlite3.Connection, row: int) -> FactRow | None:
        """A fact by its row."""
        found = db.execute(self._q["fact_one"], {"id": row}).fetchone()
        return None if found is None else FactRow(*found)

    def transitions(self, db: sqlite3.Connection, fact: int) -> list[Transition]:
        """Every change of a fact, the first first."""
        return [Transition(*row) for row in db.execute(self._q["fact_transitions_of"], {"fact": fact})]

    def evidence(
        self, db: sqlite3.Connection, facts: Iterable[int], now: float, as_of: float | None = None
    ) -> dict[int, list[Evidence]]:
        """Fact -> what live paragraphs, or those that were held at a time, say of it."""
        values = {"ids": array(facts), "now": now, "as_of": as_of}
        name = "fact_evidence_of" if as_of is None else "fact_evidence_then"
        found: dict[int, list[Evidence]] = {}
        for row in db.execute(self._q[name], values):
            found.setdefault(row[0], []).append(Evidence(*row))
        return found

    def counts(self, db: sqlite3.Connection) -> dict[str, int]:
        """Status -> how many facts."""
        return dict(db.execute(self._q["fact_counts"]).fetchall())

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


def _values(group: FactGroup) -> dict[str, Any]:
    return {"person": group.person, "entity": group.entity, "scope": group.scope, "attribute": group.attribute,
            "norm": group.norm}  # fmt: skip

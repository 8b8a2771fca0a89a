"""Facts, what supports them, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ..language.normalise import content_hash, fold
from ..store.ports import Connection
from ..store.queries import array, optional_array
from .language.slots import slot_of
from .timeline import AUTHORITY, Point, contradict

__all__ = [
    "MAYBE_OUTDATED",
    "Evidence",
    "FactGroup",
    "FactRow",
    "Moment",
    "Outcome",
    "Transition",
    "Verdict",
    "held",
    "statement_norm",
]

Outcome = Literal["replaces", "ends", "completes", "doubts"]
"""What a later statement does to an earlier one of the same person: takes its place, ends it, holds all of it and more,
or may have put an end to it."""
MAYBE_OUTDATED = "maybe_outdated"
"""The status that callers see of an active fact in doubt."""

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a question; `as_of`: as the memory stood then, `valid_at`: what was true then."""

    now: float
    as_of: float | None = None
    valid_at: float | None = None


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts that may contradict each other: one attribute of one subject in one scope, of a set one value."""

    person: int | None
    entity: int | None
    scope: int
    attribute: str
    norm: str | None = None
    """None where an attribute has one value at a time."""

    @classmethod
    def of(cls, person: int | None, entity: int | None, scope: int, attribute: str, norm: str) -> FactGroup:
        """The facts that one of this attribute and value may contradict."""
        single = slot_of(attribute).cardinality == "single"
        return cls(person, entity, scope, attribute, None if single else norm)


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
    kind: str = ""
    importance: float = 0.5
    doubted_by: int | None = None
    """A later statement near in meaning, of which nobody has said that it takes the place of this one."""

    @property
    def group(self) -> FactGroup:
        """The facts that it may contradict, itself among them."""
        return FactGroup.of(self.person, self.entity, self.scope, self.attribute, self.norm)

    @property
    def shown_status(self) -> str:
        """The status as callers see it."""
        return MAYBE_OUTDATED if self.status == "active" and self.doubted_by is not None else self.status

    @property
    def is_held(self) -> bool:
        """Whether it is held true, contradicted or not."""
        return self.status in ("active", "conflicted")

    def contradicts(self, other: FactRow) -> bool:
        """Whether both cannot be true, as values of one attribute of one subject."""
        keys = (self.norm, self.polarity), (other.norm, other.polarity)
        return contradict(*keys, slot_of(self.attribute).compatible)

    def conflicts_with(self, other: FactRow) -> bool:
        """Whether both are held, in the same chat or not, and cannot both be true."""
        subjects = [(row.person, row.entity, row.attribute) for row in (self, other)]
        both_held = self.id != other.id and self.is_held and other.is_held
        return both_held and subjects[0] == subjects[1] and self.contradicts(other)


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """A paragraph that supports or refutes a fact."""

    fact: int
    paragraph: int
    stance: str
    at: float
    authority: str
    confidence: float
    sentence: str
    """The whole sentence in which it was said, or as much as is kept of it."""
    said: float
    """When the paragraph was said."""
    form: str
    """The kind of the paragraph."""
    speaker: int
    """0 where nobody speaks."""
    scope: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What later statements make of a fact."""

    successor: int | None = None
    """The first that ends it or takes its place."""
    doubter: int | None = None
    """The last that may have."""
    reason: str = ""


def statement_norm(text: str) -> str:
    """What two wordings of a statement have in common that differ in nothing but case, width and the last stop."""
    return content_hash(fold(text).strip(" .。!！"))


def in_group(db: Connection, group: FactGroup) -> list[FactRow]:
    """The facts of a group, the oldest first."""
    name = "facts_in_group" if group.norm is None else "facts_in_group_of_norm"
    return [FactRow(*row) for row in db.run(name, **asdict(group))]


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
        **asdict(group), "polarity": polarity, "since": since, "limit": limit, "norms": optional_array(norms),
    }  # fmt: skip
    name = "facts_open" if norms is None else "facts_open_of_norms"
    return [FactRow(*row) for row in db.run(name, **values)]


def given_way(db: Connection, facts: Iterable[int], limit: int) -> list[FactRow]:
    """The facts that gave way to these, the newest first."""
    return [FactRow(*row) for row in db.run("facts_given_way", ids=array(facts), limit=limit)]


def standing(db: Connection, facts: Iterable[int]) -> set[int]:
    """Those of the facts that something supports and nobody retracted."""
    return {row[0] for row in db.run("facts_standing", ids=array(facts))}


def insert(
    db: Connection, group: FactGroup, *, value: str, norm: str, polarity: int, authority: str, confidence: float,
    valid_from: float, now: float, valid_to: float | None = None, asserted_at: float | None = None, merged: bool = False,
    kind: str = "", importance: float = 0.5,
) -> int:  # fmt: skip
    """A new fact; returns its row."""
    slot = slot_of(group.attribute)
    values = {
        **asdict(group), "value": value, "norm": norm, "polarity": polarity, "cardinality": slot.cardinality,
        "stability": "uncertain" if authority in ("summary", "model") else slot.stability, "authority": authority,
        "confidence": confidence, "asserted_at": asserted_at, "merged": int(merged), "valid_from": valid_from,
        "valid_to": valid_to, "now": now, "kind": kind, "importance": importance,
    }  # fmt: skip
    return db.run("fact_insert", **values).fetchone()[0]


def update(db: Connection, state: FactRow) -> None:
    """What the rules make of a fact."""
    db.run("fact_update", **asdict(state))


def decide(db: Connection, state: FactRow, *, deleted_at: float | None = None) -> None:
    """What a hand, or the comparison of statements, makes of a fact."""
    db.run("fact_decide", **asdict(state), deleted_at=deleted_at)


def transition(db: Connection, fact: int, change: Transition) -> None:
    """Keep a change of status."""
    db.run("fact_transition_insert", fact=fact, **asdict(change))


def held(
    db: Connection, persons: Iterable[int], scopes: Scopes, moment: Moment, *,
    entities: Iterable[int] = (), paragraphs: Iterable[int] = (), limit: int,
) -> list[FactRow]:  # fmt: skip
    """What is held true of these persons and entities, the newest first; with the status of the moment asked for.

    Where there are more than the limit, those count that rest on one of the paragraphs, then values of attributes, then the
    newest statements.
    """
    values: dict[str, Any] = {
        "persons": array(persons), "entities": array(entities), "paragraphs": array(paragraphs),
        "scopes": optional_array(scopes), "limit": limit, "now": moment.now,
    }  # fmt: skip
    if moment.as_of is not None:
        found = db.run("facts_as_of", **values, as_of=moment.as_of)
        rows = [replace(FactRow(*row[:-1]), status=row[-1]) for row in found]
    else:
        past = moment.valid_at is not None
        at = moment.valid_at if past else moment.now
        rows = [FactRow(*row) for row in db.run("facts_of_subjects", **values, at=at, past=past)]
    return sorted(rows, key=lambda row: (row.valid_from, row.id), reverse=True)


def listed(db: Connection, **values: Any) -> list[FactRow]:
    """Facts by what is asked for (persons, entity, attribute, kind, statuses, text, scopes), the newest first."""
    given = {**values, **{name: optional_array(values[name]) for name in ("persons", "statuses", "scopes")}}
    return [FactRow(*row) for row in db.run("facts_listed", **given)]


def one(db: Connection, row: int) -> FactRow | None:
    """A fact by its row."""
    found = db.run("fact_one", id=row).fetchone()
    return None if found is None else FactRow(*found)


def link(db: Connection, older: Iterable[int], later: Iterable[int], outcome: Outcome, reason: str) -> None:
    """Keep what the comparison of two statements came to, for every fact that states the one or the other."""
    laters = tuple(later)
    for fact in older:
        for other in laters:
            if fact != other:
                db.run("fact_link_put", fact=fact, later=other, outcome=outcome, reason=reason)


def linked_to(db: Connection, facts: Iterable[int]) -> list[int]:
    """The facts that these may have taken the place of, or put in doubt."""
    return [row[0] for row in db.run("fact_links_to", ids=array(facts))]


def of_key(db: Connection, person: int, scope: int, key: tuple[str, str, int]) -> list[int]:
    """The newest facts that state a (attribute, norm, polarity) of a person, whatever became of them, the oldest first."""
    attribute, norm, polarity = key
    values = {"person": person, "scope": scope, "attribute": attribute, "norm": norm, "polarity": polarity}
    return sorted(row[0] for row in db.run("fact_rows_of_key", **values))


def verdicts(db: Connection, facts: Iterable[int], as_of: float | None = None) -> dict[int, Verdict]:
    """Fact -> what later statements make of it, of those of which they make anything.

    A statement counts while a live paragraph or a hand supports it and nobody retracted it, and if it was said after the
    last word on the other; one of less authority only puts in doubt. With `as_of` by the words that were known then.
    """
    links = db.run("fact_links_of", ids=array(facts)).fetchall()
    if not links:
        return {}
    standing_ones = standing(db, {link[1] for link in links})
    links = [link for link in links if link[1] in standing_ones]
    said: dict[int, tuple[float, int]] = {}
    involved = {id_ for link in links for id_ in link[:2]}
    for fact, *when in db.run("fact_last_said", ids=array(involved), as_of=as_of):
        said[fact] = max(said.get(fact, (float("-inf"), 0)), (when[0], when[1]))
    ranks = {row.id: AUTHORITY[row.authority] for row in some(db, involved)}
    found: dict[int, Verdict] = {}
    # in the order in which they were said: the first that ends it, and the last that doubts it
    for fact, later, outcome, reason in sorted(links, key=lambda link: said.get(link[1], (0.0, 0))):
        if not {fact, later} <= said.keys() & ranks.keys() or (outcome != "completes" and said[later] <= said[fact]):
            continue
        known = found.get(fact, Verdict())
        if outcome == "doubts" or ranks[later] < ranks[fact]:
            found[fact] = replace(known, doubter=later)
        elif known.successor is None:
            found[fact] = replace(known, successor=later, reason=reason)
    return found


def some(db: Connection, facts: Iterable[int]) -> list[FactRow]:
    """Facts by their rows."""
    return [FactRow(*row) for row in db.run("fact_some", ids=array(facts))]


def transitions(db: Connection, fact: int) -> list[Transition]:
    """Every change of a fact, the first first."""
    return [Transition(*row) for row in db.run("fact_transitions_of", fact=fact)]


def points(db: Connection, facts: Iterable[int]) -> list[Point]:
    """What live paragraphs say of these facts."""
    return [Point(*row) for row in db.run("fact_points", ids=array(facts))]


def put_evidence(db: Connection, point: Point) -> None:
    """Let a paragraph support a fact."""
    db.run("fact_evidence_put", **asdict(point))


def read_as(db: Connection, paragraph: int, person: int, attribute: str) -> int | None:
    """The fact of this attribute that the paragraph supports, None if there is none."""
    values = {"paragraph": paragraph, "person": person, "attribute": attribute}
    row = db.run("fact_statement_read", **values).fetchone()
    return None if row is None else row[0]


def evidence_of(
    db: Connection, facts: Iterable[int], now: float, as_of: float | None = None
) -> dict[int, list[Evidence]]:
    """Fact -> what live paragraphs, or those that were held at a time, say of it."""
    values = {"ids": array(facts), "now": now, "as_of": as_of}
    name = "fact_evidence_of" if as_of is None else "fact_evidence_then"
    found: dict[int, list[Evidence]] = {}
    for row in db.run(name, **values):
        found.setdefault(row[0], []).append(Evidence(*row))
    return found

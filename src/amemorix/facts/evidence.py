"""What paragraphs say of facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array
from .rows import FactGroup

__all__ = ["Evidence", "PointRow"]


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


def points(db: Connection, facts: Iterable[int]) -> list[PointRow]:
    """What live paragraphs say of these facts."""
    return [PointRow(*row) for row in db.run("fact_points", ids=array(facts))]


def newest_points(db: Connection, facts: Iterable[int], most: int) -> list[PointRow]:
    """The same, at most so many of each fact: those that were said last."""
    values = {"ids": array(facts), "most": most}
    return [PointRow(*row) for row in db.run("fact_points_newest", **values)]


def refuted(db: Connection, facts: Iterable[int]) -> set[int]:
    """Those of the facts that a statement was taken from."""
    return {row[0] for row in db.run("facts_refuted", ids=array(facts))}


def hearsay(db: Connection, paragraphs: Iterable[int]) -> list[tuple[int, int, int]]:
    """(paragraph, fact, person) of what these paragraphs were read as saying of persons whom they only name."""
    return db.run("fact_hearsay_of", ids=array(paragraphs)).fetchall()


def drop(db: Connection, fact: int, paragraph: int) -> None:
    """The paragraph says nothing of the fact any more; a fact that rests on nothing else goes with it."""
    db.run("fact_evidence_drop", fact=fact, paragraph=paragraph)


def put(db: Connection, point: PointRow) -> None:
    """Let a paragraph support a fact."""
    values = {
        "fact": point.fact, "paragraph": point.paragraph, "value": point.value, "at": point.at,
        "until": point.until, "told": point.told, "authority": point.authority, "confidence": point.confidence,
    }  # fmt: skip
    db.run("fact_evidence_put", **values)


def move(db: Connection, fact: int, paragraph: int, to: int) -> None:
    """Let it support another fact of the same words."""
    db.run("fact_evidence_move", fact=fact, paragraph=paragraph, to=to)


def set_stance(db: Connection, fact: int, paragraph: int, stance: str) -> None:
    """Let a paragraph count for a fact or not."""
    db.run("fact_evidence_refute", fact=fact, paragraph=paragraph, stance=stance)


def said_before(db: Connection, group: FactGroup, paragraph: int, norm: str, polarity: int) -> bool:
    """Whether the paragraph has been read as saying this."""
    values = {
        "paragraph": paragraph, "attribute": group.attribute, "norm": norm, "polarity": polarity,
        "scope": group.scope, "person": group.person, "entity": group.entity,
    }  # fmt: skip
    return db.run("fact_said_before", **values).fetchone() is not None


def read_as(db: Connection, paragraph: int, person: int, attribute: str) -> int | None:
    """The fact of this attribute that the paragraph supports, None if there is none."""
    values = {"paragraph": paragraph, "person": person, "attribute": attribute}
    row = db.run("fact_statement_read", **values).fetchone()
    return None if row is None else row[0]


def of(db: Connection, facts: Iterable[int], now: float, as_of: float | None = None) -> dict[int, list[Evidence]]:
    """Fact -> what live paragraphs, or those that were held at a time, say of it."""
    values = {"ids": array(facts), "now": now, "as_of": as_of}
    name = "fact_evidence_of" if as_of is None else "fact_evidence_then"
    found: dict[int, list[Evidence]] = {}
    for row in db.run(name, **values):
        found.setdefault(row[0], []).append(Evidence(*row))
    return found

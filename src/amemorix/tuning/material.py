"""What questions for tuning are made of: talk, facts, relations and episodes, found from any row on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["Highest", "Line", "Matter", "Told"]

REACH = 2_000
"""Rows looked through for the next one that is of use."""
Matter = Literal["questions", "statements", "facts", "relations", "episodes"]
_FROM: Mapping[Matter, str] = {
    "questions": "tuning_questions_from", "statements": "tuning_statements_from", "facts": "tuning_facts_from",
    "relations": "tuning_relations_from", "episodes": "tuning_episodes_from",
}  # fmt: skip
_TOLD = {"facts": "tuning_facts", "relations": "tuning_relations", "episodes": "tuning_episodes"}
_EXPECTED = {
    "ids": "tuning_expected_ids", "references": "tuning_expected_references", "texts": "tuning_expected_texts",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Highest:
    """The last row of each kind that was given out."""

    paragraphs: int
    facts: int
    relations: int
    episodes: int


@dataclass(frozen=True, slots=True)
class Line:
    """A living paragraph; `scope` 0 and an empty `chat_id`: everyone may see it."""

    id: int
    scope: int
    chat_id: str
    session: int
    kind: str
    flags: int
    content: str
    speaker: str


@dataclass(frozen=True, slots=True)
class Told:
    """A fact (subject, attribute, value), a relation (subject, predicate, object) or an episode (title), and a
    paragraph that tells it."""

    id: int
    subject: str
    about: str
    value: str
    paragraph: int


def highest(db: Connection) -> Highest:
    """The last row of each kind."""
    return Highest(*db.run("tuning_highest").fetchone())


def rows_from(db: Connection, what: Matter, starts: Iterable[int], now: float) -> list[int]:
    """The next useful row at or after each of these, each once."""
    values = {"starts": array(starts), "reach": REACH, "now": now}
    return [row[0] for row in db.run(_FROM[what], **values) if row[0] is not None]


def reply(db: Connection, question: int, now: float) -> int | None:
    """The next paragraph of the session that somebody else said."""
    row = db.run("tuning_reply", id=question, now=now).fetchone()
    return None if row is None else row[0]


def lines(db: Connection, ids: Iterable[int], now: float) -> dict[int, Line]:
    """Those of the paragraphs that live."""
    rows = db.run("tuning_paragraphs", ids=array(ids), now=now)
    return {row[0]: Line(*row) for row in rows}


def told(db: Connection, what: Literal["facts", "relations", "episodes"], ids: Sequence[int]) -> list[Told]:
    """What these rows say, a row for each paragraph that says it."""
    return [Told(*row) for row in db.run(_TOLD[what], ids=array(ids))]


def expected(
    db: Connection,
    by: Literal["ids", "references", "texts"],
    labels: Iterable[str | int],
    scopes: Sequence[int] | None,
    now: float,
) -> dict[str, set[int]]:
    """Row, external id or content hash, whichever the labels are -> the living paragraphs of the scopes that it means."""
    values = {"labels": array(labels), "scopes": optional_array(scopes), "now": now}
    found: dict[str, set[int]] = {}
    for paragraph, label in db.run(_EXPECTED[by], **values):
        found.setdefault(str(label), set()).add(paragraph)
    return found

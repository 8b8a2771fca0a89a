"""Tuning as rows: tasks, the questions that they ask, the rounds that they have done, and the profiles that were applied."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["AppliedItem", "Kind", "Question", "QuestionCount", "RoundItem", "Split", "Stage", "TaskRow", "packed"]

Kind = Literal["reply", "fact", "relation", "asked", "labelled"]
Split = Literal["train", "validation", "held_out"]
Stage = Literal["queries", "rounds", "comparison"]
END = 1 << 62


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task; times in epoch seconds, `seconds` is what its rounds have taken."""

    id: int
    status: str
    stage: str
    options: dict[str, Any]
    baseline: dict[str, Any]
    rounds_wanted: int
    rounds_done: int
    seconds: float
    result: dict[str, Any]
    reason: str
    error: str
    created_at: float
    started_at: float | None
    finished_at: float | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the paragraphs that answer it; `sessions` are those in which it is answered.

    `hidden` is passed over in what is found, and so are other paragraphs of the same contents, `hashes` in hexadecimal; a
    reply is also looked for as if the turn that asked for it were not stored, and lent its neighbours nothing.
    """

    kind: Kind
    chat_id: str
    text: str
    targets: tuple[int, ...] = ()
    sessions: frozenset[int] = frozenset()
    hidden: tuple[int, ...] = ()
    split: Split = "train"
    id: int = 0
    hashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """How many questions a part has of a kind."""

    split: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class RoundItem:
    """What one set of settings came to on the training questions."""

    round: int
    score: float
    merit: Annotated[float, Field(description="The score less what it costs to be far from what is known to work.")]
    params: dict[str, Any]
    figures: dict[str, Any]
    profile: dict[str, Any]
    seconds: float
    created_at: float = 0.0


@dataclass(frozen=True, slots=True)
class AppliedItem:
    """A profile that was applied; times in epoch seconds."""

    id: int
    task_id: int | None
    profile: dict[str, Any]
    previous: dict[str, Any]
    reason: str
    status: Annotated[str, Field(description="`applied`, `rolled_back`, or `applying` if it was cut short.")]
    created_at: float
    rolled_back_at: float | None


def packed(**values: Any) -> dict[str, Any]:
    """The values of a row, objects as JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }


def tasks(
    db: Connection, *, id_: int | None = None, statuses: Sequence[str] | None = None, limit: int = 1, offset: int = 0
) -> list[TaskRow]:
    """The newest first."""
    values = {"id": id_, "statuses": optional_array(statuses), "limit": limit, "offset": offset}
    return [
        TaskRow(
            row, status, stage, json.loads(options), json.loads(baseline), wanted, done, seconds, json.loads(result),
            *rest,
        )
        for row, status, stage, options, baseline, wanted, done, seconds, result, *rest in db.run("tuning_list", **values)
    ]  # fmt: skip


def keep_queries(db: Connection, task: int, asked: Iterable[Question]) -> None:
    """Store the questions of a task in the place of those it had; one whose paragraphs are gone is left out."""
    db.run("tuning_queries_drop", task=task)
    for one in asked:
        values = {"task": task, "split": one.split, "kind": one.kind, "chat_id": one.chat_id, "text": one.text}
        id_ = db.run("tuning_query_insert", **values).fetchone()[0]
        linked = [
            db.run("tuning_query_link", query=id_, role=role, paragraphs=array(some)).rowcount
            for some, role in ((one.targets, "target"), (one.hidden, "hidden"))
        ]
        if linked != [len(one.targets), len(one.hidden)]:
            db.run("tuning_query_drop", id=id_)


def queries_of(db: Connection, task: int, now: float) -> list[Question]:
    """The questions of a task that something living answers."""
    rows = {id_: Question(*asked, split=split, id=id_) for id_, split, *asked in db.run("tuning_queries_of", task=task)}
    for query, paragraph, role, digest, alive in db.run("tuning_links_of", task=task, now=now):
        one = rows[query]
        if role == "hidden":
            rows[query] = replace(one, hidden=(*one.hidden, paragraph), hashes=one.hashes | {bytes(digest).hex()})
        elif alive:
            rows[query] = replace(one, targets=(*one.targets, paragraph))
    return [one for one in rows.values() if one.targets]


def rounds(db: Connection, task: int, *, limit: int = END, offset: int = 0) -> list[RoundItem]:
    """Rounds in their order."""
    rows = db.run("tuning_rounds_of", task=task, limit=limit, offset=offset)
    return [
        RoundItem(n, score, merit, json.loads(params), json.loads(figures), json.loads(profile), seconds, at)
        for n, score, merit, params, figures, profile, seconds, at in rows
    ]


def profiles(db: Connection, statuses: Sequence[str] | None = None, *, limit: int) -> list[AppliedItem]:
    """What was applied, the newest first."""
    rows = db.run("retrieval_profiles_list", statuses=optional_array(statuses), limit=limit)
    return [
        AppliedItem(id_, task, json.loads(profile), json.loads(previous), *rest)
        for id_, task, profile, previous, *rest in rows
    ]

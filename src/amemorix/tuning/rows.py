"""Searches for better settings as rows: tasks, the questions that they ask, and the rounds that they have done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["NewQuery", "QueryRow", "RoundRow", "Split", "Stage", "TaskRow"]

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
    attempts: int
    created_at: float
    started_at: float | None
    finished_at: float | None
    updated_at: float


@dataclass(frozen=True, slots=True)
class NewQuery:
    """A question with the paragraphs that answer it, and those that are hidden while it is asked."""

    split: Split
    kind: str
    chat_id: str
    text: str
    targets: tuple[int, ...]
    hidden: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A question as it is stored; `hashes` are the contents of what is hidden, in hexadecimal."""

    id: int
    split: str
    kind: str
    chat_id: str
    text: str
    targets: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    hashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RoundRow:
    """What one set of settings came to on the training questions; `merit` is the score less what distance costs."""

    round: int
    params: dict[str, Any]
    profile: dict[str, Any]
    score: float
    merit: float
    figures: dict[str, Any]
    seconds: float
    created_at: float = 0.0


def add(
    db: Connection,
    *,
    options: Mapping[str, Any],
    baseline: Mapping[str, Any],
    rounds: int,
    reason: str,
    now: float,
) -> int:
    """Queue a task."""
    values = {
        "options": _json(options), "baseline": _json(baseline), "rounds": rounds, "reason": reason, "now": now,
    }  # fmt: skip
    return db.run("tuning_insert", **values).fetchone()[0]


def get(db: Connection, id_: int) -> TaskRow | None:
    """A task."""
    row = db.run("tuning_get", id=id_).fetchone()
    return None if row is None else _task(row)


def listed(db: Connection, statuses: Sequence[str] | None, *, limit: int, offset: int = 0) -> list[TaskRow]:
    """Tasks, the newest first."""
    values = {"statuses": optional_array(statuses), "limit": limit, "offset": offset}
    return [_task(row) for row in db.run("tuning_list", **values)]


def count(db: Connection, statuses: Sequence[str] | None) -> int:
    """How many tasks have one of these statuses."""
    return db.run("tuning_count", statuses=optional_array(statuses)).fetchone()[0]


def any_due(db: Connection, *, worker: str, now: float) -> bool:
    """Whether `claim` would find anything."""
    return db.run("tuning_any_due", worker=worker, now=now).fetchone() is not None


def claim(db: Connection, *, worker: str, now: float, lease: float) -> int | None:
    """Take the oldest task that waits, or that its worker left behind."""
    row = db.run("tuning_claim", worker=worker, now=now, until=now + lease).fetchone()
    return None if row is None else row[0]


def hold(db: Connection, id_: int, stage: Stage, *, worker: str, now: float, lease: float) -> bool:
    """Something was done: the lease begins again."""
    values = {"id": id_, "stage": stage, "worker": worker, "now": now, "until": now + lease}
    return db.run("tuning_hold", **values).fetchone() is not None


def finish(
    db: Connection,
    id_: int,
    status: Literal["completed", "failed"],
    *,
    worker: str,
    now: float,
    result: Mapping[str, Any] | None = None,
    error: str = "",
) -> bool:
    """The task has come to its end."""
    values = {"id": id_, "status": status, "worker": worker, "result": _json(result or {}), "error": error}
    return db.run("tuning_finish", **values, now=now).fetchone() is not None


def release(db: Connection, id_: int, *, worker: str, now: float, error: str) -> None:
    """It stumbled, and waits for another try."""
    db.run("tuning_release", id=id_, worker=worker, now=now, error=error)


def cancel(db: Connection, id_: int, now: float) -> bool:
    """Whether there was anything to cancel."""
    return db.run("tuning_cancel", id=id_, now=now).fetchone() is not None


def prune(db: Connection, keep: int) -> None:
    """Forget all ended tasks but those among the last `keep`."""
    db.run("tuning_prune", keep=keep)


def keep_queries(db: Connection, task: int, asked: Iterable[NewQuery]) -> None:
    """Store the questions of a task in the place of those it had; one whose paragraphs are gone is left out."""
    db.run("tuning_queries_drop", task=task)
    for one in asked:
        values = {"task": task, "split": one.split, "kind": one.kind, "chat_id": one.chat_id, "text": one.text}
        id_ = db.run("tuning_query_insert", **values).fetchone()[0]
        linked = [_link(db, id_, some, role) for some, role in ((one.targets, "target"), (one.hidden, "hidden"))]
        if linked != [len(one.targets), len(one.hidden)]:
            db.run("tuning_query_drop", id=id_)


def _link(db: Connection, query: int, paragraphs: Sequence[int], role: str) -> int:
    values = {"query": query, "role": role, "paragraphs": array(paragraphs)}
    return db.run("tuning_query_link", **values).rowcount


def queries_of(db: Connection, task: int, now: float) -> list[QueryRow]:
    """The questions of a task that something living answers."""
    rows = {row[0]: QueryRow(*row) for row in db.run("tuning_queries_of", task=task)}
    for query, paragraph, role, digest, alive in db.run("tuning_links_of", task=task, now=now):
        one = rows[query]
        if role == "hidden":
            rows[query] = replace(one, hidden=(*one.hidden, paragraph), hashes=one.hashes | {bytes(digest).hex()})
        elif alive:
            rows[query] = replace(one, targets=(*one.targets, paragraph))
    return [one for one in rows.values() if one.targets]


def query_counts(db: Connection, task: int) -> list[tuple[str, str, int]]:
    """(split, kind, how many questions)."""
    return db.run("tuning_query_counts", task=task).fetchall()


def keep_round(db: Connection, task: int, done: RoundRow, now: float) -> None:
    """Store what a round came to."""
    values = {
        "task": task, "round": done.round, "params": _json(done.params), "profile": _json(done.profile),
        "score": done.score, "merit": done.merit, "figures": _json(done.figures), "seconds": done.seconds,
    }  # fmt: skip
    db.run("tuning_round_insert", **values, now=now)


def rounds(db: Connection, task: int, *, limit: int = END, offset: int = 0) -> list[RoundRow]:
    """Rounds in their order."""
    rows = db.run("tuning_rounds_of", task=task, limit=limit, offset=offset)
    return [
        RoundRow(n, json.loads(params), json.loads(profile), score, merit, json.loads(figures), seconds, at)
        for n, params, profile, score, merit, figures, seconds, at in rows
    ]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _task(row: tuple[Any, ...]) -> TaskRow:
    id_, status, stage, options, baseline, wanted, done, seconds, result, *rest = row
    return TaskRow(
        id_, status, stage, json.loads(options), json.loads(baseline), wanted, done, seconds, json.loads(result), *rest
    )

"""Answers that were given, to be looked at again when the chat has gone on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["FeedbackTask"]


@dataclass(frozen=True, slots=True)
class FeedbackTask:
    """A task; `hits`, `decision` and `result` are JSON, times epoch seconds."""

    id: int
    key: str
    chat_id: str
    query: str
    asked_at: float
    hits: str
    status: str
    due_at: float
    attempts: int
    decision: str
    rollback_status: str
    result: str
    error: str
    updated_at: float


def add(
    db: Connection, *, key: str, chat: int, query: str, asked_at: float, hits: str, due_at: float,
    now: float,
) -> tuple[int, bool]:  # fmt: skip
    """(task, whether it is new): the same key again is the same task."""
    values = {"key": key, "chat": chat, "query": query, "asked_at": asked_at, "hits": hits, "due_at": due_at}
    row = db.run("feedback_insert", **values, now=now).fetchone()
    if row is not None:
        return row[0], True
    return db.run("feedback_by_key", key=key).fetchone()[0], False


def claim(db: Connection, *, worker: str, now: float, lease: float, limit: int) -> list[int]:
    """Take tasks that are due, and those whose worker is gone."""
    values = {"worker": worker, "now": now, "until": now + lease, "limit": limit}
    return [row[0] for row in db.run("feedback_claim", **values).fetchall()]


def decided(db: Connection, id_: int, *, worker: str, decision: str, now: float) -> bool:
    """Keep the decision before it is carried out; False if somebody else has the task."""
    values = {"id": id_, "worker": worker, "decision": decision, "now": now}
    return db.run("feedback_decided", **values).fetchone() is not None


def done(
    db: Connection,
    id_: int,
    *,
    worker: str,
    status: Literal["applied", "skipped"],
    result: str,
    now: float,
) -> None:
    """The task has come to its end."""
    values = {"id": id_, "worker": worker, "status": status, "result": result, "now": now}
    db.run("feedback_done", **values)


def stumbled(db: Connection, id_: int, *, worker: str, error: str, due_at: float | None, now: float) -> None:
    """It did not work: due again at `due_at`, or given up (None)."""
    values = {
        "id": id_, "worker": worker, "error": error, "due_at": now if due_at is None else due_at, "now": now,
        "status": "failed" if due_at is None else "pending",
    }  # fmt: skip
    db.run("feedback_stumbled", **values)


def rolled_back(db: Connection, id_: int, *, status: Literal["rolled_back", "failed"], error: str, now: float) -> None:
    """Keep how the undoing went."""
    db.run("feedback_rolled_back", id=id_, status=status, error=error, now=now)


def get(db: Connection, id_: int) -> FeedbackTask | None:
    """A task."""
    row = db.run("feedback_get", id=id_).fetchone()
    return None if row is None else FeedbackTask(*row)


def listed(
    db: Connection, *, statuses: Sequence[str] | None, rollbacks: Sequence[str] | None,
    words: str | None, limit: int, offset: int,
) -> list[FeedbackTask]:  # fmt: skip
    """Tasks, the newest first."""
    values = {"statuses": optional_array(statuses), "rollbacks": optional_array(rollbacks), "words": words}
    rows = db.run("feedback_list", **values, limit=limit, offset=offset)
    return [FeedbackTask(*row) for row in rows]


def counts(db: Connection) -> dict[str, int]:
    """Status -> how many."""
    return dict(db.run("feedback_counts").fetchall())


def due(db: Connection, now: float) -> int:
    """Tasks that wait to be looked at now."""
    return db.run("feedback_due", now=now).fetchone()[0]


def messages(
    db: Connection, chat: int, *, since: float, now: float, but: Iterable[int], limit: int
) -> list[tuple[str, str]]:
    """(speaker, text) of what was said in the chat from a time on, the oldest first, without these paragraphs."""
    values = {"chat": chat, "since": since, "now": now, "but": array(but), "limit": limit}
    return db.run("feedback_messages", **values).fetchall()

"""Background work as leased rows: what is to be derived, by whom, and how it went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .ports import Connection
from .queries import array

__all__ = ["NO_PARAGRAPH", "Claim", "DeriveKind", "DeriveTask"]

DeriveKind = Literal["episodes", "profile"]
NEVER_ENDED = "It was begun {} times and never came to an end: the process may have died of it each time."
NO_PARAGRAPH = 9e15
"""Where the news of a profile begins that is no paragraph: after every one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A task that this worker holds; `since` is where the news begins, None for everything.

    Episodes count it in epoch seconds, profiles in paragraph rows.
    """

    key: int
    revision: int
    since: float | None
    attempts: int


@dataclass(frozen=True, slots=True)
class DeriveTask:
    """How a task stands; times in epoch seconds."""

    key: int
    revision: int
    status: str
    attempts: int
    due_at: float
    error: str
    updated_at: float


def want(db: Connection, kind: DeriveKind, key: int, *, since: float | None, due_at: float, now: float) -> None:
    """Ask for the work, from `since` on; one that waits already becomes due at the earlier of both times."""
    db.run("derive_want", kind=kind, key=key, since=since, due_at=due_at, now=now)


def claim(
    db: Connection, kind: DeriveKind, *, worker: str, now: float, lease: float, most: int, limit: int
) -> list[Claim]:
    """Take up to `limit` tasks that are due, for `lease` seconds; those that failed `most` times are left alone.

    Of those that a worker who is gone had begun it takes one at a time: one that ends the process takes no other
    along, and after `most` tries it counts as failed.
    """
    db.run("derive_give_up", kind=kind, worker=worker, now=now, most=most, error=NEVER_ENDED.format(most))
    taking = {"kind": kind, "worker": worker, "now": now, "until": now + lease}
    left = db.run("derive_claim_left", **taking).fetchall()
    due = left or db.run("derive_claim", **taking, most=most, limit=limit).fetchall()
    return [Claim(*row) for row in due]


def release(db: Connection, kind: DeriveKind, *, worker: str, now: float) -> None:
    """Whatever this worker holds waits again, as if it had not been begun."""
    db.run("derive_release", kind=kind, worker=worker, now=now)


def any_due(db: Connection, kind: DeriveKind, *, worker: str, now: float, most: int) -> bool:
    """Whether `claim` would find anything."""
    return db.run("derive_any_due", kind=kind, worker=worker, now=now, most=most).fetchone() is not None


def hurry(db: Connection, kind: DeriveKind, now: float) -> None:
    """What waits becomes due; what failed keeps its pause."""
    db.run("derive_hurry", kind=kind, now=now)


def done(db: Connection, kind: DeriveKind, claim: Claim, *, worker: str, now: float) -> bool:
    """The work is stored in this transaction; False if the task is no longer this worker's."""
    values = {"kind": kind, "key": claim.key, "revision": claim.revision, "worker": worker, "now": now}
    return db.run("derive_done", **values).fetchone() is not None


def failed(
    db: Connection, kind: DeriveKind, claim: Claim, *, worker: str, error: str, due_at: float, now: float
) -> None:
    """The work stumbled; it is due again at `due_at`."""
    db.run("derive_failed", kind=kind, key=claim.key, worker=worker, error=error, due_at=due_at, now=now)


def counts(db: Connection, kind: DeriveKind) -> dict[str, int]:
    """Status -> how many tasks."""
    return dict(db.run("derive_counts", kind=kind).fetchall())


def open_count(db: Connection, kind: DeriveKind) -> int:
    """Tasks that wait or are under way."""
    return db.run("derive_open", kind=kind).fetchone()[0]


def listed(db: Connection, kind: DeriveKind, *, status: str | None, limit: int, offset: int) -> list[DeriveTask]:
    """Tasks, the last touched first."""
    return [DeriveTask(*row) for row in db.run("derive_list", kind=kind, status=status, limit=limit, offset=offset)]


def forget(db: Connection, kind: DeriveKind, keys: Iterable[int]) -> None:
    """Drop tasks whose object is gone."""
    db.run("derive_forget", kind=kind, keys=array(keys))

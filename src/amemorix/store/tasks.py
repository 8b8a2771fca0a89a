"""Background work as leased rows: what is to be derived, by whom, and how it went."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Literal

from ..clock import Clock
from ..errors import MemoryFault
from .metadata_store import MetadataStore
from .ports import Connection
from .queries import array

__all__ = ["NO_PARAGRAPH", "Claim", "DeriveKind", "DeriveTask", "TaskWorker"]

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


class TaskWorker:
    """Claims the tasks of one kind, a batch at a time.

    Every batch has a name of its own: what one could neither end nor let go of, the next takes over.
    """

    def __init__(self, store: MetadataStore, kind: DeriveKind, *, clock: Clock, lease: float, most: int) -> None:
        self._store = store
        self._kind: DeriveKind = kind
        self._clock = clock
        self._lease = lease
        self._most = most
        self._name = ""

    @contextlib.asynccontextmanager
    async def batch(self, limit: int, *, hurry: bool = False, ahead: float = 0.0) -> AsyncGenerator[list[Claim]]:
        """Up to `limit` tasks that are due within `ahead` seconds; with `hurry` those that wait for more news too.

        Of those that a worker who is gone had begun it takes one at a time: one that ends the process takes no other
        along, and after as many tries as are allowed it counts as failed. A cancellation gives back what is held.
        """
        name = self._name = uuid.uuid4().hex
        try:
            now = self._clock.now() + ahead
            may_claim = await self._store.read(lambda db: self._any_due(db, now, hurry=hurry))
            yield await self._store.write(lambda db: self._claim(db, now, limit, hurry=hurry)) if may_claim else []
        except asyncio.CancelledError:
            with contextlib.suppress(MemoryFault):
                now = self._clock.now()
                await self._store.write(lambda db: db.run("derive_release", kind=self._kind, worker=name, now=now))
            raise

    def _any_due(self, db: Connection, now: float, *, hurry: bool) -> bool:
        """Most looks find nothing, and should write nothing."""
        if hurry and open_count(db, self._kind):
            return True
        values = {"kind": self._kind, "worker": self._name, "now": now, "most": self._most}
        return db.run("derive_any_due", **values).fetchone() is not None

    def _claim(self, db: Connection, now: float, limit: int, *, hurry: bool) -> list[Claim]:
        if hurry:
            db.run("derive_hurry", kind=self._kind, now=now)
        error = NEVER_ENDED.format(self._most)
        db.run("derive_give_up", kind=self._kind, worker=self._name, now=now, most=self._most, error=error)
        values = {"kind": self._kind, "worker": self._name, "now": now, "until": now + self._lease}
        left = db.run("derive_claim_left", **values).fetchall()
        due = left or db.run("derive_claim", **values, most=self._most, limit=limit).fetchall()
        return [Claim(*row) for row in due]

    def done(self, db: Connection, claim: Claim) -> bool:
        """The work is stored in this transaction; False if the task is no longer this worker's."""
        values = {"kind": self._kind, "key": claim.key, "revision": claim.revision, "worker": self._name}
        return db.run("derive_done", **values, now=self._clock.now()).fetchone() is not None

    def failed(self, db: Connection, claim: Claim, error: str, pause: float) -> None:
        """The work failed, and is due again in `pause` seconds."""
        now = self._clock.now()
        values = {"kind": self._kind, "key": claim.key, "worker": self._name, "error": error}
        db.run("derive_failed", **values, due_at=now + pause, now=now)


def enqueue(db: Connection, kind: DeriveKind, key: int, *, since: float | None, due_at: float, now: float) -> None:
    """Ask for the work, from `since` on; one that waits already becomes due at the earlier of both times."""
    db.run("derive_want", kind=kind, key=key, since=since, due_at=due_at, now=now)


def counts(db: Connection, kind: DeriveKind) -> dict[str, int]:
    """Status -> how many tasks."""
    return dict.fromkeys(("pending", "processing", "completed", "failed"), 0) | dict(
        db.run("derive_counts", kind=kind).fetchall()
    )


def open_count(db: Connection, kind: DeriveKind) -> int:
    """Tasks that wait or are under way."""
    return db.run("derive_open", kind=kind).fetchone()[0]


def listed(db: Connection, kind: DeriveKind, *, status: str | None, limit: int, offset: int) -> list[DeriveTask]:
    """Tasks, the last touched first."""
    return [DeriveTask(*row) for row in db.run("derive_list", kind=kind, status=status, limit=limit, offset=offset)]


def forget(db: Connection, kind: DeriveKind, keys: Iterable[int]) -> None:
    """Drop tasks whose object is gone."""
    db.run("derive_forget", kind=kind, keys=array(keys))

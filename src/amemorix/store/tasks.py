"""Background work as leased rows: what is to be done, whose turn it is, who is at it, and how it went."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Literal

from ..clock import Clock
from ..errors import MemoryFault
from .metadata_store import MetadataStore
from .ports import Connection
from .queries import array

__all__ = ["Claim", "Task", "TaskKind", "TaskWorker"]

TaskKind = Literal["episodes", "feedback", "import", "tuning"]
WORDS: dict[TaskKind, tuple[str, str]] = {
    "episodes": ("pending", "processing"), "feedback": ("pending", "running"),
    "import": ("queued", "preparing"), "tuning": ("queued", "running"),
}  # fmt: skip
"""What users read of work that waits, and of work that was taken."""
NEVER_ENDED = "It was begun {} times and never came to an end: the process may have died of it each time."
UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class Claim:
    """A task that this worker holds; `attempts` counts this try, `since` is where the news begins, None for everything."""

    key: int
    revision: int
    since: float | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Task:
    """How a task stands; times in epoch seconds."""

    key: int
    revision: int
    status: str
    attempts: int
    due_at: float
    error: str
    updated_at: float


class TaskWorker:
    """Claims the tasks of one kind, a batch at a time, and says how they went.

    Every batch has a name of its own: what one could neither end nor let go of, the next takes over. A task that was begun
    `most` times without coming to an end or getting on counts as failed.
    """

    def __init__(
        self, store: MetadataStore, kind: TaskKind, *, clock: Clock, lease: float, most: int = UNLIMITED
    ) -> None:
        self._store = store
        self._kind: TaskKind = kind
        self._clock = clock
        self._lease = lease
        self._most = most
        self._name = ""

    @contextlib.asynccontextmanager
    async def batch(self, limit: int = 1, *, hurry: bool = False) -> AsyncGenerator[list[Claim]]:
        """Up to `limit` tasks that are due; with `hurry` those that wait for more news too.

        Of those that a worker who is gone had begun it takes one at a time: one that ends the process takes no other
        along, and after as many tries as are allowed it counts as failed. A cancellation gives back what is held.
        """
        name = self._name = uuid.uuid4().hex
        try:
            now = self._clock.now()
            may_claim = await self._store.read(lambda db: self._any_due(db, now, hurry=hurry))
            yield await self._store.write(lambda db: self._claim(db, now, limit, hurry=hurry)) if may_claim else []
        except asyncio.CancelledError:
            values = {"kind": self._kind, "worker": name, "status": WORDS[self._kind][0], "now": self._clock.now()}
            with contextlib.suppress(MemoryFault):
                await self._store.write(lambda db: db.run("task_release", **values))
            raise

    def _any_due(self, db: Connection, now: float, *, hurry: bool) -> bool:
        """Most looks find nothing, and should write nothing."""
        if hurry and open_count(db, self._kind):
            return True
        values = {"kind": self._kind, "worker": self._name, "now": now, "most": self._most}
        return bool(db.run("task_any_due", **values).fetchone()[0])

    def _claim(self, db: Connection, now: float, limit: int, *, hurry: bool) -> list[Claim]:
        if hurry:
            db.run("task_hurry", kind=self._kind, now=now)
        values = {"kind": self._kind, "worker": self._name, "now": now}
        db.run("task_give_up", **values, most=self._most, error=NEVER_ENDED.format(self._most))
        values |= {"until": now + self._lease, "status": WORDS[self._kind][1]}
        left = db.run("task_claim_left", **values).fetchall()
        due = left or db.run("task_claim", **values, most=self._most, limit=limit).fetchall()
        return [Claim(*row) for row in due]

    def hold(self, db: Connection, claim: Claim, *, progress: bool = False) -> str | None:
        """Begin the lease again; the status, None if the task is no longer this worker's.

        With `progress` something of it is stored in this transaction: tries before it do not count any more.
        """
        now, own = self._clock.now(), {"kind": self._kind, "key": claim.key}
        row = db.run("task_hold", **own, worker=self._name, now=now, until=now + self._lease).fetchone()
        if row is not None and progress:
            db.run("task_progressed", **own)
        return None if row is None else row[0]

    def done(
        self, db: Connection, claim: Claim, status: str = "completed", *, error: str = "", attempts: int = 0
    ) -> bool:
        """The work is at its end with this transaction; False if the task is no longer this worker's."""
        values = {"kind": self._kind, "key": claim.key, "revision": claim.revision, "worker": self._name}
        outcome = {"status": status, "error": error, "attempts": attempts, "now": self._clock.now()}
        return db.run("task_done", **values, **outcome).fetchone() is not None

    def failed(self, db: Connection, claim: Claim, error: str, pause: float, status: str = "failed") -> None:
        """The work failed, and is due again in `pause` seconds."""
        now = self._clock.now()
        values = {"kind": self._kind, "key": claim.key, "worker": self._name, "error": error}
        db.run("task_failed", **values, status=status, due_at=now + pause, now=now)

    def retry(self, db: Connection, claim: Claim, error: str, pause: float, most: int | None = None) -> bool:
        """The work failed, and waits `pause` seconds, twice as long after each further try; False if it was the last of
        `most` tries and has failed for good."""
        row = db.run("task_tries", kind=self._kind, key=claim.key, worker=self._name).fetchone()
        tries = 1 if row is None else row[0]
        if tries >= (most or self._most):
            return not self.done(db, claim, "failed", error=error, attempts=tries)
        self.failed(db, claim, error, pause * 2 ** (tries - 1), WORDS[self._kind][0])
        return True


def enqueue(db: Connection, kind: TaskKind, key: int, *, since: float | None = None, due_at: float, now: float) -> None:
    """Ask for the work, from `since` on; one that waits already becomes due at the earlier of both times."""
    db.run("task_want", kind=kind, key=key, since=since, status=WORDS[kind][0], due_at=due_at, now=now)


def cancel(db: Connection, kind: TaskKind, key: int, *, now: float, at_once: bool = False) -> str | None:
    """Cancel what waits, and `at_once` what is under way; else that is asked to end. The new status, None if none was."""
    row = db.run("task_cancel", kind=kind, key=key, at_once=at_once, now=now).fetchone()
    return None if row is None else row[0]


def note_error(db: Connection, kind: TaskKind, key: int, error: str, now: float) -> None:
    """What went wrong with a task after its end; empty for nothing."""
    db.run("task_noted", kind=kind, key=key, error=error, now=now)


def counts(db: Connection, kind: TaskKind) -> Counter[str]:
    """Status -> how many tasks."""
    return Counter(dict(db.run("task_counts", kind=kind).fetchall()))


def open_count(db: Connection, kind: TaskKind, due_at: float | None = None) -> int:
    """Tasks that wait or are under way; only those due by then."""
    return db.run("task_open", kind=kind, due_at=due_at).fetchone()[0]


def listed(db: Connection, kind: TaskKind, *, status: str | None, limit: int, offset: int) -> list[Task]:
    """Tasks, the last touched first."""
    return [Task(*row) for row in db.run("task_list", kind=kind, status=status, limit=limit, offset=offset)]


def forget(db: Connection, kind: TaskKind, keys: Iterable[int]) -> None:
    """Drop tasks whose object is gone."""
    db.run("task_forget", kind=kind, keys=array(keys))


def scrub(db: Connection, kind: TaskKind, keys: Iterable[int | str], *, status: str = "") -> None:
    """Empty the errors of tasks; those that are open get the status, if one is given."""
    db.run("task_scrub", kind=kind, keys=array(keys), open=status)

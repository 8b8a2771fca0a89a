"""Work in the background: loops that make rows out of rows, how they rest, retry, give way to calls, and come to their end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Executor
from typing import Any, TypeVar

from ..errors import MemoryFault
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection

__all__ = ["UNLIMITED", "ChangeFollower", "end_tasks", "run_forever", "run_to_completion"]

log = logging.getLogger(__name__)
T = TypeVar("T")
BUSY_SHARE = 20.0
"""Seconds of rest for each second of work while something that callers wait for goes on."""
LONGEST_REST = 60.0
UNLIMITED = 1 << 62


async def run_forever(
    step: Callable[[], Awaitable[bool]],
    *,
    what: str,
    pause: float | Callable[[], float],
    idle_share: float,
    is_busy: Callable[[], bool] = lambda: False,
    busy_share: float = BUSY_SHARE,
    wake: asyncio.Event | None = None,
) -> None:
    """Take step after step, until cancelled.

    After one that did something it rests `idle_share` seconds for each second of work, so that calls go first, and
    `busy_share` while `is_busy`; after one that found nothing `pause` seconds; after failures ever longer. `wake` ends the first two.
    """
    next_pause = pause if callable(pause) else lambda: pause
    first = rest = next_pause()
    while True:
        if wake is not None:
            wake.clear()  # what comes while the step is taken is found by the next, at once
        started = time.perf_counter()
        try:
            worked = await step()
        except asyncio.CancelledError:
            raise
        except Exception as exc:
            if isinstance(exc, MemoryFault):
                log.warning("%s failed, retrying: %s", what, exc)
            else:
                log.exception("%s failed, retrying", what)
            await asyncio.sleep(rest)
            rest = max(first, min(rest * 2, LONGEST_REST))
            continue
        rest = first
        spent = time.perf_counter() - started
        share = max(idle_share, busy_share) if is_busy() else idle_share
        resting = spent * share if worked else next_pause()
        if wake is None or not resting:
            await asyncio.sleep(resting)
        else:
            with contextlib.suppress(TimeoutError):
                # not wait_for: before Python 3.12 it can swallow a cancellation
                async with asyncio.timeout(resting):
                    await wake.wait()


async def run_to_completion(
    pool: Executor, work: Callable[[], T], *, when_cancelled: Callable[[], None] | None = None
) -> T:
    """Do it on a thread of the pool; a cancellation waits for its end, so that nothing works on files that nobody minds.

    `when_cancelled` may tell the work to end soon. What it raises then counts as seen.
    """
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if when_cancelled is not None:
            when_cancelled()
        await asyncio.wait([future])
        raise


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait for their end; those of another loop, which does not run any more, have ended with it."""
    here = asyncio.get_running_loop()
    mine = [task for task in tasks if task.get_loop() is here]
    for task in mine:
        task.cancel()
    await asyncio.gather(*mine, return_exceptions=True)


class ChangeFollower(ABC):
    """Derives rows from what the change log names, step by step, one at a time.

    A step stores its place in the log (under `cursor_key`) in the transaction that stores what it derives, so that a
    crash loses no step and repeats none.
    """

    def __init__(
        self, store: MetadataStore, *, background: Executor, what: str, pause: float | Callable[[], float],
        idle_share: float, cursor_key: str = "", enabled: bool = True,
    ) -> None:  # fmt: skip
        self._store = store
        self._background = background
        self._what = what
        self._pause = pause
        self._idle_share = idle_share
        self._cursor_key = cursor_key
        self._enabled = enabled
        self._one = asyncio.Lock()

    @abstractmethod
    async def _advance(self) -> bool:
        """Derive from the next changes; False if there is nothing to do. One runs at a time."""

    async def step(self) -> bool:
        """Do the next step; False if there is nothing to do."""
        if not self._enabled:
            return False
        async with self._one:
            return await self._advance()

    async def run(self) -> None:
        """Derive until cancelled."""
        await self._repeat(self.step)

    async def _repeat(self, step: Callable[[], Awaitable[bool]]) -> None:
        await run_forever(
            step, what=self._what, pause=self._pause, idle_share=self._idle_share,
            is_busy=lambda: self._store.importing,
        )  # fmt: skip

    async def drain(self) -> int:
        """Derive until nothing is left to do; returns how many steps that took."""
        steps = 0
        while self._enabled and await self._drain_step():
            steps += 1
        return steps

    async def _drain_step(self) -> bool:
        return await self.step()

    async def _read_aside(self, work: Callable[[Connection], T]) -> T:
        """Read beside the event loop, on the thread for background work."""
        return await asyncio.get_running_loop().run_in_executor(self._background, self._store.read_here, work)

    async def idle(self) -> None:
        """Wait until what was read before this call has been stored."""
        async with self._one:
            pass

    def position(self, db: Connection) -> int:
        """The last change that was read."""
        return int((change_log.get(db, self._cursor_key) or "0").partition(":")[0])

    def lag(self, db: Connection) -> int:
        """Changes not read yet; none while it is switched off."""
        return change_log.bounds(db)[1] - self.position(db) if self._enabled else 0

    def cursor(self, db: Connection) -> int:
        """Up to where this needs the change log no more; unlimited while it is switched off."""
        return self.position(db) if self._enabled else UNLIMITED

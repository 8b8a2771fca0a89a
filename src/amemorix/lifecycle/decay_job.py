"""The rounds over what has expired or faded: a few rows at a time, and nothing twice."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from ..audit_context import Act, acting_as
from ..clock import Clock
from ..config.model import Lifecycle
from ..errors import MemoryFault
from ..search.retention import DAY
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import retention as retention_rows
from ..store.rows.retention import Memory, MemoryKind
from . import trash as trash_rows
from .service import LifecycleService, snapshot

__all__ = ["LifecycleRounds", "Round"]

log = logging.getLogger(__name__)
LAST_ROUND = "lifecycle_round_at"
TICK_SECONDS = 1.0
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that a round never crowds out calls."""
LONG_AGO = -1e300
BY = "lifecycle"


@dataclass(frozen=True, slots=True)
class Round:
    """How many memories a round moved."""

    at: float
    expired: int = 0
    faded: int = 0
    recycled: int = 0


class LifecycleRounds:
    """Moves what has expired into the recycle bin, puts faded relations to rest, and later into the bin too.

    Each batch is one transaction that looks again before it moves anything, so a crash loses and repeats nothing.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        lifecycle: LifecycleService,
        settings: Lifecycle,
        clock: Clock,
        background: Executor,
    ) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._settings = settings
        self._clock = clock
        self._background = background
        self._one = asyncio.Lock()
        self._last: float | None = None

    async def run(self) -> None:
        """Write waiting uses and make rounds for ever; ends when cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self._lifecycle.flush()
                if await self._is_due():
                    await self.round()
            except asyncio.CancelledError:
                raise
            except MemoryFault as exc:
                log.warning("a round of the life cycle stumbled; it goes on in a while: %s", exc)
            except Exception:
                log.exception("a round of the life cycle stumbled; it goes on in a while")

    async def last(self) -> float | None:
        """When the last round ended, in epoch seconds; None if there was none."""
        kept = await self._store.read(lambda db: change_log.get(db, LAST_ROUND))
        return None if kept is None else float(kept)

    async def round(self) -> Round:
        """Look at everything that is due now."""
        async with self._one:
            now = self._clock.now()
            with acting_as(Act("background", "lifecycle", BY, "memory", now)):
                done = await self._round(now)
            await self._store.write(lambda db: change_log.put(db, LAST_ROUND, repr(now)))
            self._last = now
            return done

    async def _round(self, now: float) -> Round:
        expired = await self._repeated(lambda db: self._expire(db, now))
        faded = recycled = 0
        if self._settings.enabled:
            faded = await self._fade_by_age(now) + await self._fade_weakened(now)
            recycled = await self._repeated(lambda db: self._recycle(db, now))
        return Round(now, expired, faded, recycled)

    async def _is_due(self) -> bool:
        if self._last is None:
            self._last = await self.last()
        return self._last is None or self._clock.now() - self._last >= self._settings.interval_minutes * 60

    # steps, each a transaction

    def _expire(self, db: Connection, now: float) -> int:
        ids = trash_rows.expired(db, now, self._settings.batch)
        if ids:
            trash_rows.discard(db, ids, "expired", now)
            self._log(db, "expire", "paragraph", [{"id": f"p{id_}"} for id_ in ids], now)
        return len(ids)

    def _recycle(self, db: Connection, now: float) -> int:
        before = now - self._settings.recycle_after_days * DAY
        ids = trash_rows.faded(db, before, self._settings.batch)
        if ids:
            trash_rows.recycle(db, ids, now)
            self._log(db, "recycle", "relation", [{"id": f"r{id_}"} for id_ in ids], now)
        return len(ids)

    def _rest(self, db: Connection, ids: Sequence[int], now: float) -> int:
        rules = self._lifecycle.rules
        memories = retention_rows.memories(db, [("relation", id_) for id_ in ids], None)
        due = [
            memory
            for memory in memories.values()
            if memory.state(now) == "active" and rules.faded("relation", memory.retention, now)
        ]
        if due:
            trash_rows.rest(db, [memory.id for memory in due], "decay", now)
            self._log(db, "decay", "relation", [self._before(memory, now) for memory in due], now)
        return len(due)

    def _before(self, memory: Memory, now: float) -> dict[str, Any]:
        return {"id": memory.key, "before": snapshot(memory, self._lifecycle.rules, now)}

    def _log(self, db: Connection, action: str, kind: MemoryKind, items: Sequence[dict[str, Any]], now: float) -> None:
        retention_rows.log(db, action, items, kinds=[kind], requested_by=BY, now=now)

    # batches

    async def _repeated(self, step: Callable[[Connection], int]) -> int:
        """Do the step until it has less to do than fits into one batch."""
        return await self._batches(lambda: self._store.write(step))

    async def _fade_by_age(self, now: float) -> int:
        cutoff = now - self._lifecycle.rules.span(1.0)
        after, moved = (LONG_AGO, 0), 0

        async def batch() -> int:
            nonlocal after, moved
            start = after
            rows = await self._read(
                lambda db: retention_rows.old_relations(db, cutoff, now, start, self._settings.batch)
            )
            if rows:
                after = rows[-1]
                moved += await self._store.write(lambda db: self._rest(db, [id_ for _, id_ in rows], now))
            return len(rows)

        await self._batches(batch)
        return moved

    async def _fade_weakened(self, now: float) -> int:
        after, moved = 0, 0

        async def batch() -> int:
            nonlocal after, moved
            start = after
            ids = await self._read(lambda db: retention_rows.weakened_relations(db, now, start, self._settings.batch))
            if ids:
                after = ids[-1]
                moved += await self._store.write(lambda db: self._rest(db, ids, now))
            return len(ids)

        await self._batches(batch)
        return moved

    async def _batches(self, batch: Callable[[], Awaitable[int]]) -> int:
        """Do batches, with a rest after each, until one is not full; the sum of what they return."""
        total = 0
        while True:
            started = time.perf_counter()
            done = await batch()
            total += done
            if done < self._settings.batch:
                return total
            await asyncio.sleep((time.perf_counter() - started) * IDLE_SHARE)

    async def _read(self, unit: Callable[[Connection], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._background, self._store.read_here, unit)

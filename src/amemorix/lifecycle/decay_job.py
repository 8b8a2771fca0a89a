"""The rounds over what has expired or faded: a few rows at a time, and nothing twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from ..audit_context import Act, acting_as
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Lifecycle
from ..ids import paragraph_key
from ..search.retention import DAY
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import retention as retention_rows
from .service import LifecycleService, discard, set_relations, snapshot

__all__ = ["LifecycleRounds", "Round"]

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
        self._one_at_a_time = asyncio.Lock()
        self._last: float | None = None

    async def run(self) -> None:
        """Write waiting uses and make rounds for ever; ends when cancelled."""

        async def step() -> bool:
            await self._lifecycle.flush()
            if self._last is None:
                self._last = await self.last()
            if self._last is None or self._clock.now() - self._last >= self._settings.interval_minutes * 60:
                await self.round()
            return False

        await asyncio.sleep(TICK_SECONDS)
        await run_forever(step, what="decay", pause=TICK_SECONDS, idle_share=0.0)

    async def last(self) -> float | None:
        """When the last round ended, in epoch seconds; None if there was none."""
        kept = await self._store.read(lambda db: change_log.get(db, LAST_ROUND))
        return None if kept is None else float(kept)

    async def round(self) -> Round:
        """Look at everything that is due now."""
        async with self._one_at_a_time:
            now = self._clock.now()
            with acting_as(Act("background", "lifecycle", BY, "memory", now)):
                done = await self._round(now)
            await self._store.write(lambda db: change_log.put(db, LAST_ROUND, repr(now)))
            self._last = now
            return done

    async def _round(self, now: float) -> Round:
        most = self._settings.batch
        recycled_before = now - self._settings.recycle_after_days * DAY

        def expire(db: Connection) -> int:
            ids = [row[0] for row in db.run("paragraphs_expired", now=now, limit=most)]
            if ids:
                discard(db, ids, "expired", now)
                items = [{"id": paragraph_key(id_)} for id_ in ids]
                retention_rows.log(db, "expire", items, kinds=["paragraph"], requested_by=BY, now=now)
            return len(ids)

        def recycle(db: Connection) -> int:
            ids = [row[0] for row in db.run("relations_to_recycle", before=recycled_before, limit=most)]
            if ids:
                db.run("delete_relations", ids=array(ids), now=now)
                items = [{"id": f"r{id_}"} for id_ in ids]
                retention_rows.log(db, "recycle", items, kinds=["relation"], requested_by=BY, now=now)
            return len(ids)

        expired = await self._in_batches(lambda: self._store.write(expire))
        if not self._settings.enabled:
            return Round(now, expired)
        cutoff = now - self._lifecycle.rules.span(1.0)
        faded = await self._fade(
            (LONG_AGO, 0), lambda db, after: retention_rows.old_relations(db, cutoff, now, after, most), now
        )
        faded += await self._fade(
            (0,), lambda db, after: [(id_,) for id_ in retention_rows.weakened_relations(db, now, after[0], most)], now
        )
        return Round(now, expired, faded, await self._in_batches(lambda: self._store.write(recycle)))

    async def _fade(self, first: Any, find: Callable[[Connection, Any], Sequence[Any]], now: float) -> int:
        """Put to rest what has faded among the relations that are found past a row, its last column the relation."""
        after, moved = first, 0

        async def batch() -> int:
            nonlocal after, moved
            start, loop = after, asyncio.get_running_loop()
            rows = await loop.run_in_executor(self._background, self._store.read_here, lambda db: find(db, start))
            if rows:
                after = rows[-1]
                moved += await self._store.write(lambda db: self._rest(db, [row[-1] for row in rows], now))
            return len(rows)

        await self._in_batches(batch)
        return moved

    def _rest(self, db: Connection, ids: Sequence[int], now: float) -> int:
        rules = self._lifecycle.rules
        memories = retention_rows.memories(db, [("relation", id_) for id_ in ids], None)
        due = [
            one for one in memories.values()
            if one.state(now) == "active" and rules.faded("relation", one.retention, now)
        ]  # fmt: skip
        if due:
            set_relations(db, [memory.id for memory in due], "decay", now)
            items = [{"id": memory.key, "before": snapshot(memory, rules, now)} for memory in due]
            retention_rows.log(db, "decay", items, kinds=["relation"], requested_by=BY, now=now)
        return len(due)

    async def _in_batches(self, batch: Callable[[], Awaitable[int]]) -> int:
        """Do batches, with a rest after each, until one is not full; the sum of what they return."""
        total = 0
        while True:
            started = time.perf_counter()
            done = await batch()
            total += done
            if done < self._settings.batch:
                return total
            await asyncio.sleep((time.perf_counter() - started) * IDLE_SHARE)

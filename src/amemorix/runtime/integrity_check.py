"""The integrity check in the background: every page of the database is looked at once a week, slowly, and the result is kept."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

from ..background.change_follower import run_forever, run_to_completion
from ..clock import Clock
from ..config.model import Advanced
from ..errors import NotReady, StorageFailure
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import interruptible
from ..store.rows import integrity

__all__ = ["IntegrityCheck", "IntegrityService"]

log = logging.getLogger(__name__)
T = TypeVar("T")
LAST = "integrity_check"
DAY, HOUR = 86_400.0, 3600.0
START_SECONDS = 600.0
"""So long after the opening it begins at the earliest: a program that asks something and ends does not look."""
TICK_SECONDS = 60.0
PIECE_SECONDS = 0.003
"""Work between two rests."""
REST_SHARE = 9.0
"""Seconds of rest for each second of work: a tenth of one core."""
LONGEST_REST = 0.25
MOST_PAGES = 20
"""Damaged pages that are named."""


@dataclass(frozen=True, slots=True)
class IntegrityCheck:
    """One look through all pages, as it is kept; times in epoch seconds."""

    history: str
    """The database and the restores it went through: of another one it says nothing."""
    at: float
    seconds: float
    damage: tuple[str, ...] = ()


class IntegrityService:
    """Looks for damage: of an encrypted database the HMAC of each page, of any the structure of each table and its indexes.

    Reads beside all other work and writes nothing but the result; a purge, a backup or a rotation goes first.
    """

    def __init__(self, store: MetadataStore, *, settings: Advanced, clock: Clock) -> None:
        self._store = store
        self._days = settings.integrity_check_days
        self._clock = clock
        self._pool = ThreadPoolExecutor(1, "amemorix-integrity")
        self._stopping = threading.Event()
        self._one_at_a_time = asyncio.Lock()
        self._met = 0
        self._latest: IntegrityCheck | None = None

    @property
    def days(self) -> float:
        """Days between two checks; 0 if none is made."""
        return self._days

    async def run(self) -> None:
        """Check as often as configured, for ever; ends when cancelled."""
        every = self._days * DAY
        if every:
            await asyncio.sleep(min(START_SECONDS, every))
            await run_forever(self.due, what="the integrity check", pause=min(TICK_SECONDS, every), idle_share=0)

    async def due(self) -> bool:
        """Check if it is time, or if a call has met damage since; whether it was done."""
        last, now = await self.last(), self._clock.now()
        age = now - last.at if last and last.at <= now else None
        met = self._store.damage_met > self._met and (age is None or age >= HOUR)
        if not self._days or self._store.exchanging or (age is not None and age < self._days * DAY and not met):
            return False
        await self.look()
        return True

    async def last(self) -> IntegrityCheck | None:
        """The last check of this database; None if there was none. Raises StorageFailure."""
        if self._latest:
            return self._latest
        kept = await self._store.read(lambda db: change_log.get(db, LAST))
        if kept is None:
            return None
        held: dict[str, Any] = json.loads(kept)
        found = IntegrityCheck(held["history"], held["at"], held["seconds"], tuple(held["damage"]))
        return found if found.history == self._store.history else None

    async def look(self, *, paced: bool = True) -> IntegrityCheck:
        """Look through everything now, with rests if paced. Raises Conflict beside a restore.

        The result is kept in the database, if that is not too damaged for it.
        """
        async with self._one_at_a_time:
            self._met, now, started = self._store.damage_met, self._clock.now(), time.perf_counter()
            rest = _Rest(self._store, paced=paced)

            def breathe() -> None:
                rest()
                if self._stopping.is_set():
                    raise NotReady("The memory is being closed.")

            suspects = await self._aside(lambda: self._store.unsound_pages(breathe))
            unsound = await self._store.still_unsound(suspects)
            found = [f"page {number} is not what was written" for number in unsound[:MOST_PAGES]]
            if len(unsound) > MOST_PAGES:
                found.append(f"{len(unsound) - MOST_PAGES:,} further pages are not what was written")
            tables, more = await self._looked_at("tables", integrity.tables, rest)
            found += more
            for table in tables:
                lines, more = await self._looked_at(table, partial(integrity.damage_of, table=table), rest)
                found += [*(f"{table}: {line}" for line in lines), *more]
            self._latest = done = IntegrityCheck(
                self._store.history, now, round(time.perf_counter() - started, 3), tuple(found)
            )
            if found:
                log.error("%s is damaged: %s", self._store.files[0], "; ".join(found))
            try:
                await self._store.keep(LAST, json.dumps(asdict(done)))
            except StorageFailure as exc:
                log.warning("the result of the integrity check is not kept: %s", exc)
            return done

    async def _looked_at(
        self, what: str, look: Callable[[Connection], list[str]], rest: Callable[[], None]
    ) -> tuple[list[str], list[str]]:
        """(what the look says, why it could not go to its end); begun anew after what needs the files for itself.

        It holds a snapshot, under which a purge could not empty the log.
        """

        def ends() -> bool:
            rest()
            return self._stopping.is_set() or self._store.purging.locked()

        def unit(db: Connection) -> list[str]:
            with interruptible(db, ends, InterruptedError()):
                return look(db)

        while True:
            async with self._store.using_files():
                pass
            try:
                return await self._aside(lambda: self._store.examine_here(unit)), []
            except InterruptedError:
                if self._stopping.is_set():
                    raise NotReady("The memory is being closed.") from None
            except StorageFailure as exc:
                if not exc.details.get("damaged"):
                    raise
                return [], [f"{what}: {exc.__cause__}"]

    async def _aside(self, work: Callable[[], T]) -> T:
        try:
            return await run_to_completion(self._pool, work, when_cancelled=self._stopping.set)
        except asyncio.CancelledError:
            self._stopping.clear()
            raise

    def close(self) -> None:
        """Let go of the thread; a check under way ends."""
        self._stopping.set()
        self._pool.shutdown(wait=True)


class _Rest:
    """Lets a thread rest in proportion to what it has worked, and lets callers go first."""

    def __init__(self, store: MetadataStore, *, paced: bool) -> None:
        self._right_of_way = store.right_of_way
        self._paced = paced
        self._since = time.perf_counter()

    def __call__(self) -> None:
        worked = time.perf_counter() - self._since
        if worked < PIECE_SECONDS:
            return
        if self._paced:
            self._right_of_way.give_way()
            time.sleep(min(worked * REST_SHARE, LONGEST_REST))
        self._since = time.perf_counter()

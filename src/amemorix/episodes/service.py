"""The deriving of episodes: the change log says which sources moved, a leased row for each says that it is to be done."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..background.change_follower import for_ever
from ..clock import Clock
from ..config.model import Episode
from ..errors import MemoryFault
from ..ports import ChatModel
from ..store import changes as change_log
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.tasks import Claim
from . import deriving_rows
from .deriving_rows import Touched
from .grouping import Derived, EpisodeGrouping
from .model import EpisodeModelService

__all__ = ["CURSOR", "EpisodeService", "Worked"]

log = logging.getLogger(__name__)
CURSOR = "episodes_upto"
KIND = "episodes"
STEP = 1_000
"""Changes taken up at a time."""
BATCH, BATCH_PARAGRAPHS = 16, 4_000
"""Sources claimed at a time; paragraphs read before what has been worked out is stored."""
IDLE_SHARE = 1.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
EVERYTHING = (-math.inf, math.inf)
Spans = Mapping[int, Sequence[tuple[float, float]]]
"""Source -> the stretches of time in which it has changed."""


class _TakenOver(Exception):
    """Another worker has the task now: what was worked out is thrown away."""


@dataclass(frozen=True, slots=True)
class Worked:
    """Pieces of work done and failed."""

    done: int = 0
    failed: int = 0

    def __add__(self, other: Worked) -> Worked:
        return Worked(self.done + other.done, self.failed + other.failed)


class EpisodeService:
    """Keeps episodes in step with their paragraphs; a crash loses no step and repeats none.

    Two steps: the changes after a cursor become news of their sources, and a task for each, in the transaction that
    moves the cursor; a source that is due is worked on outside any transaction, and what comes of it is stored in the
    one that ends its task. A long source is done in slices, each stored with what is left to do.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Episode,
        clock: Clock,
        background: Executor,
        chat: ChatModel | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._background = background
        self._worker = _new_name()
        self._one = asyncio.Lock()
        self.model = EpisodeModelService(
            store, settings=settings, clock=clock, chat=chat, background=background, exclusive=self._one
        )
        self._grouping = EpisodeGrouping(settings, has_model=self.model.available)

    async def run(self) -> None:
        """Derive for ever, and ask the chat model meanwhile; ends when cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._run(self._derive_next))
            group.create_task(self._run(self.model.step))

    async def _run(self, next_step: Callable[[], Awaitable[bool]]) -> None:
        async def step() -> bool:
            return self._settings.enabled and await next_step()

        await for_ever(
            step,
            what="deriving episodes",
            pause=self._settings.poll_interval_seconds,
            idle_share=IDLE_SHARE,
            gives_way=lambda: self._store.importing,
        )

    async def drain(self) -> None:
        """Derive until nothing is left to do but what waits for another try."""
        while self._settings.enabled and await self.step(hurry=True):
            pass

    async def step(self, *, hurry: bool = False) -> bool:
        """Do what is due, or (`hurry`) waits for more news, and ask the chat model once; False if there was nothing."""
        derived = await self._derive_next(hurry=hurry)
        return await self.model.step() or derived

    async def process(self, limit: int) -> Worked:
        """Do up to `limit` pieces of work now, those that wait for more news too; what was given up is tried again."""
        async with self._turn():
            while await self._take_up():
                pass
            await self._store.write(self._revive)
            done = Worked()
            while (left := limit - done.done - done.failed) > 0:
                some = await self._work(min(left, BATCH), hurry=True)
                if some == Worked():
                    break
                done += some
        return done

    async def _derive_next(self, *, hurry: bool = False) -> bool:
        async with self._turn():
            took = await self._take_up()
            while took and hurry and await self._take_up():
                pass
            return await self._work(BATCH, hurry=hurry) != Worked() or took

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """Only one works at a time; one that is cut short lets go of what it holds.

        Its name is used up all the same, so that the next may take over what it could not let go of.
        """
        async with self._one:
            try:
                yield
            except asyncio.CancelledError:
                worker, self._worker = self._worker, _new_name()
                await self._release(worker)
                raise

    async def _release(self, worker: str) -> None:
        now = self._clock.now()
        with contextlib.suppress(MemoryFault):
            await self._store.write(lambda db: task_rows.release(db, KIND, worker=worker, now=now))

    async def rebuild(self, sources: Sequence[int]) -> None:
        """Make the episodes of these sources anew, as soon as their turn comes."""
        await self._store.write(lambda db: self._want(db, dict.fromkeys(sources, (EVERYTHING,)), anew=True))

    async def rebuild_all(self) -> int:
        """The same for every source; returns how many there are."""

        def unit(db: Connection) -> int:
            sources = self._all_sources(db)
            self._want(db, dict.fromkeys(sources, (EVERYTHING,)), anew=True)
            return len(sources)

        return await self._store.write(unit)

    async def at_rest(self) -> None:
        """Wait until what was read before this call has been stored."""
        async with self._one:
            pass

    def lag(self, db: Connection) -> int:
        """Changes not taken up yet, and sources that wait to be worked on."""
        return self.changes(db) + task_rows.open_count(db, KIND)

    def changes(self, db: Connection) -> int:
        """Changes not taken up yet."""
        return change_log.bounds(db)[1] - self._cursor(db)

    def cursor(self, db: Connection) -> int:
        """How far the change log has been read; unlimited while episodes are switched off."""
        return self._cursor(db) if self._settings.enabled else 1 << 62

    def _cursor(self, db: Connection) -> int:
        return int(change_log.get(db, CURSOR) or 0)

    # taking up what has changed

    async def _take_up(self) -> bool:
        news = await self._store.read(self._read_news)
        if news is None:
            return False
        cursor, upto, spans = news
        await self._store.write(lambda db: self._note(db, cursor, upto, spans))
        return True

    def _read_news(self, db: Connection) -> tuple[int, int, Spans] | None:
        """(cursor, how far this reads, what has changed); None if nothing has."""
        cursor = self._cursor(db)
        floor, last = change_log.bounds(db)
        if cursor < floor:
            return cursor, last, dict.fromkeys(self._all_sources(db), (EVERYTHING,))
        if cursor < last:
            touched = deriving_rows.touched(db, cursor, STEP)
            return cursor, touched.upto if touched.upto > cursor else last, self._spans(db, touched)
        expired = deriving_rows.expired(db, self._clock.now(), STEP)
        return (cursor, cursor, self._spans(db, expired)) if expired.times else None

    def _all_sources(self, db: Connection) -> list[int]:
        found: list[int] = []
        while some := deriving_rows.sources(db, found[-1] if found else 0, STEP):
            found += some
        return found

    def _spans(self, db: Connection, touched: Touched) -> Spans:
        found = {source: [(at, at) for at in times] for source, times in touched.times.items()}
        for source, since, upto in deriving_rows.spans(db, touched.episodes):
            found.setdefault(source, []).append((since, upto))
        return {source: _merged(spans, self._settings.gap_hours * 3600) for source, spans in found.items()}

    def _note(self, db: Connection, cursor: int, upto: int, spans: Spans) -> None:
        """Store the news with the new cursor, unless the kernel that is being replaced was quicker."""
        if self._cursor(db) == cursor:
            self._want(db, spans)
            change_log.put(db, CURSOR, str(upto))

    def _want(self, db: Connection, news: Spans, *, anew: bool = False) -> None:
        now = self._clock.now()
        due = now if anew else now + self._settings.debounce_seconds
        for source, spans in news.items():
            since = min(since for since, _ in spans)
            if deriving_rows.add_news(db, source, spans, anew=anew):
                task_rows.want(db, KIND, source, since=since, due_at=due, now=now)

    def _revive(self, db: Connection) -> None:
        """What has failed becomes due, with all its tries."""
        now = self._clock.now()
        for task in task_rows.listed(db, KIND, status="failed", limit=STEP, offset=0):
            task_rows.want(db, KIND, task.key, since=None, due_at=now, now=now)

    # working

    async def _work(self, limit: int, *, hurry: bool) -> Worked:
        """Claim sources and work on them one after the other; what is worked out is stored together."""
        claims: list[Claim] = []
        if await self._store.read(lambda db: self._is_due(db, hurry=hurry)):
            claims = await self._store.write(lambda db: self._claim(db, limit, hurry=hurry))
        worked, ready = Worked(), list[tuple[Claim, Derived]]()
        for claim in claims:
            try:
                ready.append((claim, await self._derive(claim.key)))
            except MemoryFault as exc:
                log.warning("the episodes of source %d could not be made: %s", claim.key, exc)
                worked += await self._failed(claim, exc)
            except Exception as exc:
                log.exception("the episodes of source %d could not be made", claim.key)
                worked += await self._failed(claim, exc)
            if sum(derived.read for _, derived in ready) >= BATCH_PARAGRAPHS:
                worked += await self._keep_all(ready)
                ready = []
        return worked + await self._keep_all(ready)

    def _is_due(self, db: Connection, *, hurry: bool) -> bool:
        """Whether there may be anything to claim: most looks find nothing, and should write nothing."""
        now, most = self._clock.now(), self._settings.max_attempts
        if hurry and task_rows.open_count(db, KIND):
            return True
        return task_rows.any_due(db, KIND, worker=self._worker, now=now, most=most)

    def _claim(self, db: Connection, limit: int, *, hurry: bool) -> list[Claim]:
        now, settings = self._clock.now(), self._settings
        if hurry:
            task_rows.hurry(db, KIND, now)
        return task_rows.claim(
            db, KIND, worker=self._worker, now=now, lease=settings.lease_seconds, most=settings.max_attempts,
            limit=limit,
        )  # fmt: skip

    async def _derive(self, source: int) -> Derived:
        now = self._clock.now()

        def work() -> Derived:
            return self._store.read_here(lambda db: self._grouping.derive(db, source, now))

        return await asyncio.get_running_loop().run_in_executor(self._background, work)

    async def _keep_all(self, ready: Iterable[tuple[Claim, Derived]]) -> Worked:
        """Store every piece of work in a unit of its own; they share a commit."""
        kept = await asyncio.gather(*(self._keep(claim, derived) for claim, derived in ready))
        return sum(kept, Worked())

    async def _keep(self, claim: Claim, derived: Derived) -> Worked:
        try:
            await self._store.write(lambda db: self._store_work(db, claim, derived))
        except _TakenOver:
            return Worked()
        except MemoryFault as exc:
            log.warning("the episodes of source %d could not be stored: %s", claim.key, exc)
            return await self._failed(claim, exc)
        except Exception as exc:
            log.exception("the episodes of source %d could not be stored", claim.key)
            return await self._failed(claim, exc)
        return Worked(done=1)

    def _store_work(self, db: Connection, claim: Claim, derived: Derived) -> None:
        """The episodes, the news that they answer, and the end of the task."""
        now = self._clock.now()
        deriving_rows.forget_news(db, derived.answered)
        if derived.left is not None:
            deriving_rows.add_news(db, claim.key, [(derived.left.since, derived.left.upto)], anew=derived.left.anew)
        if deriving_rows.news(db, claim.key):
            task_rows.want(db, KIND, claim.key, since=claim.since, due_at=now, now=now)
        if not task_rows.done(db, KIND, claim, worker=self._worker, now=now):
            raise _TakenOver
        deriving_rows.store(db, claim.key, derived.work, now)

    async def _failed(self, claim: Claim, exc: Exception) -> Worked:
        now, settings = self._clock.now(), self._settings
        pause = min(settings.retry_max_seconds, settings.retry_seconds * 2.0 ** (claim.attempts - 1))
        error = f"{type(exc).__name__}: {exc}"[:500]

        def unit(db: Connection) -> None:
            task_rows.failed(db, KIND, claim, worker=self._worker, error=error, due_at=now + pause, now=now)

        await self._store.write(unit)
        return Worked(failed=1)


def _new_name() -> str:
    return uuid.uuid4().hex


def _merged(spans: Iterable[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """The same stretches of time in order, those less than `gap` apart joined."""
    found: list[tuple[float, float]] = []
    for since, upto in sorted(spans):
        if found and since - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(found[-1][1], upto))
        else:
            found.append((since, upto))
    return found

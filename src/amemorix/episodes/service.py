"""The deriving of episodes: the change log says which sources moved, a leased row for each says that it is to be done."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Config
from ..errors import MemoryFault
from ..facts.service import CURSOR as FACTS_CURSOR
from ..ports import ChatModel, Embedder
from ..store import changes as change_log
from ..store import tasks as task_rows
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.tasks import Claim, TaskWorker
from . import grouping
from . import rows as episode_rows
from .grouping import Derived
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
FOR_FACTS = 0.5
"""Seconds between looks while facts are behind."""
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


class EpisodeService(ChangeFollower):
    """Keeps episodes in step with their paragraphs.

    Two steps: the changes after a cursor become news of their sources, and a task for each, in the transaction that
    moves the cursor; a source that is due is worked on outside any transaction, and what comes of it is stored in the
    one that ends its task. A long source is done in slices, each stored with what is left to do.
    """

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones, background: Executor,
        embedder: Callable[[], Embedder | None], chat: ChatModel | None = None,
    ) -> None:  # fmt: skip
        settings = config.episode
        super().__init__(
            store, background=background, what="deriving episodes", pause=self._rest,
            idle_share=IDLE_SHARE, cursor_key=CURSOR, enabled=settings.enabled,
        )  # fmt: skip
        self._settings = settings
        self._clock = clock
        self._zones = zones
        self._facts = config.facts.enabled
        self._is_waiting = False
        self._tasks = TaskWorker(store, KIND, clock=clock, lease=settings.lease_seconds, most=settings.max_attempts)
        self.model = EpisodeModelService(
            store, config=config, clock=clock, zones=zones, chat=chat, embedder=embedder, background=background,
            exclusive=self._one,
        )  # fmt: skip

    async def run(self) -> None:
        """Derive, and ask the chat model meanwhile, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            if self._enabled:
                group.create_task(self._repeat(self.model.step))

    async def _drain_step(self) -> bool:
        async with self._one:
            derived = await self._advance(hurry=True)
        return await self.model.step() or derived

    async def process(self, limit: int) -> Worked:
        """Do up to `limit` pieces of work now, those that wait for more news too; what was given up is tried again."""
        async with self._one:
            while await self._take_up():
                pass

            def revive(db: Connection) -> None:
                """What has failed becomes due, with all its tries."""
                now = self._clock.now()
                for task in task_rows.listed(db, KIND, status="failed", limit=STEP, offset=0):
                    task_rows.enqueue(db, KIND, task.key, since=None, due_at=now, now=now)

            await self._store.write(revive)
            done = Worked()
            while (left := limit - done.done - done.failed) > 0:
                some = await self._work(min(left, BATCH), hurry=True)
                if some == Worked():
                    break
                done += some
        return done

    def _rest(self) -> float:
        """Seconds until the next look; facts that are being read are waited for no longer than need be."""
        return (
            min(FOR_FACTS, self._settings.poll_interval_seconds)
            if self._is_waiting
            else self._settings.poll_interval_seconds
        )

    async def _advance(self, *, hurry: bool = False) -> bool:
        took = await self._take_up(behind_facts=not hurry)
        while took and hurry and await self._take_up():
            pass
        return await self._work(BATCH, hurry=hurry) != Worked() or took

    async def rebuild(self, sources: Sequence[int] | None = None) -> int:
        """Make the episodes of these sources, or all, anew as soon as their turn comes; returns how many there are."""

        def unit(db: Connection) -> int:
            wanted = self._all_sources(db) if sources is None else sources
            self._want(db, dict.fromkeys(wanted, (EVERYTHING,)), anew=True)
            return len(wanted)

        return await self._store.write(unit)

    def lag(self, db: Connection) -> int:
        """Changes not read yet, and sources that wait to be worked on."""
        return self.changes(db) + task_rows.open_count(db, KIND)

    def changes(self, db: Connection) -> int:
        """Changes not read yet."""
        return super().lag(db)

    # taking up what has changed

    async def _take_up(self, *, behind_facts: bool = False) -> bool:
        """Note what has changed; with `behind_facts` only what has been read for facts: a summary tells their lines."""
        news = await self._store.read(lambda db: self._read_news(db, behind_facts=behind_facts and self._facts))
        if news is None:
            return False
        cursor, upto, spans = news

        def note(db: Connection) -> None:
            if self.position(db) == cursor:  # else the kernel that is being replaced was quicker
                self._want(db, spans)
                change_log.put(db, CURSOR, str(upto))

        await self._store.write(note)
        return True

    def _read_news(self, db: Connection, *, behind_facts: bool) -> tuple[int, int, Spans] | None:
        """(cursor, how far this reads, what has changed); None if nothing has."""
        cursor = self.position(db)
        floor, last = change_log.bounds(db)
        if behind_facts:
            read = int(change_log.get(db, FACTS_CURSOR) or "0")
            self._is_waiting, last = read < last, min(last, read)
        if cursor < floor:
            if last < floor:  # facts are being read anew
                return None
            return cursor, last, dict.fromkeys(self._all_sources(db), (EVERYTHING,))
        if cursor < last:
            rows = db.run("episode_touched", cursor=cursor, upto=last, limit=STEP).fetchall()
            touched = [row[1:] for row in rows if row[1] is not None]
            return cursor, rows[-1][0] if rows else last, self._spans(db, touched)
        expired = db.run("episode_expired", now=self._clock.now(), limit=STEP).fetchall()
        return (cursor, cursor, self._spans(db, expired)) if expired else None

    def _all_sources(self, db: Connection) -> list[int]:
        found: list[int] = []
        while some := db.run("all_sources", after=found[-1] if found else 0, limit=STEP).fetchall():
            found += [row[0] for row in some]
        return found

    def _spans(self, db: Connection, touched: Iterable[tuple[int, float, int | None]]) -> Spans:
        """The stretches of time that these (source, time, episode) touch, those close to each other joined."""
        found: dict[int, list[tuple[float, float]]] = {}
        episodes: set[int] = set()
        for source, at, episode in touched:
            found.setdefault(source, []).append((at, at))
            if episode is not None:
                episodes.add(episode)
        for source, since, upto in db.run("episode_spans", ids=array(episodes)):
            found.setdefault(source, []).append((since, upto))
        gap = self._settings.gap_hours * 3600
        for source, spans in found.items():
            joined: list[tuple[float, float]] = []
            for since, upto in sorted(set(spans)):
                if joined and since - joined[-1][1] <= gap:
                    joined[-1] = (joined[-1][0], max(joined[-1][1], upto))
                else:
                    joined.append((since, upto))
            found[source] = joined
        return found

    def _want(self, db: Connection, news: Spans, *, anew: bool = False) -> None:
        now = self._clock.now()
        due = now if anew else now + self._settings.debounce_seconds
        for source, spans in news.items():
            since = min(since for since, _ in spans)
            if episode_rows.add_news(db, source, spans, anew=anew):
                task_rows.enqueue(db, KIND, source, since=since, due_at=due, now=now)

    # working

    async def _work(self, limit: int, *, hurry: bool) -> Worked:
        """Claim sources and work on them one after the other; what is worked out is stored together."""
        worked, ready = Worked(), list[tuple[Claim, Derived]]()
        async with self._tasks.batch(limit, hurry=hurry) as claims:
            for claim in claims:
                try:
                    ready.append((claim, await self._derive(claim.key)))
                except Exception as exc:  # noqa: BLE001 - logged there
                    worked += await self._failed(claim, exc, "made")
                if sum(derived.read for _, derived in ready) >= BATCH_PARAGRAPHS:
                    worked += await self._keep_all(ready)
                    ready = []
            return worked + await self._keep_all(ready)

    async def _derive(self, source: int) -> Derived:
        now, has_model = self._clock.now(), self.model.available

        def derive(db: Connection) -> Derived:
            zone = self._zones.of(db.run("window_chat", source=source).fetchone()[0])
            return grouping.derive(db, source, now, self._settings, zone, has_model=has_model)

        return await self._read_aside(derive)

    async def _keep_all(self, ready: Iterable[tuple[Claim, Derived]]) -> Worked:
        """Store every piece of work in a unit of its own; they share a commit."""
        kept = await asyncio.gather(*(self._keep(claim, derived) for claim, derived in ready))
        return sum(kept, Worked())

    async def _keep(self, claim: Claim, derived: Derived) -> Worked:
        def unit(db: Connection) -> None:
            """The episodes, the news that they answer, and the end of the task."""
            now = self._clock.now()
            db.run("episode_news_forget", ids=array(derived.answered))
            if derived.left is not None:
                span = (derived.left.since, derived.left.upto)
                episode_rows.add_news(db, claim.key, [span], anew=derived.left.anew)
            if episode_rows.news(db, claim.key):
                task_rows.enqueue(db, KIND, claim.key, since=claim.since, due_at=now, now=now)
            if not self._tasks.done(db, claim):
                raise _TakenOver
            episode_rows.store(db, claim.key, derived.work, now)

        try:
            await self._store.write(unit)
        except _TakenOver:
            return Worked()
        except Exception as exc:  # noqa: BLE001 - logged there
            return await self._failed(claim, exc, "stored")
        return Worked(done=1)

    async def _failed(self, claim: Claim, exc: Exception, what: str) -> Worked:
        if isinstance(exc, MemoryFault):
            log.warning("the episodes of source %d could not be %s: %s", claim.key, what, exc)
        else:
            log.error("the episodes of source %d could not be %s", claim.key, what, exc_info=exc)
        settings = self._settings
        pause = min(settings.retry_max_seconds, settings.retry_seconds * 2.0 ** (claim.attempts - 1))
        error = f"{type(exc).__name__}: {exc}"[:500]
        await self._store.write(lambda db: self._tasks.failed(db, claim, error, pause))
        return Worked(failed=1)

"""The deriving of episodes: the change log says which sources moved, rules say how they are grouped."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..clock import Clock
from ..config.model import Episode
from ..storage.episodes import EpisodeDraft, Material
from ..storage.metadata_store import MetadataStore
from ..storage.paragraphs import PersonOf
from .digest import keywords, summarise, title
from .segmentation import EpisodeSegmentationService

__all__ = ["CURSOR", "EpisodeService"]

log = logging.getLogger(__name__)
CURSOR = "episodes_upto"
STEP = 1_000
"""Changes taken up at a time."""
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
SPEAKER = 1


@dataclass(frozen=True, slots=True)
class _Regrouped:
    """New episodes of one source, from a time on."""

    source: int
    since: float
    drafts: tuple[EpisodeDraft, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """What the changes from `cursor` up to `upto` come to."""

    cursor: int
    upto: int
    regrouped: Sequence[_Regrouped]


class EpisodeService:
    """Keeps episodes in step with their paragraphs; a crash loses no step and repeats none.

    The place in the change log is stored in the transaction that stores the episodes.
    """

    def __init__(self, store: MetadataStore, *, settings: Episode, clock: Clock, background: Executor) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._background = background
        self._segmentation = EpisodeSegmentationService(settings)
        self._one = asyncio.Lock()

    async def run(self) -> None:
        """Derive for ever; ends when cancelled."""
        while True:
            started = time.perf_counter()
            try:
                busy = self._settings.enabled and await self.step()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("deriving episodes stumbled; it goes on in a while")
                busy = False
            spent = time.perf_counter() - started
            await asyncio.sleep(spent * IDLE_SHARE if busy else self._settings.poll_interval_seconds)

    async def drain(self) -> None:
        """Derive until nothing is left to do."""
        while self._settings.enabled and await self.step():
            pass

    async def step(self) -> bool:
        """Take up the next changes; False if there are none."""
        async with self._one:
            loop = asyncio.get_running_loop()
            work = await loop.run_in_executor(self._background, self._store.read_here, self._regroup)
            if work is None:
                return False
            await self._store.write(lambda db: self._keep(db, work))
            return True

    async def at_rest(self) -> None:
        """Wait until what was read before this call has been stored."""
        async with self._one:
            pass

    def lag(self, db: sqlite3.Connection) -> int:
        """Changes not taken up yet."""
        return self._store.changes.bounds(db)[1] - self._cursor(db)

    def cursor(self, db: sqlite3.Connection) -> int:
        """How far the change log has been read; unlimited while episodes are switched off."""
        return self._cursor(db) if self._settings.enabled else 1 << 62

    def _cursor(self, db: sqlite3.Connection) -> int:
        return int(self._store.changes.get(db, CURSOR) or 0)

    def _regroup(self, db: sqlite3.Connection) -> _Step | None:
        cursor = self._cursor(db)
        floor, last = self._store.changes.bounds(db)
        if cursor >= last:
            return None
        if cursor < floor:
            return _Step(cursor, last, [self._source(db, source, None) for source in self._all_sources(db)])
        upto, moved = self._store.episodes.changed(db, cursor, STEP)
        found = [self._source(db, source, paragraphs) for source, paragraphs in moved.items()]
        return _Step(cursor, upto if upto > cursor else last, found)

    def _all_sources(self, db: sqlite3.Connection) -> list[int]:
        found: list[int] = []
        while some := self._store.episodes.sources(db, found[-1] if found else 0, STEP):
            found += some
        return found

    def _source(self, db: sqlite3.Connection, source: int, paragraphs: Sequence[int] | None) -> _Regrouped:
        kind, _ = self._store.episodes.source_type(db, source)
        since = -math.inf if paragraphs is None else self._store.episodes.regroup_from(db, source, paragraphs)
        if kind in self._settings.disabled_source_types:
            return _Regrouped(source, since, ())
        material = self._store.episodes.material(db, source, since)
        drafts = tuple(self._draft(db, segment) for segment in self._segmentation.segments(material))
        return _Regrouped(source, since, drafts)

    def _draft(self, db: sqlite3.Connection, segment: Sequence[Material]) -> EpisodeDraft:
        texts = [paragraph.content for paragraph in segment]
        words = keywords(texts)
        persons = self._store.paragraphs.persons(db, [paragraph.id for paragraph in segment])
        lines = [(_speaker(persons.get(p.id, [])), p.content) for p in segment]
        met = dict.fromkeys(person.person_id for found in persons.values() for person in found)
        return EpisodeDraft(
            scope=segment[0].scope,
            title=title(words, texts),
            summary=summarise(lines, words),
            event_start=min((p.event_start for p in segment if p.event_start is not None), default=None),
            event_end=max((p.event_end for p in segment if p.event_end is not None), default=None),
            participants=tuple(met),
            keywords=tuple(words),
            paragraphs=tuple(p.id for p in segment),
        )

    def _keep(self, db: sqlite3.Connection, step: _Step) -> None:
        """Store a step, unless the kernel that is being replaced was quicker: then it is worked out again."""
        if self._cursor(db) != step.cursor:
            return
        now = self._clock.now()
        for one in step.regrouped:
            self._store.episodes.replace(db, one.source, one.since, one.drafts, now)
        self._store.changes.put(db, CURSOR, str(step.upto))


def _speaker(persons: Sequence[PersonOf]) -> str:
    return next((person.name for person in persons if person.role == SPEAKER), "")

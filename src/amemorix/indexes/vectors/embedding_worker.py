"""The making of vectors in the background, batch by batch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from ...clock import Clock
from ...config.model import Embedding
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection, Unit
from ...store.rows import embeddings as embedding_rows
from ...store.rows import paragraphs as paragraph_rows
from ...store.rows import relations as relation_rows
from ...store.rows.embeddings import ParagraphVectors, Pending, Waiting
from ...store.rows.relations import PendingRelation, RelationVector
from ..projections import Indexes
from .embedding_progress import Filling
from .embedding_results import Failure, failure_of_all, of_paragraphs, of_relations
from .relation_queue import DueRelations

__all__ = ["VectorFiller"]

log = logging.getLogger(__name__)
NICENESS = 10
GIVE_UP_AFTER = 5
"""Tries after which a text no longer holds up the switch to its generation."""
BATCHES_AHEAD = 12
GIVE_WAY_SECONDS = 0.25
"""While a search is under way, a batch waits, but no longer than this."""
T = TypeVar("T")
P = TypeVar("P", Pending, PendingRelation)


class VectorFiller:
    """Gives the paragraphs and relations that are due their vectors, on threads of its own."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Embedding,
        indexes: Indexes,
        clock: Clock,
        threads: int,
    ) -> None:
        self._store = store
        self._settings = settings
        self._indexes = indexes
        self._clock = clock
        self._relations = DueRelations(retry_seconds=settings.retry_seconds, give_up_after=GIVE_UP_AFTER)
        self._pool = ThreadPoolExecutor(threads, "amemorix-embed", initializer=_be_nice)
        self._ahead = settings.batch_size * threads * BATCHES_AHEAD

    async def fill(self, target: Filling, now: float) -> bool:
        """Embed the next paragraphs, or else the next relations; False if nothing is due."""
        return await self._embed_paragraphs(target, now) or await self._embed_relations(target, now)

    async def left_over(self, target: Filling) -> tuple[Waiting, int]:
        """What still lacks a vector or waits to be tried again, and the highest paragraph there is."""
        return await self.read(lambda db: self._due_later(db, target))

    def holds_up(self, db: Connection, target: Filling) -> bool:
        """Whether a vector is still to be had: one that failed often enough is not waited for."""
        pending = embedding_rows.pending_count(db, target.generation.id, target.watermark)
        if pending > embedding_rows.hopeless(db, target.generation.id, GIVE_UP_AFTER):
            return True
        return self._relations.left(db, target.generation.id)

    async def retry_now(self) -> int:
        """Let what has failed wait no longer; returns how many paragraphs did."""
        self._relations.retry_now()
        return await self._store.write(embedding_rows.retry_now)

    async def read(self, unit: Unit[T]) -> T:
        """Read on an embedding thread: these looks can be long, and searches need theirs."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._store.read_here, unit)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _due(self, db: Connection, target: Filling, now: float) -> list[Pending]:
        """The next texts, and the names that are left out of them as they are known with these texts."""
        self._indexes.names.catch_up(db)
        return embedding_rows.pending(db, target.generation.id, target.watermark, now, self._ahead)

    def _due_later(self, db: Connection, target: Filling) -> tuple[Waiting, int]:
        highest = paragraph_rows.highest(db)
        pending = embedding_rows.pending_count(db, target.generation.id, target.watermark)
        waiting = embedding_rows.waiting(db, target.generation.id)
        return replace(waiting, count=max(waiting.count, pending)), highest

    async def _embed_paragraphs(self, target: Filling, now: float) -> bool:
        """Embed the next paragraphs; False if none is due."""
        batch = await self.read(lambda db: self._due(db, target, now))
        if not batch:
            return False
        started, names = time.perf_counter(), self._indexes.names.index
        outcomes = await self._made(batch, lambda part: of_paragraphs(target.embedder, names, part))
        await self._keep(target, outcomes)
        target.done += sum(isinstance(made, ParagraphVectors) for made in outcomes)
        target.rate = len(batch) / max(time.perf_counter() - started, 1e-9)
        return True

    async def _embed_relations(self, target: Filling, now: float) -> bool:
        """Embed the next relations; False if none is due."""
        generation = target.generation.id
        batch = await self.read(lambda db: self._relations.due(db, generation, now, self._ahead))
        if not batch:
            return False
        outcomes = await self._made(batch, lambda part: of_relations(target.embedder, part))
        await self._keep_relations(target, outcomes)
        return True

    async def _made(self, batch: Sequence[P], make: Callable[[Sequence[P]], list[T]]) -> list[T]:
        """What becomes of a batch, made part by part on the embedding threads."""
        size, loop = self._settings.batch_size, asyncio.get_running_loop()
        parts = [batch[i : i + size] for i in range(0, len(batch), size)]
        work = [loop.run_in_executor(self._pool, self._in_turn, make, part) for part in parts]
        return [one for part in await asyncio.gather(*work) for one in part]

    def _in_turn(self, make: Callable[[Sequence[P]], list[T]], part: Sequence[P]) -> list[T]:
        """One part, once nobody searches or a moment has passed; on an embedding thread."""
        self._store.right_of_way.give_way(GIVE_WAY_SECONDS)
        return make(part)

    async def _keep(self, target: Filling, outcomes: Sequence[ParagraphVectors | Failure]) -> None:
        vectors = [made for made in outcomes if isinstance(made, ParagraphVectors)]
        failures = [made for made in outcomes if isinstance(made, Failure)]
        now, down = self._clock.now(), failure_of_all(failures)
        generation = target.generation.id

        def unit(db: Connection) -> None:
            embedding_rows.put(db, generation, vectors)
            blamed = [] if down else failures
            tries = embedding_rows.attempts(db, generation, [failed.id for failed in blamed])
            pauses = [(f.id, now + self._pause(tries.get(f.id, 0)), str(f.error)) for f in blamed]
            embedding_rows.fail(db, generation, pauses)

        if vectors or not down:
            await self._store.write(unit)
        self._heed(target, failures, now)

    async def _keep_relations(self, target: Filling, outcomes: Sequence[RelationVector | Failure]) -> None:
        vectors = [made for made in outcomes if isinstance(made, RelationVector)]
        failures = [made for made in outcomes if isinstance(made, Failure)]
        generation, now = target.generation.id, self._clock.now()
        if vectors:
            await self._store.write(lambda db: relation_rows.put_relations(db, generation, vectors))
        blamed = [] if failure_of_all(failures) else [failed.id for failed in failures]
        self._relations.note([made.relation for made in vectors], blamed, now)
        self._heed(target, failures, now)

    def _heed(self, target: Filling, failures: Sequence[Failure], now: float) -> None:
        """Rest if the model does not answer, longer each time."""
        down = failure_of_all(failures)
        if down is None:
            target.pause, target.error = 0.0, str(failures[0].error) if failures else ""
        else:
            target.pause = min(max(target.pause * 2, self._settings.retry_seconds), self._settings.retry_max_seconds)
            target.retry_from, target.error = now + target.pause, str(down)
            log.warning("the embedding model does not answer (%s); next try in %.0f s", down, target.pause)

    def _pause(self, tries: int) -> float:
        return min(self._settings.retry_seconds * 2 ** min(tries, 20), self._settings.retry_max_seconds)


def _be_nice() -> None:
    """Let searches and writes go first: background embedding runs at a lower priority."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)

"""The making of vectors in the background, batch by batch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ...clock import Clock
from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...models.embedding_batches import Outcome, embed_each
from ...ports import Embedder, Encoded
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection, Unit
from ...store.rows import embeddings as embedding_rows
from ...store.rows import paragraphs as paragraph_rows
from ...store.rows import relations as relation_rows
from ...store.rows.embeddings import Generation, ParagraphVectors, Pending, Waiting
from ...store.rows.relations import PendingRelation, RelationVector
from ..name_directory import NameDirectory
from ..projections import Indexes
from .relation_queue import RelationEmbeddingQueue

__all__ = ["EmbeddingProgress", "EmbeddingWorker", "Filling"]

log = logging.getLogger(__name__)
NICENESS = 10
GIVE_UP_AFTER = 5
"""Tries after which a text no longer holds up the switch to its generation."""
BATCHES_AHEAD = 12
GIVE_WAY_SECONDS = 0.25
"""While a search is under way, a batch waits, but no longer than this."""
T = TypeVar("T")
P = TypeVar("P", Pending, PendingRelation)


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How far the vectors are."""

    state: str = "off"
    """`off`, `idle`, `embedding` or `rebuilding`."""
    provider: str = ""
    model: str = ""
    dimension: int = 0
    generation: int = 0
    serving_generation: int = 0
    done: int = 0
    pending: int = 0
    failed: int = 0
    """It counts paragraphs, as `done` and `pending` do; relations show in `state` alone."""
    rate: float = 0.0
    """Texts per second over the last batches."""
    error: str = ""


@dataclass(slots=True)
class Filling:
    """The generation being filled, and below which id nothing is missing."""

    embedder: Embedder
    generation: Generation
    watermark: int = 0
    noted: int = 0
    retry_from: float = 0.0
    pause: float = 0.0
    done: int = 0
    rate: float = 0.0
    error: str = ""
    claimed: bool = False
    reopened: int = 0
    """How often paragraphs below the watermark have come back."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A paragraph or relation that the model failed on."""

    id: int
    error: ModelUnavailable


class EmbeddingWorker:
    """Gives the paragraphs and relations that are due their vectors, on threads of its own."""

    def __init__(
        self, store: MetadataStore, *, settings: Embedding, indexes: Indexes, clock: Clock, threads: int
    ) -> None:
        self._store = store
        self._settings = settings
        self._indexes = indexes
        self._clock = clock
        self._relations = RelationEmbeddingQueue(retry_seconds=settings.retry_seconds, give_up_after=GIVE_UP_AFTER)
        self._pool = ThreadPoolExecutor(threads, "amemorix-embed", initializer=_be_nice)
        self._prompt_pool = ThreadPoolExecutor(threads, "amemorix-embed-now")  # at work only while the other rests
        self._ahead = settings.batch_size * threads * BATCHES_AHEAD
        self._awaited: list[Sequence[int]] = []
        self._calls = 0
        """How many calls have begun to wait for vectors."""

    @contextlib.contextmanager
    def going_first(self, rows: Sequence[int]) -> Generator[None]:
        """Let these paragraphs go before all others until the block ends; what is under way ends after the parts begun."""
        self._awaited.append(rows)
        self._calls += 1
        try:
            yield
        finally:
            self._awaited.remove(rows)

    async def fill(self, target: Filling, now: float) -> bool:
        """Embed the next paragraphs, or else the next relations; False if nothing is due."""
        if await self._embed_paragraphs(target, now):
            return True
        generation, calls = target.generation.id, self._calls
        batch = await self.read(lambda db: self._relations.due(db, generation, now, self._ahead))
        if not batch:
            return False
        outcomes = await self._made(batch, lambda part: _of_relations(target.embedder, part), calls)
        if not outcomes:
            return True
        vectors = [made for made in outcomes if isinstance(made, RelationVector)]
        failures = [made for made in outcomes if isinstance(made, _Failure)]
        if vectors:
            await self._store.write(lambda db: relation_rows.put_relations(db, generation, vectors))
        blamed, now = [] if _endpoint_down(failures) else [failed.id for failed in failures], self._clock.now()
        self._relations.note([made.relation for made in vectors], blamed, now)
        self._heed(target, failures, now)
        return True

    async def left_over(self, target: Filling) -> tuple[Waiting, int]:
        """What still lacks a vector or waits to be tried again, and the highest paragraph there is."""

        def unit(db: Connection) -> tuple[Waiting, int]:
            pending = embedding_rows.pending_count(db, target.generation.id, target.watermark)
            waiting = embedding_rows.waiting(db, target.generation.id)
            return replace(waiting, count=max(waiting.count, pending)), paragraph_rows.highest(db)

        return await self.read(unit)

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
        self._prompt_pool.shutdown(wait=True, cancel_futures=True)

    async def _embed_paragraphs(self, target: Filling, now: float) -> bool:
        """Embed the next paragraphs, first those that a call waits for, of the smallest call; False if none is due."""
        generation, calls, awaited = target.generation.id, self._calls, sorted(self._awaited, key=len)

        def due(db: Connection) -> tuple[list[Pending], bool]:
            self._indexes.names.catch_up(db)  # the names that are left out are those known with these texts
            for rows in awaited:
                if found := embedding_rows.pending_of(db, generation, rows, now, self._ahead):
                    return found, True
            return embedding_rows.pending(db, generation, target.watermark, now, self._ahead), False

        batch, first = await self.read(due)
        if not batch:
            return False
        started, names = time.perf_counter(), self._indexes.names.index
        outcomes = await self._made(
            batch, lambda part: _of_paragraphs(target.embedder, names, part), calls, first=first
        )
        if outcomes:
            await self._keep(target, outcomes)
        target.done += sum(isinstance(made, ParagraphVectors) for made in outcomes)
        target.rate = len(outcomes) / max(time.perf_counter() - started, 1e-9)
        return True

    async def _made(
        self, batch: Sequence[P], make: Callable[[Sequence[P]], list[T]], calls: int, *, first: bool = False
    ) -> list[T]:
        """What becomes of a batch, made part by part on the embedding threads, once nobody searches or a moment passed.

        When a further call than those counted waits for vectors, the parts that are not begun are left for later, but for the
        first, so that a batch is got on with however often calls wait. What goes `first` waits for nobody, and has threads of
        the same priority as the caller's.
        """

        def in_turn(part: Sequence[P]) -> list[T]:
            if not first:
                self._store.right_of_way.give_way(GIVE_WAY_SECONDS)
            return [] if self._calls > calls and part is not parts[0] else make(part)

        size, loop = self._settings.batch_size, asyncio.get_running_loop()
        parts = [batch[i : i + size] for i in range(0, len(batch), size)]
        work = [loop.run_in_executor(self._prompt_pool if first else self._pool, in_turn, part) for part in parts]
        return [one for part in await asyncio.gather(*work) for one in part]

    async def _keep(self, target: Filling, outcomes: Sequence[ParagraphVectors | _Failure]) -> None:
        vectors = [made for made in outcomes if isinstance(made, ParagraphVectors)]
        failures = [made for made in outcomes if isinstance(made, _Failure)]
        now, down = self._clock.now(), _endpoint_down(failures)
        generation = target.generation.id

        def unit(db: Connection) -> None:
            embedding_rows.put(db, generation, vectors)
            blamed = [] if down else failures
            tries = embedding_rows.attempts(db, generation, [failed.id for failed in blamed])
            first, longest = self._settings.retry_seconds, self._settings.retry_max_seconds
            pause = {failed.id: min(first * 2 ** min(tries.get(failed.id, 0), 20), longest) for failed in blamed}
            embedding_rows.fail(db, generation, [(f.id, now + pause[f.id], str(f.error)) for f in blamed])

        if vectors or not down:
            await self._store.write(unit)
        self._heed(target, failures, now)

    def _heed(self, target: Filling, failures: Sequence[_Failure], now: float) -> None:
        """Rest if the model does not answer, longer each time."""
        down = _endpoint_down(failures)
        if down is None:
            target.pause, target.error = 0.0, str(failures[0].error) if failures else ""
        else:
            target.pause = min(max(target.pause * 2, self._settings.retry_seconds), self._settings.retry_max_seconds)
            target.retry_from, target.error = now + target.pause, str(down)
            log.warning("the embedding model does not answer (%s); next try in %.0f s", down, target.pause)


def _of_paragraphs(
    embedder: Embedder, names: NameDirectory, batch: Sequence[Pending]
) -> list[ParagraphVectors | _Failure]:
    """What the model makes of each paragraph without its names, nothing of a text that it does not read."""
    read = [p for p in batch if embedder.reads(p.content)]
    unread: list[ParagraphVectors | _Failure] = [ParagraphVectors(p.id, b"") for p in batch if p not in read]
    texts = [names.find(p.content, (p.chat,)).bare or p.content for p in read]
    return unread + [
        ParagraphVectors(p.id, _half(made), made.tokens.tobytes())
        if isinstance(made, Encoded)
        else _Failure(p.id, made)
        for p, made in zip(read, _embedded(embedder, texts), strict=True)
    ]


def _of_relations(embedder: Embedder, batch: Sequence[PendingRelation]) -> list[RelationVector | _Failure]:
    """What the model makes of each relation's sentence, nothing of one that it does not read."""
    read = [r for r in batch if embedder.reads(r.sentence)]
    unread: list[RelationVector | _Failure] = [RelationVector(r.id, b"", r.sentence) for r in batch if r not in read]
    return unread + [
        RelationVector(r.id, _half(made), r.sentence) if isinstance(made, Encoded) else _Failure(r.id, made)
        for r, made in zip(read, _embedded(embedder, [r.sentence for r in read]), strict=True)
    ]


def _endpoint_down(failures: Sequence[_Failure]) -> ModelUnavailable | None:
    """The error for which no text is to blame: the model itself does not answer."""
    return next((failed.error for failed in failures if failed.error.details.get("endpoint_down")), None)


def _half(made: Encoded) -> bytes:
    return np.asarray(made.vector, "<f2").tobytes()


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Sequence[Outcome]:
    try:
        return embed_each(embedder, texts)
    except ModelUnavailable as exc:
        return [exc] * len(texts)


def _be_nice() -> None:
    """Let searches and writes go first: background embedding runs at a lower priority."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)

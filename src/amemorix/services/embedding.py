"""The filling of vectors in the background, generation by generation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from ..clock import Clock
from ..config.model import Embedding
from ..errors import Conflict
from ..indexes.projection import Projection
from ..ports import Embedder
from ..storage.database import Unit
from ..storage.embeddings import Generation, ParagraphVectors, Pending, Waiting
from ..storage.metadata_store import MetadataStore
from ..storage.relations import PendingRelation, RelationVector
from .dense import DenseLane, Serving
from .due_relations import DueRelations
from .generations import Choice, Generations
from .indexes import Indexes
from .vectors_made import Failure, failure_of_all, of_paragraphs, of_relations

__all__ = ["EmbeddingProgress", "EmbeddingService"]

log = logging.getLogger(__name__)
IMPORT_SHARE = 4.0
"""Seconds of rest for each second of work while files are imported."""
NICENESS = 10
GIVE_UP_AFTER = 5
"""Tries after which a text no longer holds up the switch to its generation."""
BATCHES_AHEAD = 12
GIVE_WAY_SECONDS = 0.25
"""While a query is being embedded, a batch waits, but no longer than this."""
NOTE_EVERY = 2_000
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
class _Target:
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


class EmbeddingService:
    """Gives every live paragraph, then every live relation a vector of the model; switches models without a gap."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Embedding,
        indexes: Indexes,
        dense: DenseLane,
        clock: Clock,
        threads: int = 2,
    ) -> None:
        self._store = store
        self._settings = settings
        self._indexes = indexes
        self._dense = dense
        self._clock = clock
        self._generations = Generations(store, clock)
        self._relations = DueRelations(store, retry_seconds=settings.retry_seconds, give_up_after=GIVE_UP_AFTER)
        self._target: _Target | None = None
        self._pool = ThreadPoolExecutor(threads, "amemorix-embed", initializer=_be_nice)
        self._ahead = settings.batch_size * threads * BATCHES_AHEAD
        self._gave_way = False
        self._wake = asyncio.Event()
        self._moved = asyncio.Condition()

    @property
    def adopted(self) -> bool:
        """Whether a model is at work."""
        return self._target is not None

    # choosing generations

    def adopt(self, embedder: Embedder | None, previous: Serving | None) -> None:
        """Decide what answers and what is filled; on a worker thread.

        Vectors of the configured model answer at once. Those of another model go on answering if the model that made
        them is still at hand (`previous`), until the new ones are complete.
        """
        if embedder is None:
            self._target = None
            self._dense.serve(None)
            return
        info = embedder.info
        choice = self._store.read_here(lambda db: self._generations.choice(db, info))
        self._target = _Target(embedder, choice.filling, choice.watermark, choice.watermark)
        self._serve_best(embedder, choice, previous)

    def _serve_best(self, embedder: Embedder, choice: Choice, previous: Serving | None) -> None:
        serving = choice.serving
        if serving and serving.fingerprint == embedder.info.fingerprint:
            self._dense.serve(self._serving(embedder, serving))
        elif previous and serving and previous.generation.id == serving.id:
            self._dense.serve(previous)
        elif choice.filling.id:
            self._dense.serve(self._serving(embedder, choice.filling))
        else:
            self._dense.serve(None)

    def _serving(self, embedder: Embedder, generation: Generation) -> Serving:
        return Serving(embedder, generation, self._vectors(generation))

    def _vectors(self, generation: Generation) -> Projection:
        return self._indexes.vectors(generation.id, generation.dimension, self._settings.quantization_type)

    async def rebuild(self) -> Generation:
        """Begin a new generation with the same model; the old one answers until it is complete.

        Raises Conflict if there is no model, or a rebuild is already running.
        """
        target = self._target
        if target is None:
            raise Conflict("There is no embedding model, so there are no vectors to rebuild.")
        serving = self._dense.serving
        if serving is not None and target.generation.id != serving.generation.id:
            raise Conflict("Vectors are already being rebuilt.", generation=target.generation.id)
        made = await self._generations.begin(target.embedder.info)
        self._target = _Target(target.embedder, made, claimed=True)
        self._wake.set()
        return made

    def look_again(self, row: int) -> None:
        """A paragraph of this row came back, perhaps without a vector."""
        if self._target is not None:
            self._target.reopened += 1
            self._target.watermark = min(self._target.watermark, row - 1)
            self._target.noted = min(self._target.noted, row - 1)
            self._wake.set()

    # the background loop

    async def run(self) -> None:
        """Fill vectors for ever; ends when cancelled."""
        while True:
            started = time.perf_counter()
            try:
                busy = await self.step()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("embedding stumbled; it goes on in a while")
                busy = False
            if busy and self._store.importing:
                await asyncio.sleep((time.perf_counter() - started) * IMPORT_SHARE)
            if not busy:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):  # not wait_for: before Python 3.12 it can swallow a cancellation
                        await self._wake.wait()

    async def step(self) -> bool:
        """Embed the next batches; False if nothing is due."""
        if self._target is None:
            return False
        target = await self._claimed(self._target)
        now = self._clock.now()
        if now < target.retry_from:
            return False
        busy = await self._embed_paragraphs(target, now) or await self._embed_relations(target, now)
        if not busy:
            await self._finished(target)
        async with self._moved:
            self._moved.notify_all()
        return busy

    def _due(self, db: sqlite3.Connection, target: _Target, now: float) -> list[Pending]:
        """The next texts, and the names that are left out of them as they are known with these texts."""
        self._indexes.names.catch_up(db)
        return self._store.embeddings.pending(db, target.generation.id, target.watermark, now, self._ahead)

    async def _claimed(self, target: _Target) -> _Target:
        """The target with its row; at the first step, because the kernel before this one may have moved on meanwhile."""
        if target.claimed:
            return target
        choice = await self._generations.claim(target.embedder.info)
        claimed = _Target(target.embedder, choice.filling, choice.watermark, choice.watermark, claimed=True)
        if self._target is target:
            self._target = claimed
        await asyncio.to_thread(self._serve_best, target.embedder, choice, self._dense.serving)
        if choice.filling.status == "serving":
            await self._drop_old()
        return claimed

    async def _embed_paragraphs(self, target: _Target, now: float) -> bool:
        """Embed the next paragraphs; False if none is due."""
        batch = await self._read(lambda db: self._due(db, target, now))
        if not batch:
            return False
        started, names = time.perf_counter(), self._indexes.names.index
        outcomes = await self._made(batch, lambda part: of_paragraphs(target.embedder, names, part))
        await self._keep(target, outcomes)
        target.done += sum(isinstance(made, ParagraphVectors) for made in outcomes)
        target.rate = len(batch) / max(time.perf_counter() - started, 1e-9)
        return True

    async def _embed_relations(self, target: _Target, now: float) -> bool:
        """Embed the next relations; False if none is due."""
        generation = target.generation.id
        batch = await self._read(lambda db: self._relations.due(db, generation, now, self._ahead))
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
        """One part, once no query is being embedded or a moment has passed; on an embedding thread."""
        until = time.monotonic() + GIVE_WAY_SECONDS
        while self._dense.asked and time.monotonic() < until:
            time.sleep(0.005)
        return make(part)

    async def _keep(self, target: _Target, outcomes: Sequence[ParagraphVectors | Failure]) -> None:
        vectors = [made for made in outcomes if isinstance(made, ParagraphVectors)]
        failures = [made for made in outcomes if isinstance(made, Failure)]
        now, down = self._clock.now(), failure_of_all(failures)
        repository, generation = self._store.embeddings, target.generation.id

        def unit(db: sqlite3.Connection) -> None:
            repository.put(db, generation, vectors)
            blamed = [] if down else failures
            tries = repository.attempts(db, generation, [failed.id for failed in blamed])
            pauses = [(f.id, now + self._pause(tries.get(f.id, 0)), str(f.error)) for f in blamed]
            repository.fail(db, generation, pauses)

        if vectors or not down:
            await self._store.write(unit)
        self._heed(target, failures, now)

    async def _keep_relations(self, target: _Target, outcomes: Sequence[RelationVector | Failure]) -> None:
        vectors = [made for made in outcomes if isinstance(made, RelationVector)]
        failures = [made for made in outcomes if isinstance(made, Failure)]
        generation, now = target.generation.id, self._clock.now()
        if vectors:
            await self._store.write(lambda db: self._store.relations.put_relations(db, generation, vectors))
        blamed = [] if failure_of_all(failures) else [failed.id for failed in failures]
        self._relations.note([made.relation for made in vectors], blamed, now)
        self._heed(target, failures, now)

    def _heed(self, target: _Target, failures: Sequence[Failure], now: float) -> None:
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

    async def _finished(self, target: _Target) -> None:
        """Nothing is due: move the watermark, and switch if this generation was being built."""
        reopened = target.reopened
        waiting, highest = await self._read(lambda db: self._due_later(db, target))
        if waiting.count == 0 and highest > target.watermark and reopened == target.reopened:
            await self._advance(target, highest)
        if await self._read(lambda db: self._begun_elsewhere(db, target)):
            target.claimed = False
            return
        serving = self._dense.serving
        answers = serving is not None and serving.generation.id == target.generation.id
        if answers and target.generation.status == "serving":
            return
        if await self._store.read(lambda db: self._holds_up(db, target)):
            return
        await self._switch(target)

    def _begun_elsewhere(self, db: sqlite3.Connection, target: _Target) -> bool:
        """Whether the kernel before this one has begun a rebuild since, which it may even have brought to its end."""
        return self._generations.choice(db, target.embedder.info).filling.id != target.generation.id

    async def _advance(self, target: _Target, highest: int) -> None:
        """Nothing is missing up to `highest`; now and then this is written down, so that opening need not look again."""
        target.watermark = highest
        if highest - target.noted >= NOTE_EVERY:
            target.noted = highest
            await self._generations.note(target.generation, highest)

    async def _read(self, unit: Unit[T]) -> T:
        """Read on an embedding thread: these looks can be long, and searches need theirs."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._store.read_here, unit)

    def _due_later(self, db: sqlite3.Connection, target: _Target) -> tuple[Waiting, int]:
        highest = self._store.paragraphs.highest(db)
        pending = self._store.embeddings.pending_count(db, target.generation.id, target.watermark)
        waiting = self._store.embeddings.waiting(db, target.generation.id)
        return replace(waiting, count=max(waiting.count, pending)), highest

    def _holds_up(self, db: sqlite3.Connection, target: _Target) -> bool:
        """Whether a vector is still to be had: one that failed often enough is not waited for."""
        pending = self._store.embeddings.pending_count(db, target.generation.id, target.watermark)
        if pending > self._store.embeddings.hopeless(db, target.generation.id, GIVE_UP_AFTER):
            return True
        return self._relations.left(db, target.generation.id)

    async def _switch(self, target: _Target) -> None:
        """Let the completed generation answer; older ones are kept as far as configured."""
        serving = await asyncio.to_thread(self._serving, target.embedder, target.generation)
        target.generation = await self._generations.serve(target.generation)
        self._dense.serve(replace(serving, generation=target.generation))
        log.info("vectors of %s (generation %d) answer now", target.generation.model, target.generation.id)
        await self._drop_old()

    async def _drop_old(self) -> None:
        gone = await self._generations.drop_old(self._settings.keep_generations)
        keep = {self._target.generation.id} if self._target else set()
        await asyncio.to_thread(self._indexes.forget_vectors, keep, gone)

    # asking and waiting

    def wake(self) -> None:
        """Look for new paragraphs at once."""
        self._wake.set()

    async def recover(self) -> int:
        """Try again now whatever failed; returns how many paragraphs had."""
        if self._target is not None:
            self._target.retry_from = self._target.pause = 0.0
        self._dense.try_again()
        self._relations.retry_now()
        count = await self._store.write(self._store.embeddings.retry_now)
        self._wake.set()
        return count

    def progress(self, db: sqlite3.Connection) -> EmbeddingProgress:
        """Where things stand."""
        target, serving = self._target, self._dense.serving
        if target is None:
            return EmbeddingProgress()
        generation = target.generation
        pending = self._store.embeddings.pending_count(db, generation.id, target.watermark)
        waiting = self._store.embeddings.waiting(db, generation.id)
        served = serving.generation.id if serving else 0
        rebuilding = generation.status != "serving" or self._begun_elsewhere(db, target)
        return EmbeddingProgress(
            state="rebuilding" if rebuilding else "embedding" if self._holds_up(db, target) else "idle",
            provider=generation.provider,
            model=generation.model,
            dimension=generation.dimension,
            generation=generation.id,
            serving_generation=served,
            done=target.done,
            pending=pending,
            failed=waiting.count,
            rate=round(target.rate, 1),
            error=target.error,
        )

    async def settled(self, done: Callable[[EmbeddingProgress], bool] | None = None) -> None:
        """Wait until nothing is pending and no generation is being built; or until another kernel has taken over."""
        finished = done or (lambda p: p.state in ("off", "idle"))
        while not self._gave_way and not (self._at_rest() and finished(await self._store.read(self.progress))):
            self._wake.set()
            async with self._moved:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await self._moved.wait()

    def take_up(self) -> None:
        """This kernel fills the vectors from now on."""
        self._gave_way = False

    def give_way(self) -> None:
        """Another kernel fills the vectors from now on: nobody should wait for this one."""
        self._gave_way = True

    def _at_rest(self) -> bool:
        return self._target is None or self._target.claimed

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _be_nice() -> None:
    """Let searches and writes go first: background embedding runs at a lower priority."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)

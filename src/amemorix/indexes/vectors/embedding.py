"""The vectors of the store: which generation answers, which is filled, and the switch between them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from ...background.change_follower import Backoff
from ...clock import Clock
from ...config.model import Embedding
from ...errors import Conflict, MemoryFault, ModelUnavailable
from ...ports import Embedder
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection
from ...store.rows import embeddings as embedding_rows
from ...store.rows.embeddings import Generation
from ..projection import Projection
from ..projections import Indexes
from .embedding_worker import EmbeddingProgress, EmbeddingWorker, Filling
from .generations import Choice, Generations
from .serving import DenseLane, Serving

__all__ = ["EmbeddingService"]

log = logging.getLogger(__name__)
IMPORT_SHARE = 4.0
"""Seconds of rest for each second of work while files are imported."""
NOTE_EVERY = 2_000
IDLE_SECONDS = 0.2


class EmbeddingService:
    """Gives every live paragraph, then every live relation that was told a vector of the model; switches models without a gap."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Embedding,
        indexes: Indexes,
        dense: DenseLane,
        clock: Clock,
        made_by: Callable[[str], Embedder | None],
        threads: int = 2,
    ) -> None:
        self._store = store
        self._settings = settings
        self._indexes = indexes
        self._dense = dense
        self._clock = clock
        self._made_by = made_by
        self._generations = Generations(store, clock)
        self._worker = EmbeddingWorker(store, settings=settings, indexes=indexes, clock=clock, threads=threads)
        self._target: Filling | None = None
        self._fault = ""
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
        them is still at hand (`previous`, or what `made_by` finds), until the new ones are complete. Raises ModelUnavailable if the model does not answer.
        """
        self._fault = ""
        if embedder is None:
            self._target = None
            self._dense.serve(None)
            return
        try:
            info = embedder.info
        except ModelUnavailable as exc:
            self._fault = str(exc)
            raise
        choice = self._store.read_here(lambda db: self._generations.choice(db, info))
        self._target = Filling(embedder, choice.filling, choice.watermark, choice.watermark)
        self._serve_best(embedder, choice, previous)

    def _serve_best(self, embedder: Embedder, choice: Choice, previous: Serving | None) -> None:
        serving = choice.serving
        if serving and serving.fingerprint == embedder.info.fingerprint:
            self._dense.serve(self._serving(embedder, serving))
        elif previous and serving and previous.generation.id == serving.id:
            self._dense.serve(previous)
        elif serving and (maker := self._made_by(serving.fingerprint)):
            self._dense.serve(self._serving(maker, serving))
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
        self._target = Filling(target.embedder, made, claimed=True)
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
        backoff = Backoff(IDLE_SECONDS)
        while True:
            started = time.perf_counter()
            try:
                busy = await self.step()
            except asyncio.CancelledError:
                raise
            except MemoryFault as exc:
                log.warning("embedding failed, retrying: %s", exc)
                await asyncio.sleep(backoff.rest())
                continue
            except Exception:
                log.exception("embedding failed, retrying")
                await asyncio.sleep(backoff.rest())
                continue
            backoff.reset()
            if busy and self._store.importing:
                await asyncio.sleep((time.perf_counter() - started) * IMPORT_SHARE)
            if not busy:
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(
                        IDLE_SECONDS
                    ):  # not wait_for: before Python 3.12 it can swallow a cancellation
                        await self._wake.wait()

    async def step(self) -> bool:
        """Embed the next batches; False if nothing is due."""
        if self._target is None:
            return False
        target = await self._claimed(self._target)
        now = self._clock.now()
        if now < target.retry_from:
            return False
        busy = await self._worker.fill(target, now)
        if not busy:
            await self._finished(target)
        async with self._moved:
            self._moved.notify_all()
        return busy

    async def _claimed(self, target: Filling) -> Filling:
        """The target with its row; at the first step, because the kernel before this one may have moved on meanwhile."""
        if target.claimed:
            return target
        choice = await self._generations.claim(target.embedder.info)
        claimed = Filling(target.embedder, choice.filling, choice.watermark, choice.watermark, claimed=True)
        if self._target is target:
            self._target = claimed
        await asyncio.to_thread(self._serve_best, target.embedder, choice, self._dense.serving)
        if choice.filling.status == "serving":
            await self._drop_old()
        return claimed

    async def _finished(self, target: Filling) -> None:
        """Nothing is due: move the watermark, and switch if this generation was being built."""
        reopened = target.reopened
        waiting, highest = await self._worker.left_over(target)
        if waiting.count == 0 and highest > target.watermark and reopened == target.reopened:
            await self._advance(target, highest)
        if await self._worker.read(lambda db: self._begun_elsewhere(db, target)):
            target.claimed = False
            return
        serving = self._dense.serving
        answers = serving is not None and serving.generation.id == target.generation.id
        if answers and target.generation.status == "serving":
            return
        if await self._store.read(lambda db: self._worker.holds_up(db, target)):
            return
        serving = await asyncio.to_thread(self._serving, target.embedder, target.generation)
        target.generation = await self._generations.serve(target.generation)
        self._dense.serve(replace(serving, generation=target.generation))
        log.info("vectors of %s (generation %d) answer now", target.generation.model, target.generation.id)
        await self._drop_old()

    def _begun_elsewhere(self, db: Connection, target: Filling) -> bool:
        """Whether the kernel before this one has begun a rebuild since, which it may even have brought to its end."""
        return self._generations.choice(db, target.embedder.info).filling.id != target.generation.id

    async def _advance(self, target: Filling, highest: int) -> None:
        """Nothing is missing up to `highest`; now and then this is written down, so that opening need not look again."""
        target.watermark = highest
        if highest - target.noted >= NOTE_EVERY:
            target.noted = highest
            await self._generations.note(target.generation, highest)

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
        count = await self._worker.retry_now()
        self._wake.set()
        return count

    def progress(self, db: Connection) -> EmbeddingProgress:
        """Where things stand."""
        target, serving = self._target, self._dense.serving
        if target is None:
            return EmbeddingProgress(error=self._fault)
        generation = target.generation
        pending = embedding_rows.pending_count(db, generation.id, target.watermark)
        waiting = embedding_rows.waiting(db, generation.id)
        served = serving.generation.id if serving else 0
        rebuilding = generation.status != "serving" or self._begun_elsewhere(db, target)
        return EmbeddingProgress(
            state="rebuilding" if rebuilding else "embedding" if self._worker.holds_up(db, target) else "idle",
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
        while not self._gave_way and not (
            (self._target is None or self._target.claimed) and finished(await self._store.read(self.progress))
        ):
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

    def close(self) -> None:
        """Let the threads go."""
        self._worker.close()

"""The vectors of the store: which generation answers, which is filled, and the switch between them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...background.change_follower import run_forever
from ...clock import Clock
from ...config.model import Embedding
from ...errors import Conflict, ModelUnavailable
from ...ports import Embedder, EmbedderInfo
from ...store import changes as change_log
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection
from ...store.rows import embeddings as embedding_rows
from ...store.rows.embeddings import WATERMARK, Generation
from ..projections import Indexes
from .embedding_worker import EmbeddingProgress, EmbeddingWorker, Filling
from .serving import DenseLane, Serving

__all__ = ["NO_MODEL", "EmbeddingService"]

log = logging.getLogger(__name__)
IMPORT_SHARE = 4.0
"""Seconds of rest for each second of work while files are imported."""
NOTE_EVERY = 2_000
IDLE_SECONDS = 0.2
POLL_SECONDS = 0.1
NO_MODEL = "There is no embedding model (embedding.provider)."
DROP_STEP = 2_000
"""Vectors deleted in one transaction."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What there is for a model."""

    serving: Generation | None
    """The generation that answers, of whatever model."""
    filling: Generation
    """The generation of this model to go on filling; its id is 0 while it has no row."""
    watermark: int
    """No paragraph up to this row lacks a vector of `filling`."""


def choose(db: Connection, info: EmbedderInfo) -> Choice:
    """The generation of this model that is being built, else the one that answers, else the newest, else a new one."""
    serving, building = embedding_rows.serving(db), embedding_rows.building(db)
    mine = [one for one in (building, serving) if one and one.fingerprint == info.fingerprint]
    filling = mine[0] if mine else embedding_rows.of_model(db, info.fingerprint)
    if filling is None:
        filling = Generation(0, info.fingerprint, info.provider, info.model, info.dimension, "new")
    return Choice(serving, filling, int(change_log.get(db, WATERMARK.format(filling.id)) or 0))


class EmbeddingService:
    """Gives every live paragraph, then every live relation that was told a vector of the model; switches models without a gap.

    Generations are chosen, begun, switched and dropped in one transaction each, so a crash leaves no half of it.
    """

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
        choice = self._store.read_here(lambda db: choose(db, info))
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
        vectors = self._indexes.vectors(generation.id, generation.dimension, self._settings.quantization_type)
        return Serving(embedder, generation, vectors)

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
        info, now = target.embedder.info, self._clock.now()
        made = await self._store.write(lambda db: embedding_rows.create(db, info, "building", now))
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
        await run_forever(
            self.step, what="embedding", pause=IDLE_SECONDS, idle_share=0.0, is_busy=lambda: self._store.importing,
            busy_share=IMPORT_SHARE, wake=self._wake,
        )  # fmt: skip

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
        info, now = target.embedder.info, self._clock.now()

        def claim(db: Connection) -> Choice:
            """Choose, and write it down: the generation has a row, and no other one is being built."""
            choice = choose(db, info)
            filling = choice.filling
            if not filling.id:
                filling = embedding_rows.create(db, info, "building" if choice.serving else "serving", now)
            elif filling.status == "retired":
                embedding_rows.build(db, filling.id)
                filling = replace(filling, status="building")
            embedding_rows.retire_building(db, filling.id)
            return replace(choice, filling=filling)

        choice = await self._store.write(claim)
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
            target.watermark = highest
            if highest - target.noted >= NOTE_EVERY:
                target.noted = highest
                await self._note(target.generation.id, highest)
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
        generation, now = target.generation.id, self._clock.now()
        await self._store.write(lambda db: embedding_rows.serve(db, generation, now))
        target.generation = replace(target.generation, status="serving")
        self._dense.serve(replace(serving, generation=target.generation))
        log.info("vectors of %s (generation %d) answer now", target.generation.model, target.generation.id)
        await self._drop_old()

    def _begun_elsewhere(self, db: Connection, target: Filling) -> bool:
        """Whether the kernel before this one has begun a rebuild since, which it may even have brought to its end."""
        return choose(db, target.embedder.info).filling.id != target.generation.id

    async def _note(self, generation: int, watermark: int) -> None:
        """Write down that nothing is missing up to this row, so that opening need not look again."""

        def note(db: Connection) -> None:
            key = WATERMARK.format(generation)
            known = int(change_log.get(db, key) or 0)
            # unless a paragraph has come back meanwhile that lacks a vector
            if not embedding_rows.pending_before(db, generation, known, watermark):
                change_log.put(db, key, str(watermark))

        await self._store.write(note)

    async def _drop_old(self) -> None:
        """Delete the retired generations but for the last few."""

        def drop_some(db: Connection, generation: int) -> bool:
            # what was known to be complete goes first: the model may come back before the rest goes
            change_log.put(db, WATERMARK.format(generation), "0")
            return embedding_rows.drop_some(db, generation, DROP_STEP)

        gone = (await self._store.read(embedding_rows.retired))[self._settings.keep_generations :]
        for generation in gone:
            while not await self._store.write(lambda db, g=generation: drop_some(db, g)):
                pass
        keep = {self._target.generation.id} if self._target else set()
        await asyncio.to_thread(self._indexes.forget_vectors, keep, gone)

    # asking and waiting

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

    async def settled(self) -> None:
        """Wait until nothing is pending and no generation is being built; or until another kernel has taken over."""
        while not self._gave_way:
            claimed = self._target is None or self._target.claimed
            if claimed and (await self._store.read(self.progress)).state in ("off", "idle"):
                return
            await self._stepped(POLL_SECONDS)

    async def wait_error(self, rows: Sequence[int], seconds: float, *, unread: bool = True) -> str:
        """Wait for the vectors of these paragraphs, which are made before all others; why they are not there, empty if they are.

        A model that fails on them or does not answer is not waited for, nor are more than so many seconds, or than
        `timeout_seconds`. `unread`: tell of those that the model does not read.
        """
        seconds = min(seconds, self._settings.timeout_seconds)
        until = time.monotonic() + seconds
        with self._worker.going_first(rows):
            while True:
                target = self._target
                if target is None:
                    return self._fault or NO_MODEL
                generation = target.generation
                states = await self._store.read(lambda db, g=generation.id: embedding_rows.states(db, g, rows))
                missing = [one for one in states if not one.made]
                if not missing:
                    count = sum(one.unread for one in states) if unread else 0
                    told = f"{generation.model} does not read {count} of {len(rows)} paragraphs: words find them."
                    return told if count else ""
                error = next((one.error for one in missing if one.error), "")
                if target.retry_from > self._clock.now():
                    error = target.error or error
                if error:
                    return error
                left = until - time.monotonic()
                if left <= 0:
                    return f"{len(missing)} of {len(states)} vectors were not made within {seconds:g} s; they will be."
                await self._stepped(min(left, POLL_SECONDS))

    async def _stepped(self, seconds: float) -> None:
        """Let the loop work now, until its next step has ended or so many seconds have passed."""
        self._wake.set()
        async with self._moved:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
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

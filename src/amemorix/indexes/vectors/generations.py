"""The sets of vectors in the store: which one answers, which one is filled, which ones go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...clock import Clock
from ...ports import EmbedderInfo
from ...store import changes as change_log
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection
from ...store.rows import embeddings as embedding_rows
from ...store.rows.embeddings import WATERMARK, Generation

__all__ = ["Choice", "Generations"]

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


class Generations:
    """Chooses, begins, switches and drops generations; each step is one transaction, so a crash leaves no half of it."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def choice(self, db: Connection, info: EmbedderInfo) -> Choice:
        """The generation of this model that is being built, else the one that answers, else the newest, else a new one."""
        serving, building = embedding_rows.serving(db), embedding_rows.building(db)
        mine = [one for one in (building, serving) if one and one.fingerprint == info.fingerprint]
        filling = mine[0] if mine else embedding_rows.of_model(db, info.fingerprint)
        if filling is None:
            filling = Generation(0, info.fingerprint, info.provider, info.model, info.dimension, "new")
        return Choice(serving, filling, int(change_log.get(db, WATERMARK.format(filling.id)) or 0))

    async def claim(self, info: EmbedderInfo) -> Choice:
        """Choose, and write it down: the generation has a row, and no other one is being built."""
        now = self._clock.now()
        return await self._store.write(lambda db: self._claimed(db, info, now))

    def _claimed(self, db: Connection, info: EmbedderInfo, now: float) -> Choice:
        choice = self.choice(db, info)
        filling = choice.filling
        if not filling.id:
            filling = embedding_rows.create(db, info, "building" if choice.serving else "serving", now)
        elif filling.status == "retired":
            embedding_rows.build(db, filling.id)
            filling = replace(filling, status="building")
        embedding_rows.retire_building(db, filling.id)
        return replace(choice, filling=filling)

    async def begin(self, info: EmbedderInfo) -> Generation:
        """A new, empty generation that is being built; an older one that was is given up."""
        now = self._clock.now()
        return await self._store.write(lambda db: embedding_rows.create(db, info, "building", now))

    async def serve(self, generation: Generation) -> Generation:
        """Let it answer from now on."""
        now = self._clock.now()
        await self._store.write(lambda db: embedding_rows.serve(db, generation.id, now))
        return replace(generation, status="serving")

    async def note(self, generation: Generation, watermark: int) -> None:
        """Write down that nothing is missing up to this row, so that opening need not look again."""
        await self._store.write(lambda db: self._note(db, generation.id, watermark))

    def _note(self, db: Connection, generation: int, watermark: int) -> None:
        """Unless a paragraph has come back meanwhile that lacks a vector."""
        key = WATERMARK.format(generation)
        known = int(change_log.get(db, key) or 0)
        if not embedding_rows.pending_before(db, generation, known, watermark):
            change_log.put(db, key, str(watermark))

    async def drop_old(self, keep: int) -> Sequence[int]:
        """Delete retired generations but for the last `keep`; returns those that are gone."""
        retired = await self._store.read(embedding_rows.retired)

        def drop_some(db: Connection, generation: int) -> bool:
            # what was known to be complete goes first: the model may come back before the rest goes
            change_log.put(db, WATERMARK.format(generation), "0")
            return embedding_rows.drop_some(db, generation, DROP_STEP)

        for generation in retired[keep:]:
            while not await self._store.write(lambda db, g=generation: drop_some(db, g)):
                pass
        return retired[keep:]

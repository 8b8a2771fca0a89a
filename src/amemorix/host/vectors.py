"""The vectors at work: the model that makes them, and those that answer meanwhile."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence

from ..clock import Clock
from ..config.model import Embedding
from ..errors import ModelUnavailable
from ..indexes.projections import Indexes
from ..indexes.vectors.embedding import NO_MODEL, EmbeddingService
from ..indexes.vectors.serving import DenseLane, Serving
from ..ports import Embedder
from ..store.metadata_store import MetadataStore
from .shared_parts import Shared

__all__ = ["Vectors"]

log = logging.getLogger(__name__)


class Vectors:
    """The configured model, which may not answer yet, and the one of the kernel before, which may still be needed."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Embedding,
        indexes: Indexes,
        clock: Clock,
        made_by: Callable[[str], Embedder | None],
        model: Shared[Embedder | None],
    ) -> None:
        self._model = model
        self._retry_seconds = settings.retry_seconds
        self._borrowed: Shared[Embedder | None] | None = None
        self.notice = model.notice
        self.dense = DenseLane()
        self.embedding = EmbeddingService(
            store, settings=settings, indexes=indexes, dense=self.dense, clock=clock,
            made_by=made_by, threads=settings.max_concurrent,
        )  # fmt: skip

    @property
    def model(self) -> Shared[Embedder | None]:
        """The model whose vectors answer now: the configured one, or the one that is still borrowed."""
        borrowed, serving = self._borrowed, self.dense.serving
        if borrowed is None or serving is None or serving.embedder is self._model.part:
            return self._model
        return borrowed

    def embedder(self) -> Embedder | None:
        """The model whose vectors answer now, None while no vectors do."""
        return self.dense.serving.embedder if self.dense.serving else None

    def take_over(self, old: Vectors | None) -> None:
        """Go on with the vectors that the old ones answer with, or that are in the store, and with the model that made them;
        blocking."""
        previous = old.dense.serving if old else None
        self._adopt(previous)
        serving = self.dense.serving
        if old and previous is not None and serving is previous:
            self._borrowed = old.model.taken()
        elif serving is not None and serving.embedder is not self._model.part:
            self._borrowed = Shared((), serving.embedder, lambda held: held.close() if held else None)

    def _adopt(self, previous: Serving | None) -> None:
        try:
            self.embedding.adopt(self._model.part, previous)
            self.notice = self._model.notice
        except ModelUnavailable as exc:
            self.dense.serve(previous)
            with_what = "with the vectors of the model before" if previous else "by words and structure"
            self.notice = f"{str(exc).removesuffix('.')}. Searching {with_what} until it answers."
            log.warning("%s", self.notice)

    @property
    def configured(self) -> Embedder | None:
        """The configured model, whether it answers or not."""
        return self._model.part

    @property
    def why_none(self) -> str:
        """Why no model is at work."""
        return self.notice or NO_MODEL

    @property
    def waits(self) -> bool:
        """Whether the configured model did not answer so far."""
        return self._model.part is not None and not self.embedding.adopted

    async def retry(self) -> None:
        """A model that did not answer when the kernel was opened is asked again."""
        while self.waits:
            await asyncio.sleep(self._retry_seconds)
            await self.recover()

    async def recover(self) -> int:
        """Ask the model again, and try again what failed; returns how many paragraphs had."""
        if self.waits:
            await asyncio.to_thread(self._adopt, self.dense.serving)
        return await self.embedding.recover()

    async def wait_error(self, rows: Sequence[int]) -> str:
        """Why these paragraphs have no vectors, once they have or will not soon; empty if they have."""
        return await self.embedding.wait_error(rows, math.inf) if self.embedding.adopted else self.why_none

    async def search_error(self, rows: Sequence[int], seconds: float) -> str:
        """Why a search does not find these paragraphs by all that it goes by, once it does or will not within so many seconds;
        empty if it does, as where there is no model."""
        if self.embedding.adopted:
            return await self.embedding.wait_error(rows, seconds, unread=False)
        return self.why_none if self.waits else ""

    def release(self) -> None:
        """Let go of the borrowed model; blocking."""
        if self._borrowed is not None:
            self._borrowed.release()

    def close(self) -> None:
        """Let the embedding threads go, which wait for the requests of the models; blocking."""
        self.embedding.close()

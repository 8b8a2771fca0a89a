"""The dense lane's model and vectors: which generation answers, which is being built."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from ..indexes.projection import Projection
from ..indexes.vector_store import VectorStore
from ..ports import Embedder
from ..retrieval.query import Query
from ..storage.embeddings import Generation

__all__ = ["DenseLane", "Serving"]

log = logging.getLogger(__name__)
REMEMBERED_QUERIES = 512


@dataclass(frozen=True, slots=True)
class Serving:
    """A model with the vectors it made."""

    embedder: Embedder
    generation: Generation
    vectors: Projection[VectorStore]


class DenseLane:
    """Answers with the vectors of one generation; the switch to another is one assignment."""

    def __init__(self, threads: int = 2) -> None:
        self._pool = ThreadPoolExecutor(threads, "amemorix-query-embed")
        self._serving: Serving | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    @property
    def serving(self) -> Serving | None:
        """What answers now, None while no model does."""
        return self._serving

    @property
    def vectors(self) -> Projection[VectorStore] | None:
        """The vectors that answer now."""
        return self._serving.vectors if self._serving else None

    def serve(self, serving: Serving | None) -> None:
        """Let this model and its vectors answer from the next search on."""
        self._serving = serving

    async def query_vector(self, query: Query, timeout: float) -> tuple[NDArray[np.float32] | None, bool]:
        """(unit vector, whether the model failed). No vector and no failure: this model does not read the query."""
        serving = self._serving
        text = query.bare or query.text
        if serving is None or not text or not self._reads(serving.embedder, query):
            return None, False
        key = (serving.generation.fingerprint, text)
        known = self._remembered(key)
        if known is not None:
            return known, False
        work = asyncio.get_running_loop().run_in_executor(self._pool, serving.embedder.embed, [text])
        try:
            vector = (await asyncio.wait_for(work, timeout))[0]
        except (ModelUnavailable, TimeoutError) as exc:
            log.warning("the query was not embedded (%s); the other lanes answer", exc or "time-out")
            return None, True
        self._remember(key, vector)
        return vector, False

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _reads(self, embedder: Embedder, query: Query) -> bool:
        return "*" in embedder.info.languages or not query.cjk

    def _remembered(self, key: tuple[str, str]) -> NDArray[np.float32] | None:
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
            return self._seen.get(key)

    def _remember(self, key: tuple[str, str], vector: NDArray[np.float32]) -> None:
        with self._lock:
            self._seen[key] = vector
            while len(self._seen) > REMEMBERED_QUERIES:
                self._seen.popitem(last=False)

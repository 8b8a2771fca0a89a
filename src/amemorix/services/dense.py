"""The dense lane's model and vectors: which generation answers, which is being built."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..errors import ModelUnavailable
from ..indexes.projection import Projection
from ..indexes.vector_store import VectorStore
from ..models.embedding_batches import encode
from ..ports import Embedder, Encoded
from ..retrieval.query import Query
from ..storage.embeddings import Generation

__all__ = ["Asked", "DenseLane", "Serving"]

log = logging.getLogger(__name__)
REMEMBERED_QUERIES = 512
REST_SECONDS = 5.0
"""After the model did not answer, searches do without it for so long: one is kept waiting, and not every."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A model with the vectors it made."""

    embedder: Embedder
    generation: Generation
    vectors: Projection[VectorStore]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query encoded, with the vectors that it compares to; without them, either the model does not read the query or
    it failed."""

    encoded: Encoded | None = None
    vectors: Projection[VectorStore] | None = None
    generation: int = 0
    failed: bool = False


class DenseLane:
    """Answers with the vectors of one generation; the switch to another is one assignment."""

    def __init__(self, threads: int = 2) -> None:
        self._pool = ThreadPoolExecutor(threads, "amemorix-query-embed")
        self._serving: Serving | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Encoded] = OrderedDict()
        self._rest_until = 0.0
        self._asking = 0

    @property
    def asked(self) -> bool:
        """Whether a query is being embedded at this moment."""
        return self._asking > 0

    @property
    def serving(self) -> Serving | None:
        """What answers now, None while no model does."""
        return self._serving

    def serve(self, serving: Serving | None) -> None:
        """Let this model and its vectors answer from the next search on."""
        self._serving = serving
        self.try_again()

    def try_again(self) -> None:
        """Ask the model again from the next search on."""
        self._rest_until = 0.0

    async def query_vector(self, query: Query, timeout: float) -> Asked:
        """The query embedded, or the reason to do without; waits at most `timeout` seconds."""
        serving = self._serving
        text = query.bare or query.text
        if serving is None or not text or not serving.embedder.reads(text):
            return Asked()
        key = (serving.generation.fingerprint, text)
        known = self._remembered(key)
        if known is None:
            if time.monotonic() < self._rest_until:
                return Asked(failed=True)
            known = await self._encoded(serving.embedder, text, timeout)
            if known is None:
                return Asked(failed=True)
            self._remember(key, known)
        return Asked(known, serving.vectors, serving.generation.id)

    async def _encoded(self, embedder: Embedder, text: str, timeout: float) -> Encoded | None:
        work = asyncio.get_running_loop().run_in_executor(self._pool, encode, embedder, [text])
        self._asking += 1
        try:
            async with asyncio.timeout(timeout):
                return (await work)[0]
        except (ModelUnavailable, TimeoutError) as exc:
            log.warning("the query was not embedded (%s); the other lanes answer", exc or "time-out")
            if isinstance(exc, TimeoutError) or exc.details.get("endpoint_down"):
                self._rest_until = time.monotonic() + REST_SECONDS
            return None
        finally:
            self._asking -= 1

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _remembered(self, key: tuple[str, str]) -> Encoded | None:
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
            return self._seen.get(key)

    def _remember(self, key: tuple[str, str], encoded: Encoded) -> None:
        with self._lock:
            self._seen[key] = encoded
            while len(self._seen) > REMEMBERED_QUERIES:
                self._seen.popitem(last=False)

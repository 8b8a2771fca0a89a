"""The embedding of queries by the model whose vectors answer."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelUnavailable
from ...models.embedding_batches import embed_each, encode
from ...ports import Embedder, Encoded
from ...store.rows.embeddings import Generation
from ..projections import Projection
from .store import VectorStore

__all__ = ["DenseLane", "QueryEmbedding", "Serving"]

log = logging.getLogger(__name__)
REMEMBERED_QUERIES = 512
REST_SECONDS = 5.0
"""After the model did not answer, searches do without it for so long: one is kept waiting, and not every."""
BATCH = 16
"""Texts that are embedded at a time while a caller waits."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A model with the vectors it made."""

    embedder: Embedder
    generation: Generation
    vectors: Projection[VectorStore]


@dataclass(slots=True)
class QueryEmbedding:
    """A query on its way through the model, then what came of it.

    Without `serving` it is compared to no vectors: the model does not read the query, or it failed.
    """

    serving: Serving | None = None
    encoded: Encoded | None = None
    failed: bool = False
    key: tuple[str, str, bool] = ("", "", True)
    """Fingerprint of the model, text, and whether it is put as a query."""
    work: Future[list[Encoded]] | None = None
    begun: float = 0.0
    """When the model began with it, 0 while it queues."""

    @property
    def generation(self) -> int:
        """The vectors that the query is compared to; 0 for none."""
        return self.serving.generation.id if self.serving else 0

    @property
    def vectors(self) -> Projection[VectorStore] | None:
        """The index of those vectors."""
        return self.serving.vectors if self.serving else None


class DenseLane:
    """Answers with the vectors of one generation; the switch to another is one assignment."""

    def __init__(self, threads: int = 2) -> None:
        self._pool = ThreadPoolExecutor(threads, "amemorix-query-embed")
        self._serving: Serving | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str, bool], Encoded] = OrderedDict()
        self._rest_until = 0.0
        self._begun = 0.0

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

    def begin(self, text: str) -> QueryEmbedding:
        """Begin to embed a query on a thread of its own; from any thread."""
        serving = self._serving
        if serving is None or not text or not serving.embedder.reads(text):
            return QueryEmbedding()
        return self._begin(serving, text, as_query=True)

    def begin_alike(self, query: QueryEmbedding, *, ask: bool) -> QueryEmbedding:
        """Begin to embed an embedded query as a text that is found, so that the same text has the same vector.

        Not to `ask` the model takes what is at hand: most models make no difference.
        """
        if query.serving is None or query.encoded is None:
            return QueryEmbedding()
        if not query.serving.embedder.info.queries_apart:
            return QueryEmbedding(query.serving, query.encoded)
        return self._begin(query.serving, query.key[1], as_query=False) if ask else QueryEmbedding()

    def _begin(self, serving: Serving, text: str, *, as_query: bool) -> QueryEmbedding:
        key = (serving.generation.fingerprint, text, as_query)
        with self._lock:
            if key in self._seen:
                self._seen.move_to_end(key)
                return QueryEmbedding(serving, self._seen[key], key=key)
        if time.monotonic() < self._rest_until:
            return QueryEmbedding(failed=True)
        query = QueryEmbedding(serving, key=key)

        def work() -> list[Encoded]:
            query.begun = self._begun = time.monotonic()
            return encode(serving.embedder, [text], query=as_query)

        query.work = self._pool.submit(work)
        return query

    def finish_soon(self, query: QueryEmbedding, seconds: float) -> bool:
        """Whether the query is embedded, or has failed, within so many seconds; blocking, for threads of their own."""
        if query.work is None:
            return True
        try:
            fault = query.work.exception(seconds)
        except (TimeoutError, CancelledError):
            return False
        if fault is not None and not isinstance(fault, (ModelUnavailable, TimeoutError)):
            raise fault
        self._end(query, fault or query.work.result()[0])
        return True

    async def finish(self, query: QueryEmbedding, timeout: float) -> None:
        """Wait until the query is embedded or has failed: the model worked at it for `timeout` seconds, or began with
        no query for so long."""
        if query.work is None:
            return
        try:
            self._end(query, (await self._made(query, query.work, timeout))[0])
        except (ModelUnavailable, TimeoutError) as exc:
            self._end(query, exc)

    def _end(self, query: QueryEmbedding, made: Encoded | ModelUnavailable | TimeoutError) -> None:
        if not isinstance(made, Encoded):
            log.warning("the query was not embedded (%s); the other lanes answer", made or "time-out")
            if isinstance(made, TimeoutError) or made.details.get("endpoint_down"):
                self._rest_until = time.monotonic() + REST_SECONDS
            query.serving, query.failed = None, True
            return
        query.encoded = made
        with self._lock:
            self._seen[query.key] = made
            while len(self._seen) > REMEMBERED_QUERIES:
                self._seen.popitem(last=False)

    async def embed(self, serving: Serving, texts: Sequence[str], timeout: float) -> list[NDArray[np.float32] | None]:
        """The vectors of texts as they are found, None for what the model does not read, fails on, or has not done in
        time."""
        made: list[NDArray[np.float32] | None] = [None] * len(texts)
        read = [place for place, text in enumerate(texts) if serving.embedder.reads(text)]
        until = time.monotonic() + timeout
        for first in range(0, len(read), BATCH):
            places = read[first : first + BATCH]
            if time.monotonic() < self._rest_until:
                break
            work = self._pool.submit(embed_each, serving.embedder, [texts[place] for place in places])
            try:
                outcomes = await asyncio.wait_for(asyncio.wrap_future(work), max(until - time.monotonic(), 0))
            except (ModelUnavailable, TimeoutError) as exc:
                log.warning("hits were not embedded (%s); they have no similarity", exc or "time-out")
                if isinstance(exc, TimeoutError) or exc.details.get("endpoint_down"):
                    self._rest_until = time.monotonic() + REST_SECONDS
                break
            for place, outcome in zip(places, outcomes, strict=True):
                made[place] = outcome.vector if isinstance(outcome, Encoded) else None
        return made

    async def _made(self, query: QueryEmbedding, work: Future[list[Encoded]], seconds: float) -> list[Encoded]:
        """What the model made; a loop that was held up takes what came meanwhile. Raises TimeoutError."""
        since, made = time.monotonic(), asyncio.wrap_future(work)
        try:
            while True:
                await asyncio.wait([made], timeout=max(since + seconds - time.monotonic(), 0))
                if made.done():
                    return made.result()
                if work.done():
                    return work.result()
                before, since = since, max(since, query.begun or self._begun)
                if since == before:
                    raise TimeoutError
        finally:
            made.cancel()

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)

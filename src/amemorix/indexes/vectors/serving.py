"""The dense lane's model and vectors: which generation answers, which is being built."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ...errors import ModelUnavailable
from ...models.embedding_batches import encode
from ...ports import Embedder, Encoded
from ...store.rows.embeddings import Generation
from ..projection import Projection
from .store import VectorStore

__all__ = ["Asked", "Asking", "DenseLane", "Serving"]

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


@dataclass(frozen=True, slots=True)
class Asking:
    """A query on its way through the model, or its answer."""

    key: tuple[str, str] = ("", "")
    serving: Serving | None = None
    work: Future[list[Encoded]] | None = None
    begun: list[float] = field(default_factory=list[float])
    """When the model began with it; empty while it queues."""
    answer: Asked | None = None

    @property
    def generation(self) -> int:
        """The vectors that the query will be compared to."""
        if self.answer is not None:
            return self.answer.generation
        return self.serving.generation.id if self.serving else 0


class DenseLane:
    """Answers with the vectors of one generation; the switch to another is one assignment."""

    def __init__(self, threads: int = 2) -> None:
        self._pool = ThreadPoolExecutor(threads, "amemorix-query-embed")
        self._serving: Serving | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Encoded] = OrderedDict()
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

    def begin(self, text: str) -> Asking:
        """Begin to embed a query on a thread of its own; from any thread."""
        serving = self._serving
        if serving is None or not text or not serving.embedder.reads(text):
            return Asking(answer=Asked())
        key = (serving.generation.fingerprint, text)
        known = self._remembered(key)
        if known is not None:
            return Asking(answer=Asked(known, serving.vectors, serving.generation.id))
        if time.monotonic() < self._rest_until:
            return Asking(answer=Asked(failed=True))
        begun: list[float] = []

        def work() -> list[Encoded]:
            self._begun = time.monotonic()
            begun.append(self._begun)
            return encode(serving.embedder, [text])

        return Asking(key, serving, self._pool.submit(work), begun)

    async def finish(self, asking: Asking, timeout: float) -> Asked:
        """The query embedded, or the reason to do without: the model worked at it for `timeout` seconds, or began with
        no query for so long."""
        if asking.answer is not None or asking.work is None or asking.serving is None:
            return asking.answer or Asked()
        try:
            encoded = (await self._made(asking, asking.work, timeout))[0]
        except (ModelUnavailable, TimeoutError) as exc:
            log.warning("the query was not embedded (%s); the other lanes answer", exc or "time-out")
            if isinstance(exc, TimeoutError) or exc.details.get("endpoint_down"):
                self._rest_until = time.monotonic() + REST_SECONDS
            return Asked(failed=True)
        self._remember(asking.key, encoded)
        return Asked(encoded, asking.serving.vectors, asking.serving.generation.id)

    async def _made(self, asking: Asking, work: Future[list[Encoded]], seconds: float) -> list[Encoded]:
        """What the model made; a loop that was held up takes what came meanwhile. Raises TimeoutError."""
        since, made = time.monotonic(), asyncio.wrap_future(work)
        try:
            while True:
                await asyncio.wait([made], timeout=max(since + seconds - time.monotonic(), 0))
                if made.done():
                    return made.result()
                if work.done():
                    return work.result()
                before, since = since, max(since, *(asking.begun or [self._begun]))
                if since == before:
                    raise TimeoutError
        finally:
            made.cancel()

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

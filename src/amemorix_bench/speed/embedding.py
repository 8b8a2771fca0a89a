"""How fast the background gives new texts their vectors."""

from __future__ import annotations

import time
from dataclasses import dataclass

from amemorix.host.service import AMemorixHostService

from ..corpus import fresh_texts
from ..workspace import answered

__all__ = ["EmbeddingRate", "measure_embedding"]

SOURCE = "bench:embedding"
_CALL = 500


@dataclass(frozen=True, slots=True)
class EmbeddingRate:
    """Texts a second from the first batch until nothing was pending, with the rest of the background at work.

    `cpu_ms` is what all threads of the process spent on a text. Embedding runs at a low priority: on a busy machine
    the rate says how busy it is.
    """

    texts: int
    seconds: float
    rate: float
    cpu_ms: float


async def measure_embedding(host: AMemorixHostService, texts: int) -> EmbeddingRate | None:
    """Store `texts` turns while the background pauses, let it go and wait; None without a model."""
    kernel = host.kernel
    if not kernel.vectors.embedding.adopted:
        return None
    await host.settle()
    await kernel.pause()
    await _store(host, texts)
    started, spent = time.perf_counter(), time.process_time()
    kernel.start()
    await kernel.vectors.embedding.settled()
    seconds, spent = time.perf_counter() - started, time.process_time() - spent
    await answered(host, "memory_source_admin", {"action": "delete", "source": SOURCE})
    return EmbeddingRate(texts, round(seconds, 3), round(texts / seconds, 1), round(spent / texts * 1000, 2))


async def _store(host: AMemorixHostService, count: int) -> None:
    turns = [{"speaker": "Ada", "text": text} for text in fresh_texts(count, SOURCE)]
    for first in range(0, count, _CALL):
        args = {"chat_id": "bench-embedding", "source": SOURCE, "messages": turns[first : first + _CALL]}
        await answered(host, "ingest_messages", args)

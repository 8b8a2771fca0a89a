"""Whether the event loop stays free while many read and write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from amemorix.host.service import AMemorixHostService

from ..corpus import Question, fresh_texts, questions
from ..heartbeat import heartbeat
from ..metrics import percentile
from ..workspace import answered
from .ingest import MOST_PER_SECOND, store_notes
from .search import search_args

__all__ = ["Load", "measure_load"]

SOURCE = "bench:load"
WRITERS = READERS = 20


@dataclass(frozen=True, slots=True)
class Load:
    """Calls of concurrent writers and readers, their milliseconds, and the longest stall of the event loop."""

    writers: int
    readers: int
    writes: int
    searches: int
    seconds: float
    write_p50: float
    search_p50: float
    search_p95: float
    stall_ms: float
    stall_p99_ms: float


async def measure_load(host: AMemorixHostService, rows: int, seconds: float) -> Load:
    """Twenty callers store and twenty search for about `seconds`; what they stored is deleted again."""
    texts = iter(enumerate(fresh_texts(int(MOST_PER_SECOND * seconds), SOURCE)))
    asked = iter(questions(int(1_000 * seconds), rows, SOURCE))
    wrote: list[float] = []
    found: list[float] = []
    started = time.perf_counter()
    until = started + seconds
    async with heartbeat() as pulse:
        await asyncio.gather(
            *(store_notes(host, texts, SOURCE, until, wrote) for _ in range(WRITERS)),
            *(_reader(host, asked, rows, until, found) for _ in range(READERS)),
        )
    elapsed = time.perf_counter() - started
    await answered(host, "memory_source_admin", {"action": "delete", "source": SOURCE})
    return Load(
        writers=WRITERS, readers=READERS, writes=len(wrote), searches=len(found), seconds=round(elapsed, 2),
        write_p50=round(percentile(wrote, 50), 2), search_p50=round(percentile(found, 50), 2),
        search_p95=round(percentile(found, 95), 2), stall_ms=pulse.longest, stall_p99_ms=pulse.p99,
    )  # fmt: skip


async def _reader(
    host: AMemorixHostService, asked: Iterator[Question], rows: int, until: float, taken: list[float]
) -> None:
    for question in asked:
        started = time.perf_counter()
        if started >= until:
            return
        await answered(host, "search_memory", search_args(question, rows))
        taken.append((time.perf_counter() - started) * 1000)

"""How fast single texts are acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from amemorix.host.service import AMemorixHostService

from ..corpus import chat_name, fresh_texts
from ..metrics import percentile
from ..workspace import answered

__all__ = ["MOST_PER_SECOND", "Singles", "measure_singles", "store_notes"]

CALLERS = 32
SOURCE = "bench:singles"
MOST_PER_SECOND = 6_000


@dataclass(frozen=True, slots=True)
class Singles:
    """Texts a second stored by concurrent callers of `ingest_text`, and milliseconds until each was acknowledged."""

    rows: int
    callers: int
    texts: int
    rate: float
    p50: float
    p99: float


async def measure_singles(host: AMemorixHostService, rows: int, seconds: float, callers: int = CALLERS) -> Singles:
    """Store texts for about `seconds` beside the background work, then delete them; `rows` says what is there already."""
    texts = iter(enumerate(fresh_texts(int(MOST_PER_SECOND * seconds), SOURCE)))
    taken: list[float] = []
    started = time.perf_counter()
    await asyncio.gather(*(store_notes(host, texts, SOURCE, started + seconds, taken) for _ in range(callers)))
    elapsed = time.perf_counter() - started
    await answered(host, "memory_source_admin", {"action": "delete", "source": SOURCE})
    return Singles(
        rows=rows, callers=callers, texts=len(taken), rate=round(len(taken) / elapsed, 1),
        p50=round(percentile(taken, 50), 2), p99=round(percentile(taken, 99), 2),
    )  # fmt: skip


async def store_notes(
    host: AMemorixHostService, texts: Iterator[tuple[int, str]], source: str, until: float, taken: list[float]
) -> None:
    """Store one numbered text after another by `ingest_text` until that time; `taken` gets the milliseconds of each."""
    for number, text in texts:
        started = time.perf_counter()
        if started >= until:
            return
        args = {"external_id": f"{source}:{number}", "source_type": "note", "source": source, "text": text}
        await answered(host, "ingest_text", {**args, "chat_id": chat_name(number % 50)})
        taken.append((time.perf_counter() - started) * 1000)

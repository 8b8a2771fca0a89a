"""What changing the configuration costs while searches go on."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amemorix.host.service import AMemorixHostService

from ..corpus import Question, questions
from ..heartbeat import heartbeat
from ..metrics import percentile
from .search import search_args

__all__ = ["Reload", "measure_reloads"]

SEARCHERS = 4
_LIVE = {"retrieval.candidates": 101}, {"retrieval.candidates": None}
_MODEL = {"embedding.max_concurrent": 3}, {"embedding.max_concurrent": None}
_INDEXES = {"embedding.quantization_type": "float16"}, {"embedding.quantization_type": None}


@dataclass(frozen=True, slots=True)
class Reload:
    """One change: how long it took, and what the searches under way noticed of it."""

    name: str
    seconds: float
    searches: int
    failed: int
    search_p95: float
    stall_ms: float


async def measure_reloads(host: AMemorixHostService, rows: int) -> list[Reload]:
    """A live setting, a model built anew, and every index built anew from the rows; each is put back afterwards."""
    asked = iter(questions(20_000, rows, "reload"))
    found = [await _measure(host, rows, asked, "live setting", *_LIVE)]
    if host.kernel.vectors.embedding.adopted:
        found.append(await _measure(host, rows, asked, "model", *_MODEL))
    shutil.rmtree(host.kernel.store.folder / "indexes", ignore_errors=True)
    found.append(await _measure(host, rows, asked, "all indexes from rows", *_INDEXES))
    return found


async def _measure(
    host: AMemorixHostService,
    rows: int,
    asked: Iterator[Question],
    name: str,
    patch: dict[str, Any],
    back: dict[str, Any],
) -> Reload:
    taken: list[float] = []
    failures: list[str] = []
    done = asyncio.Event()
    async with heartbeat() as pulse:
        searchers = [asyncio.create_task(_search(host, rows, asked, done, taken, failures)) for _ in range(SEARCHERS)]
        await asyncio.sleep(0.1)
        started = time.perf_counter()
        try:
            await host.update_config(patch)
        finally:
            seconds = time.perf_counter() - started
            done.set()
            await asyncio.gather(*searchers)
    await host.update_config(back)
    return Reload(
        name=name, seconds=round(seconds, 3), searches=len(taken), failed=len(failures),
        search_p95=round(percentile(taken, 95), 2), stall_ms=pulse.longest,
    )  # fmt: skip


async def _search(
    host: AMemorixHostService,
    rows: int,
    asked: Iterator[Question],
    done: asyncio.Event,
    taken: list[float],
    failures: list[str],
) -> None:
    for question in itertools.takewhile(lambda _: not done.is_set(), asked):
        started = time.perf_counter()
        answer = await host.invoke("search_memory", search_args(question, rows))
        taken.append((time.perf_counter() - started) * 1000)
        if not answer["success"]:
            failures.append(answer["error"])

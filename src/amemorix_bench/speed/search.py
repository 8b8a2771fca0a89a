"""How long searches take, mode by mode."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from amemorix.host.service import AMemorixHostService
from amemorix.search.operations import MODES

from ..corpus import Question, questions, span_of
from ..metrics import percentile
from ..workspace import answered

__all__ = ["WARM_UP", "SearchTimes", "measure_searches", "search_args"]

WARM_UP = 10
WINDOW_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class SearchTimes:
    """Milliseconds of one mode, in one chat or over everything; every query is new, its embedding is included.

    `cpu` is what all threads of the process spent on a search: a busy machine stretches the times, but hardly this.
    """

    mode: str
    scoped: bool
    searches: int
    p50: float
    p95: float
    cpu: float
    hits: float


async def measure_searches(host: AMemorixHostService, rows: int, count: int) -> list[SearchTimes]:
    """`count` searches, one after the other, for each mode with and without a chat."""
    return [await _measure(host, rows, count, mode, scoped) for scoped in (False, True) for mode in MODES]


async def _measure(host: AMemorixHostService, rows: int, count: int, mode: str, scoped: bool) -> SearchTimes:
    asked = questions(WARM_UP + count, rows, f"{mode}:{scoped}")
    taken: list[float] = []
    hits = 0
    spent = time.process_time()
    for question in asked:
        args = search_args(question, rows, mode=mode, scoped=scoped)
        started = time.perf_counter()
        answer = await answered(host, "search_memory", args)
        taken.append((time.perf_counter() - started) * 1000)
        hits += len(answer["hits"])
    spent = time.process_time() - spent
    kept = taken[WARM_UP:]
    return SearchTimes(
        mode=mode, scoped=scoped, searches=count, p50=round(percentile(kept, 50), 2),
        p95=round(percentile(kept, 95), 2), cpu=round(spent / len(asked) * 1000, 2), hits=round(hits / len(asked), 2),
    )  # fmt: skip


def search_args(question: Question, rows: int, *, mode: str = "search", scoped: bool = True) -> dict[str, Any]:
    """Arguments of `search_memory`; the modes that need a window get thirty days of the corpus."""
    args: dict[str, Any] = {"query": question.text, "mode": mode, "limit": 10}
    if scoped:
        args["chat_id"] = question.chat_id
    if mode in ("time", "hybrid"):
        first, last = span_of(rows)
        start = first + random.Random(question.text).random() * max(last - first - WINDOW_DAYS * 86_400, 0)
        args |= {"time_start": start, "time_end": start + WINDOW_DAYS * 86_400}
    return args

"""How fast the background makes episodes of talk in many chats, and what that leaves of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amemorix.host.service import AMemorixHostService

from ..corpus import fresh_texts
from ..heartbeat import heartbeat
from ..workspace import answered, open_memory, working_folder

__all__ = ["DeriveFigures", "measure_derive"]

SOURCE_TURNS = 50
MOST_ROWS = 10_000
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class DeriveFigures:
    """From the first look at the news until every paragraph is in an episode, with nothing else going on.

    `loop_share` is the share of that time that the event loop's thread spent working, `longest_ms` its longest stall.
    """

    rows: int
    sources: int
    episodes: int
    seconds: float
    rate: float
    cpu_ms: float
    loop_share: float
    longest_ms: float


async def measure_derive(rows: int, config: Mapping[str, Any]) -> DeriveFigures:
    """Store up to 10,000 turns in chats of fifty while the background pauses, then let it go and wait."""
    rows = min(rows, MOST_ROWS)
    patch = {**config, "embedding.provider": "none", "episode.debounce_seconds": 0}
    with working_folder() as folder:
        async with open_memory(folder, patch) as host:
            await host.kernel.pause()
            sources = await _store(host, rows)
            return await _measured(host, rows, sources)


async def _measured(host: AMemorixHostService, rows: int, sources: int) -> DeriveFigures:
    started, spent, on_loop = time.perf_counter(), time.process_time(), time.thread_time()
    async with heartbeat() as pulse:
        host.kernel.start()
        while True:
            if _is_done(await _status(host), sources):
                break
            await asyncio.sleep(LOOK_SECONDS)
    seconds = time.perf_counter() - started
    return DeriveFigures(
        rows=rows, sources=sources, episodes=(await _status(host))["episodes"], seconds=round(seconds, 3),
        rate=round(rows / seconds, 1), cpu_ms=round((time.process_time() - spent) / rows * 1000, 3),
        loop_share=round((time.thread_time() - on_loop) / seconds, 4), longest_ms=pulse.longest,
    )  # fmt: skip


def _is_done(status: Mapping[str, Any], sources: int) -> bool:
    return status["completed"] >= sources and not (status["lag"] or status["pending"] or status["processing"])


async def _status(host: AMemorixHostService) -> dict[str, Any]:
    return await answered(host, "memory_episode_admin", {"action": "status", "limit": 0})


async def _store(host: AMemorixHostService, rows: int) -> int:
    """Fifty turns a chat, a minute apart; returns how many chats there are."""
    texts = list(fresh_texts(rows, "derive"))
    chats = range(0, rows, SOURCE_TURNS)
    for first in chats:
        turns = [
            {"speaker": ("Ada", "Bob")[n % 2], "text": text, "time": 1.7e9 + n * 60.0}
            for n, text in enumerate(texts[first : first + SOURCE_TURNS])
        ]
        await answered(host, "ingest_messages", {"chat_id": f"derive-{first}", "messages": turns})
    return len(chats)

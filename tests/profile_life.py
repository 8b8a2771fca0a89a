"""A life of a memory that tells of persons until it is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from amemorix.testing import FrozenClock, memory_host
from lives import Tell

__all__ = ["PERSONS", "SETTINGS", "batch", "live"]

PERSONS, CHATS, BATCH, MOST = 12, 5, 10, 15
SETTINGS: dict[str, Any] = {
    "profile": {"debounce_seconds": 0, "poll_interval_seconds": 0.001, "items_per_section": 50, "max_history": 1000}
}
WORDS = ("我喜欢{}号茶", "我讨厌{}号茶", "I love tea number {}", "我住在{}号楼", "I usually go to house {}", "哈哈{}")


def batch(number: int) -> dict[str, Any]:
    """The arguments that store the turns of a batch, always the same."""
    turns = range(number * BATCH, (number + 1) * BATCH)
    messages = [
        {"external_id": f"m{n}", "person_id": f"u{n % PERSONS}", "speaker": f"名{n % PERSONS}", "time": 1e9 + n,
         "text": WORDS[n % len(WORDS)].format(n)}
        for n in turns
    ]  # fmt: skip
    return {"chat_id": f"c{number % CHATS}", "messages": messages}


async def live(tell: Tell, folder: Path, first: int) -> None:
    """Store batches, and say which have been acknowledged; then wait to be killed."""
    async with memory_host(folder, clock=FrozenClock(), **SETTINGS) as host:
        for number in range(first, first + MOST):
            answer = await host.invoke("ingest_messages", batch(number))
            assert answer["success"], answer
            tell(number)
        await asyncio.sleep(600)

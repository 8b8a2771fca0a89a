"""The storing of a data set in a memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amemorix.errors import TimedOut
from amemorix.host.service import AMemorixHostService

from ..conditions import Footprint, folder_bytes, footprint
from ..workspace import answered, open_memory
from .dataset import Corpus, Dataset, Session

__all__ = ["Filling", "OnStage", "fill"]

REPORT_SECONDS = 20.0
OnStage = Callable[[str], None]
"""Called with a sentence about what begins or goes on."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What the storing took; the store's size is that of a memory that was closed, its indexes saved."""

    before: Footprint
    filled: Footprint
    seconds: float


async def fill(folder: Path, dataset: Dataset, config: Mapping[str, Any] | None, say: OnStage) -> Filling:
    """Store every session in a memory in `folder`, wait until all of it has its vectors, and close the memory."""
    say(f"storing {dataset.turns:,} turns of {len(dataset.corpora):,} conversations")
    before = footprint(folder)
    async with open_memory(folder, config) as host:
        started = time.perf_counter()
        for corpus in dataset.corpora:
            for session in corpus.sessions:
                if session.turns:
                    await answered(host, "ingest_messages", _messages(corpus, session))
        await _settle(host, say)
        seconds = time.perf_counter() - started
        filled = footprint(folder)
    return Filling(before, replace(filled, store_bytes=folder_bytes(folder)), round(seconds, 3))


async def _settle(host: AMemorixHostService, say: OnStage) -> None:
    while True:
        with contextlib.suppress(TimedOut):
            await host.settle(REPORT_SECONDS)
            return
        state = (await answered(host, "memory_stats", {}))["embedding"]
        say(f"{state['done']:,} paragraphs have vectors, {state['pending']:,} are waiting")


def _messages(corpus: Corpus, session: Session) -> dict[str, Any]:
    """Arguments of `ingest_messages` for a session."""
    turns = [
        {"external_id": corpus.key(turn.id), "speaker": turn.speaker, "text": turn.text, "time": session.time}
        for turn in session.turns
    ]
    return {"chat_id": corpus.id, "source": corpus.key(session.id), "messages": turns}

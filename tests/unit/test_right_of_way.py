"""Background threads let callers go first, and go on all the same."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix.foreground_priority import RightOfWay
from amemorix.testing import HashEmbedder, memory_host

PATIENCE = 60.0
"""Seconds that nothing here takes unless it hangs."""


def worked(way: RightOfWay, pieces: int, done: list[int]) -> threading.Thread:
    """A thread that works piece by piece, giving way before each."""

    def work() -> None:
        for piece in range(pieces):
            way.give_way(PATIENCE)
            done.append(piece)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_work_waits_until_the_last_caller_has_gone() -> None:
    way, done = RightOfWay(), list[int]()
    with way.taken():
        with way.taken():
            thread = worked(way, 3, done)
        assert way.is_taken
        thread.join(0.05)
        assert (thread.is_alive(), done) == (True, [])
    thread.join(PATIENCE)
    assert (done, way.is_taken) == ([0, 1, 2], False)


def test_work_goes_on_under_callers_that_never_end() -> None:
    """After a wait in vain there is a turn without waiting: far fewer waits than pieces."""
    way, waits = RightOfWay(), 0
    with way.taken():
        for _ in range(50):
            before = time.monotonic()
            way.give_way(0.001)
            waits += time.monotonic() - before >= 0.001
        assert 1 <= waits < 50


def test_a_call_that_fails_gives_the_way_free() -> None:
    way = RightOfWay()
    try:
        with way.taken():
            raise ValueError
    except ValueError:
        pass
    assert not way.is_taken


async def test_a_search_takes_the_way_and_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    ways: list[RightOfWay] = []

    class Watching(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            seen.extend(way.is_taken for way in ways)
            return super().embed(texts)

    async with memory_host(tmp_path, embed=Watching(16)) as host:
        await host.invoke("ingest_text", {"external_id": "a", "source_type": "note", "text": "The tea is in the tin"})
        await host.settle(PATIENCE)
        taken = RightOfWay.taken

        def noting(way: RightOfWay) -> Any:
            ways.append(way)
            return taken(way)

        monkeypatch.setattr(RightOfWay, "taken", noting)
        await host.invoke("search_memory", {"query": "where is the tea"})
        assert (seen, ways[0].is_taken) == ([True], False)

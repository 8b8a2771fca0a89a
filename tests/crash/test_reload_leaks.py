"""Reloads leave nothing open behind them."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder
from conftest import Open

OPEN_FILES = Path("/proc/self/fd")
RELOADS, LOOKS = 50, 6
"""What is left behind by each fifth of them is found; how many connections are there at once varies by a few."""
SHARED: list[dict[str, Any]] = [{"retrieval.candidates": 60 + number} for number in range(5)]
"""The next kernel takes the store over."""
ANEW: list[dict[str, Any]] = [
    {"storage.readers": 3},
    {"storage.group_commit_max": 64},
    {"embedding.quantization_type": "float16"},
    {"storage.readers": 2, "storage.group_commit_max": 65},
    {"embedding.quantization_type": "int8"},
]
"""The store or an index is opened anew."""


def files() -> list[str]:
    """The files that this process has open; a reading that goes through the folder has it open too."""
    found: list[str] = []
    for name in OPEN_FILES.iterdir():
        try:
            found.append(os.readlink(name))
        except FileNotFoundError:
            continue
    return sorted(found)


def threads() -> list[str]:
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("amemorix"))


async def used(host: AMemorixHostService) -> None:
    """Each kind of thread has had something to do."""
    assert (await host.invoke("search_memory", {"query": "lantern", "chat_id": "c"}))["success"]
    await host.settle(600)


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="there is no /proc here")
@pytest.mark.parametrize("changes", [SHARED, ANEW], ids=["live", "rebuild"])
async def test_fifty_reloads_leave_no_file_and_no_thread_behind(changes: list[dict[str, Any]], opened: Open) -> None:
    host = await opened(embed=HashEmbedder())
    await host.call("ingest_text", {"external_id": "n", "source_type": "note", "chat_id": "c", "text": "A lantern."})
    counts: list[tuple[int, int]] = []
    gc.freeze()  # what other tests have left is not looked through again and again
    for number in range(RELOADS + LOOKS):
        await host.update_config(changes[number % len(changes)])
        await used(host)
        await host._kernels.retired()  # pyright: ignore[reportPrivateUsage]
        if number in (*range(LOOKS), *range(RELOADS, RELOADS + LOOKS)):
            gc.collect()
            counts.append((len(files()), len(threads())))
    early, late = counts[:LOOKS], counts[LOOKS:]
    print(f"\nfiles open, threads running: {early} … {late}")
    assert max(late)[0] < max(early)[0] + RELOADS / 5, files()
    assert max(running for _, running in late) < max(running for _, running in early) + RELOADS / 5, threads()

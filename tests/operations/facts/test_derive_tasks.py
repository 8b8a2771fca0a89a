"""Tasks whose worker dies: each death counts, the guilty one is given up in the end, and no other goes with it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.episodes import grouping
from amemorix.episodes.service import EpisodeService
from amemorix.testing import memory_host, pause_background, resume_background
from conftest import Open
from entrance import said
from lives import Life, Tell
from pace import until

MOST = 2
"""Tries after which a task is given up."""
SETTINGS: dict[str, dict[str, Any]] = {
    "episode": {"debounce_seconds": 0, "poll_interval_seconds": 0.001, "max_attempts": MOST},
}
QUIET = {"poll_interval_seconds": 3600, "debounce_seconds": 0}


def dying_of_a_bomb() -> None:
    derive = grouping.derive

    def dying(db: sqlite3.Connection, source: int, *args: Any, **more: Any) -> grouping.Derived:
        words = db.execute("select group_concat(content) from paragraphs where source = ?", (source,)).fetchone()[0]
        if "bomb" in words or "炸弹" in words:
            die()
        return derive(db, source, *args, **more)

    grouping.derive = dying


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live(tell: Tell, folder: Path) -> None:
    """Derive episodes, and die of the source that speaks of a bomb."""
    dying_of_a_bomb()
    async with memory_host(folder, **SETTINGS) as host:
        tell("open")
        await host.settle(600)
        tell("alive")


def killed(folder: Path) -> None:
    """Let a process derive until it dies of it."""
    life = Life(live, folder)
    assert (life.rest(), life.exitcode) == (["open"], -signal.SIGKILL)


async def status(host: AMemorixHostService, component: str) -> dict[str, Any]:
    result = await host.invoke(component, {"action": "status"})
    assert result["success"], result
    return result


async def begun(host: AMemorixHostService) -> None:
    """Wait until an episode is being worked on."""

    async def working() -> bool:
        return bool((await status(host, "memory_episode_admin"))["processing"])

    await until(working, "nothing was begun")


@pytest.mark.parametrize("deadly", ["the bomb ticks", "那颗炸弹在响"])
async def test_a_source_that_kills_the_process_is_given_up_until_it_is_asked_for_and_takes_no_other_along(
    tmp_path: Path, deadly: str
) -> None:
    async with memory_host(tmp_path, episode=QUIET) as host:
        for chat, text in (("a", "a kite by the sea"), ("b", deadly), ("c", "海边的风筝")):
            await said(host, chat, ("Ada", text))
    for _ in range(MOST):
        killed(tmp_path)
    async with memory_host(tmp_path, **SETTINGS) as host:
        await host.settle(600)
        found = await status(host, "memory_episode_admin")
        again = await host.invoke("memory_episode_admin", {"action": "process_pending"})

    assert (found["completed"], found["failed"], found["pending"], found["processing"]) == (2, 1, 0, 0)
    (failure,) = found["failures"]
    assert (failure["chat_id"], failure["attempts"], failure["given_up"]) == ("b", 2, True)
    assert failure["error"] == (
        "It was begun 2 times and never came to an end: the process may have died of it each time."
    )
    assert (again["rebuilt"], again["failed"]) == (1, 0)


async def test_work_that_is_cut_short_counts_no_try(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the host stops or changes its settings meanwhile."""
    host = await opened(episode={**QUIET, "max_attempts": 2})
    await pause_background(host)  # nothing else takes the task up
    await said(host, "c", ("Ada", "a kite by the sea"))
    with monkeypatch.context() as patch:
        patch.setattr(EpisodeService, "_derive", lambda *_: asyncio.sleep(60))
        for _ in range(4):
            resume_background(host)
            await begun(host)
            await pause_background(host)
    assert (await status(host, "memory_episode_admin"))["pending"] == 1
    resume_background(host)
    await host.settle(600)

    assert (await status(host, "memory_episode_admin"))["completed"] == 1

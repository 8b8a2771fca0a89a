"""A process that dies of deriving."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

from amemorix.episodes import grouping
from amemorix.testing import ScriptedChat, memory_host
from lives import Tell

__all__ = ["MOST", "SETTINGS", "live"]

MOST = {"episodes": 2, "profile": 4}
"""Tries after which a task is given up."""
SETTINGS: dict[str, dict[str, Any]] = {
    "episode": {"debounce_seconds": 0, "poll_interval_seconds": 0.001, "max_attempts": MOST["episodes"]},
    "profile": {"debounce_seconds": 0, "poll_interval_seconds": 0.001},
}


def dying_of_a_bomb() -> None:
    derive = grouping.derive

    def dying(db: sqlite3.Connection, source: int, *args: Any, **more: Any) -> grouping.Derived:
        words = db.execute("select group_concat(content) from paragraphs where source = ?", (source,)).fetchone()[0]
        if "bomb" in words or "炸弹" in words:
            die()
        return derive(db, source, *args, **more)

    grouping.derive = dying


def asked(task: str, user: str) -> dict[str, Any]:
    """Dies when it is asked for the profile of the person."""
    if task == "profile" and "deadly" in user:
        die()
    return {"items": []}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live(tell: Tell, folder: Path, what: str) -> None:
    """Derive `episodes`, and die of the source that speaks of a bomb, or `profile`, and die of the person `deadly`."""
    if what == "episodes":
        dying_of_a_bomb()
    chat = ScriptedChat(asked) if what == "profile" else None
    async with memory_host(folder, chat=chat, **SETTINGS) as host:
        tell("open")
        await host.settle(120)
        tell("alive")

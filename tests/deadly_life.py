"""A process that dies of deriving: `python deadly_life.py FOLDER WHAT`.

WHAT is `episodes` (it dies of the source that speaks of a bomb) or `profile` (of the person `deadly`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from amemorix.episodes.grouping import Derived, EpisodeGrouping
from amemorix.testing import ScriptedChat, memory_host

__all__ = ["MOST", "SETTINGS"]

MOST = {"episodes": 2, "profile": 4}
"""Tries after which a task is given up."""
SETTINGS: dict[str, dict[str, Any]] = {
    "episode": {"debounce_seconds": 0, "poll_interval_seconds": 0.001, "max_attempts": MOST["episodes"]},
    "profile": {"debounce_seconds": 0, "poll_interval_seconds": 0.001},
}


def dying_of_a_bomb() -> None:
    derive = EpisodeGrouping.derive

    def dying(self: EpisodeGrouping, db: sqlite3.Connection, source: int, now: float) -> Derived:
        words = db.execute("select group_concat(content) from paragraphs where source = ?", (source,)).fetchone()[0]
        if "bomb" in words or "炸弹" in words:
            die()
        return derive(self, db, source, now)

    EpisodeGrouping.derive = dying


def asked(task: str, user: str) -> dict[str, Any]:
    """Dies when it is asked for the profile of the person."""
    if task == "profile" and "deadly" in user:
        die()
    return {"items": []}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live(folder: Path, what: str) -> None:
    """Derive until dead."""
    if what == "episodes":
        dying_of_a_bomb()
    chat = ScriptedChat(asked) if what == "profile" else None
    async with memory_host(folder, chat=chat, **SETTINGS) as host:
        print("open", flush=True)
        await host.settle(120)
        print("alive", flush=True)


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))

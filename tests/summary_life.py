"""A process that has a chat summed up and kills itself."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amemorix.testing import ScriptedChat, memory_host
from lives import Tell

__all__ = ["MESSAGES", "SETTINGS", "digest", "live", "turns"]

MESSAGES = 50
SETTINGS = {"summary": {"window_messages": 10, "poll_interval_seconds": 0.001}}


def turns() -> list[dict[str, Any]]:
    """The messages of the chat, in both languages."""
    words = ("海边的风筝", "a kite by the sea")
    return [
        {"external_id": f"m{n}", "speaker": "Ada", "text": f"q{n}q {words[n % 2]}", "time": 1.69e9 + n}
        for n in range(MESSAGES)
    ]


def digest(user: str) -> dict[str, Any]:
    """A summary that names what it covers."""
    numbers = [part for part in user.split("q") if part.isdigit()]
    return {"summary": f"walrus {' '.join(numbers)}", "entities": [], "relations": []}


async def live(tell: Tell, folder: Path, question: int, delay: float) -> None:
    """Store the messages with the wish, and die that many seconds after that question was asked of the chat model."""
    asked = 0

    def script(task: str, user: str) -> Mapping[str, Any]:
        nonlocal asked
        asked += 1
        if asked == question and delay == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        elif asked == question:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return {**digest(user.partition("消息：")[2] or user.partition("Messages:")[2])}

    async with memory_host(folder, chat=ScriptedChat(script), **SETTINGS) as host:
        answer = await host.invoke("ingest_summary", {"external_id": "a", "chat_id": "c", "messages": turns()})
        assert answer["queued"], answer
        await asyncio.sleep(20)

"""A process that is killed while chats are summed up: the next one goes on, and nothing is covered twice or never."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from amemorix.testing import ScriptedChat, memory_host
from entrance import hits, stats
from lives import Life, Tell

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


@pytest.mark.parametrize(
    ("question", "delay"), [(1, 0), (3, 0), (5, 0), (1, 0.001), (2, 0.002), (3, 0.003), (4, 0.005), (5, 0.002)]
)
async def test_every_message_is_covered_once_whenever_it_is_killed(tmp_path: Path, question: int, delay: float) -> None:
    life = Life(live, tmp_path, question, delay)
    assert (life.rest(), life.exitcode) == ([], -signal.SIGKILL)

    chat = ScriptedChat(lambda task, user: digest(user.partition("消息：")[2] or user.partition("Messages:")[2]))
    async with memory_host(tmp_path, chat=chat, **SETTINGS) as host:
        await host.settle(600)
        found = await hits(host, "walrus", limit=50, chat_id="c")
        again = await host.invoke("ingest_summary", {"external_id": "a", "chat_id": "c", "messages": turns()})
        await host.settle(600)
        counts = await stats(host)

    covered = [int(n) for hit in found if hit["source"] == "chat_summary:c" for n in hit["content"].split()[1:]]
    assert sorted(covered) == list(range(MESSAGES))
    assert (again["stored_ids"], again["reason"]) == ([], "nothing_new")
    assert counts["paragraphs"] == MESSAGES + 5

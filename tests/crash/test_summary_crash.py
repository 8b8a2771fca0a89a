"""A process that is killed while chats are summed up: the next one goes on, and nothing is covered twice or never."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import summary_life
from amemorix.testing import ScriptedChat, memory_host
from entrance import hits, stats
from lives import Life


@pytest.mark.parametrize(
    ("question", "delay"), [(1, 0), (3, 0), (5, 0), (1, 0.001), (2, 0.002), (3, 0.003), (4, 0.005), (5, 0.002)]
)
async def test_every_message_is_covered_once_whenever_it_is_killed(tmp_path: Path, question: int, delay: float) -> None:
    life = Life(summary_life.live, tmp_path, question, delay)
    assert (life.rest(), life.exitcode) == ([], -signal.SIGKILL)

    chat = ScriptedChat(
        lambda task, user: summary_life.digest(user.partition("消息：")[2] or user.partition("Messages:")[2])
    )
    async with memory_host(tmp_path, chat=chat, **summary_life.SETTINGS) as host:
        await host.settle(120)
        found = await hits(host, "walrus", limit=50, chat_id="c")
        again = await host.invoke(
            "ingest_summary", {"external_id": "a", "chat_id": "c", "messages": summary_life.turns()}
        )
        await host.settle(120)
        counts = await stats(host)

    covered = [int(n) for hit in found if hit["source"] == "chat_summary:c" for n in hit["content"].split()[1:]]
    assert sorted(covered) == list(range(summary_life.MESSAGES))
    assert (again["stored_ids"], again["reason"]) == ([], "nothing_new")
    assert counts["paragraphs"] == summary_life.MESSAGES + 5

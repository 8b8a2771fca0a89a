"""Talk to be tuned on, and a process that begins to tune and kills itself."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host
from lives import Tell

__all__ = ["ADMIN", "OFF", "PLACES", "SETTINGS", "THINGS", "create", "ended", "fill", "live"]

ADMIN = "memory_tuning_admin"
SETTINGS: dict[str, Any] = {"tuning": {"poll_interval_seconds": 0.02, "idle_share": 0.0}}
OFF = {
    f"retrieval.{stage}.{name}": 0.0
    for stage in ("weights", "rerank.weights")
    for name in ("paragraph", "window", "session", "coverage", "dense", "topic", "person", "reply", "answer")
} | {"retrieval.sparse.enabled": False, "retrieval.candidates": 10}
"""Settings with which a search finds hardly anything."""
PLACES = ("lakeside", "harbour", "orchard", "museum", "theatre", "airport", "vineyard", "library")
THINGS = (
    ("bicycle", "mended the rusty chain", "copper pedals"), ("telescope", "watched pale Saturn rings", "cloudless midnight"),
    ("pottery", "glazed seven clay bowls", "crooked handles"), ("violin", "practised slow Bach sonatas", "broken string"),
)  # fmt: skip
ZH = (
    ("花园", "郁金香全都种好了，还搭了葡萄架"), ("厨房", "烤箱终于修好，昨晚烘了苹果派"), ("旅行", "坐火车到敦煌看壁画，骑骆驼爬沙丘"),
    ("比赛", "第三轮输给了一位退役教练，拿到铜牌"), ("搬家", "箱子堆满走廊，钢琴卡在楼梯拐角"), ("钓鱼", "清晨在水库守着，收获两条鲈鱼"),
    ("露营", "帐篷被大风吹歪，半夜躲进车里睡觉"), ("面试", "考官追问数据库原理，紧张得手心冒汗"),
)  # fmt: skip


def sessions() -> list[tuple[str, list[tuple[str, str, float]]]]:
    """(chat, turns) of talks on days of their own, each a question and its answer and something else."""
    found: list[tuple[str, list[tuple[str, str, float]]]] = []
    for i, (place, (thing, deed, detail)) in enumerate((p, t) for p in PLACES for t in THINGS):
        at = 1.6e9 + 86_400 * i
        turns = [
            ("Ben", f"How did your {thing} weekend near the {place} turn out?", at),
            ("Ada", f"Wonderful, I {deed} beside the old {place} gate, despite {detail}.", at + 60),
            ("Ben", f"Marvellous news number {i}, congratulations and enjoy resting.", at + 120),
        ]
        found.append(("en", turns))
    for i, (topic, answer) in enumerate(ZH):
        at = 1.65e9 + 86_400 * i
        turns = [
            ("林澈", f"唐未，你上周的{topic}计划进行得怎么样？", at),
            ("唐未", answer, at + 60),
            ("林澈", "辛苦啦，好好休息", at + 120),
        ]
        found.append(("zh", turns))
    return found


async def fill(host: AMemorixHostService) -> None:
    """Store the talk and wait until it is ready to be searched."""
    for chat, turns in sessions():
        messages = [{"speaker": who, "text": text, "time": at} for who, text, at in turns]
        result = await host.invoke("ingest_messages", {"chat_id": chat, "messages": messages})
        assert result["success"], result
    await host.settle(600)


async def create(host: AMemorixHostService, **args: Any) -> int:
    """The id of a new task."""
    result = await host.invoke(ADMIN, {"action": "create_task", "rounds": 4, "sample_size": 60, **args})
    assert result["success"], result
    return result["task"]["task_id"]


async def ended(
    host: AMemorixHostService, task: int, *, rounds: int | None = None, timeout: float = 120
) -> dict[str, Any]:
    """The answer of `get_task` once the task has ended, or has done so many rounds."""
    async with asyncio.timeout(timeout):
        while True:
            found = await host.invoke(ADMIN, {"action": "get_task", "task_id": task, "include_rounds": True})
            assert found["success"], found
            done = found["task"]
            if done["status"] not in ("queued", "running") or (rounds is not None and done["rounds_done"] >= rounds):
                return found
            await asyncio.sleep(0.01)


async def live(tell: Tell, folder: Path, rounds: int) -> None:
    """Tune, and die after so many rounds."""
    async with memory_host(folder, embed=HashEmbedder(), **SETTINGS, **OFF) as host:
        await fill(host)
        task = await create(host, rounds=6)
        await ended(host, task, rounds=rounds)
        os.kill(os.getpid(), signal.SIGKILL)

"""A process that fills a memory, or purges it until it is killed."""

from __future__ import annotations

import random
from pathlib import Path

from amemorix.forgetting import purge as purging
from amemorix.testing import HashEmbedder, memory_host
from entrance import data_of
from lives import Tell
from test_purge import ADMIN, admin, backed_up, fill

__all__ = ["live"]


async def live(tell: Tell, what: str, folder: Path, seed: int) -> None:
    """`fill`, `purge`, or `finish`, and tell of each thing that is reached."""
    purging.STEP = 4
    async with memory_host(folder, embed=HashEmbedder(32)) as host:
        if what == "fill":
            gone = await fill(host, random.Random(seed), "away", 60)
            stays = await fill(host, random.Random(-seed), "here", 30)
            await host.settle(120)
            await host.invoke("memory_runtime_admin", {"action": "save"})
            backed_up(host, data_of(host) / "memory.before-migration")
            await admin(host, "execute", mode="chat", selector="away")
            tell({"gone": gone, "stays": stays})
            return
        tell("ready")
        if what == "finish":
            await host.settle(120)
        await host.invoke(ADMIN, {"action": "purge", "operation_id": "d1"})
        shown = await admin(host, "get_operation", operation_id="d1")
        tell(shown["operation"])

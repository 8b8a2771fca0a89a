"""A process that fills a memory, or purges it until it is killed: `python purge_life.py fill|purge|finish FOLDER SEED BACKEND`."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

from amemorix.services import erasing as purging
from amemorix.testing import HashEmbedder, memory_host
from entrance import data_of
from test_purge import ADMIN, admin, backed_up, fill

__all__: list[str] = []


async def live(what: str, folder: Path, seed: int, backend: str) -> None:
    """One life; each thing that is reached is told in a line."""
    purging.STEP = 4
    settings: dict[str, Any] = {"retrieval": {"sparse": {"backend": backend}}}
    async with memory_host(folder, embed=HashEmbedder(32), **settings) as host:
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


def tell(something: Any) -> None:
    print(json.dumps(something), flush=True)


if __name__ == "__main__":
    asyncio.run(live(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))

"""A process that imports a file, searches meanwhile, and tells how far it is until it is killed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from amemorix.clock import SystemClock
from amemorix.host.service import AMemorixHostService

from .corpus import Question, questions
from .machine import peak_mib
from .speed.search import WARM_UP, search_args
from .workspace import answered

__all__ = ["main"]

COMPONENT = "memory_import_admin"
EVERY_SECONDS = 0.1
OPEN = ("queued", "preparing", "running")


async def _import(config: Path, file: Path, rows: int, seed: str) -> None:
    async with AMemorixHostService(config, watch=False) as host:
        tasks = (await answered(host, COMPONENT, {"action": "list"}))["items"]
        if not tasks:
            tasks = [(await answered(host, COMPONENT, {"action": "create_raw_scan", "path": str(file)}))["task"]]
        for place, question in enumerate(_endless(rows, seed)):
            scoped = place % 2 == 1
            started = time.perf_counter()
            await answered(host, "search_memory", search_args(question, rows, scoped=scoped))
            spent = (time.perf_counter() - started) * 1000
            task = (await answered(host, COMPONENT, {"action": "get", "task_id": tasks[0]["task_id"]}))["task"]
            _tell(task, {"ms": round(spent, 2), "scoped": scoped, "warm": place >= WARM_UP})
            if task["status"] not in OPEN:
                return
            await asyncio.sleep(EVERY_SECONDS)


def _endless(rows: int, seed: str) -> Iterator[Question]:
    """Questions that were not asked before: one that was costs no embedding."""
    for turn in count():
        yield from questions(200, rows, f"{seed}:{turn}")


def _tell(task: dict[str, Any], search: dict[str, Any]) -> None:
    told = {"at": SystemClock().now(), "status": task["status"], "records": task["records"], "rate": task["rate"],
            "counts": task["counts"], "peak_mib": round(peak_mib(), 1), **search}  # fmt: skip
    print(json.dumps(told), flush=True)


def main() -> None:
    """`python -m amemorix_bench.import_child CONFIG FILE ROWS SEED`."""
    config, file, rows, seed = sys.argv[1:5]
    asyncio.run(_import(Path(config), Path(file), int(rows), seed))


if __name__ == "__main__":
    main()

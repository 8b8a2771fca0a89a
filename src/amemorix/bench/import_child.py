"""A process that imports a file, searches meanwhile, and tells how far it is until it is killed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from ..clock import SystemClock
from ..host_service import AMemorixHostService
from .conditions import peak_mib
from .corpus import questions
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
            started = time.perf_counter()
            chat = {"chat_id": question.chat_id} if place % 2 else {}
            await answered(host, "search_memory", {"query": question.text, **chat})
            spent = (time.perf_counter() - started) * 1000
            task = (await answered(host, COMPONENT, {"action": "get", "task_id": tasks[0]["task_id"]}))["task"]
            _tell(task, spent)
            if task["status"] not in OPEN:
                return
            await asyncio.sleep(EVERY_SECONDS)


def _endless(rows: int, seed: str) -> Any:
    asked = questions(200, rows, seed)
    while True:
        yield from asked


def _tell(task: dict[str, Any], spent: float) -> None:
    told = {"at": SystemClock().now(), "status": task["status"], "records": task["records"], "rate": task["rate"],
            "counts": task["counts"], "ms": round(spent, 2), "peak_mib": round(peak_mib(), 1)}  # fmt: skip
    print(json.dumps(told), flush=True)


def main() -> None:
    """`python -m amemorix.bench.import_child CONFIG FILE ROWS SEED`."""
    config, file, rows, seed = sys.argv[1:5]
    asyncio.run(_import(Path(config), Path(file), int(rows), seed))


if __name__ == "__main__":
    main()

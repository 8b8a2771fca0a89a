"""A process that imports a file and tells how far it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from amemorix.testing import memory_host
from import_entrance import admin
from lives import Tell

__all__ = ["live"]


async def live(tell: Tell, folder: Path, file: Path, chunk: int) -> None:
    """Begin the import, or go on with it; the records stored are told whenever there are more."""
    settings = {"roots": [str(file.parent)], "chunk_records": chunk, "idle_share": 1}
    async with memory_host(folder, imports=settings) as host:
        tasks = (await admin(host, "list"))["items"]
        if not tasks:
            await admin(host, "create_raw_scan", path=str(file), chat_id="c")
        told = -1
        while True:
            task = (await admin(host, "get", task_id="i1"))["task"]
            if task["records"] != told:
                told = task["records"]
                tell(told)
            if task["status"] not in ("queued", "preparing", "running"):
                tell(task["status"])
                return
            await asyncio.sleep(0.001)

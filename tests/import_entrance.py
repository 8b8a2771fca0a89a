"""Short forms for imports through the entrance."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from pathlib import Path
from typing import Any

from amemorix import AMemorixHostService
from entrance import admin_of, data_of

__all__ = ["COMPONENT", "admin", "created", "ended", "imported", "jsonl", "pasted", "raw_folder", "staged_file", "turn"]

COMPONENT = "memory_import_admin"
OPEN = ("queued", "preparing", "running", "cancel_requested")
SECONDS = 120.0


admin = admin_of(COMPONENT)


async def created(host: AMemorixHostService, action: str, **args: Any) -> str:
    """The id of a new task."""
    return (await admin(host, action, **args))["task"]["task_id"]


async def ended(host: AMemorixHostService, task: str) -> dict[str, Any]:
    """The task when it is at its end, with its chunks."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        found = (await admin(host, "get", task_id=task, include_chunks=True))["task"]
        if found["status"] not in OPEN:
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"{task} does not end: {found}")


async def imported(host: AMemorixHostService, action: str, **args: Any) -> dict[str, Any]:
    """A new task, waited for."""
    return await ended(host, await created(host, action, **args))


async def pasted(host: AMemorixHostService, name: str, content: str, **args: Any) -> dict[str, Any]:
    """A text that was handed over, imported."""
    return await imported(host, "create_paste", name=name, content=content, **args)


def staged_file(host: AMemorixHostService, name: str, content: bytes) -> Path:
    """A file that was handed over and never imported."""
    folder = data_of(host) / "imports" / "staging" / f"u{uuid.uuid4().hex}"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content)
    return folder / name


async def raw_folder(host: AMemorixHostService) -> Path:
    """The folder of the alias `raw`."""
    return Path((await admin(host, "path_aliases"))["aliases"]["raw"])


def turn(number: int, **more: Any) -> dict[str, Any]:
    """A chat turn."""
    return {"speaker": "Ada", "text": f"kite number {number}", "time": 1_600_000_000 + number, **more}


def jsonl(path: Path, *lines: object) -> Path:
    """A file with a line of JSON for each; what is a text already stays as it is."""
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("".join(text + "\n" for text in texts), "utf-8")
    return path

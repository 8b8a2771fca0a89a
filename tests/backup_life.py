"""A process that writes while it backs itself up or restores a backup, to be killed.

It tells what is true from then on: a note that was acknowledged, a backup that is there.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host
from lives import Tell

__all__ = ["ADMIN", "begin", "live", "note"]

ADMIN = "memory_runtime_admin"


def note(name: str) -> dict[str, Any]:
    """A note with a relation: two rows that are there together or not at all."""
    relation = {"subject": f"thing {name}", "predicate": "is", "object": "noted"}
    return {"external_id": name, "source_type": "note", "text": f"Note {name}. " * 20, "relations": [relation]}


def begin(folder: Path) -> Any:
    """The memory of the folder."""
    return memory_host(folder, embed=HashEmbedder(16))


async def write(tell: Tell, host: AMemorixHostService, name: str) -> None:
    number = 0
    while True:
        answer = await host.invoke("ingest_text", note(f"{name}-{number}"))
        assert answer["success"], answer
        tell({"note": f"{name}-{number}"})
        number += 1


async def writing_and(tell: Tell, host: AMemorixHostService, action: dict[str, Any], writers: int) -> None:
    """Write, and do something again and again meanwhile."""
    async with asyncio.TaskGroup() as group:
        for writer in range(writers):
            group.create_task(write(tell, host, f"w{writer}"))
        while True:
            tell({"begun": action["action"]})
            answer = await host.invoke(ADMIN, action)
            assert answer["success"], answer
            tell({"done": answer["backup"]["id"]})


async def live(tell: Tell, what: str, folder: Path) -> None:
    """`backup`, `restore ID`, or `import FILE`, until killed."""
    async with begin(folder) as host:
        action, _, which = what.partition(" ")
        if action == "backup":
            await writing_and(tell, host, {"action": "backup"}, 3)
        if action == "restore":
            await writing_and(tell, host, {"action": "restore_backup", "backup": which}, 0)
        tell({"begun": "import"})
        tell({"done": await host.invoke(ADMIN, {"action": "import_export", "path": which})})
        await asyncio.sleep(60)

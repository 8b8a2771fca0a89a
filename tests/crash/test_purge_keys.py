"""A purge of an encrypted memory that was killed at any of its stages: no key is lost, no backup, and nothing that stays."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from amemorix.forgetting.purge import PurgeService
from amemorix.store.keys import KEYS_FILE, Keyring
from encrypted_memory import SECRET, encrypted_memory
from entrance import data_of
from lives import Life, Tell

STAGES = ("records", "rows", "indexes", "copies", "files")
GONE, STAYS = "the vexillology of zanzibar", "the kettle of the tower is blue"


def die_at(stage: str) -> None:
    """Kill this process when a purge comes to a stage."""
    tell = PurgeService._tell

    def told(self: PurgeService, operation: int, phase: str, done: int = 0, of: int = 1) -> None:
        if phase == stage:
            os.kill(os.getpid(), signal.SIGKILL)
        tell(self, operation, phase, done, of)

    PurgeService._tell = told  # type: ignore[method-assign]


async def purge(tell: Tell, folder: Path, stage: str, rotate: bool) -> None:
    """Fill a memory, back it up, and purge one of its chats up to a stage."""
    async with encrypted_memory(folder) as host:
        for chat, text in (("away", GONE), ("here", STAYS)):
            await host.invoke(
                "ingest_text", {"text": text, "external_id": chat, "source_type": "note", "chat_id": chat}
            )
        await host.settle(600)
        made = await host.invoke("memory_runtime_admin", {"action": "backup"})
        await host.invoke("memory_runtime_admin", {"action": "save"})
        tell(made["backup"]["id"])
        done = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "away"})
        die_at(stage)
        await host.invoke(
            "memory_delete_admin", {"action": "purge", "operation_id": done["operation_id"], "rotate": rotate}
        )


def keys_below(folder: Path) -> dict[str, bytes]:
    found = sorted((*folder.glob(f"{KEYS_FILE}*"), *folder.glob(f"backups/*/{KEYS_FILE}*")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("rotate", [False, True], ids=["plain", "rotate"])
@pytest.mark.parametrize("stage", STAGES)
async def test_a_purge_killed_at_a_stage_leaves_every_key_and_backup(tmp_path: Path, stage: str, rotate: bool) -> None:
    life = Life(purge, tmp_path, stage, rotate)
    (backup,) = life.rest()
    assert life.exitcode == -signal.SIGKILL
    data = tmp_path / "data" / "a-memorix"
    before = keys_below(data)
    assert set(before) == {KEYS_FILE, f"backups/{backup}/{KEYS_FILE}"}

    async with encrypted_memory(tmp_path) as host:
        await host.invoke("memory_delete_admin", {"action": "purge", "operation_id": "d1"})
        receipt = await finished(host)
        assert (receipt["complete"], receipt["found"], receipt["warnings"]) == (True, {}, [])
        if not rotate:
            assert keys_below(data_of(host)) == before
        assert keys_below(data_of(host))[f"backups/{backup}/{KEYS_FILE}"] == before[f"backups/{backup}/{KEYS_FILE}"]
        stored = await host.invoke("ingest_text", {"text": "one more line", "source_type": "note", "chat_id": "here"})
        assert stored["success"]
    assert [path.name for path in data.glob("memory.purge-*")] == []
    Keyring.read(data / KEYS_FILE, SECRET)
    Keyring.read(data / "backups" / backup / KEYS_FILE, SECRET)

    async with encrypted_memory(tmp_path) as host:
        assert texts(host) == {STAYS, "one more line"}
        checked = await host.invoke("memory_runtime_admin", {"action": "verify_backup", "backup": backup})
        assert checked["problems"] == []
        restored = await restore(host, backup)
        while restored.get("error_code") == "conflict":  # the key is being rotated
            await asyncio.sleep(0.05)
            restored = await restore(host, backup)
        assert restored["success"], restored
        assert texts(host) == {STAYS}


async def restore(host: Any, backup: str) -> dict[str, Any]:
    return await host.invoke("memory_runtime_admin", {"action": "restore", "backup": backup})


async def finished(host: Any) -> dict[str, Any]:
    """The receipt of the purge, once it is done."""
    await host.invoke("memory_delete_admin", {"action": "purge", "operation_id": "d1"})
    shown = await host.invoke("memory_delete_admin", {"action": "get_operation", "operation_id": "d1"})
    assert shown["operation"]["status"] == "purged", shown
    return shown["operation"]["receipt"]


def texts(host: Any) -> set[str]:
    """What the memory holds, of all chats."""
    statement = "select content from paragraphs where deleted_at is null"
    return {content for (content,) in host.kernel.store.read_here(lambda db: db.execute(statement).fetchall())}

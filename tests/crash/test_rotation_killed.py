"""kill -9 while a memory gets a new key: it opens with the one or the other, and holds every write that was acknowledged."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.copies.backup_folder import BackupFolder
from amemorix.copies.key_switch import BackupSwitch, decrypt, encrypt
from amemorix.forgetting.files import purge_again
from amemorix.store.keys import KEYS_FILE, Keyring, is_plain
from amemorix.store.sealed_files import size_of
from disk_look import READABLE, files_below, not_random, without_plain_bytes
from encrypted_memory import SECRET, encrypted_memory
from lives import Deadline, Life, Tell

WRITERS = 40
ROUNDS = int(os.environ.get("AMEMORIX_ROTATION_KILLS", "3"))
STRIDE = int(os.environ.get("AMEMORIX_ROTATION_STRIDE", "4"))


async def write(tell: Tell, host: AMemorixHostService, writer: int) -> None:
    number = 0
    while True:
        text = f"writer {writer} line {number}"
        answer = await host.invoke("ingest_text", {"text": text, "external_id": text, "source_type": "note"})
        if answer["success"]:
            tell({"stored": text})
        number += 1


async def live(tell: Tell, what: str, folder: Path) -> None:
    """Write, and rotate again and again; `step N` dies before the N-th change of a file's name."""
    async with encrypted_memory(folder) as host:
        for number in range(30):
            await host.invoke(
                "ingest_text", {"text": "filler " * 500, "external_id": f"f{number}", "source_type": "note"}
            )
        async with asyncio.TaskGroup() as group:
            for writer in range(WRITERS):
                group.create_task(write(tell, host, writer))
            await asyncio.sleep(0.1)
            if what.startswith("step"):
                Deadline(folder, names_alone=True).set(int(what.split()[1]))
            while True:
                tell({"begun": "rotate"})
                answer = await host.invoke("memory_key_admin", {"action": "rotate"})
                assert answer["success"], answer
                tell({"done": answer["key"]})


def shows_nothing(folder: Path) -> None:
    """Every file that the process left is random bytes, whatever it was doing."""
    rng = random.Random(1)
    for path in files_below(folder / "data"):
        raw = path.read_bytes()
        assert not any(word in raw for word in (b"writer ", b"filler ", b"What was said")), path
        if not path.name.startswith(tuple(READABLE)):  # nor their drafts
            assert not_random(without_plain_bytes(path.name, raw), rng) == "", path


async def holds_everything(folder: Path, told: list[dict[str, Any]]) -> None:
    async with encrypted_memory(folder) as host:
        held = host.kernel.store.read_here(lambda db: db.execute("select content from paragraphs").fetchall())  # type: ignore[attr-defined]
        assert {line["stored"] for line in told if "stored" in line} <= {content for (content,) in held}
        answer = await host.invoke("memory_key_admin", {"action": "verify"})
        assert answer["problems"] == []
        keys = (await host.invoke("memory_key_admin", {"action": "status"}))["keys"]
        assert [key["retired_at"] for key in keys].count(None) >= 1
    left = [path.name for path in (folder / "data" / "a-memorix").glob("memory.*")]
    assert sorted(left) == ["memory.db", "memory.keys"]


@pytest.mark.parametrize("step", range(16))
async def test_a_process_killed_between_two_steps_of_a_rotation(tmp_path: Path, step: int) -> None:
    life = Life(live, f"step {step}", tmp_path)
    told = life.rest()
    assert life.exitcode == -signal.SIGKILL
    shows_nothing(tmp_path)
    await holds_everything(tmp_path, told)


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_process_killed_at_any_moment_of_a_rotation(tmp_path: Path, seed: int) -> None:
    life = Life(live, "rotate", tmp_path)
    first = life.heard()
    await asyncio.sleep(random.Random(seed).uniform(0.2, 2.5))
    await holds_everything(tmp_path, [first, *life.kill()])


async def purge(tell: Tell, what: str, folder: Path) -> None:
    """Purge a chat and have the key rotated; dies before the N-th change of a file's name after the deletion was told."""
    async with encrypted_memory(folder) as host:
        for chat in ("away", "here"):
            await host.invoke(
                "ingest_text",
                {"text": f"What was said {chat}.", "external_id": chat, "source_type": "note", "chat_id": chat},
            )
        await host.settle(600)
        wish = {"action": "execute", "mode": "chat", "selector": "away"}
        deleted = await host.invoke("memory_delete_admin", wish)
        tell({"stored": "What was said here."})
        Deadline(folder, names_alone=True).set(int(what))
        wish = {"action": "purge", "operation_id": deleted["operation_id"], "rotate": True}
        tell({"done": await host.invoke("memory_delete_admin", wish)})


async def test_a_process_killed_in_a_purge_that_rotates_the_key(tmp_path: Path) -> None:
    """Wherever it ends, it goes on when the memory is opened: what was purged is gone, and so is the key that it had."""
    rotated_later = 0
    for step in range(0, 200, STRIDE):
        folder = tmp_path / str(step)
        life = Life(purge, str(step), folder)
        told = life.rest()
        shows_nothing(folder)
        async with encrypted_memory(folder) as host:
            key, operation = "", {}
            for _ in range(500):
                shown = await host.invoke("memory_delete_admin", {"action": "get_operation", "operation_id": "d1"})
                operation = shown["operation"]
                if operation["status"] == "executed":
                    break  # the purge was never asked for, as far as the disk knows
                key = (operation["receipt"] or {}).get("rotation", {}).get("key", "")
                if key and (await host.invoke("memory_key_admin", {"action": "status"}))["keys"][0]["id"] == key:
                    break
                await asyncio.sleep(0.02)
            assert operation["status"] == "executed" or key, (step, operation)
            rotated_later += bool(key) and not any("done" in line for line in told)
        await holds_everything(folder, told)
        if any("done" in line for line in told):
            assert rotated_later > 1
            return
    raise AssertionError("it never came to its end")


async def switch(tell: Tell, what: str, folder: Path) -> None:
    """Encrypt a memory that is in the clear, or the opposite, and die before the N-th change of a file's name."""
    way, _, step = what.partition(" ")
    Deadline(folder, names_alone=True).set(int(step))
    switched(folder, way)
    tell({"done": way})


def switched(folder: Path, way: str) -> None:
    """As the command does it, backups too."""
    keys = keyring(folder)
    switch = BackupSwitch(folder, BackupFolder(folder, (), keys), keys, encrypted=way == "on", purge_again=purge_again)
    (encrypt if way == "on" else decrypt)(folder, keys)
    switch.carry_out()


def keyring(folder: Path) -> Keyring:
    secret = SECRET
    there = (folder / KEYS_FILE).exists()
    return Keyring.read(folder / KEYS_FILE, secret) if there else Keyring.create(folder, secret, now=0)


@pytest.mark.parametrize("way", ["on", "off"])
async def test_a_process_killed_while_encryption_is_switched(tmp_path: Path, way: str) -> None:
    before = {} if way == "off" else {"storage.encryption.enabled": False}
    after = {} if way == "on" else {"storage.encryption.enabled": False}
    async with encrypted_memory(tmp_path, **before) as host:
        await host.invoke("ingest_text", {"text": "The blue kettle.", "external_id": "k", "source_type": "note"})
        host.staging()[0].put("talk.txt", b"a file that waits")
        await host.invoke("memory_runtime_admin", {"action": "backup"})
        folder = host.kernel.store.folder
    keyring(folder)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    for step in range(60):
        life = Life(switch, f"{way} {step}", folder)
        killed = life.rest() == []
        switched(folder, way)
        (backup,) = folder.glob("backups/*/memory.db")
        assert [is_plain(path) for path in (folder / "memory.db", backup)] == [way == "off"] * 2
        async with encrypted_memory(tmp_path, **after) as host:
            answer = await host.invoke("search_memory", {"query": "kettle"})
            assert [hit["content"] for hit in answer["hits"]] == ["The blue kettle."]
            staged = host.staging()[0]
            found = await host.invoke("memory_runtime_admin", {"action": "verify_backup", "backup": backup.parent.name})
            assert found["problems"] == []
            assert [size_of(path) for path in staged.folder.glob("u*/*")] == [len(b"a file that waits")]
        if not killed:
            return
        shutil.rmtree(folder)
        shutil.copytree(whole, folder)
    raise AssertionError("it never came to its end")

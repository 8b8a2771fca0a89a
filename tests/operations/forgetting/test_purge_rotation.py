"""A purge after which the memory gets a new key: what was copied before cannot be read with what is left."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from amemorix import AMemorixHostService
from amemorix.store.keys import KEYS_FILE, Keyring
from amemorix.testing import memory_host
from encrypted_memory import SECRET, encrypted_memory
from entrance import admin_of, call, contents, data_of, refused, told

keys_of, delete, runtime = (
    admin_of("memory_key_admin"),
    admin_of("memory_delete_admin"),
    admin_of("memory_runtime_admin"),
)


async def filled(host: AMemorixHostService) -> None:
    await told(host, "Zanzibar quixotic pineapple marmalade", chat_id="away")
    await told(host, "The blue kettle is in the pantry.", chat_id="here")
    await host.settle(600)
    await runtime(host, "save")


def copied(host: AMemorixHostService, to: Path) -> Path:
    """The database as somebody may have copied it, its log beside it; its keys did not go along."""
    to.mkdir()
    for path in data_of(host).glob("memory.db*"):
        shutil.copyfile(path, to / path.name)
    return to / "memory.db"


async def keys_left(host: AMemorixHostService, wanted: list[str]) -> list[str]:
    """The ids of the keys in the file, once they are these, or after a while."""
    for _ in range(200):
        if (found := [key.id for key in Keyring.read(data_of(host) / KEYS_FILE, SECRET).all]) == wanted:
            break
        await asyncio.sleep(0.02)
    return found


async def test_nothing_that_was_copied_before_can_be_read_with_the_keys_that_are_left(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path / "memory") as host:
        await filled(host)
        before = copied(host, tmp_path / "copied")
        ring = Keyring.read(data_of(host) / KEYS_FILE, SECRET)
        assert ring.fitting(before) is not None

        done = await delete(host, "execute", mode="chat", selector="away", purge=True, rotate=True)

        assert done["receipt"]["rotation"] == {"retired": "k1", "key": "k2", "needed_by": []}
        assert done["receipt"]["complete"]
        shown = await delete(host, "get_operation", operation_id=done["operation_id"])
        assert shown["operation"]["receipt"]["rotation"] == done["receipt"]["rotation"]
        assert await contents(host, "kettle") == ["The blue kettle is in the pantry."]
        assert await contents(host, "Zanzibar pineapple") == []
        assert await keys_left(host, ["k2"]) == ["k2"], "nothing needs the old one: it is forgotten"
        ring = Keyring.read(data_of(host) / KEYS_FILE, SECRET)
        assert ring.fitting(before) is None
        assert (await keys_of(host, "verify"))["problems"] == []
    async with encrypted_memory(tmp_path / "memory") as host:
        assert await contents(host, "kettle") == ["The blue kettle is in the pantry."]


async def test_the_receipt_names_what_keeps_the_old_key_alive(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        backup = (await runtime(host, "backup"))["backup"]
        staged = host.staging()[0].put("talk.txt", b"something that waits")
        deleted = await delete(host, "execute", mode="chat", selector="away")
        done = await delete(host, "purge", operation_id=deleted["operation_id"], rotate=True)
        (operation,) = done["operations"]
        named = f"backups/{backup['id']}/"
        assert operation["receipt"]["rotation"] == {
            "retired": "k1", "key": "k2",
            "needed_by": [f"{named}memory.db", f"{named}memory.toml", f"imports/staging/{staged.id}"],
        }  # fmt: skip
        assert await keys_left(host, ["k2", "k1"]) == ["k2", "k1"]
        await runtime(host, "delete_backup", backup=backup["id"])
        host.staging()[0].remove(staged.id)
    async with encrypted_memory(tmp_path) as host:
        assert await keys_left(host, ["k2"]) == ["k2"]


async def test_one_that_nobody_waits_for_is_followed_by_a_rotation_too(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        begun = await delete(host, "execute", mode="chat", selector="away", purge=True, rotate=True, wait=False)
        for _ in range(500):
            receipt = (await delete(host, "get_operation", operation_id=begun["operation_id"]))["operation"]["receipt"]
            if receipt and receipt["rotation"]["key"]:
                break
            await asyncio.sleep(0.02)
        assert receipt["rotation"] == {"retired": "k1", "key": "k2", "needed_by": []}
        assert await keys_left(host, ["k2"]) == ["k2"]
        assert await contents(host, "kettle") == ["The blue kettle is in the pantry."]


async def test_several_purges_share_one_rotation(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        for chat in ("away", "here"):
            await delete(host, "execute", mode="chat", selector=chat)
        done = await delete(host, "purge", grace_hours=0, rotate=True)
        assert [one["receipt"]["rotation"]["key"] for one in done["operations"]] == ["k2", "k2"]
        assert [key["id"] for key in (await keys_of(host, "status"))["keys"]][:1] == ["k2"]


async def test_a_plain_memory_has_no_key_to_rotate_and_a_deletion_needs_none(tmp_path: Path) -> None:
    wish = {"action": "execute", "mode": "chat", "selector": "away", "rotate": True}
    async with memory_host(tmp_path / "plain", **{"storage.encryption.enabled": False}) as host:
        await told(host, "Zanzibar quixotic pineapple marmalade", chat_id="away")
        told_ = await refused(host, "memory_delete_admin", {**wish, "purge": True}, "rotate", "conflict")
        assert "not encrypted" in told_
        assert await contents(host, "Zanzibar") == ["Zanzibar quixotic pineapple marmalade"]
    async with encrypted_memory(tmp_path / "sealed") as host:
        await filled(host)
        await refused(host, "memory_delete_admin", wish, "rotate")
        done = await call(host, "memory_delete_admin", "execute", mode="chat", selector="away", purge=True)
        assert done["receipt"]["rotation"] is None
        assert [key["id"] for key in (await keys_of(host, "status"))["keys"]] == ["k1"]


async def test_a_keyring_made_of_the_recovery_code_is_not_rotated_for_a_purge_of_before(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        done = await delete(host, "execute", mode="chat", selector="away", purge=True, rotate=True)
        folder = data_of(host)
    code = Keyring.read(folder / KEYS_FILE, SECRET).current.recovery_code
    (folder / KEYS_FILE).unlink()
    Keyring.create(folder, SECRET, now=1_800_000_000, recovery=code, database=folder / "memory.db")
    async with encrypted_memory(tmp_path) as host:
        for chat in ("here", "there"):  # once the second is purged, the background has looked after the first
            await told(host, "The blue kettle is in the pantry.", chat_id=chat)
            begun = await delete(host, "execute", mode="chat", selector=chat, purge=True, wait=False)
            shown = {"status": ""}
            while shown["status"] != "purged":
                shown = (await delete(host, "get_operation", operation_id=begun["operation_id"]))["operation"]
                await asyncio.sleep(0.02)
        assert [key["id"] for key in (await keys_of(host, "status"))["keys"]] == ["k1"]
        shown = await delete(host, "get_operation", operation_id=done["operation_id"])
        assert shown["operation"]["receipt"]["rotation"] == {"retired": "k1", "key": "k2", "needed_by": []}

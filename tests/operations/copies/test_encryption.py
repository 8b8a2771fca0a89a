"""A memory that is encrypted: what lies on its disk, its keys, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyrage
import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidConfig, StorageFailure
from amemorix.store import driver
from amemorix.store.keys import KEYS_FILE, Keyring
from amemorix.store.sealed_files import SealedFolder, load_bytes
from amemorix.testing import memory_host, pause_background
from disk_look import READABLE, files_below
from encrypted_memory import ENCRYPTED, PASSPHRASE, SECRET, encrypted_memory
from entrance import admin_of, call, contents, data_of, said, told

keys_of, runtime = admin_of("memory_key_admin"), admin_of("memory_runtime_admin")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[AMemorixHostService]:
    async with encrypted_memory(tmp_path) as opened:
        yield opened


async def fill(host: AMemorixHostService) -> None:
    for number in range(80):
        await said(
            host, "qq:1", (f"Zebedee {number % 9}", f"Line {number} of {number % 7} about kettles.", 1.7e9 + number)
        )
    await told(host, "麒麟", relations=[{"subject": "Quixote", "predicate": "rides", "object": "Rocinante"}])
    await host.settle(600)
    await runtime(host, "save")


async def test_it_answers_after_a_restart_and_from_its_snapshots(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await told(host, "The blue kettle is in the pantry.")
        await host.settle(600)
    async with encrypted_memory(tmp_path) as host:
        assert await contents(host, "kettle") == ["The blue kettle is in the pantry."]
        assert all(projection.saved is not None for projection in host.kernel.indexes if projection.keeps_snapshot)


@pytest.mark.parametrize("secret", ["another passphrase", "0" * 64])
async def test_a_wrong_secret_changes_no_byte(tmp_path: Path, secret: str) -> None:
    async with encrypted_memory(tmp_path) as host:
        await told(host, "The blue kettle.")
        folder = data_of(host)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}

    with pytest.raises(StorageFailure, match="secret does not fit"):
        async with encrypted_memory(tmp_path, secret=secret):
            pass

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"} == before


async def test_a_passphrase_of_32_characters_is_no_key(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path, secret="thirty-two characters, no key at") as host:
        assert (await keys_of(host, "status"))["secret"] == "passphrase"


async def test_a_secret_in_a_file_or_from_a_program(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("ab" * 32 + "\n")
    file.chmod(0o600)
    off = {"storage.encryption.enabled": True, "storage.encryption.key_env": "NONE"}
    async with memory_host(tmp_path, **off, **{"storage.encryption.key_file": str(file)}) as host:
        await told(host, "The blue kettle.")
        assert (await keys_of(host, "status"))["secret"] == "raw"
    command = {"storage.encryption.key_file": "", "storage.encryption.key_command": ["cat", str(file)]}
    async with memory_host(tmp_path, **off, **command) as host:
        assert await contents(host, "kettle") == ["The blue kettle."]


@pytest.mark.parametrize(
    ("environ", "settings", "why"),
    [
        ({}, {}, "just one source"),
        ({"KEY": PASSPHRASE}, {"key_file": "/nowhere/at/all"}, "key_env and key_file"),
        ({"KEY": "too short"}, {}, "at least 12 characters"),
        ({}, {"key_file": "/nowhere/at/all"}, "cannot be read"),
        ({}, {"key_command": ["false"]}, "gave no secret"),
        ({}, {"key_file": "{home}/data/a-memorix/key"}, "within the data directory"),
        ({}, {"key_file": "{home}/open"}, "read by others"),
    ],
)
async def test_what_is_refused(tmp_path: Path, environ: dict[str, str], settings: dict[str, Any], why: str) -> None:
    for file, mode in ((tmp_path / "data/a-memorix/key", 0o600), (tmp_path / "open", 0o644)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("ab" * 32)
        file.chmod(mode)
    given = {
        f"storage.encryption.{name}": value.format(home=tmp_path) if isinstance(value, str) else value
        for name, value in settings.items()
    }
    with pytest.raises(StorageFailure, match=why):
        async with memory_host(tmp_path, environ={"X": "1", **environ}, **{**ENCRYPTED, **given}):
            pass
    assert not (tmp_path / "data/a-memorix/memory.db").exists()


async def test_settings_and_state_have_to_agree(tmp_path: Path) -> None:
    off = {"storage.encryption.enabled": False}
    async with memory_host(tmp_path / "plain", **off) as host:
        await told(host, "The blue kettle.")
    with pytest.raises(StorageFailure, match="amemorix key enable"):
        async with encrypted_memory(tmp_path / "plain"):
            pass
    async with encrypted_memory(tmp_path / "secret") as host:
        folder = data_of(host)
        await told(host, "The blue kettle.")
    with pytest.raises(StorageFailure, match=r"storage\.encryption\.enabled = true"):
        async with memory_host(tmp_path / "secret", **off):
            pass
    (folder / KEYS_FILE).rename(folder / "elsewhere")
    with pytest.raises(StorageFailure, match=r"memory\.keys is missing"):
        async with encrypted_memory(tmp_path / "secret"):
            pass
    async with encrypted_memory(tmp_path / "other") as host:
        other = data_of(host)
    (folder / KEYS_FILE).write_bytes((other / KEYS_FILE).read_bytes())
    with pytest.raises(StorageFailure, match="of another memory"):
        async with encrypted_memory(tmp_path / "secret"):
            pass


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :]


def swapped(raw: bytes, rng: random.Random) -> bytes:
    """Two pages of a database, or two chunks of what is as long, exchanged."""
    one, two = rng.sample(range(1, len(raw) // 4096), 2)
    pages = [raw[at : at + 4096] for at in range(0, len(raw), 4096)]
    pages[one], pages[two] = pages[two], pages[one]
    return b"".join(pages)


async def test_a_changed_byte_is_refused_or_healed_and_never_answered_from(tmp_path: Path) -> None:
    rng = random.Random(11)
    async with encrypted_memory(tmp_path) as host:
        folder = data_of(host)
        await fill(host)
        wanted = sorted(row[0] for row in rows_with(host, "select content from paragraphs"))
    whole = {path: path.read_bytes() for path in files_below(folder) if path.name not in READABLE}
    damages: list[Callable[[bytes], bytes]] = [
        *([lambda raw: flipped(raw, rng.randrange(len(raw)))] * 3), lambda raw: raw[: len(raw) // 2],
    ]  # fmt: skip
    for path, raw in whole.items():
        extra = [lambda raw: swapped(raw, rng)] if path.name == "memory.db" else []
        for damage in (damages + damages[:1] * 10 if path.name == "memory.db" else damages) + extra:
            path.write_bytes(damage(raw))
            try:
                async with encrypted_memory(tmp_path) as host:
                    held = sorted(row[0] for row in rows_with(host, "select content from paragraphs"))
                    assert held == wanted
            except (StorageFailure, sqlite3.DatabaseError):
                assert path.name == "memory.db", f"{path}: an index is made anew from the rows"
            for again, content in whole.items():
                again.parent.mkdir(parents=True, exist_ok=True)
                again.write_bytes(content)
            for log in folder.glob("memory.db-*"):
                log.unlink()


async def test_a_snapshot_file_of_another_place_is_not_taken(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        folder = data_of(host)
        await fill(host)
    codes, bits = next(folder.rglob("codes.npy")), next(folder.rglob("bits.npy"))
    keys = Keyring.read(folder / KEYS_FILE, SECRET)
    load_bytes(SealedFolder(codes.parent, keys), codes.name)
    older = codes.parent.with_name("snapshot-1-1-1")
    older.mkdir()
    (older / codes.name).write_bytes(codes.read_bytes())
    bits.write_bytes(codes.read_bytes())
    for place, name in ((older, codes.name), (bits.parent, bits.name)):
        with pytest.raises(ValueError, match="damaged"):
            load_bytes(SealedFolder(place, keys), name)


async def test_a_new_key_while_writers_go_on_loses_nothing(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path, **{"embedding.batch_size": 8}) as host:
        for number in range(20):
            await told(host, f"Before {number} " + "filler " * 300, external_id=f"b{number}")
        stopping, stored = asyncio.Event(), list[str]()

        async def write(writer: int) -> None:
            number = 0
            while not stopping.is_set():
                text = f"Writer {writer} line {number}"
                answer = await host.invoke("ingest_text", {"text": text, "external_id": text, "source_type": "note"})
                if answer["success"]:
                    stored.append(text)
                number += 1

        writers = [asyncio.create_task(write(writer)) for writer in range(40)]
        await asyncio.sleep(0.2)
        first = (data_of(host) / "memory.db").read_bytes()[:16]
        rotated = await keys_of(host, "rotate")
        stopping.set()
        await asyncio.gather(*writers)
        assert (rotated["key"], rotated["retired"], rotated["needed_by"]) == ("k2", "k1", [])

        held = {row[0] for row in rows_with(host, "select content from paragraphs")}
        assert set(stored) <= held
        assert len(stored) > 40
        assert (data_of(host) / "memory.db").read_bytes()[:16] != first
        status = await keys_of(host, "status")
        assert status["keys"][0]["id"] == "k2"
        assert not list(data_of(host).glob("memory.*incoming*"))
    async with encrypted_memory(tmp_path) as host:
        assert set(stored) <= {row[0] for row in rows_with(host, "select content from paragraphs")}
        assert (await keys_of(host, "verify"))["problems"] == []


def rows_with(host: AMemorixHostService, sql: str) -> list[tuple[Any, ...]]:
    return host.kernel.store.read_here(lambda db: db.execute(sql).fetchall())  # type: ignore[attr-defined]


async def test_backups_of_three_keys_come_back_and_the_last_of_a_key_takes_it_along(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        made = list[str]()
        for number in range(3):
            await told(host, f"Generation {number}")
            made.append((await runtime(host, "backup"))["backup"]["id"])
            await keys_of(host, "rotate")
        for number, backup in enumerate(made):
            await runtime(host, "restore_backup", backup=backup)
            assert sorted(row[0] for row in rows_with(host, "select content from paragraphs")) == [
                f"Generation {one}" for one in range(number + 1)
            ]
        assert {key["id"] for key in (await keys_of(host, "status"))["keys"]} >= {"k1", "k2", "k3", "k4"}
        for one in (await runtime(host, "list_backups"))["backups"]:
            await runtime(host, "delete_backup", backup=one["id"])
        await host.settle(600)
        await runtime(host, "save")
    async with encrypted_memory(tmp_path) as host:
        await host.kernel.keys.prune()
        assert [key["id"] for key in (await keys_of(host, "status"))["keys"]] == ["k4"]


async def test_another_secret_opens_what_was_there(tmp_path: Path) -> None:
    new = "a new passphrase for it"
    async with memory_host(tmp_path, environ={"KEY": PASSPHRASE, "NEW": new}, **ENCRYPTED) as host:
        await told(host, "The blue kettle.")
        backup = (await runtime(host, "backup"))["backup"]["id"]
        await keys_of(host, "change", key_env="NEW")
        await runtime(host, "restore_backup", backup=backup)
    async with encrypted_memory(tmp_path, secret=new) as host:
        assert await contents(host, "kettle") == ["The blue kettle."]
    with pytest.raises(StorageFailure, match="does not fit"):
        async with encrypted_memory(tmp_path, secret=PASSPHRASE):
            pass


async def test_a_backup_is_restored_into_another_memory_by_its_secret_alone(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path / "one") as host:
        await told(host, "The blue kettle.")
        made = await runtime(host, "backup")
    root = Path(made["backup"]["path"])
    async with encrypted_memory(tmp_path / "two", backup={"roots": [str(root.parent)]}) as host:
        await runtime(host, "restore_backup", backup=str(root))
        assert await contents(host, "kettle") == ["The blue kettle."]
    async with encrypted_memory(
        tmp_path / "three", secret="quite another secret", backup={"roots": [str(root.parent)]}
    ) as host:
        answer = await host.invoke("memory_runtime_admin", {"action": "restore_backup", "backup": str(root)})
        assert answer["error_code"] == "conflict"
        assert "its key is not there" in answer["error"]
    async with memory_host(
        tmp_path / "four", backup={"roots": [str(root.parent)]}, **{"storage.encryption.enabled": False}
    ) as host:
        answer = await host.invoke("memory_runtime_admin", {"action": "restore_backup", "backup": str(root)})
        assert "it is encrypted, and this memory is not" in answer["error"]


async def test_a_plain_backup_is_restored_into_an_encrypted_memory(tmp_path: Path) -> None:
    async with memory_host(tmp_path / "one", **{"storage.encryption.enabled": False}) as host:
        await told(host, "The blue kettle.")
        root = Path((await runtime(host, "backup"))["backup"]["path"])
    async with encrypted_memory(tmp_path / "two", backup={"roots": [str(root.parent)]}) as host:
        await runtime(host, "restore_backup", backup=str(root))
        assert await contents(host, "kettle") == ["The blue kettle."]
        assert b"blue kettle" not in (data_of(host) / "memory.db").read_bytes()


async def test_a_purge_looks_through_decrypted_files(tmp_path: Path) -> None:
    """What lies in the pages of an encrypted copy that nobody may write is found, and said to be there."""
    async with encrypted_memory(tmp_path) as host:
        await told(host, "Zanzibar quixotic pineapple marmalade", external_id="z", chat_id="c")
        await host.settle(600)
        await runtime(host, "backup")
        await keys_of(host, "rotate")
        receipt = (await call(host, "memory_delete_admin", action="execute", mode="chat", selector="c", purge=True))[
            "receipt"
        ]
        assert receipt["complete"], receipt
        assert [copy["done"] for copy in receipt["copies"]] == ["rewritten"], "a backup with a retired key"
        database = data_of(host) / "memory.db"
        assert receipt["bytes"] >= database.stat().st_size // 2
        await told(host, "Zanzibar quixotic pineapple marmalade", external_id="z", chat_id="c")
        with encrypted_file(host, "other.db") as other:
            other.execute("create table notes (x)")
            other.execute("insert into notes values ('Zanzibar quixotic pineapple marmalade')")
        again = {"action": "execute", "mode": "chat", "selector": "c", "purge": True}
        receipt = (await host.invoke("memory_delete_admin", again))["receipt"]
        assert list(receipt["found"]) == ["other.db"], "a file of somebody else, who has the key"


def encrypted_file(host: AMemorixHostService, name: str) -> Any:
    keys = host.kernel.store.keys
    assert keys is not None
    return closing(driver.connect(data_of(host) / name, key=keys.page_key()))


async def test_keys_and_secrets_are_told_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with encrypted_memory(tmp_path, secret=PASSPHRASE) as host:
        await told(host, "The blue kettle.")
        ring = host.kernel.store.keys
        assert ring is not None
        await keys_of(host, "rotate")
        said = [
            json.dumps(await host.get_config()), json.dumps(await keys_of(host, "status")), repr(ring.current), repr(ring.page_key()),
            json.dumps(await call(host, "memory_runtime_admin", action="audit")), caplog.text,
        ]  # fmt: skip
        keys = host.kernel.store.keys
        assert keys is not None
        for key in keys.all:
            for told_ in said:
                assert PASSPHRASE not in told_
                assert key.raw.hex() not in told_
                assert key.pages.hex() not in told_


async def test_a_pasted_key_is_no_name_of_a_variable(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig):
        async with memory_host(tmp_path, **{"storage.encryption.key_env": "a5" * 32}):
            pass


IDENTITY = pyrage.x25519.Identity.generate()


@pytest.mark.parametrize("by", ["recipients", "passphrase"])
async def test_an_export_is_encrypted_and_read_again(tmp_path: Path, by: str) -> None:
    environ = {"KEY": PASSPHRASE, "ID": str(IDENTITY), "PASS": "a passphrase of an export"}
    how: dict[str, Any] = (
        {"recipients": [str(IDENTITY.to_public())]} if by == "recipients" else {"passphrase_env": "PASS"}
    )
    opening = {"identity_env": "ID"} if by == "recipients" else {"passphrase_env": "PASS"}
    async with memory_host(tmp_path / "one", environ=environ, **ENCRYPTED) as host:
        lines = [{"speaker": "Ann", "text": f"The blue kettle number {number}."} for number in range(300)]
        await call(host, "ingest_messages", chat_id="c", messages=lines)
        await host.settle(600)
        await pause_background(host)
        answer = await host.invoke("memory_runtime_admin", {"action": "export", "plain": False})
        assert "only with `plain`" in answer["error"]
        made = await runtime(host, "export", **how)
        file = Path(made["path"])
        raw = file.read_bytes()
        assert (b"kettle" in raw, raw.startswith(b"age-encryption.org/v1"), made["bytes"]) == (False, True, len(raw))
        clear = await runtime(host, "export", plain=True)
        assert b"kettle" in Path(clear["path"]).read_bytes()
    opened = pyrage.decrypt(raw, [IDENTITY]) if by == "recipients" else pyrage.passphrase.decrypt(raw, environ["PASS"])
    assert opened.splitlines()[1:-1] == Path(clear["path"]).read_bytes().splitlines()[1:-1]
    async with memory_host(
        tmp_path / "two", environ=environ, backup={"roots": [str(file.parent)]}, **ENCRYPTED
    ) as host:
        for wrong in ({}, {"identity_env": "PASS"}, {"passphrase_env": "KEY"}):
            answer = await host.invoke("memory_runtime_admin", {"action": "import_export", "path": str(file), **wrong})
            assert answer["error_code"] == "invalid_request", answer
        short = file.with_name("short.age")
        short.write_bytes(raw[: len(raw) // 2])
        answer = await host.invoke("memory_runtime_admin", {"action": "import_export", "path": str(short), **opening})
        assert answer["error_code"] == "invalid_request", answer
        await runtime(host, "import_export", path=str(file), **opening)
        assert len(rows_with(host, "select 1 from paragraphs")) == 300


async def test_a_graph_is_written_in_the_clear_only_if_asked_for(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await told(host, "A horse.", relations=[{"subject": "Quixote", "predicate": "rides", "object": "Rocinante"}])
        asked = {"action": "export", "path": "graph.graphml"}
        assert (await host.invoke("memory_graph_admin", {**asked, "plain": False}))["error_code"] == "invalid_request"
        assert b"Rocinante" in Path((await call(host, "memory_graph_admin", **asked, plain=True))["path"]).read_bytes()

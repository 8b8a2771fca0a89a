"""Bytes changed, cut off, appended and exchanged in every kind of file of an encrypted memory: refused by the file's name, or
healed from the rows, never answered from.

`AMEMORIX_FLIPS` changes so many bytes of each file, one at a time.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrage
import pytest

from amemorix.copies.age_files import ExportKey
from amemorix.copies.backup_folder import read
from amemorix.copies.backups import examined
from amemorix.copies.worker import CopyThread
from amemorix.errors import MemoryFault
from amemorix.indexes.snapshot import Pointer
from amemorix.store import copies as copy_rows
from amemorix.store.compaction import open_copy
from amemorix.store.keys import KEYS_FILE, Keyring
from amemorix.store.sealed_files import CHUNK, SealedWriter, opened_chunks
from amemorix.store.sqlite import Database
from encrypted_memory import SECRET, encrypted_memory
from entrance import admin_of, contents, data_of, said, told
from import_entrance import imported

runtime = admin_of("memory_runtime_admin")
FLIPS = int(os.environ.get("AMEMORIX_FLIPS", "500"))
IDENTITY = pyrage.x25519.Identity.generate()


@dataclass
class Memory:
    folder: Path
    export: Path
    keys: Keyring
    killed: Path
    """A copy of the database and its log as kill -9 leaves them, and what was stored at each commit of it."""
    states: list[list[str]]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A small one that was closed, with every kind of file; what a test changes it puts right again."""
    return asyncio.run(filled(tmp_path_factory.mktemp("memory")))


async def filled(place: Path) -> Memory:
    states, killed = list[list[str]](), place / "killed"
    async with encrypted_memory(place) as host:
        for number in range(12):
            await told(host, f"The kettle number {number} is in the pantry.", relations=[
                {"subject": f"kettle {number}", "predicate": "stands in", "object": "pantry"}])  # fmt: skip
        await said(host, "qq:1", ("Zebedee", "I live in Leeds.", 1.7e9))
        await host.settle(600)
        await runtime(host, "save")
        await runtime(host, "backup")
        export = Path((await runtime(host, "export", path="x.age", recipients=[str(IDENTITY.to_public())]))["path"])
        host.staging()[0].put("talk.txt", b"something that waits " * 40)
        await host.kernel.store.empty_log()
        for number in range(8):
            states.append(texts(host.kernel.store.read_here))
            await told(host, f"Later line {number}.", derive=False)
        states.append(texts(host.kernel.store.read_here))
        folder = data_of(host)
        killed.mkdir()
        for name in ("memory.db", "memory.db-wal", KEYS_FILE):
            shutil.copyfile(folder / name, killed / name)
    return Memory(folder, export, Keyring.read(folder / KEYS_FILE, SECRET), killed, states)


def texts(reader: Callable[[Any], Any]) -> list[str]:
    return reader(lambda db: [row[0] for row in db.execute("select content from paragraphs order by id")])


def flips(path: Path, rng: random.Random, count: int = FLIPS) -> Iterator[int]:
    """Change a byte at random places, one at a time, and put it right again."""
    whole = path.read_bytes()
    for _ in range(count):
        at = rng.randrange(len(whole))
        with path.open("rb+") as file:
            file.seek(at)
            file.write(bytes([whole[at] ^ rng.randrange(1, 256)]))
        yield at
        if path.stat().st_size == len(whole):
            with path.open("rb+") as file:
                file.seek(at)
                file.write(whole[at : at + 1])
        else:
            path.write_bytes(whole)


def other_lengths(path: Path, rng: random.Random, count: int = 40) -> Iterator[int]:
    """Cut a file off at random places, and append bytes to it."""
    whole = path.read_bytes()
    for n in range(count):
        length = rng.randrange(len(whole)) if n % 4 else len(whole) + 1 + rng.randrange(5000)
        path.write_bytes(whole[:length] + rng.randbytes(max(0, length - len(whole))))
        yield length
    path.write_bytes(whole)


def test_every_page_of_a_database_vouches_for_each_of_its_bytes(memory: Memory) -> None:
    """Nothing of a page is without its HMAC: with no page that is unused, every byte is noticed where all are read."""
    rng, database = random.Random(1), memory.folder / "memory.db"
    with open_copy(database, memory.keys) as db:
        db.execute("vacuum")
        assert db.execute("pragma freelist_count").fetchone() == (0,)
    for at in flips(database, rng):
        try:
            with open_copy(database, memory.keys, unchanged=True) as db:
                problems = copy_rows.faults(db)
        except sqlite3.DatabaseError:
            continue
        assert problems, at
    with open_copy(database, memory.keys, unchanged=True) as db:
        assert copy_rows.faults(db) == []


def test_a_damaged_database_is_refused_by_name_or_answers_as_before(memory: Memory) -> None:
    rng, database, refused = random.Random(2), memory.folder / "memory.db", 0
    whole = memory.states[-1]
    for damage in (flips(database, rng, FLIPS // 10), other_lengths(database, rng, 20)):
        for at in damage:
            try:
                held = opened_here(memory.folder, memory.keys)
                assert held == whole, at
            except MemoryFault as exc:
                refused += 1
                assert "memory.db" in str(exc)
    assert refused > 10, "what was cut off, and bytes of pages that were read"
    assert opened_here(memory.folder, memory.keys) == whole


def opened_here(folder: Path, keys: Keyring) -> list[str]:
    database = Database(folder / "memory.db", keys=keys)
    try:
        return texts(database.read_here)
    finally:
        database.close()


def test_a_damaged_log_is_named_and_what_is_left_is_a_state_that_there_was(
    memory: Memory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A log whose frame is damaged ends before it, as SQLite has it: the memory is as it was at an earlier commit, and says so."""
    rng, place, whole = random.Random(3), tmp_path / "again", memory.states[-1]
    place.mkdir()
    shutil.copyfile(memory.killed / KEYS_FILE, place / KEYS_FILE)
    lost = 0
    for at in flips(memory.killed / "memory.db-wal", rng, FLIPS // 10):
        for name in ("memory.db", "memory.db-wal"):
            shutil.copyfile(memory.killed / name, place / name)
        caplog.clear()
        held = opened_here(place, memory.keys)
        assert held in memory.states, at
        if held != whole:
            lost += 1
            assert f"{place / 'memory.db-wal'} is damaged" in caplog.text, at
    assert lost > FLIPS // 40
    for name in ("memory.db", "memory.db-wal"):
        shutil.copyfile(memory.killed / name, place / name)
    caplog.clear()
    assert opened_here(place, memory.keys) == whole
    assert "damaged" not in caplog.text


def test_every_byte_of_a_sealed_file_is_noticed(memory: Memory) -> None:
    rng = random.Random(4)
    sealed = [path for path in memory.folder.rglob("*") if path.is_file() and path.read_bytes().startswith(b"AMXSEAL1")]
    assert {path.name for path in sealed} >= {"columns.npy", "codes.npy", "memory.toml", "talk.txt"}
    for path in sealed:
        whole = b"".join(opened_chunks(path, memory.keys))
        for damage in (flips(path, rng), other_lengths(path, rng)):
            for _ in damage:
                with pytest.raises(ValueError, match=path.name):
                    list(opened_chunks(path, memory.keys))
        assert b"".join(opened_chunks(path, memory.keys)) == whole


def test_chunks_and_files_that_change_places_are_noticed(memory: Memory, tmp_path: Path) -> None:
    files = [tmp_path / "a" / "one.bin", tmp_path / "a" / "two.bin", tmp_path / "b" / "one.bin"]
    for number, path in enumerate(files):
        path.parent.mkdir(exist_ok=True)
        with SealedWriter(path, memory.keys) as file:
            file.write(random.Random(number).randbytes(3 * CHUNK + 100))
    raws, size = [path.read_bytes() for path in files], CHUNK + 16
    first, head = raws[0], 24
    chunks = [first[at : at + size] for at in range(head, len(first), size)]
    swaps = [(1, 0, 2, 3), (0, 2, 1, 3), (0, 1, 3), (0, 1, 2), (0, 1, 2, 3, 3), (0, 0, 2, 3)]
    wrong = [first[:head] + b"".join(chunks[n] for n in order) for order in swaps]
    wrong += [first[: head + size] + raws[1][head + size :], raws[1], raws[2]]
    for raw in wrong:
        files[0].write_bytes(raw)
        with pytest.raises(ValueError, match=r"one\.bin"):
            list(opened_chunks(files[0], memory.keys))
    files[0].write_bytes(first)
    assert len(b"".join(opened_chunks(files[0], memory.keys))) == 3 * CHUNK + 100


def test_every_byte_of_the_keys_is_noticed_or_means_the_same(memory: Memory) -> None:
    rng, path, secret = random.Random(5), memory.folder / KEYS_FILE, SECRET

    def known() -> Any:
        ring = Keyring.read(path, secret)
        return ring.current.id, ring.all

    whole, same = known(), 0
    for damage in (flips(path, rng), other_lengths(path, rng)):
        for at in damage:
            try:
                assert known() == whole, at
                same += 1
            except MemoryFault as exc:
                assert KEYS_FILE in str(exc)
    assert same < FLIPS // 50, "one blank for another"


def test_every_byte_of_an_index_pointer_is_noticed(memory: Memory) -> None:
    rng = random.Random(6)
    pointers = list(memory.folder.rglob("current.json"))
    assert pointers
    for path in pointers:
        whole = Pointer.from_json(path.read_text())
        for damage in (flips(path, rng), other_lengths(path, rng)):
            for at in damage:
                try:
                    assert Pointer.from_json(path.read_text("utf-8")) == whole, at
                except ValueError:
                    continue


def test_every_byte_of_a_manifest_is_noticed_or_means_the_same(memory: Memory) -> None:
    rng = random.Random(7)
    (path,) = memory.folder.glob("backups/*/manifest.json")
    whole, thread, named = read(path.parent), CopyThread(), False
    assert whole is not None
    for damage in (flips(path, rng), other_lengths(path, rng)):
        for at in damage:
            held = read(path.parent)
            assert held is None or held == whole or not held.whole, at
            if held and held != whole and not named:
                named = "manifest.json is not what was written" in examined(held, memory.keys, thread)
                assert named, at
    thread.close()
    assert named


def test_a_damaged_file_of_a_backup_is_named(memory: Memory) -> None:
    rng, thread = random.Random(8), CopyThread()
    (path,) = memory.folder.glob("backups/*/manifest.json")
    backup = read(path.parent)
    assert backup is not None
    assert examined(backup, memory.keys, thread) == []
    for name in ("memory.db", "memory.toml", KEYS_FILE):
        file = path.with_name(name)
        for damage in (flips(file, rng, FLIPS // 50), other_lengths(file, rng, 4)):
            for _ in damage:
                assert f"{name} is not what was written" in examined(backup, memory.keys, thread)
    thread.close()


def test_every_byte_of_an_export_is_noticed(memory: Memory) -> None:
    rng, key = random.Random(9), ExportKey(identity=str(IDENTITY))
    with key.reading(memory.export) as plain:
        whole = plain.read()
    assert b"kettle" in whole
    for damage in (flips(memory.export, rng), other_lengths(memory.export, rng)):
        for at in damage:
            try:
                with key.reading(memory.export) as plain:
                    assert plain.read() == whole, at
            except MemoryFault as exc:
                assert memory.export.name in str(exc)
            else:
                raise AssertionError(at)


async def test_a_file_that_waited_and_is_damaged_is_not_imported(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        staged = host.staging()[0].put("talk.txt", b"Zebedee lives in Leeds.\n\nHe has a kettle.")
        path = host.staging()[0].folder / staged.path
        for _ in flips(path, random.Random(10), 1):
            task = await imported(host, "create_upload", files=[{"staged": staged.id}], chat_id="c")
            assert task["status"] == "failed"
            assert "talk.txt is damaged" in task["files"][0]["error"], task
        assert await contents(host, "kettle") == []

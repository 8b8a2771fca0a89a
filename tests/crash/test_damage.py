"""Damaged files: an index is made again from the rows and nothing is lost; a damaged database is refused and left alone."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from amemorix.indexes.snapshot import Pointer
from amemorix.testing import HashEmbedder, memory_host
from database_file import open_database

SETTINGS: dict[str, Any] = {"retrieval": {"noise": {"enabled": False}}}
TOPICS = ("kettle", "harbour", "violin", "雨伞", "orchard", "lantern", "茶叶", "bicycle")
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"query": "the violin in the harbour", "chat_id": "c1"},
    {"query": "雨伞"},
    {"query": "Who keeps the lantern?", "chat_id": "c2", "limit": 20},
    {"query": "orchard", "mode": "episode"},
    {"mode": "time", "time_start": "2023-11-01", "time_end": "2023-12-31", "limit": 50},
)
Memory = tuple[Path, Any]
"""A folder and what the memory in it answers."""


def data(folder: Path) -> Path:
    return folder / "data" / "a-memorix"


def opened(folder: Path) -> Any:
    return memory_host(folder, embed=HashEmbedder(16), **SETTINGS)


async def fill(host: AMemorixHostService, seed: int, chats: tuple[str, str] = ("c1", "c2")) -> None:
    rng = random.Random(seed)
    for chat in chats:
        turns = [
            {"external_id": f"t{i}", "speaker": rng.choice(("Ada", "Bo")), "time": 1.7e9 + 60 * i,
             "text": f"Turn {i}: the {rng.choice(TOPICS)} is near the {rng.choice(TOPICS)}."}
            for i in range(15)
        ]  # fmt: skip
        await host.call("ingest_messages", {"chat_id": chat, "messages": turns})
    for i in range(10):
        relation = {"subject": rng.choice(TOPICS), "predicate": "beside", "object": f"shelf {i}"}
        note = {
            "external_id": f"n{i}",
            "source_type": "note",
            "chat_id": chats[0],
            "text": f"Note {i} on {TOPICS[i % 8]}",
        }
        await host.call("ingest_text", {**note, "relations": [relation]})
    await host.call("memory_source_admin", {"action": "delete", "source": f"chat:{chats[1]}"})
    await host.call("ingest_messages", {"chat_id": chats[1], "messages": turns[:6]})
    await host.settle(600)


async def answers(host: AMemorixHostService) -> Any:
    """What people see of it: hits with their scores, and counts."""
    found: list[Any] = []
    for question in QUESTIONS:
        hits = (await host.invoke("search_memory", question))["hits"]
        found.append([(hit["external_id"], hit["chat_id"], hit["content"], round(hit["score"], 4)) for hit in hits])
    stats = await host.invoke("memory_stats")
    return found, [stats[name] for name in ("paragraphs", "relations", "persons", "episodes", "external_refs")]


async def made(folder: Path, seed: int) -> Memory:
    async with opened(folder) as host:
        await fill(host, seed)
        return folder, await answers(host)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return asyncio.run(made(tmp_path_factory.mktemp("original"), 1))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return asyncio.run(made(tmp_path_factory.mktemp("stranger"), 2))


@pytest.fixture
def copies(original: Memory, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    numbers = iter(range(1_000_000))
    yield lambda: shutil.copytree(original[0], tmp_path / str(next(numbers)))


def index_files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in (data(folder) / "indexes").rglob("*") if path.is_file())


def pointers(folder: Path) -> list[Path]:
    return sorted((data(folder) / "indexes").glob("*/current.json"))


async def assert_answers_the_same(folder: Path, wanted: Any, what: str, openings: int = 2) -> None:
    """It opens, answers as before and is in order; at the next opening too."""
    for _ in range(openings):
        async with opened(folder) as host:
            assert await answers(host) == wanted, what
            report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]
            assert report["ok"], (what, report)
            await host.call("ingest_text", {"external_id": "n1", "source_type": "note", "chat_id": "c1",
                                            "text": "Note 1 on harbour"})  # fmt: skip


async def test_undamaged_indexes_are_loaded_and_not_made_again(
    original: Memory, copies: Callable[[], Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await assert_answers_the_same(copies(), original[1], "nothing")
    assert not [r.message for r in caplog.records if "built from the rows" in r.message]
    assert not [
        r for r in caplog.records if r.levelname == "WARNING" and r.name != "amemorix.calls"
    ]  # which may be slow


async def test_missing_indexes_are_made_again(original: Memory, copies: Callable[[], Path]) -> None:
    folder = copies()
    shutil.rmtree(data(folder) / "indexes")
    await assert_answers_the_same(folder, original[1], "no index folder")
    for file in index_files(original[0]):
        folder = copies()
        (folder / file).unlink()
        await assert_answers_the_same(folder, original[1], f"{file} missing", openings=1)


async def test_truncated_files_are_made_again(original: Memory, copies: Callable[[], Path]) -> None:
    rng = random.Random(3)
    for number, file in enumerate(index_files(original[0])):
        size, folder = (original[0] / file).stat().st_size, copies()
        keep = (0, size - 1, rng.randrange(size))[number % 3]
        os.truncate(folder / file, keep)
        await assert_answers_the_same(folder, original[1], f"{file} cut to {keep} of {size}", openings=1)


async def test_flipped_bytes_are_noticed(original: Memory, copies: Callable[[], Path]) -> None:
    """The pointer file too: another number in it would pass over changes."""
    rng = random.Random(4)
    for file in index_files(original[0]):
        whole = (original[0] / file).read_bytes()
        for place in rng.sample(range(len(whole)), 4 if file.suffix == ".json" else 1):
            folder, damaged = copies(), bytearray(whole)
            damaged[place] ^= rng.choice((1, 2, 4, 8, 255))
            (folder / file).write_bytes(damaged)
            await assert_answers_the_same(folder, original[1], f"{file} byte {place}: {damaged!r:.900}", openings=1)


def test_a_pointer_with_any_bit_flipped_is_none(original: Memory) -> None:
    for pointer in pointers(original[0]):
        whole = pointer.read_bytes()
        value = Pointer.from_json(whole.decode())
        for place in range(8 * len(whole)):
            damaged = bytearray(whole)
            damaged[place // 8] ^= 1 << place % 8
            try:
                assert Pointer.from_json(damaged.decode()) == value, damaged
            except ValueError:
                continue


async def test_indexes_of_another_database_are_not_taken(
    original: Memory, stranger: Memory, copies: Callable[[], Path]
) -> None:
    theirs, names = data(stranger[0]) / "indexes", [path.parent.name for path in pointers(original[0])]
    assert len(names) == 5
    for name in [".", *names]:
        folder = copies()
        shutil.rmtree(data(folder) / "indexes" / name)
        shutil.copytree(theirs / name, data(folder) / "indexes" / name)
        await assert_answers_the_same(folder, original[1], f"{name} of another database")


async def test_single_files_of_another_database_are_not_taken(
    original: Memory, stranger: Memory, copies: Callable[[], Path]
) -> None:
    for file in index_files(original[0]):
        folder = copies()
        index = (folder / file).parent if file.suffix == ".json" else (folder / file).parent.parent
        theirs = next((data(stranger[0]) / "indexes" / index.name).rglob(file.name))
        shutil.copyfile(theirs, folder / file)
        await assert_answers_the_same(folder, original[1], f"{file} of another database", openings=1)


GARBAGE = (
    "", "null", "7", "[]", "{}", "{", '"text"', "\x00" * 64, "[" * 100_000, '{"files": {}}', "\ufeff{}", '{"files": []}',
    '{"folder": "x", "cursor": 1, "fingerprint": "", "database_id": "", "files": {"a": 1}}',
)  # fmt: skip
OTHER_VALUES: tuple[dict[str, Any], ...] = (
    {"cursor": "7"}, {"cursor": 0}, {"cursor": -1}, {"cursor": 10**30}, {"cursor": 1.5}, {"cursor": None}, {"cursor": True},
    {"cursor": [1]}, {"folder": 5}, {"folder": ""}, {"folder": "."}, {"folder": None}, {"folder": "\x00"}, {"files": {}},
    {"fingerprint": None}, {"database_id": 0}, {"more": 1},
)  # fmt: skip


async def test_garbage_and_other_values_instead_of_a_pointer(original: Memory, copies: Callable[[], Path]) -> None:
    """In each copy every index has another one."""
    left = [*GARBAGE, *OTHER_VALUES]
    while left:
        folder, used, left = copies(), left[:4], left[4:]
        for pointer, given in zip(pointers(folder), used, strict=False):
            value = given if isinstance(given, str) else json.dumps(json.loads(pointer.read_text("utf-8")) | given)
            pointer.write_text(value, "utf-8")
        await assert_answers_the_same(folder, original[1], f"{used!r:.400}")


@pytest.mark.parametrize("where", ["absolute", "relative", "parent", "link"])
async def test_a_pointer_does_not_lead_outside(
    where: str, original: Memory, copies: Callable[[], Path], stranger: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    folder = copies()
    for pointer in pointers(folder):
        value = Pointer.from_json(pointer.read_text("utf-8"))
        inside, outside = pointer.parent / value.folder, folder / "outside" / pointer.parent.name / value.folder
        shutil.copytree(inside, outside)
        shutil.rmtree(inside)
        if where == "link":
            inside.symlink_to(outside)
        paths = {"absolute": str(outside), "relative": os.path.relpath(outside, pointer.parent), "parent": ".."}
        pointer.write_text(replace(value, folder=paths.get(where, value.folder)).to_json(), "utf-8")
    await assert_answers_the_same(folder, original[1], where)
    assert len([r for r in caplog.records if "points outside" in r.message]) == len(pointers(folder))


async def test_files_where_folders_belong(original: Memory, copies: Callable[[], Path]) -> None:
    for index in [path.parent.relative_to(original[0]) for path in pointers(original[0])]:
        folder = copies()
        shutil.rmtree(folder / index)
        (folder / index).write_text("not a folder", "utf-8")
        async with opened(folder) as host:
            assert await answers(host) == original[1], index
    folder = copies()
    for pointer in pointers(folder):
        snapshot = pointer.parent / json.loads(pointer.read_text("utf-8"))["folder"]
        shutil.rmtree(snapshot)
        snapshot.write_text("not a folder", "utf-8")
    await assert_answers_the_same(folder, original[1], "files for snapshots")


async def test_leftovers_of_a_crash_are_swept_up(original: Memory, copies: Callable[[], Path]) -> None:
    folder = copies()
    for pointer in pointers(folder):
        (pointer.parent / "snapshot-1-2-3").mkdir()
        (pointer.parent / "snapshot-1-2-3" / "half.npy").write_bytes(b"half")
        pointer.with_name("current.json.snapshot-1-2-3").write_text("{", "utf-8")
    (data(folder) / "indexes" / "vectors-77").mkdir()
    before = len(list((data(original[0]) / "indexes").rglob("*")))
    await assert_answers_the_same(folder, original[1], "leftovers")
    async with opened(folder) as host:
        await host.call("ingest_text", {"external_id": "new", "source_type": "note", "text": "A new note",
                                        "relations": [{"subject": "a", "predicate": "b", "object": "c"}]})  # fmt: skip
        await host.settle(600)
    assert len(list((data(folder) / "indexes").rglob("*"))) == before


async def test_an_older_database_with_newer_indexes(original: Memory, copies: Callable[[], Path]) -> None:
    """A database restored from a backup is behind its indexes; when it has grown past them, they still do not fit."""
    newer, restored = copies(), copies()
    async with opened(newer) as host:
        await fill(host, 3, ("c3", "d3"))
    shutil.rmtree(data(restored) / "indexes")
    shutil.copytree(data(newer) / "indexes", data(restored) / "indexes")
    crashed = restored.with_name("crashed")
    async with opened(restored) as host:
        assert await answers(host) == original[1]
        for seed in (4, 5, 6):
            await fill(host, seed, (f"c{seed}", f"d{seed}"))
        wanted = await answers(host)
        shutil.copytree(restored, crashed)
    for folder in (crashed, restored):
        async with opened(folder) as host:
            await host.settle(600)
            assert await answers(host) == wanted, folder


# the database


def refused(folder: Path) -> StorageFailure:
    """The error of the opening; the file is the same afterwards."""
    path = data(folder) / "memory.db"
    before = path.read_bytes()

    async def open_() -> None:
        async with opened(folder):
            pass

    with pytest.raises(StorageFailure) as caught:
        asyncio.run(open_())
    assert path.read_bytes() == before
    return caught.value


def test_a_database_of_garbage_is_refused_and_left_alone(copies: Callable[[], Path]) -> None:
    rng = random.Random(5)
    for garbage in (b"not a database" * 1000, rng.randbytes(50_000), b"SQLite format 3\x00" + rng.randbytes(9_000)):
        folder = copies()
        (data(folder) / "memory.db").write_bytes(garbage)
        error = refused(folder)
        assert "memory.db" in str(error)


def test_a_truncated_database_is_refused_and_left_alone(copies: Callable[[], Path]) -> None:
    folder = copies()
    size = (data(folder) / "memory.db").stat().st_size
    for keep in (50, 4096, size // 2, size - 4096, size - 1):
        folder = copies()
        os.truncate(data(folder) / "memory.db", keep)
        refused(folder)


def test_an_emptied_database_is_refused_while_its_indexes_are_there(copies: Callable[[], Path]) -> None:
    folder = copies()
    os.truncate(data(folder) / "memory.db", 0)
    assert "backup" in str(refused(folder))


async def test_an_empty_file_without_indexes_is_a_memory_not_begun(tmp_path: Path) -> None:
    data(tmp_path).mkdir(parents=True)
    (data(tmp_path) / "memory.db").touch()
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("memory_stats", {}))["success"]


def test_a_newer_schema_is_refused_and_left_alone(copies: Callable[[], Path]) -> None:
    folder = copies()
    with open_database(data(folder) / "memory.db") as db:
        db.execute("pragma user_version = 99")
    db.close()
    assert "newer" in str(refused(folder))


@pytest.mark.parametrize("version", [0, 1])
def test_the_database_of_another_program_is_refused_and_left_alone(version: int, tmp_path: Path) -> None:
    data(tmp_path).mkdir(parents=True)
    with open_database(data(tmp_path) / "memory.db") as db:
        db.execute("create table recipes (name text)")
        db.execute(f"pragma user_version = {version}")
    db.close()
    refused(tmp_path)


async def test_after_a_refusal_the_folder_is_free(copies: Callable[[], Path], original: Memory) -> None:
    folder = copies()
    whole = (data(folder) / "memory.db").read_bytes()
    (data(folder) / "memory.db").write_bytes(b"garbage" * 999)
    with pytest.raises(StorageFailure):
        async with opened(folder):
            pass
    (data(folder) / "memory.db").write_bytes(whole)
    await assert_answers_the_same(folder, original[1], "mended")


async def test_damage_inside_the_database_is_told_and_never_an_inner_error(copies: Callable[[], Path]) -> None:
    """Pages in the middle are looked at when they are needed: then the answer is a storage failure, not a crash."""
    rng = random.Random(6)
    for _ in range(12):
        folder = copies()
        path = data(folder) / "memory.db"
        damaged = bytearray(path.read_bytes())
        start = rng.randrange(8192, len(damaged) - 4096)
        damaged[start : start + 4096] = rng.randbytes(4096)
        path.write_bytes(damaged)
        try:
            async with opened(folder) as host:
                for question in QUESTIONS:
                    answer = await host.invoke("search_memory", question)
                    assert answer["success"] or answer["error_code"] == "storage_failure", answer
                answer = await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"})
                assert not answer["success"] or not answer["report"]["ok"], answer
        except StorageFailure as exc:
            assert "memory.db" in str(exc)


async def test_garbage_beside_the_database_does_not_matter(copies: Callable[[], Path], original: Memory) -> None:
    folder = copies()
    (data(folder) / "memory.db-wal").write_bytes(b"garbage" * 999)
    (data(folder) / "memory.db-shm").write_bytes(b"garbage" * 999)
    await assert_answers_the_same(folder, original[1], "garbage in the log")

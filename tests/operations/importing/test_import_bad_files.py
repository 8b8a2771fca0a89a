"""Files that are damaged, or made to do damage, fail with their reason; nothing else suffers."""

from __future__ import annotations

import errno
import json
import sqlite3
from pathlib import Path
from typing import IO, Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidRequest, StorageFailure
from amemorix.importing.readers.formats import detect, reader_for
from amemorix.importing.records import Bad
from amemorix.importing.staging import Staged, Staging
from amemorix.store.read_only_database import ReadOnlyDatabase
from entrance import contents, data_of
from import_entrance import COMPONENT, admin, imported, pasted, raw_folder


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


async def test_a_document_that_is_nested_too_deep_fails_at_once(host: AMemorixHostService) -> None:
    deep = f'{{"paragraphs": ["a kite", {{"content": "a lamp", "metadata": {{"a": {nested(60_000)}}}}}]}}'
    task = await pasted(host, "deep.json", deep)
    assert (task["status"], task["counts"]) == ("completed_with_errors", {"stored": 1})
    assert "nested too deep" in task["files"][0]["error"]
    assert await contents(host, "kite") == ["a kite"]


@pytest.mark.parametrize("name", ["json", "mem0", "graphiti", "lpmm_openie"])
def test_every_reader_of_documents_refuses_what_is_nested_too_deep(tmp_path: Path, name: str) -> None:
    path = tmp_path / "deep.json"
    path.write_text(f'{{"a": {nested(50_000)}, "paragraphs": []}}', "utf-8")
    assert detect("deep.json", path) == "json"
    with pytest.raises(InvalidRequest, match="nested too deep"):
        list(reader_for(name, {}).read(path, 0))


async def test_a_line_that_is_nested_deep_fails_with_its_place(host: AMemorixHostService) -> None:
    lines = "\n".join('{"content": "a kite", "metadata": {"a": ' + nested(depth) + "}}" for depth in (300, 900))
    task = await pasted(host, "deep.jsonl", lines)
    assert task["files"][0]["status"] == "completed", "a chunk failed, and not the work"
    assert {error["place"] for error in task["files"][0]["chunk_list"][0]["errors"]} <= {"line 1", "line 2"}


@pytest.mark.parametrize("value", ['{"a": 1}', '"no"', "3"])
async def test_what_is_no_list_in_a_document_is_said(host: AMemorixHostService, value: str) -> None:
    task = await pasted(host, "wrong.json", f'{{"paragraphs": {value}, "entities": null}}')
    assert (task["status"], task["files"][0]["error"]) == ("failed", "file: `paragraphs` is no list.")


@pytest.mark.parametrize("name", ["txt", "md", "csv", "chat_log"])
def test_nul_bytes_behind_the_first_megabyte_are_no_text_either(tmp_path: Path, name: str) -> None:
    path = tmp_path / "late"
    line = b"Ada: a kite\n\n" if name == "chat_log" else b"a kite\n\n"
    path.write_bytes(b"text\n" + line * 150_000 + b"a \0 lamp\n" + line)
    bad = [one.reason for _, one in reader_for(name, {}).read(path, 0) if isinstance(one, Bad)]
    assert len(bad) == 1
    assert "NUL" in bad[0]


# databases


@pytest.mark.parametrize(
    "content", [b"SQLite format 3\0", b"SQLite format 3\0\x10", b"SQLite format 3\0" + b"\xff" * 300]
)
async def test_a_database_that_is_none_fails_by_itself(host: AMemorixHostService, content: bytes) -> None:
    ((await raw_folder(host)) / "MaiBot.db").write_bytes(content)
    task = await imported(host, "create_raw_scan", glob="*.db")
    assert (task["status"], task["files"][0]["status"]) == ("failed", "failed")
    assert "MaiBot.db" in task["files"][0]["error"]


def test_a_database_with_damaged_pages_is_no_failure_of_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as db:
        db.execute("create table messages (id integer primary key, message_id, processed_plain_text)")
        db.executemany("insert into messages values (?, ?, ?)", ((n, str(n), "word " * 200) for n in range(500)))
    db.close()
    raw = bytearray(path.read_bytes())
    raw[8192:] = b"\x5a" * (len(raw) - 8192)
    path.write_bytes(raw)
    with ReadOnlyDatabase(path) as foreign, pytest.raises(InvalidRequest, match="any further"):
        foreign.last("last_message")


# a disk that is full


class FullDisk:
    """What is written to it does not fit."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, piece: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


class Full(Staging):
    """A staging folder on such a disk."""

    def create(self, name: str) -> tuple[Staged, IO[bytes]]:
        staged, file = super().create(name)
        return staged, FullDisk(file)  # type: ignore[return-value]


def test_what_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageFailure, match="No space left"):
        Full(tmp_path).put("a.txt", b"a kite")
    assert list(tmp_path.iterdir()) == []


async def test_a_staging_folder_that_cannot_be_written_is_a_storage_failure(host: AMemorixHostService) -> None:
    folder = data_of(host) / "imports" / "staging"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file in its place", "utf-8")
    answer = await host.invoke(COMPONENT, {"action": "create_paste", "name": "a.txt", "content": "a kite"})
    assert answer["error_code"] == "storage_failure"
    folder.unlink()
    assert (await admin(host, "create_paste", name="a.txt", content=json.dumps("a kite")))["task"]["task_id"]

"""A purge reaches what imports keep: staged files, names, reasons, parameters."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import pause_background, resume_background
from database_file import open_database
from entrance import data_of, reading, rows
from import_entrance import admin, created, ended, pasted, raw_folder, staged_file, turn
from test_purge import left

DELETE = "memory_delete_admin"
SECRET = "the umbrella is in the second drawer of the duty cabinet"
GEHEIM = "折叠伞放在值班柜的第二层抽屉里靠左边"


async def purged(host: AMemorixHostService, mode: str, selector: Any) -> dict[str, Any]:
    done = await host.invoke(DELETE, {"action": "execute", "mode": mode, "selector": selector})
    assert done["success"], done
    result = await host.invoke(DELETE, {"action": "purge", "operation_id": done["operation_id"]})
    assert result["success"], result
    shown = await host.invoke(DELETE, {"action": "get_operation", "operation_id": done["operation_id"]})
    return shown["operation"]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
async def test_a_staged_file_that_holds_it_is_removed(host: AMemorixHostService, encoding: str) -> None:
    lines = [json.dumps(turn(n, text=text, chat_id="c"), ensure_ascii=False) for n, text in enumerate((SECRET, GEHEIM))]
    task = await pasted(host, "talk.jsonl", "\n".join(lines) + "\n")
    assert task["counts"] == {"stored": 2}
    staged_file(host, "again.csv", f"text\n{GEHEIM}\n{SECRET}\n".encode(encoding))
    other = staged_file(host, "other.txt", b"nothing of it")

    operation = await purged(host, "chat", "c")

    assert (operation["status"], operation["receipt"]["found"]) == ("purged", {}), operation
    assert left(data_of(host), [SECRET, GEHEIM]) == []
    assert [path for path in other.parent.parent.iterdir() if any(path.iterdir())] == [other.parent]


async def test_reasons_and_names_that_quote_it_are_emptied(host: AMemorixHostService) -> None:
    await pasted(host, "talk.jsonl", json.dumps(turn(1, text=SECRET, chat_id="c")))
    quoting = json.dumps({"text": "x", "chat_id": "d", "time": SECRET})
    task = await pasted(host, f"{SECRET}.jsonl", quoting)
    chunk = task["files"][0]["chunk_list"][0]
    assert SECRET[:40] in chunk["errors"][0]["reason"]

    operation = await purged(host, "chat", "c")

    assert operation["receipt"]["found"] == {}
    assert operation["receipt"]["scrubbed"] == {"import_files": 2, "import_chunks": 2, "audit": 2}
    assert left(data_of(host), [SECRET]) == []
    shown = (await admin(host, "get", task_id=task["task_id"], include_chunks=True))["task"]
    assert (shown["status"], shown["files"][0]["name"]) == ("failed", "")


async def test_an_import_into_a_chat_that_is_purged_ends(host: AMemorixHostService) -> None:
    await pasted(host, "talk.jsonl", json.dumps(turn(1, text=SECRET, chat_id="the-duty-chat")))
    await pause_background(host)
    (await raw_folder(host) / "more.txt").write_text("a kite")
    task = await created(host, "create_raw_scan", chat_id="the-duty-chat")
    operation = await purged(host, "chat", "the-duty-chat")
    assert operation["receipt"]["found"] == {}
    resume_background(host)
    found = await ended(host, task)
    assert (found["status"], found["params"], found["counts"]) == ("cancelled", {}, {})


async def told_and_purged(host: AMemorixHostService) -> dict[str, Any]:
    await pasted(
        host, "talk.jsonl", "\n".join(json.dumps(turn(n, text=t, chat_id="c")) for n, t in enumerate((SECRET, GEHEIM)))
    )
    done = await host.invoke(DELETE, {"action": "execute", "mode": "chat", "selector": "c", "purge": True})
    return {"answer": done, **done["receipt"]}


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
async def test_a_file_of_the_users_own_is_left_and_named(host: AMemorixHostService, encoding: str) -> None:
    own = (await raw_folder(host)) / "talk.txt"
    own.write_bytes(f"what was said in the duty room, kept here:\n{SECRET}\n{GEHEIM}\n".encode(encoding))
    receipt = await told_and_purged(host)
    assert own.exists(), "no file that somebody put there is removed"
    assert (receipt["complete"], list(receipt["found"])) == (False, ["imports/source/raw/talk.txt"])
    [warning] = receipt["warnings"]
    assert "imports/source/raw/talk.txt holds what was erased" in warning
    assert "remove it yourself" in warning
    assert (receipt["answer"]["success"], receipt["answer"]["error_code"]) == (False, "storage_failure")


@pytest.mark.parametrize(
    ("content", "how"), [(gzip.compress(SECRET.encode(), mtime=0), "gzip"), (SECRET.encode("utf-16"), "UTF-16")]
)
async def test_a_file_that_cannot_be_read_is_named(host: AMemorixHostService, content: bytes, how: str) -> None:
    folder = await raw_folder(host)
    (folder / "talk.jsonl").write_bytes(content)
    (folder / "other.txt").write_text("nothing of it", "utf-8")
    receipt = await told_and_purged(host)
    assert (receipt["complete"], receipt["found"]) == (False, {})
    assert receipt["unread"] == {"imports/source/raw/talk.jsonl": how}
    assert f"could not be looked through ({how})" in receipt["warnings"][0]
    assert receipt["answer"]["success"]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
async def test_a_purge_is_complete_beside_other_files(host: AMemorixHostService, encoding: str) -> None:
    ((await raw_folder(host)) / "other.txt").write_bytes("nothing of it, 别的事".encode(encoding))
    receipt = await told_and_purged(host)
    assert (receipt["complete"], receipt["warnings"], receipt["unread"]) == (True, [], {})


async def test_nothing_is_left_from_which_a_short_text_could_be_guessed(host: AMemorixHostService) -> None:
    """A PIN is found again from a digest, a size, a name, a reason: none of them stays, in the memory or a backup."""
    content = json.dumps(turn(1, text="my pin is 4711", chat_id="c"))
    for name in ("pin4711.jsonl", "again.jsonl"):
        await pasted(host, name, content)
    broken = json.dumps(turn(2, text="my pin is 4712", chat_id="c")) + '\n{"text": "4713", "time": "at 4713"}'
    await pasted(host, "broken.jsonl", broken, skip_bad=True)
    await pasted(host, "other.jsonl", json.dumps(turn(3, text="the kettle is blue", chat_id="d")))
    asked = {"action": "protect", "target": "p1", "hours": 2, "reason": "4711!"}
    assert (await host.invoke("maintain_memory", asked))["success"]
    deleted = await host.invoke(
        DELETE, {"action": "execute", "mode": "paragraph", "selector": {"query": "4711"}, "reason": "4711?"}
    )
    assert (await host.invoke(DELETE, {"action": "restore", "operation_id": deleted["operation_id"]}))["success"]
    made = await host.invoke("memory_runtime_admin", {"action": "backup"})

    operation = await purged(host, "chat", "c")

    assert (operation["receipt"]["complete"], operation["receipt"]["found"]) == (True, {})
    guesses = [content, broken, "4711", "4712", "4713", "again.jsonl", "broken.jsonl"]
    digests = {hashlib.sha256(text.encode()).hexdigest() for text in guesses}
    sizes = {len(content), len(broken), broken.index("\n") + 1}
    backup = f"file:{made['backup']['path']}/memory.db?immutable=1"
    with reading(host) as live, closing(open_database(backup, uri=True)) as copy:
        held = [told_by(live), told_by(copy)]
    for values in held:
        assert any("the kettle is blue" in str(value) for value in values)
        assert [value for value in values if any(text in str(value) for text in (*guesses, *digests))] == []
    columns = "select size, position from import_files union all select start, stop from import_chunks"
    numbers = {number for row in rows(host, columns) for number in row}
    assert not numbers & sizes
    assert {name for (name,) in rows(host, "select name from import_files")} == {"", "other.jsonl"}


def told_by(db: sqlite3.Connection) -> list[Any]:
    """Every text of every table."""
    tables = [name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")]
    return [
        value
        for table in tables
        for row in db.execute(f"select * from {table}")
        for value in row
        if isinstance(value, str)
    ]

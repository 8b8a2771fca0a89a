"""A purge of what an import could not store: what its errors quote, the files that were handed over, what they were called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.store.queries import of_file
from amemorix.testing import memory_host
from encrypted_memory import encrypted_memory
from entrance import admin_of, data_of, rows, said
from import_entrance import admin as importing
from import_entrance import imported, pasted, staged_file
from test_purge import admin, in_copy

RUNTIME = "memory_runtime_admin"
QUOTED = "the violet evening of the envelope"
SECRET = "nobody has been told of the violet envelope"
TABLES = ("import_tasks", "import_files", "import_chunks", "audit")


def bad_lines(**names: str) -> str:
    """A file of which nothing can be stored: a time that is none, which the error quotes, and what is no JSON."""
    return json.dumps({"speaker": "Mo", "text": SECRET, "time": QUOTED, **names}) + '\n{"text": "violet"'


async def failed(host: AMemorixHostService, chat: str, *, told: bool, name: str = "bad violet.jsonl") -> str:
    """An import into a chat that could store nothing: the call says which chat, or its lines do."""
    names, args = ({"chat_id": chat}, {}) if told else ({}, {"chat_id": chat})
    done = await pasted(host, name, bad_lines(**names), **args)
    assert done["status"] == "failed"
    return done["task_id"]


def records(host: AMemorixHostService) -> str:
    """What is noted of imports."""
    read = host.kernel.store.read_here
    return json.dumps(
        [read(lambda db, t=table: of_file(db).execute(f"select * from {t}").fetchall()) for table in TABLES]
    )


def held(folder: Path, *needles: str) -> list[str]:
    """Files that hold one of these."""
    return sorted(
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(needle.encode() in path.read_bytes() for needle in needles)
    )


@pytest.mark.parametrize("told", [True, False], ids=["in its lines", "in the call"])
@pytest.mark.parametrize("chat", ["c1", "丙", "qq:4242424242"])
async def test_what_an_import_could_not_store_goes_with_its_chat(tmp_path: Path, chat: str, told: bool) -> None:
    async with memory_host(tmp_path / "m") as host:
        await said(host, chat, ("Ada", "hello there"))
        await said(host, "c9", ("Bob", "a kettle on the stove"))
        await failed(host, chat, told=told)
        digest = rows(host, "select sha256 from import_files")[0][0]
        assert held(data_of(host), SECRET) and digest in records(host)
        made = await host.invoke(RUNTIME, {"action": "backup"})
        assert made["success"]
        receipt = (await admin(host, "execute", mode="chat", selector=chat, purge=True))["receipt"]
        assert (receipt["complete"], receipt["found"], receipt["unread"]) == (True, {}, {})
        assert [one["done"] for one in receipt["copies"] if "staging" in one["file"]] == ["removed"]
        kept = records(host)
        for gone in (QUOTED, "violet", digest):
            assert gone not in kept
        folder = in_copy(data_of(host), tmp_path / "after")
    assert held(folder, "violet", QUOTED, digest) == []


@pytest.mark.parametrize("told", [True, False], ids=["in its lines", "in the call"])
async def test_what_an_import_into_another_chat_could_not_store_stays(host: AMemorixHostService, told: bool) -> None:
    """Also where the id of the one that goes is a word of it."""
    await said(host, "c1", ("Ada", "hello there"))
    await said(host, "c9", ("Bob", "c1 is a kettle"))
    task = await failed(host, "c9", told=told, name="about c1.jsonl")
    before = [rows(host, f"select * from {table}") for table in ("import_tasks", "import_files", "import_chunks")]
    receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
    after = [rows(host, f"select * from {table}") for table in ("import_tasks", "import_files", "import_chunks")]
    assert (receipt["complete"], after) == (True, before)
    assert held(data_of(host) / "imports", SECRET) == ["about c1.jsonl"]
    assert (await importing(host, "retry_failed", task_id=task))["success"]


@pytest.mark.parametrize("person", ["mo", "person-4242424242"])
async def test_what_an_import_could_not_store_goes_with_the_person(host: AMemorixHostService, person: str) -> None:
    await host.call("ingest_messages", {"chat_id": "c1", "messages": [
        {"speaker": "Mo", "person_id": person, "text": "hello there"}, {"speaker": "Bob", "text": "a kettle"}]})  # fmt: skip
    await pasted(host, "bad violet.jsonl", bad_lines(person_id=person))
    receipt = (await admin(host, "execute", mode="person", selector=person, purge=True))["receipt"]
    assert receipt["complete"] and "violet" not in records(host)
    assert held(data_of(host) / "imports", "violet") == []


@pytest.mark.parametrize(("name", "other"), [("Mo", "Mora"), ("林澈", "林")])
async def test_a_person_is_told_by_a_short_name_too(host: AMemorixHostService, name: str, other: str) -> None:
    await said(host, "c1", (name, "hello there"), ("Bob", "a kettle"))
    for file, speaker in (("violet.jsonl", name), ("other.jsonl", other)):
        line = {"speaker": speaker, "text": SECRET, "time": QUOTED}
        await pasted(host, file, json.dumps(line) + "\n")
    receipt = (await admin(host, "execute", mode="person", selector=name, purge=True))["receipt"]
    assert receipt["complete"] and "violet.jsonl" not in records(host)
    assert held(data_of(host) / "imports", SECRET) == ["other.jsonl"]


async def test_a_group_is_told_by_its_number_too(host: AMemorixHostService) -> None:
    await host.call("ingest_messages", {"group_id": "42", "messages": [{"speaker": "Ada", "text": "hello there"}]})
    own, other = ({"speaker": "Mo", "text": SECRET, "time": QUOTED, "group_id": number} for number in (42, 421))
    for name, line in (("violet.jsonl", own), ("other.jsonl", other)):
        await pasted(host, name, json.dumps(line) + "\n")
    receipt = (await admin(host, "execute", mode="chat", selector="group:42", purge=True))["receipt"]
    assert receipt["complete"] and "violet.jsonl" not in records(host)
    assert held(data_of(host) / "imports", SECRET) == ["other.jsonl"]


async def test_a_table_is_read_by_the_headings_that_the_import_named(host: AMemorixHostService) -> None:
    await said(host, "c1", ("Ada", "hello there"))
    content = f"room,who,words,when\nc1,Mo,{SECRET},{QUOTED}\n"
    columns = {"chat_id": "room", "speaker": "who", "text": "words", "time": "when"}
    done = await pasted(host, "violet.csv", content, columns=columns)
    assert done["status"] == "failed" and QUOTED in records(host)
    receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
    assert receipt["complete"] and "violet" not in records(host)


async def test_what_nobody_can_tell_any_more_goes_too(host: AMemorixHostService) -> None:
    """The file is gone, nothing of it was stored, and the call named no chat: it may have been into the chat that goes."""
    await said(host, "c1", ("Ada", "hello there"))
    await failed(host, "c1", told=True)
    (staged,) = [path for path in (data_of(host) / "imports").rglob("*") if path.is_file()]
    staged.unlink()
    receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
    assert receipt["complete"] and receipt["scrubbed"]["import_files"] == 1
    assert "violet" not in records(host)


async def test_what_lies_elsewhere_is_looked_at_and_left(tmp_path: Path) -> None:
    """A file that somebody put among those to import: what was noted of it goes, and the file itself is named."""
    async with memory_host(tmp_path / "m") as host:
        await said(host, "c1", ("Ada", "hello there"))
        raw = Path((await importing(host, "path_aliases"))["aliases"]["raw"])
        raw.mkdir(parents=True, exist_ok=True)
        (raw / "violet.jsonl").write_text(bad_lines(chat_id="c1"))
        (raw / "other.jsonl").write_text(bad_lines(chat_id="c9"))
        await imported(host, "create_raw_scan", alias="raw")
        receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
        assert (raw / "violet.jsonl").exists(), "it is no file of this program"
        named = [one["file"] for one in receipt["copies"] if one["done"].startswith("left")]
        assert (receipt["complete"], named) == (False, ["imports/source/raw/violet.jsonl"])
        assert any("violet.jsonl" in told for told in receipt["warnings"])
        assert "violet.jsonl" not in records(host)
        assert "other.jsonl" in records(host)


async def test_a_staged_file_that_was_never_imported_goes_by_its_short_ids(host: AMemorixHostService) -> None:
    await said(host, "c1", ("Ada", "hello there"))
    own = staged_file(host, "own.jsonl", bad_lines(chat_id="c1").encode())
    table = staged_file(host, "own.csv", "会话;发言人;内容\nc9;Bob;kettle\nc1;Mo;violet\n".encode())
    other = staged_file(host, "other.jsonl", bad_lines(chat_id="c9", note="c1").encode())
    receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
    assert receipt["complete"]
    assert (own.exists(), table.exists(), other.exists()) == (False, False, True)


async def test_the_same_of_an_encrypted_memory(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await said(host, "c1", ("Ada", "hello there"))
        await failed(host, "c1", told=True)
        receipt = (await admin(host, "execute", mode="chat", selector="c1", purge=True))["receipt"]
        assert receipt["complete"] and "violet" not in records(host)
        assert not [path for path in (data_of(host) / "imports").rglob("*") if path.is_file()]


async def test_an_older_backup_that_is_restored_holds_nothing_of_it(tmp_path: Path) -> None:
    """One that stood elsewhere while the chat was purged."""
    runtime = admin_of(RUNTIME)
    async with memory_host(tmp_path / "m") as host:
        await said(host, "c1", ("Ada", "hello there"))
        await failed(host, "c1", told=True)
        backup = Path((await runtime(host, "backup"))["backup"]["path"])
        away = backup.rename(tmp_path / "away")
        await admin(host, "execute", mode="chat", selector="c1", purge=True)
        away.rename(backup)
        await runtime(host, "restore_backup", backup=backup.name)
        assert "violet" not in records(host)

"""The memories of other programs, imported whole through the entrance."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import pause_background, resume_background
from conftest import Open
from entrance import contents, hits, stats
from import_entrance import COMPONENT, admin, created, ended, imported, raw_folder
from reference_directory import VERSIONS, Version
from test_import_readers_amemorix import LI, build
from test_import_readers_maibot import OLD, database, maibot, message, private


async def maibot_folder(host: AMemorixHostService) -> Path:
    return Path((await admin(host, "path_aliases"))["aliases"]["maibot"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_data_directory_of_the_reference_comes_over_once(host: AMemorixHostService, version: Version) -> None:
    build(await raw_folder(host), version)
    task = await imported(host, "create_raw_scan", relative_path=version, format="a_memorix")
    assert task["status"] == "completed", task
    assert task["counts"]["stored"] == task["records"]

    assert (await contents(host, "杭州", chat_id="群一"))[0] == "李雷上周搬到了杭州，在西湖边租了房子。"
    assert await contents(host, "杭州 李雷", chat_id="room-2") == []
    assert (await contents(host, "Orbit", chat_id="room-2"))[0] == "Alice works at Orbit and lives in Lisbon."
    profile = await host.invoke("get_person_profile", {"person_id": LI})
    assert "李雷，住在杭州。" in profile["summary"] or version == "first"
    again = await imported(host, "create_raw_scan", relative_path=version, format="a_memorix", force=True)
    assert again["counts"] == {"existing": task["records"]}


async def test_chats_of_maibot_come_over_with_filters(host: AMemorixHostService) -> None:
    maibot(await maibot_folder(host))
    task = await imported(host, "create_maibot_migration", source_db="MaiBot.db", stream_ids=["stream-2"])
    assert (task["status"], task["counts"]) == ("completed", {"stored": 1})
    assert task["params"]["filters"] == {"stream_ids": ["stream-2"]}
    [hit] = await hits(host, "Lisbon", chat_id="stream-2")
    assert (hit["content"], hit["speaker"]) == ("I moved to Lisbon", "Alice")
    rest = await imported(host, "create_maibot_migration", source_db="MaiBot.db")
    assert rest["counts"] == {"stored": 4, "existing": 2}
    assert await contents(host, "开会", chat_id="stream-2") == []


async def test_a_database_in_use_is_read_with_what_is_not_folded_in(host: AMemorixHostService) -> None:
    path = database((await maibot_folder(host)) / "MaiBot.db", OLD, messages=[message(1, "大家晚上好")])
    with closing(sqlite3.connect(path)) as live:
        live.execute("pragma journal_mode = wal")
        live.execute("pragma wal_autocheckpoint = 0")
        row = private(2, "the newest kite")
        live.execute(f"insert into messages ({', '.join(row)}) values ({', '.join(':' + key for key in row)})", row)
        live.commit()
        task = await imported(host, "create_maibot_migration", source_db="MaiBot.db")
        assert task["counts"] == {"stored": 2}
        assert await contents(host, "kite") == ["the newest kite"]


async def test_a_database_may_grow_while_it_is_imported(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 5, "idle_share": 5})
    rows = [message(n, f"风筝 {n}") for n in range(1, 200)]
    path = database((await maibot_folder(host)) / "MaiBot.db", OLD, messages=rows)
    task = await created(host, "create_maibot_migration", source_db="MaiBot.db")
    await host.update_config({"ingest.chunk_chars": 901})
    await pause_background(host)
    with closing(sqlite3.connect(path)) as live:
        row = message(200, "one more")
        live.execute(f"insert into messages ({', '.join(row)}) values ({', '.join(':' + key for key in row)})", row)
        live.commit()
    resume_background(host)
    found = await ended(host, task)
    assert found["status"] == "completed", found
    assert (await stats(host))["paragraphs"] >= 199


async def test_what_is_no_such_database_is_named(host: AMemorixHostService) -> None:
    ((await maibot_folder(host)) / "MaiBot.db").write_text("no database")
    task = await imported(host, "create_maibot_migration", source_db="MaiBot.db")
    assert task["status"] == "failed"
    assert "MaiBot.db is no SQLite database" in task["error"]
    (await raw_folder(host) / "empty").mkdir()
    scan = await imported(host, "create_raw_scan", relative_path="empty", format="a_memorix")
    assert scan["error"].startswith("empty: empty is not")


async def test_an_import_is_noted_in_the_timeline(host: AMemorixHostService) -> None:
    maibot(await maibot_folder(host))
    await imported(host, "create_maibot_migration", source_db="MaiBot.db", requested_by="ada")
    noted = (await host.invoke("memory_runtime_admin", {"action": "audit"}))["items"]
    assert ("background", "import", "ada", "task_id=i1") in [
        (one["component"], one["action"], one["requested_by"], one["target"]) for one in noted
    ]
    assert (COMPONENT, "create_maibot_migration") in [(one["component"], one["action"]) for one in noted]

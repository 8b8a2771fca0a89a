"""The memories of other programs, imported whole through the entrance."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import test_import_readers_graphiti
import test_import_readers_lpmm
import test_import_readers_mem0
from amemorix import AMemorixHostService
from amemorix.testing import pause_background, resume_background
from conftest import Open
from entrance import contents, hits, stats, told
from import_entrance import COMPONENT, admin, created, ended, imported, raw_folder
from import_readers import write
from reference_directory import VERSIONS, Version
from test_import_readers_amemorix import LI, build
from test_import_readers_lpmm import PASSAGES
from test_import_readers_maibot import OLD, database, maibot, message, private


async def maibot_folder(host: AMemorixHostService) -> Path:
    return Path((await admin(host, "path_aliases"))["aliases"]["maibot"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_data_directory_of_the_reference_comes_over_once(host: AMemorixHostService, version: Version) -> None:
    build(await raw_folder(host), version)
    task = await imported(host, "create_raw_scan", relative_path=version, format="a_memorix")
    assert task["status"] == "completed", task
    assert task["counts"]["stored"] == task["records"]
    again = await imported(host, "create_raw_scan", relative_path=version, format="a_memorix", force=True)
    assert again["counts"] == {"existing": task["records"]}
    assert ((await stats(host))["paragraphs"], (await stats(host))["relations"]) == (7, 4)

    moved, works = "李雷上周搬到了杭州，在西湖边租了房子。", "Alice works at Orbit and lives in Lisbon."
    nowhere = "A note that says nothing of its chat."
    assert (await contents(host, "杭州", chat_id="群一"))[0] == moved
    assert await contents(host, "杭州 李雷", chat_id="room-2") == []
    assert (await contents(host, "Orbit", chat_id="room-2"))[0] == works
    assert "Water boils at 100 degrees." in await contents(host, "water boils", chat_id="room-2")
    assert nowhere not in await contents(host, "note says nothing chat", chat_id="群一")
    assert nowhere in await contents(host, "note says nothing chat")
    if version != "first":
        profile = await host.invoke("get_person_profile", {"person_id": "雷哥"})
        assert (profile["person_id"], profile["summary"]) == (LI, "李雷，住在杭州。")

    graph = await host.invoke("memory_graph_admin", {"action": "get_graph", "limit": 100})
    names = {node["id"]: node["name"] for node in graph["nodes"]}
    edges = {(names[edge["source"]], names[edge["target"]]) for edge in graph["edges"]}
    assert {("李雷", "杭州"), ("西湖", "杭州"), ("Alice", "Orbit"), ("Alice", "Lisbon")} <= edges


async def test_times_arrive_and_what_the_host_sends_again_is_known(host: AMemorixHostService) -> None:
    build(await raw_folder(host), "current")
    await imported(host, "create_raw_scan", relative_path="current", format="a_memorix")
    within = {"mode": "time", "time_start": 1_689_999_999.0, "time_end": 1_690_000_601.0}
    assert await contents(host, chat_id="群一", **within) == ["李雷上周搬到了杭州，在西湖边租了房子。"]
    again = await told(
        host, "Alice works at Orbit and lives in Lisbon.", external_id="turn:2", source_type="chat_turn", chat_id="room-2",
        timestamp=1_695_000_000.0,
    )  # fmt: skip
    assert (again["stored_ids"], (await stats(host))["paragraphs"]) == ([], 7)


@pytest.mark.parametrize(
    ("export", "kind", "paragraphs", "relations", "query", "chat", "first"),
    [
        (test_import_readers_graphiti.export, "graphiti", 5, 1, "去年加入", "群一", "Alice: 我去年加入了星河公司"),
        (test_import_readers_mem0.export, "mem0", 6, 3, "过敏", "会话一", "小林对花生过敏"),
        (test_import_readers_lpmm.openie, "lpmm_openie", 2, 2, "内卷 文化模式", "any", PASSAGES[0]),
        (test_import_readers_lpmm.lpmm_store, "lpmm_parquet", 3, 3, "内卷 文化模式", "any", PASSAGES[0]),
    ],
)
async def test_an_export_comes_over_once(
    host: AMemorixHostService, export: Callable[[Path], Path], kind: str, paragraphs: int, relations: int, query: str, chat: str,
    first: str,
) -> None:  # fmt: skip
    wish = {"format": kind} if export(await raw_folder(host)).is_dir() else {}
    for status in ("stored", "existing"):
        task = await imported(host, "create_raw_scan", force=True, **wish)
        assert (task["status"], task["counts"]) == ("completed", {status: paragraphs}), task
        assert task["files"][0]["format"] == kind
        assert ((await stats(host))["paragraphs"], (await stats(host))["relations"]) == (paragraphs, relations)
    assert (await contents(host, query, chat_id=chat))[0] == first


async def test_a_later_export_brings_what_is_new_and_what_has_changed(host: AMemorixHostService) -> None:
    export = test_import_readers_mem0.export(await raw_folder(host))
    await imported(host, "create_raw_scan")
    document = json.loads(export.read_text("utf-8"))
    document["results"][0]["memory"] = "Alex is back from San Francisco"
    document["results"].append({"id": "m-5", "memory": "新的记忆"})
    write(export, document)
    task = await imported(host, "create_raw_scan")
    assert task["counts"] == {"existing": 5, "revised": 1, "stored": 1}
    assert (await stats(host))["paragraphs"] == 7
    assert await contents(host, "San Francisco", user_id="alex") == ["Alex is back from San Francisco"]
    assert "小林对花生过敏" not in await contents(host, "过敏 花生", user_id="alex")


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

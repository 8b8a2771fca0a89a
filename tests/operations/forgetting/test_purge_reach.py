"""A purge touches what speaks of the purged, wherever it is, and nothing of others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from amemorix.testing import memory_host, pause_background, resume_background
from database_file import content, open_database
from entrance import contents, data_of, rows, said, told
from import_entrance import admin as importing
from import_entrance import created, ended, pasted, turn
from test_purge import admin

TUNING = "memory_tuning_admin"
RUNTIME = "memory_runtime_admin"
NEIGHBOURS = [
    ("discord:111222", "discord:999888"),
    ("qq:12345678", "qq:12345679"),
    ("telegram:-100123456", "telegram:-1001234567"),
    ("群聊:一二三", "群聊:一二四"),
    ("group_1000001", "group_1000002"),
    ("qq:42", "qq:421"),
    ("42", "qq:42"),
]


def lines(records: Iterable[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records)


async def purged(host: AMemorixHostService, **what: Any) -> dict[str, Any]:
    """The receipt of a purge that has to succeed."""
    return (await admin(host, "execute", purge=True, **what))["receipt"]


async def reason(host: AMemorixHostService, text: str) -> None:
    candidates = 60 + len(rows(host, "select id from retrieval_profiles"))
    given = {"action": "apply_profile", "profile": {"retrieval.candidates": candidates}, "reason": text}
    answer = await host.invoke(TUNING, given)
    assert answer["success"], answer


@pytest.mark.parametrize(("gone", "stays"), NEIGHBOURS)
async def test_a_chat_of_nearly_the_same_id_keeps_everything(host: AMemorixHostService, gone: str, stays: str) -> None:
    await said(host, gone, ("Ann", "the first otter line of the evening"))
    await reason(host, f"because {stays} asked")
    await pasted(host, f"{stays}.jsonl", lines([turn(1, time="31st of Foo", text=stays)]), chat_id=stays, skip_bad=True)
    await said(host, stays, ("Bob", "a kettle 我喜欢喝茶"))
    deleted = await admin(host, "execute", mode="chat", selector=stays, reason=f"{stays} asked")
    await admin(host, "restore", operation_id=deleted["operation_id"])
    await pause_background(host)
    content = lines([turn(2, chat_id=stays)])
    queued = await created(host, "create_paste", name="b.jsonl", content=content, chat_id=stays, scope_type="chat")
    before = [rows(host, f"select * from {table}") for table in ("import_tasks", "import_files", "import_chunks")]

    receipt = await purged(host, mode="chat", selector=gone)

    after = [rows(host, f"select * from {table}") for table in ("import_tasks", "import_files", "import_chunks")]
    assert (receipt["complete"], receipt["found"], receipt["scrubbed"], after) == (True, {}, {}, before)
    assert rows(host, "select reason from retrieval_profiles") == [(f"because {stays} asked",)]
    kept = rows(host, "select selector, reason from delete_operations where status = 'restored'")
    assert [(json.loads(selector), why) for selector, why in kept] == [({"chats": [stays]}, f"{stays} asked")]
    resume_background(host)
    done = await ended(host, queued)
    assert (done["status"], done["params"]["chat_id"], done["counts"]) == ("completed", stays, {"stored": 1})


@pytest.mark.parametrize("chat", ["qq:42", "群:甲", "discord:111222"])
async def test_everything_that_names_the_chat_goes(host: AMemorixHostService, chat: str) -> None:
    await said(host, "other", ("Bob", "a kettle"))
    await pasted(host, "talk.jsonl", lines([turn(1)]), chat_id=chat)
    await pasted(host, f"{chat}.jsonl", lines([turn(2, time=f"in {chat}")]), chat_id="other", skip_bad=True)
    await reason(host, f"because {chat}, they said")
    deleted = await admin(host, "execute", mode="mixed", selector={"chat_ids": [chat, "other"]})
    await admin(host, "restore", operation_id=deleted["operation_id"])

    receipt = await purged(host, mode="chat", selector=chat)

    assert (receipt["complete"], receipt["found"]) == (True, {})
    records = "select params from import_tasks union all select name from import_files union all select errors from "
    records += (
        "import_chunks union all select reason from retrieval_profiles union all select selector from delete_operations"
    )
    assert [value for (value,) in rows(host, records) if chat in value] == []
    listed = await importing(host, "list")
    assert sorted(str(task["params"].get("chat_id")) for task in listed["items"]) == ["None", "other"]


async def test_a_staged_file_of_another_chat_stays(host: AMemorixHostService) -> None:
    await said(host, "discord:111222", ("Ann", "I like tea 我喜欢茶"))
    await pause_background(host)
    content = lines([turn(n, chat_id="discord:999888", text="I like coffee 我喜欢咖啡") for n in range(3)])
    other = await created(host, "create_paste", name="other.jsonl", content=content)
    content = lines([turn(n, chat_id="discord:111222") for n in range(3)])
    own = await created(host, "create_paste", name="own.jsonl", content=content)

    receipt = await purged(host, mode="chat", selector="discord:111222")

    assert [one["done"] for one in receipt["copies"]] == ["removed"]
    assert (receipt["incoming"], receipt["found"]) == ([other, own], {}), "they wait, and may name any chat"
    resume_background(host)
    assert (await ended(host, other))["counts"] == {"stored": 3}
    assert (await ended(host, own))["status"] == "failed"


async def test_a_backup_keeps_what_speaks_of_the_neighbour_only(host: AMemorixHostService) -> None:
    for chat in ("discord:111222", "discord:999888"):
        await said(host, chat, ("Ann", f"the otter of {chat}"))
        await pasted(host, f"{chat}.jsonl", lines([turn(1)]), chat_id=chat)
        await reason(host, f"because {chat} asked")
    made = await host.invoke(RUNTIME, {"action": "backup"})
    await purged(host, mode="chat", selector="discord:111222")
    with closing(open_database(Path(made["backup"]["path"]) / "memory.db")) as db:
        told = [db.execute(f"select {what} order by 1").fetchall() for what in (
            "params from import_tasks", "name from import_files", "reason from retrieval_profiles")]  # fmt: skip
    assert told == [
        [('{"chat_id": "discord:999888"}',), ("{}",)],
        [("",), ("discord:999888.jsonl",)],
        [("",), ("because discord:999888 asked",)],
    ]


async def test_persons_and_references_of_nearly_the_same_id_keep_everything(host: AMemorixHostService) -> None:
    for number in (300, 301):
        await host.invoke("ingest_messages", {"chat_id": f"c{number}", "messages": [
            {"speaker": f"Ann {number}", "person_id": f"qq-100200{number}", "text": f"a kettle {number}",
             "external_id": f"message-000{number}"}]})  # fmt: skip
    for selector in ({"external_ids": ["message-000301"]}, {"person_ids": ["qq-100200301"]}):
        deleted = await admin(host, "execute", mode="mixed", selector=selector, reason=f"{selector}")
        await admin(host, "restore", operation_id=deleted["operation_id"])
    await purged(host, mode="chat", selector="c300")
    kept = rows(host, "select selector <> '{}' and reason <> '' from delete_operations where status = 'restored'")
    assert kept == [(1,), (1,)]


async def slow(host: AMemorixHostService, folder: Path, **args: Any) -> str:
    """An import under way, of which a part is stored."""
    task = await created(host, "create_raw_scan", path=str(folder), **args)
    while True:
        counts = (await importing(host, "get", task_id=task))["task"]["counts"]
        if counts.get("stored", 0):
            return task
        await asyncio.sleep(0.005)


def many(folder: Path, count: int, **more: Any) -> Path:
    folder.mkdir()
    turns = [turn(n, external_id=f"b{n}", text=f"gorilla number {n} 猩猩", **more) for n in range(count)]
    (folder / "big.jsonl").write_text(lines(turns))
    return folder


@pytest.mark.parametrize("chat", ["qq:42", "priv3chat"])
@pytest.mark.parametrize("in_two", [False, True])
async def test_a_purged_chat_is_not_brought_back_by_an_import_under_way(
    tmp_path: Path, chat: str, in_two: bool
) -> None:
    roots = {"roots": [str(tmp_path)], "chunk_records": 50, "poll_interval_seconds": 0.02, "idle_share": 20}
    async with memory_host(tmp_path / "m", imports=roots) as host:
        task = await slow(host, many(tmp_path / "in", 1500), chat_id=chat)
        if in_two:
            deleted = await admin(host, "execute", mode="chat", selector=chat)
            receipt = (await admin(host, "purge", operation_id=deleted["operation_id"]))["operations"][0]["receipt"]
        else:
            receipt = await purged(host, mode="chat", selector=chat)
        done = await ended(host, task)
        await host.settle(600)
        alive = await contents(host, "gorilla number 猩猩", limit=20)
        assert (done["status"], done["params"], receipt["found"]) == ("cancelled", {}, {})
        stays = [one for one in receipt["stays"] if one["kind"] == "chat"]
        assert (bool(alive), receipt["complete"]) == (bool(stays), True)
        assert in_two or not alive


async def test_a_purged_person_who_is_still_being_imported_is_told(tmp_path: Path) -> None:
    roots = {"roots": [str(tmp_path)], "chunk_records": 50, "poll_interval_seconds": 0.02, "idle_share": 4}
    async with memory_host(tmp_path / "m", imports=roots) as host:
        task = await slow(host, many(tmp_path / "in", 500, person_id="qzyx01"), chat_id="priv")
        receipt = await purged(host, mode="person", selector="qzyx01")
        done = await ended(host, task)
        assert (done["status"], done["counts"]["stored"]) == ("completed", 500), "others are imported by it too"
        assert (receipt["complete"], receipt["incoming"]) == (False, [task])
        await purged(host, mode="person", selector="qzyx01")
        again = await purged_rows(host)
        assert (again["complete"], again["incoming"]) == (True, [])
        assert await contents(host, "gorilla number 猩猩", limit=20) == []


GOES = [{"mode": "chat", "selector": "priv"}, {"mode": "person", "selector": "qzyx01"}]


@pytest.mark.parametrize("goes", GOES)
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("text", ["gorilla in the attic", "阁楼上有一只猩猩"])
async def test_an_import_that_still_waits_is_told(
    tmp_path: Path, goes: dict[str, Any], at_once: bool, text: str
) -> None:
    (tmp_path / "in").mkdir()
    own = lines([turn(n, text=f"{text} {n}", chat_id="priv", person_id="qzyx01") for n in range(3)])
    (tmp_path / "in" / "talk.jsonl").write_text(own, "utf-8")
    async with memory_host(tmp_path / "m", imports={"roots": [str(tmp_path / "in")]}) as host:
        await said(host, "other", ("Bob", "a kettle 水壶"))
        await pasted(host, "before.jsonl", lines([turn(9, chat_id="priv", person_id="qzyx01")]))
        await pause_background(host)
        waits = await created(host, "create_raw_scan", path=str(tmp_path / "in"))
        if at_once:
            receipt = await purged(host, **goes)
        else:
            deleted = await admin(host, "execute", **goes)
            receipt = (await admin(host, "purge", operation_id=deleted["operation_id"]))["operations"][0]["receipt"]
        assert (receipt["complete"], receipt["incoming"], receipt["found"]) == (False, [waits], {})
        resume_background(host)
        assert (await ended(host, waits))["counts"] == {"stored": 3}, "it did bring them back"
        receipt = await purged(host, **goes)
        assert (receipt["complete"], receipt["incoming"]) == (True, [])
        assert await contents(host, text) == []


CLOSED, TRIED = {"chat_id": "other", "scope_type": "chat"}, {"dry_run": True}


@pytest.mark.parametrize(
    ("goes", "args", "told"),
    [(GOES[0], CLOSED, False), (GOES[1], CLOSED, True), (GOES[0], {"chat_id": "other"}, True), (GOES[0], TRIED, False)],
)
async def test_an_import_that_cannot_bring_it_is_not_told(
    host: AMemorixHostService, goes: dict[str, Any], args: dict[str, Any], told: bool
) -> None:
    await pasted(host, "before.jsonl", lines([turn(1, chat_id="priv", person_id="qzyx01")]))
    await pause_background(host)
    waits = await created(host, "create_paste", name="waits.jsonl", content=lines([turn(2)]), **args)
    receipt = await purged(host, **goes)
    assert (receipt["complete"], receipt["incoming"]) == (not told, [waits] if told else [])


async def purged_rows(host: AMemorixHostService) -> dict[str, Any]:
    return (await admin(host, "list_operations"))["items"][0]["receipt"]


@pytest.mark.parametrize("place", [".hidden", "a/.h2/x", "档案/.暗"])
async def test_backups_in_hidden_folders_are_listed_and_purged(tmp_path: Path, place: str) -> None:
    root = tmp_path / "out"
    root.mkdir()
    async with memory_host(tmp_path / "m", backup={"roots": [str(root)]}) as host:
        await said(host, "priv", ("Quentin", "Zanzibar pineapple fortress 7719 折叠伞放在值班柜里"))
        made = await host.invoke(RUNTIME, {"action": "backup", "path": str(root / place)})
        assert made["success"], made
        listed = await host.invoke(RUNTIME, {"action": "list_backups"})
        assert [one["id"] for one in listed["backups"]] == [made["backup"]["id"]]
        receipt = await purged(host, mode="chat", selector="priv")
        assert receipt["complete"] and [one["done"] for one in receipt["copies"]] == ["rewritten"]
    raw = content(next((root / place).rglob("memory.db")))
    assert all(word.encode() not in raw for word in ("Zanzibar", "7719", "Quentin", "折叠伞"))


@pytest.mark.parametrize("name", [".partial-1-2-0123456789ab", ".aside-0123456789ab"])
async def test_no_backup_is_made_into_a_folder_that_is_to_become_one(tmp_path: Path, name: str) -> None:
    async with memory_host(tmp_path / "m", backup={"roots": [str(tmp_path)]}) as host:
        refused = await host.invoke(RUNTIME, {"action": "backup", "path": str(tmp_path / name / "x")})
        assert (refused["error_code"], refused["details"]["field"]) == ("invalid_request", "path")


async def test_a_purge_beside_which_settings_change_still_proves_what_it_did(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        secret = "Zanzibar Quixotic pineapple fortress 7719 折叠伞放在值班柜里"
        for n in range(60):
            await told(host, f"{secret} {n}", chat_id="priv", external_id=str(n))
        await said(host, "other", ("Bob", "a kettle"))
        made = await host.invoke(RUNTIME, {"action": "backup"})
        exported = await host.invoke(RUNTIME, {"action": "export"})
        assert made["success"] and exported["success"]
        erasing = asyncio.create_task(admin(host, "execute", mode="chat", selector="priv", purge=True))
        begun = 'select id from delete_operations where receipt like \'%"step": "erase"%\''
        for _ in range(10_000):
            if rows(host, begun):
                break
            await asyncio.sleep(0.001)
        for candidates in (61, 62):
            await host.update_config({"retrieval": {"candidates": candidates}})
        receipt = (await erasing)["receipt"]
        assert (receipt["complete"], receipt["found"]) == (True, {}) and receipt["needles"] > 50
        assert sorted(one["done"] for one in receipt["copies"]) == ["removed", "rewritten"]
        assert (Path(made["backup"]["path"]) / "memory.toml").exists()
        checked = await host.invoke(RUNTIME, {"action": "verify_backup", "backup": made["backup"]["id"]})
        assert checked["success"] and not checked.get("problems"), checked


async def test_news_of_a_source_that_is_gone_by_now_are_passed_over(
    host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    for chat in ("a", "b", "c"):
        await said(host, chat, *(("Ann", f"a kettle {n}", 1.7e9 + n) for n in range(20)))
        rebuild = host.invoke("memory_episode_admin", {"action": "rebuild", "source": f"chat:{chat}"})
        await asyncio.gather(admin(host, "execute", mode="chat", selector=chat, purge=True), rebuild)
    await host.settle(600)
    assert rows(host, "select key from tasks where kind = 'episodes' and status <> 'completed'") == []
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


ENDS = [
    ("在家睡觉", "周末就在家睡懒觉", "我要回家睡觉啦"),
    ("sleep at home", "sleep at noon is fine", "we stay at home"),
]
"""(what goes, what begins like it, what ends like it)."""


@pytest.mark.parametrize(("gone", "begins", "ends"), ENDS)
async def test_what_far_lines_hold_together_is_not_taken_for_what_went(
    host: AMemorixHostService, gone: str, begins: str, ends: str
) -> None:
    await said(host, "other", ("Bob", begins))
    for start in range(0, 2500, 500):
        await said(host, "other", *(("Bob", f"walrus {n} 海象") for n in range(start, start + 500)))
    await said(host, "other", ("Bob", ends))
    await said(host, "priv", ("Ann", gone))
    receipt = await purged(host, mode="chat", selector="priv")
    assert (receipt["complete"], receipt["found"], receipt["rewritten"]) == (True, {}, 1)


@pytest.mark.parametrize(("gone", "begins", "ends"), ENDS)
async def test_what_a_line_and_a_name_hold_together_is_not_taken_for_what_went(
    host: AMemorixHostService, gone: str, begins: str, ends: str
) -> None:
    await said(host, "other", (ends, begins))
    await said(host, "priv", ("Ann", gone))
    made = await host.invoke(RUNTIME, {"action": "backup"})
    assert made["success"], made
    receipt = await purged(host, mode="chat", selector="priv")
    assert (receipt["complete"], receipt["found"], receipt["rewritten"]) == (True, {}, 1)
    assert [one["done"] for one in receipt["copies"]] == ["rewritten"], "the backup is kept"
    restored = await host.invoke(RUNTIME, {"action": "restore_backup", "backup": made["backup"]["id"]})
    assert restored["success"], restored
    assert await contents(host, begins) == [begins]
    assert gone not in await contents(host, gone)


ADMIN = "memory_delete_admin"
SIDE_BY_SIDE = [
    ("quokka walrus", "ibex marmot", "quokka walrus ibex marmot"),
    ("鹳鹬", "麂麝", "鹳鹬麂麝"),
]  # fmt: skip


@pytest.mark.parametrize("texts", SIDE_BY_SIDE)
async def test_words_that_others_say_stand_side_by_side_in_an_index(
    host: AMemorixHostService, texts: tuple[str, str, str]
) -> None:
    for text in texts[:2]:
        await told(host, f"{text} {text} zebra", chat_id="here")
    gone = await told(host, f"{texts[2]} zebra", chat_id="here")
    await host.settle(600)
    await host.invoke("memory_runtime_admin", {"action": "save"})

    receipt = await purged(host, mode="paragraph", selector=gone["stored_ids"][0])

    assert receipt["found"] == {}
    assert receipt["rewritten"] == 1


async def test_a_fragment_may_reach_into_what_stands_beside_the_words(host: AMemorixHostService) -> None:
    for chat in range(4):
        cities = ("Oslo", "Rome", "杭州")
        turns = [("Bob", f"I live in {cities[n % 3]}. {chat * 400 + n}", 1.6e9 + chat * 20_000 + n) for n in range(400)]
        await said(host, f"qq:{chat}", *turns)
    await host.settle(600)

    for chat in ("qq:2", "qq:1"):
        receipt = await purged(host, mode="chat", selector=chat)
        assert (receipt["found"], receipt["rewritten"]) == ({}, 1)


@pytest.mark.parametrize("text", ["a quokka sleeps beside the pond", "袋鼠睡在池塘边上"])
async def test_both_doors_tell_alike_what_was_left(host: AMemorixHostService, text: str) -> None:
    (data_of(host) / "elsewhere.txt").write_text(text, encoding="utf-8")
    ids = [(await told(host, text, chat_id=chat))["stored_ids"][0] for chat in ("here", "there")]

    first = await host.invoke(ADMIN, {"action": "execute", "mode": "mixed", "selector": {"paragraph_ids": ids}})
    later = await host.invoke(ADMIN, {"action": "purge", "operation_id": first["operation_id"]})
    again = (await told(host, text, chat_id="here"))["stored_ids"][0]
    at_once = await host.invoke(ADMIN, {"action": "execute", "mode": "paragraph", "selector": again, "purge": True})

    for answer in (at_once, later):
        assert (answer["success"], answer["error_code"]) == (False, StorageFailure.code)
        assert "elsewhere.txt" in answer["error"]
    assert list(at_once["receipt"]["found"]) == ["elsewhere.txt"]

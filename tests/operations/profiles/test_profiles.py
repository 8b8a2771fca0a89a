"""Profiles of persons: what each chat may know of them, and what still stands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, memory_host, pause_background
from conftest import Open
from entrance import admin_of, change, hits, refused, rows, told

ZH, EN = "我对桂花过敏。", "I am allergic to jasmine."
WORDS = ("桂花", "芒果", "杭州", "苏州", "成都", "周枝", "茶", "温度计", "生日", "猫毛", "花生", "虾")
"""What the texts of these tests tell apart."""
PRIVATE = {"chat_id": "dm", "user_id": "7"}
GROUP = {"chat_id": "room", "group_id": "42"}


async def say(host: AMemorixHostService, where: dict[str, Any] | str, text: str, **turn: Any) -> list[str]:
    """Store a turn of u1, called 林澈 unless it says otherwise."""
    chat = {"chat_id": where} if isinstance(where, str) else where
    message = {"text": text, "speaker": "林澈", "person_id": "u1", **turn}
    answer = await host.invoke("ingest_messages", {**chat, "messages": [message]})
    assert answer["success"], answer
    return answer["stored_ids"]


async def profile(host: AMemorixHostService, person: str = "u1", **args: Any) -> dict[str, Any]:
    answer = await host.invoke("get_person_profile", {"person_id": person, **args})
    assert answer["success"], answer
    return answer


async def words(host: AMemorixHostService, person: str = "u1", **args: Any) -> set[str]:
    """Which of the words the profile holds."""
    found = await profile(host, person, **args)
    text = str((found["summary"], found["items"], found["evidence"]))
    return {word for word in WORDS if word in text}


admin = admin_of("memory_profile_admin")


@pytest.mark.parametrize(("text", "told"), [(ZH, "桂花"), (EN, "jasmine")], ids=["zh", "en"])
async def test_a_profile_tells_with_evidence(host: AMemorixHostService, text: str, told: str) -> None:
    (row,) = await say(host, "c", text, time=1_600_000_000)
    await host.settle(600)
    found = await profile(host, chat_id="c")

    assert (found["known"], found["person_id"], found["person_name"]) == (True, "u1", "林澈")
    assert told in found["summary"]
    assert any(told in trait for trait in found["traits"])
    (item,) = found["items"]
    assert (item["section"], item["time"]) == ("allergies", 1_600_000_000)
    assert {key[0] for key in item["evidence"]} == {"f", "p"}
    evidence = {one["id"]: one for one in found["evidence"]}[row]
    assert (evidence["type"], evidence["content"]) == ("paragraph", text)
    assert 0 < evidence["score"] <= evidence["confidence"] <= 1
    assert (found["stale"], found["version"]) == (False, 1)
    assert (found["profile_source"], found["has_manual_override"]) == ("auto_snapshot", False)


async def test_news_that_has_not_been_read_is_said_to_be_on_its_way(opened: Open) -> None:
    host = await opened(facts={"poll_interval_seconds": 3600})
    await pause_background(host)
    await say(host, "c", ZH)
    assert (await profile(host))["stale"]
    assert (await admin(host, "status"))["lag"] > 0
    done = await admin(host, "process_pending", limit=1000)
    assert (done["processed"] > 0, done["remaining"]) == (True, 0)
    found = await profile(host)
    assert ("桂花" in found["summary"], found["stale"]) == (True, False)
    assert (await admin(host, "refresh", person_id="u1"))["queued"] is False


async def test_somebody_unknown_has_an_empty_profile(host: AMemorixHostService) -> None:
    found = await profile(host, "nobody", chat_id="c")
    assert (found["known"], found["person_id"], found["summary"], found["evidence"]) == (False, "nobody", "", [])


async def test_what_is_told_of_a_person_counts_too(host: AMemorixHostService) -> None:
    await told(host, "林澈只喝无糖姜茶，负责校准温度计。", chat_id="c", source_type="person_fact", person_ids=["u1"],
               person_aliases={"u1": ["林澈"]})  # fmt: skip
    await told(host, "今天开会", chat_id="c", entities=["林澈"],
               relations=[{"subject": "林澈", "predicate": "认识", "object": "周枝"}])  # fmt: skip
    await host.settle(600)
    found = await profile(host, chat_id="c")

    assert {"茶", "温度计", "周枝"} <= await words(host, chat_id="c")
    assert "林澈认识周枝" in found["traits"]
    assert {"paragraph", "relation"} <= {one["type"] for one in found["evidence"]}
    assert found["person_name"] == "林澈"


async def test_a_name_without_an_id_is_the_one_person_of_that_name(host: AMemorixHostService) -> None:
    """Summaries name persons whom messages know by id; with two of a name it is neither."""
    await say(host, "c", ZH)
    await told(host, "林澈对芒果过敏。", chat_id="c", source_type="person_fact", person_ids=["林澈"])
    await host.settle(600)
    assert await words(host, chat_id="c") == {"桂花", "芒果"}
    assert (await profile(host, "林澈", chat_id="c"))["person_id"] == "u1"

    await say(host, "c", "我住在苏州", person_id="u2")
    await host.settle(600)
    assert "芒果" not in await words(host, "u2", chat_id="c")
    assert "芒果" not in await words(host, "u1", chat_id="c")
    error = await host.invoke("get_person_profile", {"person_id": "林澈", "chat_id": "c"})
    assert (error["error_code"], error["details"]["field"]) == ("invalid_request", "person_id")
    assert [one["person_id"] for one in error["details"]["candidates"]] == ["u1", "u2"]


async def test_a_name_of_another_chat_means_nobody(host: AMemorixHostService) -> None:
    await say(host, "a", ZH, speaker="真名")
    await say(host, "b", "我住在苏州", speaker="匿名")
    await host.settle(600)

    assert not (await profile(host, "真名", chat_id="b"))["known"]
    by_id = await profile(host, "u1", chat_id="b")
    assert (by_id["person_name"], by_id["aliases"], await words(host, chat_id="b")) == ("匿名", [], {"苏州"})
    assert not (await profile(host, "u1", chat_id="z"))["known"]


async def test_a_chat_sees_only_what_it_may(opened: Open) -> None:
    host = await opened()
    await say(host, PRIVATE, "我对芒果过敏")
    await say(host, GROUP, ZH)
    await told(host, "林澈的生日在五月。", scope="global", chat_id="room", group_id="42", source_type="person_fact",
               person_ids=["u1"])  # fmt: skip
    await host.settle(600)

    assert await words(host, chat_id="elsewhere") == {"生日"}
    assert await words(host, **GROUP) == {"桂花", "生日"}
    assert await words(host, **PRIVATE) == {"芒果", "生日"}
    assert await words(host, user_id="7") == {"芒果", "生日"}
    assert await words(host) == {"桂花", "芒果", "生日"}
    leaked = await profile(host, **GROUP, query="我对芒果过敏吗")
    assert "芒果" not in str(leaked)


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"profile": {"share_private": True}}, {"桂花", "芒果"}),
        ({"global_memory_sharing_enabled": True}, {"桂花", "芒果", "虾"}),
        ({"shared_memory_groups": [{"targets": ["room", "dm"]}]}, {"桂花", "芒果"}),
        ({"shared_memory_groups": [{"targets": ["room", "other"]}]}, {"桂花", "虾"}),
        ({"profile": {"share_private": True}, "filter": {"chats": ["private:7"]}}, {"桂花"}),
    ],
    ids=["private", "global", "with private", "with group", "filtered"],
)
async def test_the_settings_open_chats_to_each_other(opened: Open, settings: dict[str, Any], seen: set[str]) -> None:
    host = await opened(**settings)
    for where, text in (
        (PRIVATE, "我对芒果过敏"),
        (GROUP, "我对桂花过敏"),
        ({"chat_id": "other", "group_id": "9"}, "我对虾过敏"),
    ):
        await say(host, {**where, "respect_filter": False}, text)
    await host.settle(600)
    assert await words(host, **GROUP) == seen


async def test_a_chat_that_is_not_served_is_told_nothing(opened: Open) -> None:
    host = await opened(filter={"chats": ["stream:c"]})
    await say(host, {"chat_id": "c", "respect_filter": False}, ZH)
    found = await profile(host, chat_id="c")

    assert (found["filtered"], found["known"], found["summary"], found["evidence"]) == (True, False, "", [])
    assert await words(host) == set()
    assert await words(host, chat_id="c", respect_filter=False)


@pytest.mark.parametrize("how", ["delete", "revise", "expire"])
async def test_what_is_gone_is_not_told_at_once(tmp_path: Path, how: str) -> None:
    clock = FrozenClock()
    async with memory_host(tmp_path, clock=clock) as host:
        await say(host, "c", "我对芒果过敏", external_id="m")
        await say(host, "d", "我对桂花过敏")
        await host.settle(600)
        assert await words(host) == {"芒果", "桂花"}
        await pause_background(host)
        if how == "delete":
            await host.invoke("memory_source_admin", {"action": "delete", "source": "chat:c"})
        elif how == "revise":
            await say(host, "c", "没什么", external_id="m")
        else:
            change(host, "update paragraphs set expires_at = 1 where chat = 1")

        for _ in range(2):
            assert await words(host) == {"桂花"}
            assert "芒果" not in str(await admin(host, "history", person_id="u1"))
            await host.settle(600)


async def test_what_comes_back_is_told_again(host: AMemorixHostService) -> None:
    await say(host, "c", "我对芒果过敏")
    await say(host, "c", "我住在苏州")
    await host.settle(600)
    for value, seen in ((5.0, False), (None, True)):
        change(host, "update paragraphs set deleted_at = ? where id = 1", (value,))
        await host.settle(600)
        assert ("芒果" in await words(host)) is seen


async def test_every_change_counts_and_history_tells_how_it_was(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock)
    for n, text in enumerate(("我住在苏州", "我对芒果过敏", "我搬到成都了，现在住在成都")):
        clock.advance(3_600)
        await say(host, "c", text, time=clock.now())
        assert (await profile(host))["stale"]
        await host.settle(600)
        found = await profile(host)
        assert (found["stale"], found["version"]) == (False, n + 1)
    clock.advance(3_600)
    await say(host, "d", "我对虾过敏")
    await host.settle(600)
    found = await admin(host, "history", person_id="u1")

    told_there = {
        (one["chat_id"], one["version"]): {word for word in WORDS if word in one["summary"]} for one in found["items"]
    }
    assert told_there == {
        ("c", 1): {"苏州"}, ("c", 2): {"苏州", "芒果"}, ("c", 3): {"成都", "芒果"}, ("d", 1): {"虾"}
    }  # fmt: skip
    assert (found["count"], found["total"], found["person_id"]) == (4, 4, "u1")
    times = [one["updated_at"] for one in found["items"]]
    assert times == sorted(times, reverse=True)
    assert (await admin(host, "history", person_id="u1", limit=1, offset=2))["count"] == 1
    await say(host, "c", "哈哈")
    await host.settle(600)
    assert (await profile(host, chat_id="c"))["version"] == 3


async def test_a_memory_that_is_switched_off_says_so(opened: Open) -> None:
    host = await opened(plugin={"enabled": False})
    found = await profile(host)
    assert (found["disabled"], found["known"]) == (True, False)


async def add_fact(host: AMemorixHostService, value: str, paragraph: int | None, **columns: Any) -> None:
    row = {"scope": 1, "status": "active", **columns}
    change(
        host,
        "insert into facts (person, scope, attribute, value, norm, cardinality, stability, authority, status,"
        " confidence, valid_from, recorded_at, asserted_at) values (1, :scope, 'likes', :value, :value, 'set', 'stable', 'manual', :status,"
        " 0.95, 5, 5, 5)",
        {**row, "value": value},
    )
    if paragraph:
        change(
            host,
            "insert into fact_evidence (fact, paragraph, value, at, authority, confidence)"
            " values ((select max(id) from facts), ?, ?, 5, 'manual', 0.9)",
            (paragraph, value),
        )


async def test_active_facts_are_told_and_retracted_ones_are_not(host: AMemorixHostService) -> None:
    await say(host, "c", "嗯嗯，昨天的事")
    await host.settle(600)
    await add_fact(host, "龙井", 1)
    await add_fact(host, "白茶", None)
    await add_fact(host, "可乐", 1, status="retracted")
    found = await profile(host, chat_id="c")

    assert set(found["traits"]) == {"龙井", "白茶"}
    assert {(one["id"], one["type"], one["deletable"]) for one in found["evidence"]} >= {("f1", "fact", False)}
    assert (await profile(host, chat_id="d"))["traits"] == []
    await pause_background(host)
    change(host, "update facts set status = 'superseded' where value = '龙井'")
    assert (await profile(host, chat_id="c"))["traits"] == ["白茶"]


UNFIT: list[Any] = [
    ({}, "person_id"), ({"person_id": " "}, "person_id"), ({"person_id": ["u1"]}, "person_id"),
    ({"person_id": "u1", "limit": 0}, "limit"), ({"person_id": "u1", "limit": 201}, "limit"),
    ({"person_id": "u1", "chat_id": " "}, "chat_id"), ({"person_id": "u1", "limit": True}, "limit"),
]  # fmt: skip


async def test_arguments_that_do_not_fit(host: AMemorixHostService) -> None:
    for args, field in UNFIT:
        await refused(host, "get_person_profile", args, field)


async def test_a_reload_loses_no_profile_and_no_read(opened: Open) -> None:
    host = await opened()
    await say(host, "c", ZH)
    await host.settle(600)
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        for _ in range(40):
            answers.append(await host.invoke("get_person_profile", {"person_id": "u1"}))
            await asyncio.sleep(0)

    async def write() -> None:
        for n in range(20):
            await say(host, "c", f"I live in house number {n}", person_id="u2", speaker="Bo")

    await asyncio.gather(ask(), write(), host.update_config({"profile.items_per_section": 30}))
    await host.settle(600)
    assert all(answer["success"] and "桂花" in answer["summary"] for answer in answers)


# aliases


async def persons_named(host: AMemorixHostService, query: str, chat: str) -> list[str]:
    found = await hits(host, query, chat_id=chat)
    return found[0]["explain"]["persons"] if found else []


@pytest.mark.parametrize("alias", ["阿澈", "Cheche"])
async def test_an_alias_that_came_with_a_message_means_the_person_there(host: AMemorixHostService, alias: str) -> None:
    await say(host, "c", "茶很好喝", aliases=[alias])
    await say(host, "d", "茶很好喝")

    assert await persons_named(host, f"{alias} 茶", "c") == [alias]
    assert await persons_named(host, f"{alias} 茶", "d") == []
    assert (await profile(host, alias, chat_id="c"))["aliases"] == [alias]
    assert not (await profile(host, alias, chat_id="d"))["known"]


async def test_an_alias_given_by_hand_counts_everywhere_until_it_is_taken_away(host: AMemorixHostService) -> None:
    for chat in "cd":
        await say(host, chat, "茶很好喝")
    assert (await admin(host, "add_alias", person_id="u1", alias="阿澈"))["changed"]
    assert not (await admin(host, "add_alias", person_id="u1", alias="阿澈"))["changed"]
    for chat in "cd":
        assert await persons_named(host, "阿澈喜欢喝茶", chat) == ["阿澈"]
        assert [hit["person_ids"] for hit in await hits(host, "茶", chat_id=chat, person_id="阿澈")] == [["u1"]]
    removed = await admin(host, "remove_alias", person_id="u1", alias="阿澈")

    assert (removed["changed"], removed["aliases"]) == (True, [])
    assert await persons_named(host, "阿澈喜欢喝茶", "c") == []
    await refused(host, "memory_profile_admin", {"action": "remove_alias", "person_id": "u1", "alias": "阿澈"}, "alias",
                  code="not_found")  # fmt: skip


async def test_an_alias_can_count_in_one_chat(host: AMemorixHostService) -> None:
    for chat in "cd":
        await say(host, chat, "茶很好喝")
    await admin(host, "add_alias", person_id="u1", alias="阿澈", chat_id="c")

    assert await persons_named(host, "阿澈喜欢喝茶", "c") == ["阿澈"]
    assert await persons_named(host, "阿澈喜欢喝茶", "d") == []
    await refused(
        host, "memory_profile_admin", {"action": "remove_alias", "person_id": "u1", "alias": "阿澈", "chat_id": "d"},
        "alias", code="not_found",
    )  # fmt: skip
    assert (await admin(host, "remove_alias", person_id="u1", alias="阿澈", chat_id="c"))["changed"]


async def test_aliases_outlive_a_restart(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await say(host, "c", "茶很好喝", aliases=["阿澈"])
    async with memory_host(tmp_path) as host:
        assert await persons_named(host, "阿澈喜欢喝茶", "c") == ["阿澈"]


@pytest.mark.parametrize("aliases", [[""], "阿澈", ["a"] * 51])
async def test_aliases_that_are_no_names_are_refused(host: AMemorixHostService, aliases: Any) -> None:
    message = {"text": "茶", "speaker": "林澈", "aliases": aliases}
    await refused(host, "ingest_messages", {"chat_id": "c", "messages": [message]})
    note = {"external_id": "1", "source_type": "note", "text": "茶", "person_aliases": {"u1": aliases}}
    await refused(host, "ingest_text", note)


@pytest.mark.parametrize(("name", "text"), [("老王", "老王负责买菜"), ("Zoe", "Zoe waters the plants")])
@pytest.mark.parametrize("kind", ["text", "summary", "alias", "first call"])
async def test_a_participant_is_whoever_is_known_by_the_name(
    host: AMemorixHostService, name: str, text: str, kind: str
) -> None:
    said = {"text": "在的", "speaker": name if kind != "alias" else "王建国", "person_id": "u3", "aliases": [name]}
    call: dict[str, Any] = {"external_id": "s", "chat_id": "g", "participants": [name], "text": text}
    if kind == "first call":
        call["messages"] = [said]
    else:
        await host.invoke("ingest_messages", {"chat_id": "g", "messages": [said]})
    answer = await host.invoke("ingest_text" if kind == "text" else "ingest_summary", call | (
        {"source_type": "note"} if kind == "text" else {}))  # fmt: skip
    assert answer["success"], answer

    preview = await host.invoke("memory_delete_admin", {"action": "preview", "mode": "person", "selector": name})
    assert preview["success"], preview
    assert (rows(host, "select person_id from persons")) == [
        ("u3",)
    ]  # fmt: skip
    found = await profile(host, name, chat_id="g")
    assert found["person_id"] == "u3"


@pytest.mark.parametrize("name", ["老王", "Zoe"])
@pytest.mark.parametrize("known", [[], ["u3", "u4"]], ids=["nobody", "two"])
async def test_a_participant_whom_nobody_or_several_are_called_is_somebody_of_that_name(
    host: AMemorixHostService, name: str, known: list[str]
) -> None:
    for person in known:
        await say(host, "g", "在的", speaker=name, person_id=person)
    await told(host, "开会", chat_id="g", participants=[name])
    await told(host, "又开会", chat_id="g", participants=[name])
    persons = rows(host, "select person_id from persons")
    assert {row for (row,) in persons} == {*known, name}


async def test_a_name_of_another_chat_is_no_participant_of_this_one(host: AMemorixHostService) -> None:
    await say(host, "elsewhere", "在的", speaker="老王", person_id="u3")
    await told(host, "开会", chat_id="g", participants=["老王"])
    persons = rows(host, "select person_id from persons")
    assert {row for (row,) in persons} == {"u3", "老王"}


@pytest.mark.parametrize("text", [ZH, EN])
async def test_a_person_who_is_deleted_is_not_known_until_restored(host: AMemorixHostService, text: str) -> None:
    await say(host, "g", text, aliases=["阿澈"])
    await say(host, "g", "你好", speaker="周枝", person_id="u2")
    await host.settle(600)
    deleted = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "person", "selector": "u1"})
    assert deleted["success"], deleted
    for _ in range(2):
        for asked in ({"chat_id": "g"}, {}):
            found = await profile(host, "u1", **asked)
            assert (found["known"], found["person_name"], found["aliases"], found["items"]) == (False, "", [], [])
        await host.settle(600)
    assert (await profile(host, "u2", chat_id="g"))["known"]

    restored = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": deleted["operation_id"]})
    assert restored["success"], restored
    await host.settle(600)
    found = await profile(host, "u1", chat_id="g")
    assert (found["known"], found["person_name"], len(found["traits"])) == (True, "林澈", 1)


async def test_labels_are_in_the_language_of_the_profile(host: AMemorixHostService) -> None:
    await say(host, "c", "我住在杭州。我的电话是13800001111。我对花生过敏。")
    await host.settle(600)
    text = (await profile(host, chat_id="c"))["summary"]
    assert "电话" in text and "phone" not in text
    assert "过敏：" in text and "不喜欢：" not in text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I live in Leeds (1234-56).", "Leeds (1234-56)"),
        ("I work at Acme (9001-20).", "Acme (9001-20)"),
        ("I live in Leeds (2019-03 - 2019-03-05).", "Leeds (2019-03 - 2019-03-05)"),
        ("我住在上海(1234-56)。", "上海(1234-56)"),
        ("I live in Leeds (2024-00).", "Leeds (2024-00)"),
        ("I live in Leeds (2023-02-31).", "Leeds (2023-02-31)"),
    ],
)
async def test_brackets_that_look_like_a_date_stay_as_they_were_typed(
    host: AMemorixHostService, text: str, kept: str
) -> None:
    await say(host, "c", text)
    await host.settle(60)
    assert kept in str((await profile(host, chat_id="c"))["items"])
    answer = await host.invoke("get_context", {"query": text, "persons": ["u1"], "chat_id": "c"})
    assert answer["success"], answer
    assert kept in answer["text"]

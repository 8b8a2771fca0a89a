"""Profiles of persons: what each chat may know of them, and what still stands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, memory_host, pause_background
from conftest import Open
from entrance import change, hits, refused, rows, told

ZH, EN = "我喜欢桂花乌龙，但是不吃香菜。", "I love jasmine tea."
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


async def traits(host: AMemorixHostService, person: str = "u1", **args: Any) -> set[str]:
    return set((await profile(host, person, **args))["traits"])


async def admin(host: AMemorixHostService, action: str, **args: Any) -> dict[str, Any]:
    answer = await host.invoke("memory_profile_admin", {"action": action, **args})
    assert answer["success"], answer
    return answer


@pytest.mark.parametrize(
    ("text", "expected"), [(ZH, ["我喜欢桂花乌龙", "不吃香菜"]), (EN, ["I love jasmine tea"])], ids=["zh", "en"]
)
@pytest.mark.parametrize("settled", [False, True], ids=["at once", "settled"])
async def test_a_profile_tells_with_evidence(
    host: AMemorixHostService, text: str, expected: list[str], settled: bool
) -> None:
    (row,) = await say(host, "c", text, time=1_600_000_000)
    if settled:
        await host.settle(120)
    found = await profile(host, chat_id="c")

    assert (found["known"], found["person_id"], found["person_name"]) == (True, "u1", "林澈")
    assert sorted(found["traits"]) == sorted(expected)
    assert all(line in found["summary"] for line in expected)
    assert {(one["kind"], tuple(one["evidence"]), one["time"]) for one in found["items"]} == {
        ("said", (row,), 1_600_000_000)
    }
    (evidence,) = found["evidence"]
    assert (evidence["id"], evidence["type"], evidence["content"]) == (row, "paragraph", text)
    assert 0 < evidence["score"] <= evidence["confidence"] <= 1
    assert (found["stale"], found["version"]) == ((False, 1) if settled else (True, 0))
    assert (found["profile_source"], found["has_manual_override"]) == ("auto_snapshot", False)


async def test_somebody_unknown_has_an_empty_profile(host: AMemorixHostService) -> None:
    found = await profile(host, "nobody", chat_id="c")
    assert (found["known"], found["person_id"], found["summary"], found["evidence"]) == (False, "nobody", "", [])


async def test_what_is_told_of_a_person_counts_too(host: AMemorixHostService) -> None:
    await told(host, "林澈只喝无糖姜茶，负责校准温湿度计。", chat_id="c", source_type="person_fact", person_ids=["u1"],
               person_aliases={"u1": ["林澈"]})  # fmt: skip
    await told(host, "周枝不喝姜茶。林澈讨厌空调。", chat_id="c", entities=["林澈"],
               relations=[{"subject": "林澈", "predicate": "认识", "object": "周枝"}])  # fmt: skip
    await host.settle(120)
    found = await profile(host, chat_id="c")

    assert {"林澈只喝无糖姜茶", "负责校准温湿度计", "林澈讨厌空调", "林澈认识周枝"} == set(found["traits"])
    assert {one["type"] for one in found["evidence"]} == {"paragraph", "relation"}
    assert found["person_name"] == "林澈"


async def test_a_name_without_an_id_is_the_one_person_of_that_name(host: AMemorixHostService) -> None:
    """Summaries name persons whom messages know by id; with two of a name it is neither."""
    await say(host, "c", "我喜欢茶")
    summary = {"chat_id": "c", "participants": ["林澈"], "external_id": "s", "text": "林澈讨厌空调。"}
    await host.invoke("ingest_summary", summary)
    await host.settle(120)
    assert await traits(host, chat_id="c") == {"我喜欢茶", "林澈讨厌空调"}
    assert (await profile(host, "林澈", chat_id="c"))["person_id"] == "u1"

    await say(host, "c", "我喜欢咖啡", person_id="u2")
    await admin(host, "refresh", person_id="u1")
    await host.settle(120)
    assert "林澈讨厌空调" not in await traits(host, "u2", chat_id="c")
    error = await host.invoke("get_person_profile", {"person_id": "林澈", "chat_id": "c"})
    assert (error["error_code"], error["details"]["field"]) == ("invalid_request", "person_id")
    assert [one["person_id"] for one in error["details"]["candidates"]] == ["u1", "u2"]


async def test_a_name_of_another_chat_means_nobody(host: AMemorixHostService) -> None:
    await say(host, "a", "我喜欢茶", speaker="真名")
    await say(host, "b", "我喜欢猫", speaker="匿名")

    assert not (await profile(host, "真名", chat_id="b"))["known"]
    by_id = await profile(host, "u1", chat_id="b")
    assert (by_id["person_name"], by_id["aliases"], by_id["traits"]) == ("匿名", [], ["我喜欢猫"])
    assert not (await profile(host, "u1", chat_id="z"))["known"]


@pytest.mark.parametrize("settled", [False, True], ids=["at once", "settled"])
async def test_a_chat_sees_only_what_it_may(opened: Open, settled: bool) -> None:
    host = await opened()
    await say(host, PRIVATE, "我讨厌加班")
    await say(host, GROUP, "我喜欢茶")
    await told(host, "林澈的生日在五月，生日是五月三日。", scope="global", chat_id="room", group_id="42",
               source_type="person_fact", person_ids=["u1"])  # fmt: skip
    if settled:
        await host.settle(120)

    birthday = {"林澈的生日在五月", "生日是五月三日"}
    everywhere = await traits(host, chat_id="elsewhere")
    assert everywhere <= birthday
    assert everywhere
    assert await traits(host, **GROUP) == {"我喜欢茶"} | everywhere
    assert await traits(host, **PRIVATE) == {"我讨厌加班"} | everywhere
    assert await traits(host, user_id="7") == {"我讨厌加班"} | everywhere
    assert await traits(host) == {"我喜欢茶", "我讨厌加班"} | everywhere
    leaked = await profile(host, **GROUP)
    assert "加班" not in str(leaked)


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({"profile": {"share_private": True}}, {"我喜欢茶", "我讨厌加班"}),
        ({"global_memory_sharing_enabled": True}, {"我喜欢茶", "我讨厌加班", "我会弹琴"}),
        ({"shared_memory_groups": [{"targets": ["room", "dm"]}]}, {"我喜欢茶", "我讨厌加班"}),
        ({"shared_memory_groups": [{"targets": ["room", "other"]}]}, {"我喜欢茶", "我会弹琴"}),
        ({"profile": {"share_private": True}, "filter": {"chats": ["private:7"]}}, {"我喜欢茶"}),
    ],
    ids=["private", "global", "with private", "with group", "filtered"],
)
async def test_the_settings_open_chats_to_each_other(opened: Open, settings: dict[str, Any], seen: set[str]) -> None:
    host = await opened(**settings)
    for where, text in (
        (PRIVATE, "我讨厌加班"),
        (GROUP, "我喜欢茶"),
        ({"chat_id": "other", "group_id": "9"}, "我会弹琴"),
    ):
        await say(host, {**where, "respect_filter": False}, text)
    for _ in range(2):
        assert await traits(host, **GROUP) == seen
        await host.settle(120)


async def test_a_chat_that_is_not_served_is_told_nothing(opened: Open) -> None:
    host = await opened(filter={"chats": ["stream:c"]})
    await say(host, {"chat_id": "c", "respect_filter": False}, ZH)
    found = await profile(host, chat_id="c")

    assert (found["filtered"], found["known"], found["summary"], found["evidence"]) == (True, False, "", [])
    assert await traits(host) == set()
    assert await traits(host, chat_id="c", respect_filter=False)


@pytest.mark.parametrize("how", ["delete", "revise", "expire"])
async def test_what_is_gone_is_not_told_at_once(tmp_path: Path, how: str) -> None:
    clock = FrozenClock()
    async with memory_host(tmp_path, clock=clock) as host:
        await say(host, "c", "我讨厌香菜", external_id="m")
        await say(host, "d", "我喜欢茶")
        await host.settle(120)
        assert await traits(host) == {"我讨厌香菜", "我喜欢茶"}
        await pause_background(host)
        if how == "delete":
            await host.invoke("memory_source_admin", {"action": "delete", "source": "chat:c"})
        elif how == "revise":
            await say(host, "c", "没什么", external_id="m")
        else:
            change(host, "update paragraphs set expires_at = 1 where chat = 1")

        for _ in range(2):
            found = await profile(host)
            history = await admin(host, "history", person_id="u1")
            assert found["traits"] == ["我喜欢茶"]
            assert "香菜" not in str((found, history))
            await host.settle(120)


async def test_what_is_purged_leaves_no_snapshot(host: AMemorixHostService) -> None:
    await say(host, "c", "我讨厌香菜")
    await say(host, "d", "我喜欢茶")
    await host.settle(120)
    await pause_background(host)
    for table, column in (("terms", "id"), ("paragraph_persons", "paragraph"), ("paragraphs", "id")):
        change(host, f"delete from {table} where {column} = 1")
    left = rows(host, "select scope, content from profile_snapshots")
    assert len(left) == 1
    assert "香菜" not in str(left)
    await host.settle(120)
    assert await traits(host) == {"我喜欢茶"}


async def test_what_comes_back_is_told_again(host: AMemorixHostService) -> None:
    await say(host, "c", "我讨厌香菜")
    for n in range(5):
        await say(host, "c", f"我喜欢{n}号茶")
    await host.settle(120)
    for value, seen in ((5.0, False), (None, True)):
        change(host, "update paragraphs set deleted_at = ? where id = 1", (value,))
        await host.settle(120)
        assert ("我讨厌香菜" in await traits(host)) is seen


async def test_news_makes_a_new_version_and_old_ones_are_few(opened: Open) -> None:
    host = await opened(profile={"max_history": 3})
    for n in range(6):
        await say(host, "c", f"我喜欢{n}号茶")
        assert (await profile(host))["stale"]
        await host.settle(120)
        found = await profile(host)
        assert (found["stale"], found["version"], f"我喜欢{n}号茶" in found["traits"]) == (False, n + 1, True)
    history = await admin(host, "history", person_id="u1")

    assert [one["version"] for one in history["items"]] == [6, 5, 4]
    assert history["total"] == 3
    await say(host, "c", "哈哈")
    await host.settle(120)
    assert (await profile(host))["version"] == 6


async def test_a_section_is_bounded_and_the_newest_stay(opened: Open) -> None:
    host = await opened(profile={"items_per_section": 2, "max_lines": 50})
    year = 365 * 86_400.0
    for n in range(60):
        await say(host, "c", f"我喜欢{n}号茶", time=1e9 + n * year / 30)
    await host.settle(120)
    assert await traits(host) == {"我喜欢59号茶", "我喜欢58号茶"}


async def test_switched_off_profiles_are_made_from_the_newest_lines(opened: Open) -> None:
    host = await opened(profile={"enabled": False})
    await say(host, "c", ZH)
    await host.settle(120)
    found = await profile(host, chat_id="c")

    assert set(found["traits"]) == {"我喜欢桂花乌龙", "不吃香菜"}
    assert (found["stale"], found["version"]) == (True, 0)
    assert (await admin(host, "list"))["items"] == []


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
    await host.settle(120)
    await add_fact(host, "龙井", 1)
    await add_fact(host, "白茶", None)
    await add_fact(host, "可乐", 1, status="retracted")
    await admin(host, "refresh", person_id="u1")
    await host.settle(120)
    found = await profile(host, chat_id="c")

    assert set(found["traits"]) == {"龙井", "白茶"}
    assert {(one["id"], one["type"], one["deletable"]) for one in found["evidence"]} >= {("f1", "fact", False)}
    assert await traits(host, chat_id="d") == set()
    await pause_background(host)
    change(host, "update facts set status = 'superseded' where value = '龙井'")
    assert await traits(host, chat_id="c") == {"白茶"}


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({}, "person_id"), ({"person_id": " "}, "person_id"), ({"person_id": ["u1"]}, "person_id"),
        ({"person_id": "u1", "limit": 0}, "limit"), ({"person_id": "u1", "limit": 201}, "limit"),
        ({"person_id": "u1", "chat_id": " "}, "chat_id"), ({"person_id": "u1", "limit": True}, "limit"),
    ],
)  # fmt: skip
async def test_arguments_that_do_not_fit(host: AMemorixHostService, args: dict[str, Any], field: str) -> None:
    await refused(host, "get_person_profile", args, field)


async def test_a_reload_loses_no_profile_and_no_read(opened: Open) -> None:
    host = await opened()
    await say(host, "c", ZH)
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        for _ in range(40):
            answers.append(await host.invoke("get_person_profile", {"person_id": "u1"}))
            await asyncio.sleep(0)

    async def write() -> None:
        for n in range(20):
            await say(host, "c", f"I love number {n} tea")

    await asyncio.gather(ask(), write(), host.update_config({"profile.items_per_section": 30}))
    await host.settle(120)

    assert all(answer["success"] and answer["traits"] for answer in answers)
    assert {f"I love number {n} tea" for n in range(20)} <= {one["statement"] for one in (await profile(host))["items"]}


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
    assert (found["person_id"], text in str(found["evidence"])) == ("u3", True)


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


@pytest.mark.parametrize("text", ["我喜欢茶", "I love tea"])
async def test_a_person_who_is_deleted_is_not_known_until_restored(host: AMemorixHostService, text: str) -> None:
    await say(host, "g", text, aliases=["阿澈"])
    await say(host, "g", "你好", speaker="周枝", person_id="u2")
    await host.settle(120)
    deleted = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "person", "selector": "u1"})
    assert deleted["success"], deleted
    for _ in range(2):
        for asked in ({"chat_id": "g"}, {}):
            found = await profile(host, "u1", **asked)
            assert (found["known"], found["person_name"], found["aliases"], found["items"]) == (False, "", [], [])
        await host.settle(120)
    assert (await profile(host, "u2", chat_id="g"))["known"]

    restored = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": deleted["operation_id"]})
    assert restored["success"], restored
    await host.settle(120)
    found = await profile(host, "u1", chat_id="g")
    assert (found["known"], found["person_name"], found["traits"]) == (True, "林澈", [text])


@pytest.mark.parametrize(
    ("before", "after", "gone", "left"),
    [
        ("我在字节跳动上班", "我从字节离职了", "字节跳动", ""),
        ("我男朋友陈昊下周来成都看我", "我和陈昊分手了", "男朋友", "分手"),
        ("I live in Lisbon and I work as a nurse", "I don't live in Lisbon any more, I live in Madrid",
         "I live in Lisbon and", "nurse"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("when", ["at once", "together", "one by one"])
async def test_what_has_ended_is_no_longer_told(
    host: AMemorixHostService, before: str, after: str, gone: str, left: str, when: str
) -> None:
    await say(host, "c", before, time=1_600_000_000)
    if when == "one by one":
        await host.settle(120)
        assert gone in (await profile(host, chat_id="c"))["summary"]
    await say(host, "c", after, time=1_600_100_000)
    for text in ("我喜欢茶", "I love tea"):
        if when != "at once":
            await host.settle(120)
        found = await profile(host, chat_id="c")
        assert gone not in str((found["summary"], found["items"], found["traits"])), found["summary"]
        if when != "at once":
            assert left in found["summary"]
        await say(host, "c", text, time=1_600_200_000)


async def test_what_ends_in_one_chat_is_not_known_to_have_in_another(host: AMemorixHostService) -> None:
    await say(host, "c", "我男朋友陈昊下周来成都看我", time=1_600_000_000)
    await say(host, PRIVATE, "我和陈昊分手了", time=1_600_100_000)
    await host.settle(120)
    assert await traits(host, chat_id="c") == {"我男朋友陈昊下周来成都看我"}


async def test_what_had_not_ended_after_all_is_told_again(host: AMemorixHostService) -> None:
    await say(host, "c", "我男朋友陈昊下周来成都看我", time=1_600_000_000)
    (row,) = await say(host, "c", "我和陈昊分手了", time=1_600_100_000)
    await host.settle(120)
    assert await traits(host) == {"我和陈昊分手了"}
    await admin(host, "correct_evidence", person_id="u1", evidence_id=row)
    await host.settle(120)
    assert await traits(host) == {"我男朋友陈昊下周来成都看我"}


async def test_labels_are_in_the_language_of_the_profile(host: AMemorixHostService) -> None:
    await say(host, "c", "我喜欢桂花乌龙。我住在杭州。")
    await say(host, "c", "我的电话是13800001111。我对花生过敏。")
    await host.settle(120)
    text = (await profile(host, chat_id="c"))["summary"]
    assert "电话" in text and "phone" not in text
    assert "过敏：" in text and "不喜欢：" not in text
    await say(host, "d", "I'm from the future haha. My password hint is the name of my first dog.", person_id="u9")
    await host.settle(120)
    assert (await profile(host, "u9", chat_id="d"))["items"] == []

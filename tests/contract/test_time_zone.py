"""The zone in which times are read and shown: that of the settings, or of a chat, wherever the process runs."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from amemorix import AMemorixHostService, AsyncClient, AsyncMemory, Memory
from amemorix.errors import InvalidConfig
from amemorix.frontends.cli.main import app
from amemorix.frontends.python.calls import AsyncCalls
from amemorix.testing import FrozenClock, ScriptedChat, scratch_config
from conftest import Open
from doors import served
from entrance import change, rows
from import_entrance import pasted

SHANGHAI, BERLIN = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 12, 12, 0, tzinfo=SHANGHAI).timestamp()
NIGHT = datetime(2026, 3, 11, 0, 30, tzinfo=SHANGHAI).timestamp()
"""Half past midnight of the 11th in Shanghai is the 10th in UTC."""
IN_SHANGHAI = {"timezone": "Asia/Shanghai"}
TWO_ZONES = IN_SHANGHAI | {"chat_timezones": [{"chat": "berlin", "timezone": "Europe/Berlin"}]}


async def found(host: AMemorixHostService, query: str = "", **more: Any) -> list[dict[str, Any]]:
    mode = "time" if not query else "search"
    answer = await host.invoke("search_memory", {"query": query, "mode": mode, "chat_id": "c", **more})
    assert answer["success"], answer
    return answer["hits"]


async def told(host: AMemorixHostService, text: str, time: Any, chat: str = "c") -> None:
    message = {"external_id": text, "speaker": "周宁", "text": text, "time": time}
    assert (await host.invoke("ingest_messages", {"chat_id": chat, "messages": [message]}))["success"]


@pytest.fixture
async def shanghai(opened: Open) -> AMemorixHostService:
    """A process that runs in UTC, with users in Shanghai, at noon of the 12th; one line of the 11th at half past midnight, one of
    the 10th at eleven at night."""
    host = await opened(clock=FrozenClock(NOW), general=IN_SHANGHAI)
    await told(host, "我把伞放在值班柜里。", NIGHT)
    await told(host, "伞还在家里。", NIGHT - 5_400)
    return host


@pytest.mark.parametrize("day", ["昨天", "yesterday", "2026-03-11", "3月11日"])
async def test_a_day_is_the_users_day(shanghai: AMemorixHostService, day: str) -> None:
    hits = await found(shanghai, time_start=day, time_end=day)
    assert [hit["content"] for hit in hits] == ["我把伞放在值班柜里。"]


async def test_today_begins_at_the_users_midnight(shanghai: AMemorixHostService) -> None:
    await told(shanghai, "今天下雨。", NOW - 11.5 * 3600)
    assert [hit["content"] for hit in await found(shanghai, time_start="today")] == ["今天下雨。"]


async def test_a_question_means_the_users_day(shanghai: AMemorixHostService) -> None:
    for query in ("昨天伞放在哪里？", "伞 yesterday"):
        assert (await found(shanghai, query))[0]["content"] == "我把伞放在值班柜里。"
    assert (await found(shanghai, "3月11日"))[0]["content"] == "我把伞放在值班柜里。"


async def test_times_are_shown_as_the_users_clock(shanghai: AMemorixHostService) -> None:
    assert (await found(shanghai, "值班柜"))[0]["time"]["text"] == "2026-03-11T00:30:00+08:00"
    audit = await shanghai.invoke("memory_runtime_admin", {"action": "audit", "since": "today"})
    assert audit["success"]


async def test_a_time_without_an_offset_is_the_users(shanghai: AMemorixHostService) -> None:
    await told(shanghai, "茶馆开门了。", "2026-03-12 09:00")
    assert (await found(shanghai, "茶馆"))[0]["time"]["start"] == datetime(2026, 3, 12, 9, tzinfo=SHANGHAI).timestamp()
    lines = "speaker,text,time\nHannah,The kettle is red.,2026-03-12 08:15\n"
    assert (await pasted(shanghai, "chat.csv", lines, chat_id="c"))["status"] == "completed"
    assert (await found(shanghai, "kettle"))[0]["time"]["text"] == "2026-03-12T08:15:00+08:00"


async def test_a_fact_is_dated_by_the_users_day(shanghai: AMemorixHostService) -> None:
    await told(shanghai, "我昨天搬到了杭州。", NIGHT)
    await shanghai.settle(600)
    facts = (await shanghai.invoke("memory_fact_admin", {"action": "list"}))["items"]
    home = next(fact for fact in facts if "杭州" in str(fact))
    day = datetime(2026, 3, 10, tzinfo=SHANGHAI).timestamp()
    assert home["valid_from"] == day


async def test_a_chat_has_a_zone_of_its_own(opened: Open) -> None:
    host = await opened(clock=FrozenClock(NOW), general=TWO_ZONES)
    for chat in ("c", "berlin"):
        await told(host, "Lunch is ready.", "2026-03-12 09:00", chat)
    shown = {chat: (await found(host, "lunch", chat_id=chat))[0]["time"]["text"] for chat in ("c", "berlin")}
    assert shown == {"c": "2026-03-12T09:00:00+08:00", "berlin": "2026-03-12T09:00:00+01:00"}
    start = datetime(2026, 3, 12, tzinfo=BERLIN).timestamp()
    await told(host, "Just after midnight.", start + 60, "berlin")
    await told(host, "Just before midnight.", start - 60, "berlin")
    hits = await found(host, time_start="today", time_end="today", chat_id="berlin")
    assert {hit["content"] for hit in hits} == {"Lunch is ready.", "Just after midnight."}
    assert (await found(host, "12 March 2026", chat_id="berlin"))[0]["content"] != "Just before midnight."


async def test_a_change_of_the_zone_applies_to_the_next_call(shanghai: AMemorixHostService) -> None:
    answer = await shanghai.update_config({"general.timezone": "UTC"})
    assert (answer["level"], answer["needs_restart"]) == ("live", [])
    assert (await found(shanghai, "值班柜"))[0]["time"]["text"] == "2026-03-10T16:30:00+00:00"
    await shanghai.update_config({"general.timezone": None})
    assert [hit["content"] for hit in await found(shanghai, time_start="2026-03-11", time_end="2026-03-11")] == []


@pytest.mark.parametrize("name", ["Mars/Olympus", "Asia", "../etc/passwd", "/etc/localtime", "UTC+8", "a\0b"])
@pytest.mark.parametrize("where", ["general", "chat"])
async def test_an_unknown_zone_is_refused(shanghai: AMemorixHostService, name: str, where: str) -> None:
    zone = {"timezone": name} if where == "general" else {"chat_timezones": [{"chat": "c", "timezone": name}]}
    with pytest.raises(InvalidConfig, match=r"timezone.*Asia/Shanghai") as caught:
        await shanghai.update_config({"general": zone})
    path = caught.value.details["problems"][0]["path"]
    assert path == ("general.timezone" if where == "general" else "general.chat_timezones[0].timezone")


async def test_a_summary_is_told_the_users_times(opened: Open) -> None:
    chat = ScriptedChat({"summary": {"summary": "周宁把伞放好了。", "entities": [], "relations": []}})
    host = await opened(clock=FrozenClock(NOW), chat=chat, general=IN_SHANGHAI)
    await told(host, "我把伞放在值班柜里。", NIGHT)
    await host.invoke("ingest_summary", {"chat_id": "c", "external_id": "s"})
    await host.settle(600)
    asked = [text for task, text in chat.asked if task == "summary"]
    assert asked, "the model was asked"
    assert re.search(r"2026-03-11 00:30", asked[0])


async def test_a_chat_without_a_zone_is_refused(shanghai: AMemorixHostService) -> None:
    with pytest.raises(InvalidConfig, match=r"general\.chat_timezones\[0\]: 'timezone' is a required property"):
        await shanghai.update_config({"general.chat_timezones": [{"chat": "c"}]})


async def test_a_time_without_an_offset_from_another_memory_is_the_users(shanghai: AMemorixHostService) -> None:
    memory = {"id": "m1", "memory": "Likes oolong tea.", "run_id": "c", "created_at": "2026-03-11 00:30"}
    task = await pasted(shanghai, "mem0.json", json.dumps({"results": [memory]}))
    assert task["status"] == "completed", task
    assert (await found(shanghai, "oolong"))[0]["time"]["text"] == "2026-03-11T00:30:00+08:00"


async def test_words_that_were_lost_are_read_again_by_the_chats_day(opened: Open) -> None:
    """Six in the morning in Shanghai is the day before in Berlin."""
    host = await opened(clock=FrozenClock(NOW), general=TWO_ZONES)
    await told(host, "Lunch is ready.", NOW - 6 * 3600, "berlin")
    terms = "select id, v from terms order by id"
    before = rows(host, terms)
    change(host, "delete from terms")
    assert (await host.invoke("memory_runtime_admin", {"action": "repair"}))["success"]
    assert rows(host, terms) == before


async def test_facts_are_asked_by_the_day_of_the_group(opened: Open) -> None:
    zones = IN_SHANGHAI | {"chat_timezones": [{"chat": "group:g", "timezone": "Europe/Berlin"}]}
    host = await opened(clock=FrozenClock(NOW), general=zones)
    moved = datetime(2026, 3, 11, 23, tzinfo=BERLIN).timestamp()
    message = {"external_id": "m", "speaker": "Mia", "text": "I live in Porto.", "time": moved}
    told_in = {"group_id": "g", "chat_id": "group:g", "messages": [message]}
    assert (await host.invoke("ingest_messages", told_in))["success"]
    await host.settle(600)
    for asking in ({"chat_id": "group:g"}, {"group_id": "g"}):
        query = {"action": "query", "person_id": "Mia", "valid_at": "2026-03-11 23:30", **asking}
        found = await host.invoke("memory_fact_admin", query)
        assert [fact["value"] for fact in found["items"]] == ["Porto"], found


@pytest.mark.parametrize("time", ["0001-01-01", "0001-01-01T00:00:00+14:00"])
async def test_the_first_day_of_all_is_a_time_like_any_other(shanghai: AMemorixHostService, time: str) -> None:
    await told(shanghai, "一只风筝", time)
    assert [hit["content"] for hit in await found(shanghai, "风筝", time_end=time)] == ["一只风筝"]
    assert (await found(shanghai, "风筝"))[0]["time"]["text"].startswith("0001-01-01T")
    for field in ("as_of", "time_start"):
        await found(shanghai, "昨天的风筝", **{field: time})


async def test_facts_and_episodes_of_the_last_day_of_all_are_told(shanghai: AMemorixHostService) -> None:
    await told(shanghai, "我住在上海。", "9999-12-31T23:30:00Z")  # no date of the users' clock
    await told(shanghai, "我9999年12月搬家。", "9999-12-31T23:40:00Z")
    await shanghai.settle(600)
    facts = await shanghai.invoke("memory_fact_admin", {"action": "list", "chat_id": "c", "text": "上海"})
    episodes = await shanghai.invoke("memory_episode_admin", {"action": "list", "chat_id": "c"})

    assert "周宁 (9999-12-31): 我住在上海。" in [fact["sentence"] for fact in facts["items"]], facts
    assert any("周宁 (9999-12-31): 我住在上海" in item["summary"] for item in episodes["items"]), episodes


@pytest.fixture
def written_in_shanghai(tmp_path: Path) -> Path:
    """The settings of a memory whose people live in Shanghai, with a line and a fact of half past midnight there."""
    config = scratch_config(tmp_path, {"embedding.provider": "none", "general.timezone": "Asia/Shanghai"})
    with Memory(tmp_path) as memory:
        memory.add(messages=[{"speaker": "周宁", "text": "我对花生过敏", "time": NIGHT}], chat="c")
        memory.settle()
    return config


async def shown_to_programs(calls: AsyncCalls) -> list[str]:
    texts = [(await calls.texts(chat="c"))[0], (await calls.search("花生", chat="c"))[0], await calls.get("p1")]
    facts = await calls.facts("周宁", chat="c")
    return [f"{one.time:%m-%d %H:%M %z}" for one in texts if one and one.time] + [
        f"{one.since:%m-%d %H:%M %z}" for one in facts if one.since
    ]


async def test_programs_see_the_users_clock_here_and_through_a_daemon(written_in_shanghai: Path) -> None:
    expected = {"03-11 00:30 +0800"}
    async with AsyncMemory(written_in_shanghai.parent) as memory:
        assert set(await shown_to_programs(memory)) == expected
    async with AMemorixHostService(written_in_shanghai) as host, served(host) as url, AsyncClient(url) as client:
        assert set(await shown_to_programs(client)) == expected


def test_commands_show_the_users_clock(written_in_shanghai: Path) -> None:
    for command in (["log", "c"], ["show", "p1"], ["chats"], ["search", "花生"]):
        shown = CliRunner().invoke(app, [*command, "-c", str(written_in_shanghai)])
        assert "2026-03-11 00:30" in shown.stdout, shown.output
    assert "2026-03-11" in CliRunner().invoke(app, ["facts", "周宁", "-c", str(written_in_shanghai)]).stdout


async def test_a_chat_is_read_in_the_order_in_which_it_was_said(shanghai: AMemorixHostService) -> None:
    await told(shanghai, "我住在上海。", NIGHT - 600)
    plan = await shanghai.invoke(
        "memory_correction_admin",
        {"action": "preview", "text": "不对，伞还在车里，不在家里", "chat_id": "c", "person_id": "周宁"},
    )
    done = {"action": "execute", "plan_id": plan["plan_id"], "confirmed": True}
    assert (await shanghai.invoke("memory_correction_admin", done))["success"]
    page: dict[str, Any] = {"action": "list", "chat_id": "c", "order": "said", "limit": 2}
    first = await shanghai.invoke("memory_text_admin", page)
    rest = await shanghai.invoke("memory_text_admin", {**page, "before": first["next"]})
    everything = await shanghai.invoke("memory_text_admin", {**page, "chat_id": "", "scope": "all", "limit": 9})
    items = [*first["items"], *rest["items"]]
    assert [one["id"] for one in items] == [one["id"] for one in everything["items"]]
    times = [one["time"] for one in items if one["time"]]
    assert len(times) == 3 and times == sorted(times, reverse=True), items
    assert (
        "伞还在车里" in items[2]["text"] and items[2]["id"] > items[0]["id"]
    )  # the corrected line is where the wrong one was

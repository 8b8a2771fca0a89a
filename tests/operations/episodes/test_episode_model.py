"""Episodes in a chat model's words: finished ones only, validated, a bounded number of times, and rules without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import ChatUnavailable
from amemorix.testing import FrozenClock, ScriptedChat, memory_host
from conftest import Open
from entrance import admin_of, said

HOUR, DAY = 3_600.0, 86_400.0
START = 1_680_000_000.0
SETTINGS = {"poll_interval_seconds": 3600, "debounce_seconds": 0, "model_min_paragraphs": 2}
COMPONENT = "memory_episode_admin"
LINES = {
    "en": ("the kite tears in the wind", "we sew it up", "lemon cake for tea", "with sugar"),
    "zh": ("风筝被风吹破了", "我们把它缝好", "下午茶吃柠檬蛋糕", "多放糖"),
}


def part(*lines: int, title: str = "Kites 风筝", **more: Any) -> dict[str, Any]:
    return {"lines": list(lines), "title": title, "summary": f"About {title}.", **more}


def answering(*parts: Mapping[str, Any]) -> ScriptedChat:
    return ScriptedChat({"episodes": {"episodes": list(parts)}})


def shown(user: str) -> int:
    """How many lines the model was shown."""
    return len(re.findall(r"^\d+\. \[", user, re.M))


asked = admin_of(COMPONENT)


async def items(host: AMemorixHostService, **args: Any) -> list[dict[str, Any]]:
    """Every episode, the oldest first."""
    found = (await asked(host, "list", **args))["items"]
    return sorted(found, key=lambda item: (item["time_start"], item["episode_id"]))


async def talked(host: AMemorixHostService, language: str = "en") -> None:
    """Four lines that are finished, as others follow two days later."""
    speakers = ("Ada", "Bob", "Ada", "林澈")
    lines = [(who, text, START + n) for n, (who, text) in enumerate(zip(speakers, LINES[language], strict=True))]
    await said(host, "c", *lines, ("Ada", "good morning", START + 2 * DAY))
    await host.settle(600)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_finished_episode_is_divided_and_described(opened: Open, language: str) -> None:
    chat = answering(
        part(1, 2, title="The torn kite", keywords=["sailcloth", "帆布"]),
        part(3, 4, title="蛋糕", participants=["林澈", "somebody else"]),
    )
    host = await opened(chat=chat, episode=SETTINGS)
    await talked(host, language)
    kite, cake, _ = found = await items(host)

    assert [one["segmented_by"] for one in found] == ["model", "model", "rules"]
    assert (kite["title"], kite["summary"], kite["keywords"]) == (
        "The torn kite",
        "About The torn kite.",
        ["sailcloth", "帆布"],
    )
    assert (kite["paragraph_count"], kite["time_start"], kite["time_end"]) == (2, START, START + 1)
    assert (cake["title"], cake["time_start"], cake["time_end"]) == ("蛋糕", START + 2, START + 3)
    assert len(kite["participants"]) == len(cake["participants"]) == 2
    task, question = chat.asked[0]
    assert task == "episodes"
    assert f"1. [2023-03-28 10:40 Tue] Ada: {LINES[language][0]}\n2. [2023-03-28 10:40 Tue] Bob" in question
    assert "good morning" not in question
    assert ("写成一个 JSON 对象" in question) == (language == "zh")
    assert [one["prompt"] for one in found] == [f"{language}-1", f"{language}-1", ""]


async def test_what_only_the_model_said_can_be_searched(opened: Open) -> None:
    chat = answering(part(1, 2, 3, 4, title="Regatta preparations 帆船比赛", keywords=["sailcloth"]))
    host = await opened(chat=chat, episode=SETTINGS)
    await talked(host)
    await said(host, "d", ("Eve", "nothing of interest", START))
    await host.settle(600)

    for query in ("regatta preparations", "帆船比赛", "sailcloth"):
        (found,) = await items(host, query=query)
        assert found["segmented_by"] == "model"
        assert found["explain"]["own_words"] > 0.6
        assert found["explain"]["matched_terms"]
        assert await items(host, query=query, chat_id="d") == []
        assert await items(host, query=query, person_id="Eve") == []
        assert len(await items(host, query=query, person_id="Bob", time_end=START + HOUR)) == 1
    assert await items(host, query="submarine volcano") == []


async def test_it_is_not_asked_about_talk_that_goes_on(opened: Open) -> None:
    clock = FrozenClock()
    chat = answering(part(1, 2, 3))
    host = await opened(chat=chat, clock=clock, episode={**SETTINGS, "model_quiet_minutes": 30})
    for n in range(3):
        await said(host, "c", ("Ada", f"kite {n}", START + n))
        await host.settle(600)
        clock.advance(60)
    assert chat.asked == []
    assert (await asked(host, "status"))["model_waiting"] == 1
    clock.advance(30 * 60)
    await host.settle(600)

    assert len(chat.asked) == 1
    (episode,) = await items(host)
    assert (episode["segmented_by"], episode["episode_id"], episode["revision"]) == ("model", "e1", 4)
    assert (await asked(host, "status"))["model_waiting"] == 0


async def test_short_episodes_are_left_to_the_rules(opened: Open) -> None:
    chat = answering(part(1))
    host = await opened(chat=chat, episode={**SETTINGS, "model_min_paragraphs": 5})
    await talked(host)
    assert chat.asked == []
    assert {one["segmented_by"] for one in await items(host)} == {"rules"}


async def test_it_can_be_switched_off(opened: Open) -> None:
    chat = answering(part(1, 2, 3, 4))
    host = await opened(chat=chat, episode={**SETTINGS, "model_enabled": False})
    await talked(host)
    assert chat.asked == []
    status = await asked(host, "status")
    assert (status["model"], status["model_waiting"]) == (False, 0)


@pytest.mark.parametrize(
    ("parts", "held"),
    [
        ([part(1, 2), part(2, 3, 4)], [2, 2]), ([part(1, 2, 3)], [4]), ([part(1, 2, 3, 4, 5)], [4]), ([part(0, 2)], [4]),
        ([part(1), part(4), part(title=" ")], [3, 1]), ([part(1, 2, title="  "), part(3, 4)], [4]), ([part(3, 4), part(1)], [2, 2]),
    ],
)  # fmt: skip
async def test_each_line_is_in_one_episode(opened: Open, parts: list[dict[str, Any]], held: list[int]) -> None:
    """What was given twice stays in the first, what was left out goes with the line before it."""
    host = await opened(chat=answering(*parts), episode=SETTINGS)
    await talked(host)
    found = (await items(host))[:-1]
    assert [one["paragraph_count"] for one in found] == held
    assert {one["segmented_by"] for one in found} == {"model"}


@pytest.mark.parametrize(
    "parts", [[], [part(5, 6)], [part(1, 2, 3, 4, title="  ")], [part(1, 2, 3, 4) | {"summary": ""}]]
)
async def test_an_answer_of_which_nothing_fits_costs_the_call_only(opened: Open, parts: list[dict[str, Any]]) -> None:
    clock = FrozenClock()
    chat = answering(*parts)
    settings = {**SETTINGS, "model_max_attempts": 3, "model_retry_minutes": 10, "model_min_paragraphs": 3}
    host = await opened(chat=chat, clock=clock, episode=settings)
    await talked(host)
    before = await items(host)
    for _ in range(6):
        clock.advance(DAY)
        await host.settle(600)

    assert before[0]["segmented_by"] == "rules"
    assert await items(host) == before
    assert len(chat.asked) == 3, "it is asked a bounded number of times"
    assert (await asked(host, "status"))["model_waiting"] == 0


async def test_rules_stand_while_the_model_is_away_and_it_is_asked_again(opened: Open) -> None:
    clock = FrozenClock()
    away = [True]

    def script(task: str, user: str) -> Mapping[str, Any]:
        if away[0]:
            raise ChatUnavailable("The model is away.")
        return {"episodes": [part(*range(1, shown(user) + 1))]}

    chat = ScriptedChat(script)
    host = await opened(chat=chat, clock=clock, episode={**SETTINGS, "model_retry_minutes": 10})
    await talked(host)
    await talked_elsewhere(host)
    assert len(chat.asked) == 1, "one that is away is not asked about the next episode at once"
    assert {one["segmented_by"] for one in await items(host)} == {"rules"}
    away[0] = False
    await host.settle(600)
    assert len(chat.asked) == 1
    clock.advance(601)
    await host.settle(600)

    assert [one["segmented_by"] for one in await items(host)] == ["model", "model", "rules", "rules"]
    assert (await asked(host, "status"))["model_waiting"] == 0


async def talked_elsewhere(host: AMemorixHostService) -> None:
    lines = [("Eve", f"rope {n}", START + n) for n in range(3)]
    await said(host, "d", *lines, ("Eve", "bye", START + 2 * DAY))
    await host.settle(600)


async def test_a_divided_episode_that_changes_is_made_again_as_a_whole(opened: Open) -> None:
    def script(task: str, user: str) -> Mapping[str, Any]:
        count = shown(user)
        return {"episodes": [part(1, title="first"), part(*range(2, count + 1), title="rest")]}

    chat = ScriptedChat(script)
    host = await opened(chat=chat, episode=SETTINGS)
    turns = [{"external_id": f"m{n}", "speaker": "Ada", "text": f"kite {n}", "time": START + n} for n in range(5)]
    last = {"external_id": "z", "speaker": "Ada", "text": "later", "time": START + 2 * DAY}
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": [*turns, last]})
    await host.settle(600)
    before = await items(host)
    await said(host, "c", ("Ada", "and later", START + 2 * DAY + 1))
    await host.settle(600)
    unchanged = await items(host)
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": [turns[3] | {"text": "reworded"}]})
    await host.settle(600)
    after = await items(host)

    assert [one["title"] for one in before[:2]] == ["first", "rest"]
    assert unchanged[:2] == before[:2], "what follows does not touch it"
    assert [one["paragraph_count"] for one in after] == [1, 4, 2]
    assert [one["title"] for one in after[:2]] == ["first", "rest"]
    assert after[0]["episode_id"] == before[0]["episode_id"]
    assert after[0]["revision"] > before[0]["revision"]
    assert len(chat.asked) == 2


async def test_a_model_that_is_added_later_is_asked_about_news_and_on_request_only(tmp_path: Path) -> None:
    async with memory_host(tmp_path, episode=SETTINGS) as host:
        await talked(host)
    chat = answering(part(1, 2, 3, 4, title="In the model's words"))
    async with memory_host(tmp_path, chat=chat, episode=SETTINGS) as host:
        await host.settle(600)
        assert chat.asked == []
        before = await items(host)
        await asked(host, "rebuild", source="chat:c", wait=60)
        after = await items(host)

    assert len(chat.asked) == 1
    assert after[0]["title"] == "In the model's words"
    assert after[0]["episode_id"] == before[0]["episode_id"]


async def test_an_answer_about_what_has_changed_meanwhile_is_thrown_away(opened: Open) -> None:
    hosts: list[AMemorixHostService] = []

    class Slow(ScriptedChat):
        async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
            if not self.asked:
                await said(hosts[0], "c", ("Bob", "a late word", START + 1.5))
                await asked(hosts[0], "process_pending")
            return await super().answer(task, system, user, schema=schema)

    def script(task: str, user: str) -> Mapping[str, Any]:
        return {"episodes": [part(*range(1, shown(user) + 1), title=f"of {shown(user)} lines")]}

    chat = Slow(script)
    hosts.append(await opened(chat=chat, episode=SETTINGS))
    await talked(hosts[0])

    assert len(chat.asked) == 2
    assert (await items(hosts[0]))[0]["title"] == "of 5 lines"


async def test_long_stretches_are_shown_in_pieces(opened: Open) -> None:
    def script(task: str, user: str) -> Mapping[str, Any]:
        return {"episodes": [part(*range(1, shown(user) + 1))]}

    chat = ScriptedChat(script)
    host = await opened(chat=chat, episode={**SETTINGS, "model_paragraphs": 3, "model_chars": 500})
    lines = [("Ada", "长" * 900 if n == 6 else f"kite {n}", START + n) for n in range(7)]
    await said(host, "c", *lines, ("Ada", "later", START + 2 * DAY))
    await host.settle(600)

    assert [one["paragraph_count"] for one in await items(host)] == [3, 3, 1, 1]
    assert "长" * 800 in chat.asked[-1][1]
    assert "长" * 801 not in chat.asked[-1][1]

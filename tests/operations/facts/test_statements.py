"""What is kept of what people type: the sentences that are worth it, whose they are, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.language.normalise import is_mostly_cjk
from amemorix.testing import FrozenClock, memory_host
from cases import FOLDER, cases
from conftest import Open
from entrance import said, told

START = 1_683_201_600.0  # Thursday, 2023-05-04, noon in UTC
DAY = 86_400.0
LINES = [line.split("\t") for line in (FOLDER / "statements.tsv").read_text("utf-8").splitlines()]
"""(1 if a person would want it remembered, what it is else, the line); written before anything read them."""
NOT_SO = ("joke", "wish", "hearsay", "hypothetical", "quote", "dream")


async def listed(host: AMemorixHostService, **args: Any) -> list[dict[str, Any]]:
    await host.settle(600)
    answer = await host.invoke("memory_fact_admin", {"action": "list", "limit": 1000, **args})
    assert answer["success"], answer
    return answer["items"]


async def held_in(host: AMemorixHostService, lines: list[str]) -> set[str]:
    """The lines of which something is held, each said by somebody in a chat of its own."""
    for number, line in enumerate(lines):
        await said(host, f"chat-{number}", (f"P{number}", line, START))
    return {lines[int(item["chat_id"].removeprefix("chat-"))] for item in await listed(host)}


@pytest.mark.parametrize("chinese", [True, False])
@pytest.mark.parametrize("model", [False, pytest.param(True, marks=pytest.mark.local_model)])
async def test_what_is_worth_it_is_kept(tmp_path: Path, chinese: bool, model: bool) -> None:
    lines = [(want == "1", trap, text) for want, trap, text in LINES if is_mostly_cjk(text) is chinese]
    async with memory_host(tmp_path, embedding={"provider": "local" if model else "none"}) as host:
        held = await held_in(host, [text for *_, text in lines])

    right = [text for want, _, text in lines if want and text in held]
    wrong = [text for want, _, text in lines if not want and text in held]
    assert len(right) >= (0.8 if model else 0.6) * sum(want for want, *_ in lines), sorted(set(held) - set(right))
    assert len(right) >= 0.85 * len(held), wrong
    assert len([text for _, trap, text in lines if trap in NOT_SO and text in held]) <= 2, wrong


async def test_what_is_of_somebody_else_or_not_so_is_seldom_believed(opened: Open) -> None:
    """Lines that are made to look like news of their speaker."""
    lines = [line for table in ("nothing", "silent_zh", "silent_en") for line in cases("facts_not_told", table)]
    host = await opened()
    for number, line in enumerate(lines):
        await said(host, f"chat-{number}", (f"P{number}", line, START))
    held = {(item["attribute"] == "statement", item["chat_id"]) for item in await listed(host)}
    assert len({chat for _, chat in held}) <= 0.25 * len(lines)
    assert len({chat for whole, chat in held if not whole}) <= 0.1 * len(lines)


async def statements(opened: Open, *turns: tuple[str, str], **args: Any) -> list[tuple[str, str, str]]:
    """(person, attribute, sentence or value) of what is held after these turns."""
    host = await opened(clock=FrozenClock(START + len(turns) * 60))
    for at, (speaker, text) in enumerate(turns):
        await said(host, "c", (speaker, text, START + 60 * at))
    return [(item["person"], item["attribute"], item["value"]) for item in await listed(host, **args)]


async def test_relative_times_become_dates(opened: Open) -> None:
    kept = await statements(
        opened,
        ("Ann", "I broke my collarbone last Friday"),
        ("小雨", "我去年十月做了近视手术"),
    )
    values = " ".join(value for _, _, value in kept)
    assert "last Friday (2023-04-28)" in values
    assert "去年十月 (2022-10)" in values


async def test_a_plan_ends_with_the_time_that_it_names(opened: Open) -> None:
    host = await opened(clock=FrozenClock(START))
    await said(host, "c", ("Ann", "I'm planning to go to Portugal next month", START))
    (plan,) = await listed(host)
    assert plan["value"] == "I'm planning to go to Portugal next month (2023-06)"
    assert START + 50 * DAY < plan["valid_to"] < START + 60 * DAY


async def test_a_short_answer_brings_the_question_along(opened: Open) -> None:
    kept = await statements(opened, ("Bob", "你现在在哪上班呀？"), ("Ann", "在小红书"), ("Bob", "哦哦"))
    assert ("Ann", "statement", "“你现在在哪上班呀？” 在小红书") in kept


async def test_an_answer_about_somebody_else_is_nobodys(opened: Open) -> None:
    assert await statements(opened, ("Bob", "他最近怎么样？"), ("Ann", "搬到北京了")) == []


@pytest.mark.parametrize(
    ("line", "joke"), [("我对芒果过敏", "开玩笑的哈哈"), ("I moved to Texas last month", "jk lol")]
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_joke_that_is_taken_back_is_dropped(opened: Open, line: str, joke: str, at_once: bool) -> None:
    host = await opened(clock=FrozenClock(START))
    turns = [("Ann", line, START), ("Ann", joke, START + 30)]
    for some in (turns,) if at_once else ([turn] for turn in turns):
        await said(host, "c", *some)
        if not at_once:
            await host.settle(600)
    assert [item for item in await listed(host) if item["status"] == "active"] == []


async def test_of_a_name_that_the_chat_knows_it_is_hearsay_and_of_others_nobodys(opened: Open) -> None:
    host = await opened(clock=FrozenClock(START))
    await said(
        host, "c", ("Mark", "hi all", START), ("Ann", "Mark lives in Oslo", START), ("Ann", "Petra lives in Rome", START),
        ("Ann", "Mark, I live in Bergen", START),
    )  # fmt: skip
    kept = {(item["person"], item["attribute"], item["value"], item["authority"]) for item in await listed(host)}
    assert kept == {("Mark", "residence", "Oslo", "rule"), ("Ann", "residence", "Bergen", "direct_user")}


@pytest.mark.parametrize(
    ("before", "news", "attribute", "old", "new"),
    [
        ("我住在杭州", "我搬到北京了", "residence", "杭州", "北京"),
        ("我养了一只猫叫豆包", "豆包昨天去世了", "pet", "豆包 (猫)", ""),
        ("我对花生过敏", "现在对花生不过敏了", "allergy", "花生", ""),
        ("我女朋友叫小美", "我分手了", "partner", "小美", ""),
        ("I live in Lisbon", "I've moved to Berlin", "residence", "Lisbon", "Berlin"),
        ("I work at Figma", "I left Figma", "workplace", "Figma", ""),
        ("I'm allergic to nuts", "I'm not allergic to nuts any more", "allergy", "nuts", ""),
        ("I work at Figma", "I got laid off", "workplace", "Figma", ""),
        ("I'm vegan", "I'm not vegan any more", "diet", "vegan", ""),
    ],
)
async def test_what_is_over_is_not_held(
    opened: Open, before: str, news: str, attribute: str, old: str, new: str
) -> None:
    host = await opened(clock=FrozenClock(START))
    await said(host, "c", ("Ann", before, START))
    await host.settle(600)
    await said(host, "c", ("Ann", news, START + DAY))
    stands = {
        (item["value"], item["status"])
        for item in await listed(host)
        if item["attribute"] == attribute and not item["denied"]
    }
    assert stands == {(old, "superseded"), (new, "active")} - {("", "active")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他住在上海", [("residence", "上海")]),
        ("The user is allergic to peanuts", [("allergy", "peanuts")]),
        ("喜欢在周末修老相机", [("statement", "喜欢在周末修老相机")]),
        ("Collects stamps from Iceland", [("statement", "Collects stamps from Iceland")]),
    ],
)
async def test_a_fact_that_is_handed_over_is_kept(opened: Open, text: str, expected: list[tuple[str, str]]) -> None:
    host = await opened()
    await told(host, text, source_type="person_fact", person_ids=["Ann"])
    assert [(item["attribute"], item["value"]) for item in await listed(host)] == expected


@pytest.mark.local_model
@pytest.mark.parametrize(
    "text", ["早不在厂里干了，现在跑网约车", "Wow! That's nice. I've been a beekeeper since 2015. You?"]
)
async def test_it_is_the_same_whether_the_vector_comes_first_or_the_reading(tmp_path: Path, text: str) -> None:
    found: list[list[tuple[str, str]]] = []
    for number, first in enumerate(("vectors", "facts")):
        async with memory_host(tmp_path / str(number), embedding={"provider": "local"}) as host:
            await said(host, "c", ("Ann", text, START))
            if first == "facts":
                await host.invoke("memory_fact_admin", {"action": "process_pending"})
            found.append([(item["attribute"], item["value"]) for item in await listed(host)])
    assert found[0] == found[1] and found[0]


async def test_what_was_said_long_ago_is_found_among_hundreds_of_newer_statements(host: AMemorixHostService) -> None:
    turns = [("Mia", "I am allergic to walnuts.", START), ("Mia", "My sister works as a pilot.", START + 1)]
    turns += [("Mia", f"I like song number {n} of the old hymn book.", START + 3600 * n) for n in range(1, 540)]
    await said(host, "c", *turns)
    await host.settle(600)
    for query, value in (("What is Mia allergic to?", "walnuts"), ("What does the sister of Mia do?", "pilot")):
        answer = await host.invoke("search_memory", {"query": query, "chat_id": "c"})
        assert value in answer["facts"][0]["sentence"]

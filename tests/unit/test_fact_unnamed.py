"""News that people tell of themselves without saying of whom, and what reads like it and is none, in Chinese and English."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.facts.language.rules import Claim, Reader, read_facts
from amemorix.testing import FrozenClock
from cases import cases
from conftest import Open

AT = datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp()
START, DAY = 1_680_000_000.0, 86_400.0
Fact = tuple[str, str, int]


def read(text: str, *names: str, own: bool = True) -> list[Claim]:
    return read_facts(text, Reader(AT, UTC, True, names=names, own=own))


def told(text: str, *names: str) -> list[Fact]:
    return [(claim.attribute, claim.value, claim.polarity) for claim in read(text, *names)]


NEWS: list[tuple[str, Fact]] = cases("facts_unnamed", "news")
ENDS: list[tuple[str, Fact]] = cases("facts_unnamed", "ends")


@pytest.mark.parametrize(("text", "fact"), NEWS)
def test_news_that_name_nobody_are_the_speakers(text: str, fact: Fact) -> None:
    (claim,) = read(text)
    assert (claim.attribute, claim.value, claim.polarity) == fact
    assert claim.unnamed and claim.who == ""


@pytest.mark.parametrize(("text", "fact"), ENDS)
def test_ends_that_name_nobody_only_end(text: str, fact: Fact) -> None:
    (claim,) = read(text)
    assert (claim.attribute, claim.value, claim.polarity) == fact
    assert claim.only_ends


@pytest.mark.parametrize("text", [text for text, _ in (*NEWS, *ENDS) if "我" not in text and "I " not in text])
def test_in_a_text_that_nobody_said_they_are_nobodys(text: str) -> None:
    assert all(claim.attribute in ("spouse",) for claim in read(text, own=False))


SILENT_ZH = cases("facts_unnamed", "silent_zh")
SILENT_EN = cases("facts_unnamed", "silent_en")


@pytest.mark.parametrize("text", [*SILENT_ZH, *SILENT_EN])
def test_what_reads_like_news_and_is_none(text: str) -> None:
    assert told(text) == []


DOCTORS: list[tuple[str, Fact]] = cases("facts_unnamed", "doctors_and_jokes_taken_back")


@pytest.mark.parametrize(("text", "fact"), DOCTORS)
def test_a_doctors_words_and_a_joke_taken_back(text: str, fact: Fact) -> None:
    assert told(text) == [fact]


@pytest.mark.parametrize("text", cases("facts_unnamed", "hearsay_and_jokes"))
def test_hearsay_and_jokes_stay_so(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("我在微软上海做产品经理", [("occupation", "产品经理", 1), ("workplace", "微软上海", 1)]),
        ("我在上海做产品经理", [("occupation", "产品经理", 1)]),
        ("我女儿三岁了，叫朵朵", [("child", "朵朵", 1)]),
        ("豆包去年走了，新养了一只猫叫年糕", [("pet", "年糕 (猫)", 1), ("pet", "豆包", -1)]),
        ("领养了一只猫，叫声好大", [("pet", "猫", 1)]),
        ("搬家了，现在在苏州上班", [("residence", "苏州", 1)]),
        ("我最近又能吃香菜了", [("avoids", "香菜", -1)]),
    ],
)
def test_all_that_a_line_tells(text: str, facts: list[Fact]) -> None:
    assert sorted(told(text)) == sorted(facts)


class Chat:
    """A chat in which people talk, so many seconds after each line."""

    def __init__(self, host: AMemorixHostService, clock: FrozenClock) -> None:
        self.host, self.clock = host, clock

    async def say(self, speaker: str, text: str, after: float = DAY) -> None:
        self.clock.advance(after)
        message = {"speaker": speaker, "person_id": f"id-{speaker}", "text": text}
        answer = await self.host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]})
        assert answer["success"], answer
        await self.host.settle(20)

    async def facts(self, speaker: str) -> set[tuple[str, str, bool, str]]:
        asked = {"action": "list", "person_id": f"id-{speaker}", "chat_id": "c"}
        answer = await self.host.invoke("memory_fact_admin", asked)
        return {(f["attribute"], f["value"], f["denied"], f["status"]) for f in answer.get("items", ())}


@pytest.fixture
async def chat(opened: Open) -> Chat:
    clock = FrozenClock(START)
    return Chat(await opened(clock=clock), clock)


@pytest.mark.parametrize(
    ("before", "news", "attribute", "old", "new"),
    [
        ("我住在杭州滨江", "上周搬家了，现在住在余杭仓前", "residence", "杭州滨江", "余杭仓前"),
        ("我住在杭州", "搬到北京了", "residence", "杭州", "北京"),
        ("我在美团上班", "换工作了，现在在字节", "workplace", "美团", "字节"),
        ("我养了一只柯基叫豆包", "豆包昨天去世了", "pet", "豆包 (柯基)", ""),
        ("我不吃香菜", "我最近又能吃香菜了", "avoids", "香菜", ""),
        ("我对花生过敏", "开玩笑的，我不过敏", "allergy", "花生", ""),
        ("我女朋友叫小美", "我分手了", "partner", "小美", ""),
        ("I live in Lisbon", "Moved to Berlin last week.", "residence", "Lisbon", "Berlin"),
        ("I work at Figma", "Changed jobs, now at Stripe.", "workplace", "Figma", "Stripe"),
        ("my dog is called Biscuit", "Biscuit died yesterday.", "pet", "Biscuit (dog)", ""),
        ("I'm allergic to nuts", "just kidding, I'm not allergic to nuts", "allergy", "nuts", ""),
        ("I'm allergic to nuts", "jk, I'm not allergic", "allergy", "nuts", ""),
        ("I work at Figma", "Got laid off.", "workplace", "Figma", ""),
    ],
)
async def test_they_end_what_was_held(chat: Chat, before: str, news: str, attribute: str, old: str, new: str) -> None:
    await chat.say("Ada", before)
    await chat.say("Ada", news, after=60.0)
    stands = {
        (value, status) for kind, value, denied, status in await chat.facts("Ada") if kind == attribute and not denied
    }
    assert stands == {(old, "superseded"), (new, "active")} - {("", "active")}


@pytest.mark.parametrize(
    "text",
    [
        "豆包昨天去世了",
        "Biscuit died yesterday.",
        "分手了",
        "离职了",
        "Got laid off.",
        "开玩笑的，我不过敏",
        "jk, I'm not allergic",
    ],
)
async def test_where_nothing_is_held_an_end_is_no_fact(chat: Chat, text: str) -> None:
    await chat.say("Ada", text)
    assert await chat.facts("Ada") == set()


@pytest.mark.parametrize(
    ("line", "held"),
    [("小雨分手了", ()), ("我分手了", ()), ("我离职了", ()), ("I got divorced", ()), ("I quit my job", ())],
)
async def test_what_is_no_more_is_not_given_a_made_up_name(chat: Chat, line: str, held: tuple[Any, ...]) -> None:
    await chat.say("小雨", "早")
    await chat.say("Ada", line)
    assert await chat.facts("Ada") | await chat.facts("小雨") == set(held)


@pytest.mark.parametrize(
    ("before", "news", "gone", "there"),
    [
        ("我养了一只柯基叫豆包", "豆包昨天去世了", "宠物", "不再养：豆包"),
        ("my dog is called Biscuit, he's a corgi", "Biscuit died yesterday.", "corgi", "no longer has: Biscuit"),
    ],
)
async def test_a_pet_that_died_leaves_the_profile(chat: Chat, before: str, news: str, gone: str, there: str) -> None:
    await chat.say("Ada", before)
    await chat.say("Ada", news)
    chat.clock.advance(3600)
    await chat.host.settle(20)
    summary = (await chat.host.invoke("get_person_profile", {"person_id": "id-Ada", "chat_id": "c"}))["summary"]
    assert gone not in summary and there in summary


async def test_a_joke_taken_back_ends_what_was_told_last(chat: Chat) -> None:
    await chat.say("Ada", "我对芒果过敏")
    await chat.say("Ada", "我对花生过敏")
    await chat.say("Ada", "开玩笑的，我不过敏")
    assert {(value, status) for _, value, denied, status in await chat.facts("Ada") if not denied} == {
        ("芒果", "active"), ("花生", "superseded"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("speaker", "before", "news"),
    [
        ("Bob", "小明最近怎么样？", "搬到北京了"),
        ("Bob", "小雨呢", "换工作了，现在在字节"),
        ("Ada", "我姐有大事", "搬到北京了"),
        ("Ada", "你们知道老王吗", "搬到北京了"),
        ("Bob", "Where is Tom these days?", "Moved to Berlin last week."),
        ("Bob", "what's her news", "Moved to Berlin last week."),
        ("Ada", "Tom has big news", "Moved to Berlin last week."),
        ("Ada", "talked to my brother today", "Moved to Berlin last week."),
    ],
)
async def test_after_a_line_about_somebody_else_they_are_nobodys(
    chat: Chat, speaker: str, before: str, news: str
) -> None:
    await chat.say(speaker, before)
    await chat.say("Ada", news, after=30.0)
    assert await chat.facts("Ada") == set()


@pytest.mark.parametrize(
    ("before", "news", "value"),
    [
        ("你现在住哪？", "搬到北京了", "北京"),
        ("where do you live now?", "Moved to Berlin last week.", "Berlin"),
        ("换工作了吗", "我换工作了。搬到北京了", "北京"),
        ("下班了", "上周搬家了，现在住在北京", "北京"),
    ],
)
async def test_an_answer_about_oneself_is_the_speakers(chat: Chat, before: str, news: str, value: str) -> None:
    await chat.say("Bob", before)
    await chat.say("Ada", news, after=30.0)
    assert await chat.facts("Ada") == {("residence", value, False, "active")}


@pytest.mark.parametrize(
    ("speaker", "before", "news"),
    [
        ("Ada", "The conference got a new venue", "moved to Berlin"), ("Ada", "our server", "moved to Frankfurt"),
        ("Ada", "My train ticket", "moved to Porto now"), ("Ada", "the circus came to town then", "moved to Paris"),
        ("Ada", "I bought tickets for the concert", "moved to Paris"), ("Bob", "where is your conference?", "moved to Paris"),
        ("Bob", "服务器迁到哪了", "搬到香港了"), ("Bob", "公司搬去哪了", "搬到余杭了"), ("Bob", "你们公司搬去哪了", "搬到余杭了"),
        ("Ada", "我们公司总部今年有变化", "搬到上海了"), ("Ada", "公司要搬了", "搬到深圳了"), ("Ada", "演唱会改期了", "搬到深圳了"),
        ("Ada", "婚礼场地", "搬到三亚了"), ("Ada", "我买了演唱会的票", "搬到深圳了"), ("Ada", "我最喜欢的乐队", "搬到深圳了"),
        ("Ada", "我去问问物业", "搬到三亚了"), ("Ada", "我刚看完新闻", "搬到三亚了"), ("Bob", "你知道大使馆去哪了吗", "搬到三亚了"),
        ("Ada", "I asked about it", "moved to Paris"), ("Bob", "did you hear about the embassy?", "moved to Paris"),
        ("Bob", "下班了", "搬到北京了"), ("Ada", "公司有大事", "搬家了，现在在余杭"),
    ],
)  # fmt: skip
async def test_what_may_have_befallen_a_thing_is_not_the_speakers(
    chat: Chat, speaker: str, before: str, news: str
) -> None:
    await chat.say("Ada", "I live in Lisbon" if news.isascii() else "我住在杭州")
    held = await chat.facts("Ada")
    await chat.say(speaker, before, after=30.0)
    await chat.say("Ada", news, after=30.0)
    assert await chat.facts("Ada") == held


@pytest.mark.parametrize("news", ["搬到北京了", "Moved to Berlin last week."])
async def test_with_no_line_before_they_are_nobodys(chat: Chat, news: str) -> None:
    await chat.say("Ada", news)
    assert await chat.facts("Ada") == set()


@pytest.mark.parametrize(
    ("pet", "name", "line"),
    [
        ("I have a cat called Pixel", "Pixel (cat)", "Pixel died. Need a new phone"),
        ("I have a cat called Pixel", "Pixel (cat)", "My Pixel died"),
        ("I have a dog called Biscuit", "Biscuit (dog)", "My laptop Biscuit died"),
        ("I have a dog called Biscuit", "Biscuit (dog)", "Biscuit died. In a dream, luckily"),
        ("我养了一只猫叫小米", "小米 (猫)", "小米死了，手机又开不了机"),
        ("我养了一只猫叫小米", "小米 (猫)", "我的小米死了"),
    ],
)
async def test_what_becomes_of_a_thing_ends_no_pet(chat: Chat, pet: str, name: str, line: str) -> None:
    await chat.say("Ada", pet)
    await chat.say("Ada", line, after=60.0)
    assert await chat.facts("Ada") == {("pet", name, False, "active")}


@pytest.mark.parametrize("line", ["昨晚的梦里", "my phone is at 1%"])
async def test_a_pet_that_dies_after_talk_of_a_dream_or_a_device_lives(chat: Chat, line: str) -> None:
    await chat.say("Ada", "我养了一只猫叫团子")
    await chat.say("Ada", line, after=60.0)
    await chat.say("Ada", "团子死了", after=60.0)
    assert await chat.facts("Ada") == {("pet", "团子 (猫)", False, "active")}


@pytest.mark.parametrize(
    ("asked", "news"),
    [("你换工作了吗", "离职了"), ("换工作了吗", "离职了"), ("阿明最近咋样", "失业了"), ("", "失业了"), ("", "离职了")],
)
async def test_a_lost_job_is_the_one_that_was_held(chat: Chat, asked: str, news: str) -> None:
    await chat.say("阿明", "我在腾讯工作")
    if asked:
        await chat.say("小雨", asked, after=60.0)
    await chat.say("阿明", news, after=60.0)
    assert await chat.facts("阿明") == {
        ("workplace", "腾讯", False, "superseded"), ("workplace", "腾讯", True, "active"),
    }  # fmt: skip
    chat.clock.advance(3600)
    await chat.host.settle(20)
    summary = (await chat.host.invoke("get_person_profile", {"person_id": "id-阿明", "chat_id": "c"}))["summary"]
    assert "我在腾讯工作" not in summary and "不是腾讯" in summary


JOKES = [
    (["我住在上海"], "搬到北京了", ["骗你们的"], ("residence", "上海")),
    (["I live in Lisbon"], "Moved to Austin", ["jk"], ("residence", "Lisbon")),
    (["I live in Lisbon"], "Moved to Austin", ["just kidding lol"], ("residence", "Lisbon")),
    (["我养了一只狗叫旺财"], "旺财去世了", ["骗你的，旺财好好的"], ("pet", "旺财 (狗)")),
    (["我在腾讯工作"], "失业了", ["开玩笑的"], ("workplace", "腾讯")),
]


@pytest.mark.parametrize(("before", "news", "after", "held"), JOKES)
async def test_a_joke_admitted_in_the_next_line_takes_them_back(
    chat: Chat, before: list[str], news: str, after: list[str], held: tuple[str, str]
) -> None:
    for line in (*before, news, *after):
        await chat.say("Ada", line, after=60.0)
    assert await chat.facts("Ada") == {(*held, False, "active")}


@pytest.mark.parametrize(("before", "news", "after", "held"), JOKES)
async def test_a_joke_that_arrives_together_with_its_end_is_never_believed(
    chat: Chat, before: list[str], news: str, after: list[str], held: tuple[str, str]
) -> None:
    messages = [{"speaker": "Ada", "person_id": "id-Ada", "text": line} for line in (*before, news, *after)]
    await chat.host.invoke("ingest_messages", {"chat_id": "c", "messages": messages})
    await chat.host.settle(20)
    assert await chat.facts("Ada") == {(*held, False, "active")}


async def test_an_answer_to_doubt_takes_them_back(chat: Chat) -> None:
    for speaker, line in (("阿明", "我住在上海"), ("阿明", "搬到北京了"), ("小雨", "真的假的"), ("阿明", "假的")):
        await chat.say(speaker, line, after=60.0)
    assert await chat.facts("阿明") == {("residence", "上海", False, "active")}


@pytest.mark.parametrize(("speaker", "line"), [("Bob", "骗你们的"), ("Ada", "骗你们干嘛"), ("Ada", "真的没骗你们")])
async def test_what_is_no_retraction_of_theirs_leaves_them(chat: Chat, speaker: str, line: str) -> None:
    await chat.say("Ada", "我住在上海")
    await chat.say("Ada", "搬到北京了", after=60.0)
    await chat.say(speaker, line, after=60.0)
    assert ("residence", "北京", False, "active") in await chat.facts("Ada")


@pytest.mark.parametrize("news", ["我离职了", "离职了"])
async def test_a_job_that_was_left_keeps_its_name(chat: Chat, news: str) -> None:
    await chat.say("Ada", "我在腾讯工作")
    await chat.say("Ada", news, after=60.0)
    assert ("workplace", "腾讯", True, "active") in await chat.facts("Ada")

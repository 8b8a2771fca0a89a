"""News that people tell of themselves without saying of whom, and what reads like it and is none, in Chinese and English."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.facts.language.rules import Claim, Reader, read_facts
from amemorix.testing import FrozenClock
from conftest import Open

AT = datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp()
START, DAY = 1_680_000_000.0, 86_400.0
Fact = tuple[str, str, int]


def read(text: str, *names: str, own: bool = True) -> list[Claim]:
    return read_facts(text, Reader(AT, UTC, True, names=names, own=own))


def told(text: str, *names: str) -> list[Fact]:
    return [(claim.attribute, claim.value, claim.polarity) for claim in read(text, *names)]


NEWS: list[tuple[str, Fact]] = [
    ("上周搬家了，现在住在余杭仓前", ("residence", "余杭仓前", 1)),
    ("搬到北京了", ("residence", "北京", 1)),
    ("上个月搬到成都了，好开心", ("residence", "成都", 1)),
    ("终于搬到苏州了！", ("residence", "苏州", 1)),
    ("我换工作了。搬到北京了。", ("residence", "北京", 1)),
    ("换工作了，现在在字节", ("workplace", "字节", 1)),
    ("换工作了。现在在字节上班", ("workplace", "字节", 1)),
    ("入职字节了", ("workplace", "字节", 1)),
    ("跳槽到阿里了", ("workplace", "阿里", 1)),
    ("目前在清华读研", ("school", "清华", 1)),
    ("养了一只猫叫年糕", ("pet", "年糕 (猫)", 1)),
    ("刚领养了一只柯基，叫豆包", ("pet", "豆包 (柯基)", 1)),
    ("开始吃素了", ("diet", "素食", 1)),
    ("现在不吃香菜了", ("avoids", "香菜", 1)),
    ("我结婚了！老婆叫苏苗", ("spouse", "苏苗", 1)),
    ("结婚了，老婆叫苏苗", ("spouse", "苏苗", 1)),
    ("Moved to Berlin last week.", ("residence", "Berlin", 1)),
    ("Just moved to Lisbon!", ("residence", "Lisbon", 1)),
    ("Finally moved to Oslo. Loving it.", ("residence", "Oslo", 1)),
    ("I got a new job. Moved to Berlin last week.", ("residence", "Berlin", 1)),
    ("Now living in Porto.", ("residence", "Porto", 1)),
    ("Living in Berlin now", ("residence", "Berlin", 1)),
    ("Currently working at Stripe.", ("workplace", "Stripe", 1)),
    ("Changed jobs, now at Stripe.", ("workplace", "Stripe", 1)),
    ("Started at Stripe on Monday.", ("workplace", "Stripe", 1)),
    ("Went vegan last month.", ("diet", "vegan", 1)),
    ("Adopted a corgi named Rex", ("pet", "Rex (corgi)", 1)),
]
ENDS: list[tuple[str, Fact]] = [
    ("豆包昨天去世了", ("pet", "豆包", -1)),
    ("豆包昨天走了", ("pet", "豆包", -1)),
    ("我的猫年糕死了", ("pet", "年糕", -1)),
    ("Biscuit died yesterday.", ("pet", "Biscuit", -1)),
    ("My dog Biscuit passed away.", ("pet", "Biscuit", -1)),
    ("最近又能吃香菜了", ("avoids", "香菜", -1)),
    ("离职了", ("workplace", "原单位", -1)),
    ("Got laid off last week.", ("workplace", "the former one", -1)),
]


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


SILENT_ZH = [
    "小明搬到北京了", "小雨换工作了，现在在字节", "豆包搬家了，现在住在余杭", "他换工作了，现在在字节", "我姐换工作了，现在在字节", "我爸搬家了，现在住在苏州",
    "同事离职了，现在在腾讯上班", "我朋友换工作了。现在在字节上班", "我和同事吃饭。现在在字节上班", "小王结婚了！老婆叫苏苗", "你结婚了？老婆叫什么", "老婆叫苏苗",
    "搬到北京了吗？", "搬到北京了没", "大家现在住在哪", "豆包死了怎么办？", "你搬到北京了", "搬到北京了，小明说的", "搬到北京了，他挺开心的", "听说搬到北京了",
    "“搬到北京了”是歌词", "「换工作了，现在在字节」", "小明：搬到北京了", "@小明 搬到北京了", "> 搬到北京了",
    "想搬到北京", "准备搬到北京了", "快搬到北京了", "等搬到北京了再说", "别搬到北京了", "要是搬到北京了就好了", "如果换工作了，现在在字节就好了", "梦到搬到北京了",
    "差点搬到北京了", "以前住在苏州，现在不知道", "现在住在酒店", "现在住在小雨家", "现在在努力工作", "加入了群聊", "不吃香菜", "养了一盆花", "豆包说它死了",
    "我在梦里当老师", "我在游戏里当老板", "我在话剧社当演员", "我不过敏",
    "搬到三楼了", "搬到会议室了", "搬到QQ群了", "换工作了，现在在犹豫", "入职半年了", "跳槽去吃饭了", "养了一只电子狗", "和初恋在一起了",
    "又分手了，这电视剧", "现在在图书馆学习", "搬到新办公室了",
]  # fmt: skip
SILENT_EN = [
    "Tom moved to Berlin last week.", "Tom got a job. Moved to Berlin last week.", "Anna switched jobs. Now working at Stripe.",
    "My sister got married. Moved to Berlin last week.", "She got a job. Moved to Berlin last week.", "We moved to Berlin last week.",
    "You moved to Berlin last week.", "Everyone moved to Berlin", "Guess who moved to Berlin", "Moved to Berlin?", "Moved to Berlin, didn't you",
    "Moved to Berlin last week, says Tom.", "Moved to Berlin last week, he did.", '"Moved to Berlin last week."', "> Moved to Berlin last week.",
    "Tom: moved to Berlin last week", "@Tom moved to Berlin last week", "Lyrics: moved to Berlin last week", "Moved to Discord.", "Moved to Linux last week.",
    "Moved to Friday.", "Moved to the kitchen", "Moved to tears", "Settled in Notion", "Started at 9 on Monday", "Joined Discord", "Adopted a new policy",
    "Would have moved to Berlin", "Want to move to Berlin", "Wish I had moved to Berlin", "Never moved to Berlin", "Used to live in Rome", "Live in Berlin!",
    "Work at Google!", "Quit Google", "Living in fear now", "Working at night now", "Broke up with Tom? No way", "Tom's dog Rex died?", "The battery died yesterday",
    "I'm not allergic", "Moved to Berlin in a dream.",
    "Moved to Cloudflare", "Moved to Apple Music", "Moved to Room 5", "Settled in nicely", "Adopted a dog in Minecraft", "Living in Python now",
]  # fmt: skip


@pytest.mark.parametrize("text", [*SILENT_ZH, *SILENT_EN])
def test_what_reads_like_news_and_is_none(text: str) -> None:
    assert told(text) == []


DOCTORS: list[tuple[str, Fact]] = [
    ("医生说我对青霉素过敏", ("allergy", "青霉素", 1)),
    ("皮肤科医生昨天告诉我，我对青霉素过敏", ("allergy", "青霉素", 1)),
    ("我对青霉素过敏，医生说的", ("allergy", "青霉素", 1)),
    ("医生说我不能吃海鲜", ("avoids", "海鲜", 1)),
    ("my doctor told me I'm allergic to penicillin", ("allergy", "penicillin", 1)),
    ("The doctor said that I'm allergic to cats.", ("allergy", "cats", 1)),
    ("I'm allergic to penicillin, the doctor told me last week.", ("allergy", "penicillin", 1)),
    ("just kidding, I'm not allergic to nuts", ("allergy", "nuts", -1)),
    ("开玩笑的，我对花生不过敏", ("allergy", "花生", -1)),
]


@pytest.mark.parametrize(("text", "fact"), DOCTORS)
def test_a_doctors_words_and_a_joke_taken_back(text: str, fact: Fact) -> None:
    assert told(text) == [fact]


@pytest.mark.parametrize(
    "text",
    [
        "医生说我爸对青霉素过敏", "小明的医生说我对青霉素过敏", "医生说我可能对青霉素过敏", "医生没说我对青霉素过敏", "医生说我对花生过敏，但是误诊了", "朋友说我对青霉素过敏",
        "如果医生说我对花生过敏怎么办", "医生说我是好人", "我对花生过敏。开玩笑的", "开玩笑的，我对花生过敏", "my doctor told me I might be allergic to nuts",
        "My friend's doctor told me I'm allergic to nuts", "my doctor told me I'm allergic to nuts, but it was wrong", "her doctor told me I'm allergic to nuts",
        "my doctor asked if I'm allergic to nuts", "my mom told me I'm allergic to nuts", "I'm allergic to nuts. Just kidding!", "just kidding, I'm allergic to nuts",
    ],
)  # fmt: skip
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

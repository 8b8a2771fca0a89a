"""Whose statement a clause is, and what facts, profiles and relations take from it, in Chinese and English."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from amemorix.profiles.rules import statements

from amemorix import AMemorixHostService
from amemorix.facts.language.rules import Reader, read_facts
from amemorix.language.chat_markup import spoken
from amemorix.language.clauses import clauses, mood_of, whose
from amemorix.language.normalise import is_mostly_cjk, normalise_name
from amemorix.language.passages import Mention, Passage
from amemorix.language.relations.rules import read_passage
from amemorix.profiles.rows import SPEAKER, Line
from cases import cases

AT = datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp()
TOLD = 2
KNOWN = ("老王", "张三", "Tom", "Liz")


def facts(text: str, *names: str, about: bool = False) -> list[tuple[str, str, str, int]]:
    found = read_facts(text, Reader(AT, UTC, True, about, names))
    return [(c.who, c.attribute, c.value, c.polarity) for c in found]


def own(text: str, *names: str) -> list[tuple[str, str, int]]:
    return [(attribute, value, sign) for who, attribute, value, sign in facts(text, *names) if not who]


def profile(text: str, *names: str, role: int = SPEAKER) -> list[tuple[str, str]]:
    def others(clause: str) -> bool:
        return any(name in clause for name in KNOWN if name not in names)

    line = Line(1, 1, 1, "message", "chat", role, 0.0, text, alive=True)
    return [(item.section, item.statement) for item in statements(line, names or ("张三",), others)]


def relations(text: str, speaker: str = "张三") -> set[tuple[str, str, str]]:
    known = {normalise_name(name): Mention(name, "person") for name in KNOWN}
    return {(r.subject, r.predicate, r.object) for r in read_passage(Passage(text, speaker, known)).relations}


OWNERS = cases("clauses", "owners")


@pytest.mark.parametrize(("text", "owner"), OWNERS)
def test_whom_a_clause_tells_of(text: str, owner: str) -> None:
    assert whose(text, KNOWN).owner == owner


@pytest.mark.parametrize(
    ("sentence", "owners"),
    [
        ("我女儿叫朵朵，今年5岁，我40岁", ["other", "other", "speaker"]),
        ("我养了一只猫，今年3岁", ["speaker", "other"]),
        ("我今年40岁，小雪8岁，喜欢画画", ["speaker", "other", "other"]),
        ("老王住在南京，喜欢茶，我住在苏州", ["named", "named", "speaker"]),
        ("my daughter is called Ella and loves pottery, I love jazz", ["other", "other", "speaker"]),
        ("I have a dog named Rex, lives with my mom", ["speaker", "other"]),
        ("I have a cat and love hiking", ["speaker", "speaker"]),
        ("要不是我妈，我早就搬到北京了", ["unsaid", "speaker"]),
    ],
)
def test_a_clause_without_a_subject_goes_on_about_the_same(sentence: str, owners: list[str]) -> None:
    assert [clause.whose.owner for clause in clauses(sentence, KNOWN)] == owners


@pytest.mark.parametrize(("text", "mood"), cases("clauses", "moods"))
def test_how_a_clause_is_meant(text: str, mood: str) -> None:
    assert mood_of(text) == mood


def test_a_supposition_holds_to_the_end_of_its_sentence() -> None:
    assert [clause.mood for clause in clauses("要是我有钱，我住在海边，每天钓鱼")] == ["supposed"] * 3
    assert [clause.mood for clause in clauses("我以前在百度，现在在腾讯")] == ["past", "plain"]
    assert {clause.mood for clause in clauses("I'm a millionaire, live in Rome (jk)")} == {"joke"}


SPOKEN = cases("clauses", "spoken")


@pytest.mark.parametrize(("text", "left"), SPOKEN)
def test_what_a_speaker_says_himself(text: str, left: str) -> None:
    assert " ".join(spoken(text).split()) == left


def test_a_text_that_nobody_said_keeps_its_lines() -> None:
    assert spoken("Bob: I live in Oslo\nAmy: lol", said=False) == "Bob: I live in Oslo\nAmy: lol"


OF_OTHERS = cases("clauses", "of_others")


@pytest.mark.parametrize("text", OF_OTHERS)
def test_nothing_of_somebody_else_is_the_speakers(text: str) -> None:
    kin = {"child", "partner", "pet", "spouse"}
    assert {attribute for _, attribute, _, _ in facts(text, *KNOWN)} <= kin
    assert {section for section, _ in profile(text)} <= {"relations"}
    held = {predicate for subject, predicate, _ in relations(text) if subject in KNOWN}
    assert held.isdisjoint(
        {"住在", "工作于", "搬到", "就读于", "喜欢", "讨厌", "过敏", "lives in", "likes", "allergic to"}
    )


def test_what_is_the_speakers_own_stays_so() -> None:
    assert own("我女儿叫朵朵，今年5岁，我40岁") == [("child", "朵朵", 1), ("age", "40", 1)]
    assert own("My daughter is called Ella, I'm 40 years old") == [("child", "Ella", 1), ("age", "40", 1)]
    assert own("我和女朋友住在上海，在腾讯上班")[-1:] == []
    assert ("identity", "在阿里上班") in profile("我住在杭州，在阿里上班")
    assert ("张三", "工作于", "阿里") in relations("我住在杭州，在阿里上班")
    assert ("张三", "住在", "上海") in relations("我以前住在北京，现在住在上海")
    assert profile("我对猫毛过敏，我妈对花粉过敏") == [("allergies", "我对猫毛过敏"), ("relations", "我妈对花粉过敏")]
    assert own("I have a cat and love hiking") == [("pet", "cat", 1), ("like", "hiking", 1)]
    assert ("张三", "同事", "小李") in relations("我有个同事叫小李，在字节上班")
    assert facts("他妈妈住在武汉，喜欢茶", about=True) == []
    assert facts("他住在武汉，喜欢茶", about=True) == [("", "residence", "武汉", 1), ("", "like", "茶", 1)]


@pytest.mark.parametrize(
    "text",
    ["> 清风: 我住在三亚\n哈哈我才不信", "Bob: I live in Oslo\nAmy: lol", "转发：我在阿里上班", "清风：我喜欢猫", "> I love Oslo\nno way",
     "Forwarded: I work at Google", "他说“我住在三亚”", "She said \"I live in Oslo\""],
)  # fmt: skip
def test_the_words_of_others_are_nobodys(text: str) -> None:
    assert facts(text, "清风") == []
    assert profile(text) == profile(text, "清风", role=TOLD) == profile(text, "Bob", role=TOLD) == []
    assert relations(text) == set()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("我住在北京[CQ:face,id=14]", ("residence", "北京", 1)), ("我叫小红[微笑]", ("name", "小红", 1)), ("I live in Oslo <:wave:12>", ("residence", "Oslo", 1)),
        ("[CQ:at,qq=3] 我住在北京", ("residence", "北京", 1)), ("<@3> I live in Oslo", ("residence", "Oslo", 1)), ("[图片]我喜欢猫", ("like", "猫", 1)),
    ],
)  # fmt: skip
def test_codes_are_no_part_of_a_value(text: str, fact: tuple[str, str, int]) -> None:
    assert own(text) == [fact]
    assert all("[" not in said and "<" not in said and "CQ" not in said for _, said in profile(text))


@pytest.mark.parametrize(
    "text",
    ["我喜欢[图片]", "I love <@3>", "我喜欢<@3>做的菜", "https://b23.tv/abc 我住在这个视频里哈哈", "我住在[位置]"],
)
def test_a_code_is_no_value(text: str) -> None:
    assert own(text) == []
    assert profile(text) == []
    assert relations(text) == set()


def test_another_speakers_first_person_is_not_the_one_named() -> None:
    assert profile("老王住在南京，我住在苏州", "老王", role=TOLD) == [("identity", "老王住在南京")]
    assert profile("我住在苏州，老王住在南京，喜欢茶", "老王", role=TOLD) == [
        ("identity", "老王住在南京"),
        ("likes", "喜欢茶"),
    ]
    assert profile("Tom lives in Rome. I live in Oslo.", "Tom", role=TOLD) == [("identity", "Tom lives in Rome")]
    assert profile("Tom lives in Rome and I love Oslo", "Tom", role=TOLD)[1:] == []


@pytest.mark.parametrize(
    "text",
    ["老王住在上海哪里啊", "老王是不是住在苏州", "老王喜欢什么呀", "要是老王住在海南就好了", "我梦见老王住在火星上", "老王以前在百度上班",
     "Tom used to live in Paris", "If Tom lives in Paris, great.", "I dreamt Tom lives in Paris"],
)  # fmt: skip
def test_questions_dreams_and_the_past_tell_nothing_of_the_one_named(text: str) -> None:
    assert profile(text, "老王", "Tom", role=TOLD) == []
    assert facts(text, "老王", "Tom") == []
    assert relations(text) == set()


@pytest.mark.parametrize(
    "text",
    ["我要是住在海南就好了", "我梦见我住在火星上", "我以前在百度上班", "我是说明天去", "I used to live in Paris", "I'm 30 minutes late", "I dreamt I live on Mars",
     "I wish I could play the piano", "lol I'm a millionaire (jk)", "我是亿万富翁，开玩笑的", "我住在火星上哈哈哈"],
)  # fmt: skip
def test_questions_dreams_and_the_past_tell_nothing_of_the_speaker(text: str) -> None:
    assert profile(text) == []


@pytest.mark.parametrize("text", ["lol I'm a millionaire (jk)", "我梦见我住在火星上", "我住在火星上，骗你的", "我要是有钱，我住在海边",
                                  "Tom told me I live in the best city"])  # fmt: skip
def test_a_joke_or_a_dream_gives_no_relation(text: str) -> None:
    assert relations(text) == set()


CONTRASTS = cases("clauses", "contrasts")


@pytest.mark.parametrize(("text", "expected"), CONTRASTS)
def test_a_value_ends_before_a_contrast_and_a_list_is_several(text: str, expected: list[tuple[str, str, int]]) -> None:
    assert own(text) == [*expected]


def test_both_sides_of_a_contrast_stand_in_their_sections() -> None:
    assert profile("我喜欢喝奶茶不喜欢喝咖啡") == [("likes", "我喜欢喝奶茶"), ("dislikes", "不喜欢喝咖啡")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("还有我最怕蟑螂", "我最怕蟑螂"),
        ("Hey all, I'm a nurse from Leeds", "I'm a nurse from Leeds"),
        ("hi everyone! I love tea", "I love tea"),
    ],
)
def test_a_statement_begins_with_its_own_words(text: str, expected: str) -> None:
    assert [statement for _, statement in profile(text)] == [expected]


async def known_of(host: AMemorixHostService, person: str) -> tuple[set[tuple[str, str, str]], str]:
    """The facts (attribute, value, status) of a person, and the text of the profile."""
    held = await host.invoke("memory_fact_admin", {"action": "list", "person_id": person})
    shown = await host.invoke("get_person_profile", {"person_id": person})
    assert held["success"], held
    assert shown["success"], shown
    return {(one["attribute"], one["value"], one["status"]) for one in held["items"]}, shown["summary"]


async def say(host: AMemorixHostService, *turns: tuple[str, str, str]) -> None:
    messages = [{"speaker": speaker, "person_id": person, "text": text} for speaker, person, text in turns]
    answer = await host.invoke("ingest_messages", {"chat_id": "room", "messages": messages})
    assert answer["success"], answer
    await host.settle()


@pytest.mark.parametrize(
    ("first", "then", "held", "never"),
    [
        ("我今年40岁", "我女儿叫朵朵，今年5岁，住在武汉", {("age", "40", "active"), ("child", "朵朵", "active")}, "武汉"),
        ("I'm 40 years old", "My daughter is called Ella, is 5 years old and lives in Leeds", {("age", "40", "active"), ("child", "Ella", "active")}, "age: 5"),
        ("我住在苏州", "我同桌小刘对花生过敏，喜欢吃辣", {("residence", "苏州", "active")}, "吃辣"),
        ("I live in York", "My roommate is allergic to nuts and loves jazz", {("residence", "York", "active")}, "allergy"),
        ("我住在苏州[CQ:face,id=14]", "> 清风: 我住在三亚\n哈哈我才不信", {("residence", "苏州", "active")}, "三亚"),
        ("I live in York <:wave:5>", "Bob: I live in Oslo\nAmy: lol", {("residence", "York", "active")}, "Oslo"),
    ],
)  # fmt: skip
async def test_a_memory_keeps_apart_what_is_whose(
    host: AMemorixHostService, first: str, then: str, held: set[tuple[str, str, str]], never: str
) -> None:
    await say(host, ("张三", "1", first))
    await say(host, ("张三", "1", then))

    facts_, text = await known_of(host, "1")

    assert facts_ == held
    assert never not in text
    assert "CQ" not in text
    assert "<:" not in text


async def test_a_line_of_another_speaker_tells_of_the_named_only_what_is_theirs(host: AMemorixHostService) -> None:
    await say(host, ("老王", "2", "嗨"), ("张三", "1", "老王住在南京，我住在苏州"), ("张三", "1", "老王是不是住在无锡"))

    _, text = await known_of(host, "2")

    assert "南京" in text
    assert "苏州" not in text
    assert "无锡" not in text


def test_every_table_holds_both_languages() -> None:
    for table in (
        OF_OTHERS,
        [text for text, _ in SPOKEN],
        [text for text, _ in OWNERS],
        [text for text, _ in CONTRASTS],
    ):
        assert {is_mostly_cjk(text) for text in table} == {True, False}


def test_long_texts_are_read_in_no_time() -> None:
    for text in (
        "我" * 5_000,
        "我妈" * 3_000,
        "my mom " * 1_500,
        "[" * 5_000,
        "<@" * 3_000,
        "a: " * 2_000,
        "我喜欢" * 2_000,
        "@" * 5_000,
        "“" * 5_000,
    ):
        assert len(clauses(spoken(text)[:4_000])) >= 0

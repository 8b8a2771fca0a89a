"""Sentences that tell a fact, and sentences that tell none, in Chinese and English."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from amemorix.facts.language.rules import Claim, Reader, read_facts, statement
from amemorix.facts.language.slots import SLOTS, slot_of
from cases import cases
from pace import assert_linear, calls

AT = datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp()


def read(text: str, *names: str, first: bool = True, about: bool = False) -> list[Claim]:
    return read_facts(text, Reader(AT, UTC, first, about, names))


def told(text: str, *names: str, first: bool = True, about: bool = False) -> list[tuple[str, str, int]]:
    return [(c.attribute, c.value, c.polarity) for c in read(text, *names, first=first, about=about)]


FACTS = cases("facts", "told")


@pytest.mark.parametrize(("text", "fact"), FACTS)
def test_a_sentence_that_tells_a_fact(text: str, fact: tuple[str, str, int]) -> None:
    assert told(text) == [fact]


NOTHING = cases("facts", "nothing_told")


@pytest.mark.parametrize("text", NOTHING)
def test_a_sentence_that_tells_none(text: str) -> None:
    assert told(text) == []


def test_one_message_may_tell_several() -> None:
    assert told("大家好，我叫林澈，住在上海，在腾讯上班。我对花生和虾过敏！") == [
        ("name", "林澈", 1), ("residence", "上海", 1), ("workplace", "腾讯", 1), ("allergy", "花生", 1), ("allergy", "虾", 1),
    ]  # fmt: skip
    assert told("I'm a nurse at Charité and I live in Berlin. I'm allergic to peanuts and shellfish.") == [
        ("occupation", "nurse", 1), ("workplace", "Charité", 1), ("residence", "Berlin", 1), ("allergy", "peanuts", 1),
        ("allergy", "shellfish", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "facts"), cases("facts", "one_value_for_another"))
def test_one_value_in_the_place_of_another(text: str, facts: list[tuple[str, str, int]]) -> None:
    assert told(text) == [*facts]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I eat meat again", [("diet", "vegetarian", -1), ("avoids", "meat", -1)]),
        ("我又吃肉了", [("diet", "素食", -1), ("avoids", "肉", -1)]),
        ("I broke up with Raj", [("partner", "Raj", -1), ("spouse", "Raj", -1)]),
        ("I broke up with my girlfriend", [("partner", "the former one", -1), ("spouse", "the former one", -1)]),
        ("I got divorced", [("partner", "the former one", -1), ("spouse", "the former one", -1)]),
        ("我和小红分手了", [("partner", "小红", -1), ("spouse", "小红", -1)]),
        ("我和女朋友分手了", [("partner", "前任", -1), ("spouse", "前任", -1)]),
    ],
)  # fmt: skip
def test_one_end_of_two_things(text: str, facts: list[tuple[str, str, int]]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("I moved to Oslo on Sunday", datetime(2026, 5, 17, tzinfo=UTC)),
        ("我周日搬到苏州了", datetime(2026, 5, 17, tzinfo=UTC)),
        ("I joined Stripe on Monday", datetime(2026, 5, 18, tzinfo=UTC)),
        ("I turned 30 yesterday", datetime(2026, 5, 19, tzinfo=UTC)),
    ],
)
def test_a_day_of_the_week_on_which_something_was_done_is_the_last_one(text: str, since: datetime) -> None:
    (claim,) = read(text)
    assert claim.valid_from == since.timestamp()


@pytest.mark.parametrize("text", cases("facts", "ends_nothing"))
def test_what_ends_or_changes_nothing(text: str) -> None:
    assert told(text) == []


def test_nobody_lives_in_a_person_who_is_known() -> None:
    assert told("I left Tom", "Tom") == []


@pytest.mark.parametrize(("text", "since"), [("I left Berlin last month", AT), ("我上周离职了", AT), ("I quit Google in 2019", datetime(2020, 1, 1, tzinfo=UTC).timestamp())])  # fmt: skip
def test_an_end_counts_from_its_time_or_if_that_is_near_from_when_it_is_told(text: str, since: float) -> None:
    (claim,) = read(text)
    assert (claim.polarity, round(claim.valid_from)) == (-1, since)


def test_a_part_that_is_unsure_takes_nothing_from_the_others() -> None:
    assert told("我住在上海。如果我搬到北京，会告诉你。我对虾过敏。") == [
        ("residence", "上海", 1),
        ("allergy", "虾", 1),
    ]
    assert told("I live in Berlin. Would you move? I'm vegan.") == [("residence", "Berlin", 1), ("diet", "vegan", 1)]


@pytest.mark.parametrize(("text", "year"), [("我去年搬到北京", 2025), ("I moved to Berlin last year", 2025),
                                            ("2023年我入职腾讯", 2023), ("I joined Google in 2021", 2021)])  # fmt: skip
def test_the_time_that_is_said_is_the_beginning(text: str, year: int) -> None:
    (claim,) = read(text)
    assert datetime.fromtimestamp(claim.valid_from, UTC).year == year


@pytest.mark.parametrize("text", ["我搬到北京了", "我今天搬到北京了", "我今年搬到北京的", "I just moved to Berlin"])
def test_without_a_time_in_the_past_it_begins_when_it_is_said(text: str) -> None:
    (claim,) = read(text)
    assert claim.valid_from == AT


def test_a_plan_ends_with_the_time_it_names() -> None:
    (claim,) = read("我下周要去上海出差")
    assert claim.valid_to is not None
    assert AT + 4 * 86_400 < claim.valid_to < AT + 14 * 86_400


@pytest.mark.parametrize(
    ("text", "name", "fact"),
    [
        ("小美住在上海，对花生过敏", "小美", ("residence", "上海", 1)),
        ("小美的猫叫豆包", "小美", ("pet", "豆包 (猫)", 1)),
        ("Melanie lives in Berlin", "Melanie", ("residence", "Berlin", 1)),
        ("Melanie's birthday is May 3", "Melanie", ("birthday", "May 3", 1)),
        ("Melanie doesn't eat pork", "Melanie", ("avoids", "pork", 1)),
    ],
)
def test_of_a_person_who_is_named(text: str, name: str, fact: tuple[str, str, int]) -> None:
    first, *_ = read(text, name)
    assert (first.who, first.attribute, first.value, first.polarity) == (name, *fact)
    assert told(text) == []


@pytest.mark.parametrize(
    "text", ["我觉得小美住在上海", "小美住在上海吗", "小美的朋友住在上海", "Melanie said she lives in Berlin"]
)
def test_of_a_person_who_is_named_but_not_told_of(text: str) -> None:
    assert told(text, "小美", "Melanie") == []


def test_the_first_person_of_nobody_is_nobody() -> None:
    assert told("我住在上海", first=False) == []
    assert told("I live in Berlin", first=False) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("住在上海", ("residence", "上海", 1)), ("她喜欢猫", ("like", "猫", 1)), ("用户对花生过敏", ("allergy", "花生", 1)),
        ("The user lives in Berlin", ("residence", "Berlin", 1)), ("Likes tea", ("like", "tea", 1)),
        ("Allergic to peanuts", ("allergy", "peanuts", 1)), ("He is a nurse", ("occupation", "nurse", 1)),
        ("Her birthday is May 3", ("birthday", "May 3", 1)),
    ],
)  # fmt: skip
def test_a_text_about_one_person_needs_no_subject(text: str, fact: tuple[str, str, int]) -> None:
    assert told(text, about=True) == [fact]


def test_two_wordings_of_one_value_are_the_same() -> None:
    for one, other in [("我对花生过敏", "我對花生過敏"), ("我生日是5月3日", "我的生日是五月三号"), ("I live in Berlin", "I live in berlin"),
                       ("my birthday is May 3rd", "my birthday is 3 May 1990"), ("我生日是5月3日", "my birthday is May 3"),
                       ("我25岁", "我二十五岁"), ("I love the ocean air", "I love ocean air")][:6]:  # fmt: skip
        assert [c.norm for c in read(one)] == [c.norm for c in read(other)] != [], (one, other)


def test_a_statement_is_known_by_nothing_of_its_words() -> None:
    one, other = statement("每周三晚上去夜跑。", AT), statement("每周三晚上去夜跑", AT)
    assert one.norm == other.norm
    assert "夜跑" not in one.norm
    assert one.value == "每周三晚上去夜跑。"


def test_every_pattern_reads_an_attribute_of_the_table() -> None:
    assert {attribute.partition(":")[0] for _, (attribute, *_) in FACTS} | {"statement"} == set(SLOTS)
    assert slot_of("favourite:颜色") is SLOTS["favourite"]
    assert slot_of("shoe size").cardinality == "set"


def test_long_texts_are_read_in_no_time() -> None:
    assert told("我" * 5_000 + "住在上海") == []
    assert told("I live in " * 2_000) == []
    assert told("，" * 5_000) == []
    assert told("我喜欢" + "苹果和" * 2_000) == []
    assert told("我喜欢哈" + "哈" * 3_000 + "茶") == []
    assert told("haha " * 2_000 + "x") == []


@pytest.mark.parametrize("text", ["我", "是", "我是", "都是我", "I ", "我不吃，"])
def test_what_is_repeated_takes_no_more_than_its_length(text: str) -> None:
    assert_linear(lambda size: read((text * size)[:size]), 800, 8_000)


def test_a_clause_that_is_repeated_is_read_once() -> None:
    once, again = "我不吃香菜，" * 500, "，".join(f"我不吃香菜{chr(0x4E00 + n)}" for n in range(500))
    assert told(once) == [("avoids", "香菜", 1)]
    assert calls(lambda: read(once)) < 0.6 * calls(lambda: read(again))


@pytest.mark.parametrize("text", cases("facts", "idioms_and_toys"))
def test_descriptions_of_others_idioms_and_toys_are_no_facts(text: str) -> None:
    assert read_facts(text, Reader(AT, UTC, True, own=True)) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("我不吃带壳的海鲜", ("avoids", "带壳的海鲜")),
        ("我不吃西瓜", ("avoids", "西瓜")),
        ("我不吃鸡", ("avoids", "鸡")),
        ("I got a dog", ("pet", "dog")),
        ("我和小王在谈恋爱", ("partner", "小王")),
    ],
)
def test_what_looks_like_them_is(text: str, fact: tuple[str, str]) -> None:
    assert [(claim.attribute, claim.value) for claim in read_facts(text, Reader(AT, UTC, True, own=True))] == [fact]

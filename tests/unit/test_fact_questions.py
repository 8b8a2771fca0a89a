"""What a question asks for of somebody, in Chinese and English; the names are taken out before."""

from __future__ import annotations

import pytest

from amemorix.facts.language.questions import read_question
from amemorix.facts.language.slots import SLOTS


def asked(text: str, *, denied: bool = False) -> set[str]:
    question = read_question(text)
    return {attribute for attribute in SLOTS if question.asks_for(attribute, denied=denied)}


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("的生日是哪天", {"birthday"}), ("生病了", set()), ("住在哪里", {"residence"}), ("在哪", {"residence"}), ("在哪上班", {"workplace"}),
        ("在哪里工作", {"workplace"}), ("做什么工作", {"occupation"}), ("是做什么的", {"occupation"}), ("去哪里旅游了", set()), ("对什么过敏", {"allergy"}),
        ("喜欢什么", {"like"}), ("爱吃什么", {"like"}), ("讨厌什么", set()), ("不喜欢什么", set()), ("老家在哪", {"hometown"}), ("是哪里人", {"hometown"}),
        ("叫什么名字", {"name", "nickname"}), ("的猫叫什么名字", {"pet"}), ("的老婆叫什么", {"spouse"}), ("今年多大", {"age"}), ("昨天说了什么", set()),
        ("Where does work?", {"workplace"}), ("Where does live?", {"residence"}), ("Where is ?", {"residence"}), ("What does do?", {"occupation"}),
        ("What does do for a living?", {"occupation"}), ("What kind of work does do?", {"occupation"}), ("What did do yesterday?", set()),
        ("Where is from?", {"hometown"}), ("Where was born?", {"hometown"}), ("When was born?", {"birthday"}), ("What does hate?", set()),
        ("What does like?", {"like"}), ("What's 's dog's name?", {"pet"}), ("What should not eat?", {"allergy", "avoids", "diet"}),
        ("What can't eat?", {"allergy", "avoids", "diet"}), ("How old is ?", {"age"}), ("Where did go last week?", set()),
    ],
)  # fmt: skip
def test_the_words_tell_what_is_asked_for(text: str, attributes: set[str]) -> None:
    assert asked(text) == attributes


@pytest.mark.parametrize("text", ["讨厌什么", "不喜欢什么", "What does hate?", "What does not like?", "What should not eat?", "不能吃什么"])  # fmt: skip
def test_what_somebody_does_not_like(text: str) -> None:
    assert "like" in asked(text, denied=True)
    assert "like" not in asked(text)


@pytest.mark.parametrize("text", ["喜欢什么", "What does like?", "What is her favourite thing?"])
def test_what_somebody_likes_is_nothing_denied(text: str) -> None:
    assert "like" in asked(text)
    assert "like" not in asked(text, denied=True)


@pytest.mark.parametrize(
    "text", ["", " ？", "是谁", "介绍一下", "Who is ?", "Tell me about ", "What do you know about ?"]
)
def test_anything_about_somebody(text: str) -> None:
    assert read_question(text).of_everything


def test_a_favourite_is_asked_for_by_what_it_is_of() -> None:
    assert read_question("What is 's favourite colour?").asks_for("favourite:color")
    assert not read_question("What is 's favourite colour?").asks_for("favourite:movie")
    assert read_question("最喜欢的颜色").asks_for("favourite:颜色")


def test_a_word_is_two_characters_or_more() -> None:
    assert read_question("生病了").share("花生") == 0
    assert read_question("能吃花生吗").share("花生") > 0
    assert read_question("Does eat peanuts?").share("peanut") > 0
    assert read_question("Where does live?").share("live music") == 0
    assert read_question("最喜欢的店的营业时间").asks_for("营业时间")

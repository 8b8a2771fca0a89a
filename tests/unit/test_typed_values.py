"""Typed values that a clause gives by how it begins, and sentences with their times made absolute."""

from __future__ import annotations

import pytest

from amemorix.facts.language.sentences import sentences
from amemorix.facts.language.slots import SLOTS
from amemorix.facts.language.typed_values import typed_values
from cases import cases
from pace import assert_linear


@pytest.mark.parametrize(("text", "value"), cases("typed_values", "typed"))
def test_a_clause_gives_a_value(text: str, value: tuple[str, str, int]) -> None:
    found = [(one.attribute, one.value, one.polarity) for one in typed_values(text)]
    assert value in found
    assert {attribute for attribute, *_ in found} <= SLOTS.keys()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I'm allergic to peanuts, shellfish and soy", ["peanuts", "shellfish", "soy"]),
        ("我对花生、虾和蟹过敏", ["花生", "虾", "蟹"]),
        ("my wife Anna works nights", ["Anna"]),
        ("I've been a paramedic in Leeds for six years", ["paramedic"]),
        ("I work at Figma and live in Oslo", ["Figma"]),
        ("I'm allergic to peanuts, so no satay for me", ["peanuts"]),
        ("i'm allergic to cats, but I still pet them", ["cats"]),
        ("I'm allergic to penicillin, which is annoying", ["penicillin"]),
        ("I'm allergic to latex, always have been", ["latex"]),
        ("I'm allergic to pollen, grass, dust", ["pollen", "grass", "dust"]),
        ("I'm allergic to cats, dogs, and horses", ["cats", "dogs", "horses"]),
        ("I don't eat pork or beef, thanks", ["pork", "beef"]),
        ("我不吃苦瓜，茄子，胡萝卜", ["苦瓜", "茄子", "胡萝卜"]),
        ("我不吃葱姜蒜，记得跟老板说", ["葱姜蒜"]),
        ("我不吃鱼，刺太多", ["鱼"]),
        ("im allergic to penicillin & ibuprofen", ["penicillin", "ibuprofen"]),
        ("i dont eat pork", ["pork"]),
        ("I'm allergic to both cats and dogs", ["cats", "dogs"]),
        ("I'm allergic to peanuts as well as sesame", ["peanuts", "sesame"]),
        ("I'm allergic to cashews, pistachios, and also mango", ["cashews", "pistachios", "mango"]),
        ("I'm allergic to milk, eggs, and wheat since I was a kid", ["milk", "eggs", "wheat"]),
        ("I'm allergic to nuts, fish, etc", ["nuts", "fish"]),
        ("I'm allergic to nuts, including almonds and cashews", ["nuts"]),
        ("I'm allergic to peanuts and need an epipen", ["peanuts"]),
        ("I don't eat meat and love tofu", ["meat"]),
        ("I don't eat beef, chicken is ok and fish is great", ["beef"]),
        ("I don't drink milk, oat or soy is fine", ["milk"]),
        ("我不吃牛肉，鸡肉和鱼可以", ["牛肉"]),
        ("我不吃辣，微辣和中辣都不行", ["辣"]),
        ("我不吃鸡蛋、牛奶，还有花生", ["鸡蛋", "牛奶", "花生"]),
        ("我不吃牛肉或者羊肉", ["牛肉", "羊肉"]),
        ("我对花生、虾等过敏", ["花生", "虾"]),
        ("我不喝酒也不抽烟", ["酒"]),
        ("call me later", []),
        ("我叫了外卖", []),
        ("我住院了", []),
        ("I'm from the future", []),
        ("I don't eat much", []),
        ("我在家上班", []),
    ],
)
def test_the_value_is_no_more_than_it_is(text: str, values: list[str]) -> None:
    assert [one.value for one in typed_values(text)] == values


@pytest.mark.parametrize(
    ("text", "names", "about", "attribute", "value"),
    [
        ("Mark lives in Oslo", ("Mark",), False, "residence", "Oslo"),
        ("Mark's allergic to nuts", ("Mark",), False, "allergy", "nuts"),
        ("Mark's birthday is May 3", ("Mark",), False, "birthday", "May 3"),
        ("王强住在广州", ("王强",), False, "residence", "广州"),
        ("用户的生日是5月3日", (), True, "birthday", "5月3日"),
        ("She is vegan", (), True, "diet", "vegan"),
    ],
)
def test_of_whom_it_is_about(text: str, names: tuple[str, ...], about: bool, attribute: str, value: str) -> None:
    assert [(one.attribute, one.value) for one in typed_values(text, names=names, about=about)] == [(attribute, value)]


def test_two_wordings_of_one_value_are_the_same() -> None:
    for one, other in (
        ("我的生日是5月3日", "my birthday is May 3rd"),
        ("my number is +1 555 123 4567", "my phone is +15551234567"),
    ):
        assert {value.norm for value in typed_values(one)} == {value.norm for value in typed_values(other)} != set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Wow! I adopted a dog. His name is Rex.", ["Wow!", "I adopted a dog.", "His name is Rex."]),
        ("我辞职了！下个月去大理。", ["我辞职了！", "下个月去大理。"]),
        ("> I live in Oslo\nno way, really", ["no way, really"]),
        ("I moved to Texas. jk", []),
        ("jk, I'm not allergic", ["I'm not allergic"]),
        ("I live at 3.5 km from St Pauls", ["I live at 3.5 km from St Pauls"]),
        ("哈哈哈😂", ["哈哈哈😂"]),
    ],
)
def test_the_sentences_of_a_text(text: str, said: list[str]) -> None:
    assert sentences(text) == said


@pytest.mark.parametrize("part", ["我对", "my dog ", "我和", "i am allergic to ", "我住在,", "moved from "])
def test_long_texts_take_no_more_than_their_length(part: str) -> None:
    assert_linear(lambda size: [typed_values(one) for one in sentences(part * size)], 20, 200)

"""Whether a question asks for a number, or for something that has a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.language.normalise import NAME, NUMBER
from amemorix.search.language.answer_type import wanted_answer
from cases import cases
from pace import assert_linear

FLAGS = {"": 0, "name": NAME, "number": NUMBER, "name and number": NAME | NUMBER}


@pytest.mark.parametrize(("text", "flags"), cases("answer_type", "form"))
def test_the_form_of_a_question_tells_what_it_wants(text: str, flags: str) -> None:
    assert wanted_answer(text) == FLAGS[flags]


@pytest.mark.parametrize(("text", "flags"), cases("answer_type", "inside_other_words"))
def test_a_question_inside_other_words(text: str, flags: str) -> None:
    assert wanted_answer(text) == FLAGS[flags]


@pytest.mark.parametrize(("text", "flags"), cases("answer_type", "noun"))
def test_the_noun_that_is_asked_for(text: str, flags: str) -> None:
    assert wanted_answer(text) == FLAGS[flags]


PIECES = [
    "what ",
    "who ",
    "is ",
    "the ",
    "kind of ",
    "'s ",
    "什么",
    "哪",
    "几",
    "几个",
    "吗",
    "?",
    "？",
    ". ",
    "x",
    "Books ",
    ", ",
    "没",
    "İ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    assert wanted_answer(text) in (0, NAME, NUMBER, NAME | NUMBER)


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        " ",
        "?",
        ". ",
        "what ",
        "what is ",
        "so, ",
        "is, ",
        "什么",
        "几",
        "没",
        "都",
        "不",
        "在",
        "去",
        "一",
        "1",
        "A",
        "A ",
        "Bob ",
        "in ",
        "for ",
    ],
)
def test_the_work_grows_with_the_text(piece: str) -> None:
    def work(size: int) -> None:
        text = (piece * size)[:size]
        wanted_answer(text)
        wanted_answer(text + "?")

    assert_linear(work, 1_000, 10_000)

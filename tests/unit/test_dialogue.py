"""Dialogues pasted where a question was expected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.search.language.dialogue import Dialogue, Turn, read_dialogue
from cases import cases
from pace import assert_linear


def read(text: str) -> Dialogue:
    found = read_dialogue(text)
    assert found is not None
    return found


def turns(text: str) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in read(text).turns]


@pytest.mark.parametrize(("text", "expected"), cases("dialogue", "turns"))
def test_each_turn_loses_its_label_and_its_time(text: str, expected: list[tuple[str, str]]) -> None:
    assert turns(text) == [*expected]


@pytest.mark.parametrize(("text", "expected"), cases("dialogue", "lines_without_a_label"))
def test_lines_without_a_label_belong_to_the_turn_before(text: str, expected: list[tuple[str, str]]) -> None:
    assert turns(text) == [*expected]


@pytest.mark.parametrize(("text", "asked"), cases("dialogue", "asked"))
def test_what_the_user_said(text: str, asked: str) -> None:
    assert read(text).asked == asked


def test_speakers_are_in_the_order_in_which_they_first_speak() -> None:
    assert read("Where?\nBob: a?\nAlice: b\nBob: c").speakers == ("Bob", "Alice")
    assert Dialogue((Turn("a", "x"),)).asked == "x"


@pytest.mark.parametrize("text", cases("dialogue", "no_dialogue"))
def test_what_is_no_dialogue(text: str) -> None:
    assert read_dialogue(text) is None


@given(st.text(st.sampled_from("a:：\n <>[](1)*#-我user用户?`_ ."), max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    found = read_dialogue(text)
    assert found is None or all(turn.text for turn in found.turns)


@pytest.mark.parametrize(
    ("unit", "end"),
    [
        ("x", ""),
        ("user: ", ""),
        ("user: hi\n", ""),
        ("a ", ""),
        ("\n", ""),
        ("[" * 99 + "\n", ""),
        ("1" * 99 + "\n", ""),
        ("a b c d " * 12 + "(\n", ""),
        ("_", "\n:"),
        ("我：", "\n我："),
        (" ", "\nuser: a"),
        ("<a", "\n<a"),
        ("a", "\n<a"),
    ],
)
def test_the_work_grows_with_the_text(unit: str, end: str) -> None:
    texts = {size: (unit * (size // len(unit) + 1))[:size] + end for size in (1_000, 10_000)}
    assert_linear(lambda size: read_dialogue(texts[size]), 1_000, 10_000)

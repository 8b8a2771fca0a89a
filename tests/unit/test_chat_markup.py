"""What a speaker says himself, without what a chat client adds and what is only passed on."""

from __future__ import annotations

import pytest

from amemorix.language.chat_markup import spoken
from cases import cases


@pytest.mark.parametrize(("text", "left"), cases("chat_markup", "spoken"))
def test_what_a_speaker_says_himself(text: str, left: str) -> None:
    assert " ".join(spoken(text).split()) == left


def test_a_text_that_nobody_said_keeps_its_lines() -> None:
    assert spoken("Bob: I live in Oslo\nAmy: lol", said=False) == "Bob: I live in Oslo\nAmy: lol"

"""Ids are found whole: beside other signs, never within longer ids."""

from __future__ import annotations

import pytest

from amemorix.forgetting.byte_search import Needles
from amemorix.forgetting.id_matcher import Ids


@pytest.mark.parametrize(
    ("id_", "text", "held"),
    [
        ("qq:42", "because qq:42 asked", True),
        ("qq:42", "群qq:42里有人问。", True),
        ("qq:42", "imports/qq:42.jsonl", True),
        ("qq:42", "qq:42: why?", True),
        ("qq:42", "because qq:421 asked", False),
        ("qq:42", "because xqq:42 asked", False),
        ("100123", "telegram:-100123", False),
        ("telegram:-100123", "in telegram:-100123, they said", True),
        ("群聊:甲", "在群聊:甲里", True),
        ("my chat 1", "in my chat 1.", True),
        ("my chat 1", "in my chat 12", False),
        ("c", "vitamin c", False),
    ],
)
def test_an_id_is_found_in_a_text_as_a_whole(id_: str, text: str, held: bool) -> None:
    assert Ids({"chats": (id_,)}, (id_,)).held(text) is held


def test_in_fields_an_id_is_compared_as_it_is_however_short() -> None:
    ids = Ids({"chats": ("c",), "persons": ("42",)})
    assert ids.among([("chat_id", "c")]) and ids.among([("person_ids", "42")])
    assert not ids.among([("chat_id", "42"), ("person_ids", "c"), ("text", "c"), ("chat_id", "cc")])


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("discord:111222", "discord:999888 x:111222"),
        ("林澈的水壶", "林澈的电壶"),
        ("kettle!", "kettles"),
        ("qq:1234", "qq:1235"),
    ],
)
def test_a_word_is_met_with_both_of_its_ends(word: str, near: str) -> None:
    needles = Needles.of((), (word,))
    assert needles.met(f"a{word}b") and not needles.met(near)
    assert len(needles.without(needles.search(iter([near.encode()]), all_of_them=True).met)) == len(needles)
    assert len(needles.without(needles.search(iter([word.encode()]), all_of_them=True).met)) < len(needles)

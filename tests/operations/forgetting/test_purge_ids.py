"""Ids are found whole: beside other signs, never within longer ids."""

from __future__ import annotations

import json

import pytest

from amemorix.forgetting.byte_search import Patterns
from amemorix.forgetting.journals import Ids


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
        ("discord:111222", "discord:1112223"),
        ("林澈的水壶", "林澈的电壶"),
        ("kettle!", "kettles"),
        ("qq:1234", "qq:1235"),
        ("100123", "telegram:-100123"),
    ],
)
def test_a_word_is_met_whole(word: str, near: str) -> None:
    patterns = Patterns.of((), (word,))
    assert patterns.search([f"in {word}, ".encode()]) and not patterns.search([near.encode()])


@pytest.mark.parametrize(
    "text", ["my wallet pin is kangaroo-1234-quokka", "我的银行卡密码是袋鼠一二三四五六", 'a "line"\nof quokkas']
)
def test_any_long_stretch_of_a_text_is_met_wherever_it_stands(text: str) -> None:
    patterns, stretch = Patterns.of((text,)), 31 if text.isascii() else 15
    for form in (text, json.dumps(text)[1:-1]):
        raw = form.encode()
        for cut in range(len(raw)):
            assert patterns.search([b"before " + raw[:cut], raw[cut:] + b" after"])
    for at in range(max(1, len(text) - stretch)):
        assert patterns.search([text[at : at + stretch].encode()])
    assert not patterns.search([b"my wallet is with the kangaroo, " + "我的银行是袋鼠".encode()])

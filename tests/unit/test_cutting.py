"""Cutting a long text into paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix.language.chunking import split
from pace import assert_linear

ALPHABET = st.one_of(
    st.sampled_from(
        [*"ab中文。，.!? \n\t", "\n\n", ". ", "。”", "👨‍👩‍👧", "👍🏽", "e\u0301", "🇨🇳", "\u200d", "\ud83d", "\ude00"]
    ),
    st.characters(),
)
TEXTS = st.lists(ALPHABET, max_size=400).map("".join)


def without_space(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, target=st.integers(1, 120))
def test_nothing_is_lost_and_nothing_is_too_long(text: str, target: int) -> None:
    pieces = split(text, target=target)
    assert without_space("".join(pieces)) == without_space(text)
    assert all(piece and piece == piece.strip() for piece in pieces)
    assert all(len(piece) <= 1.5 * target for piece in pieces)


@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.text("abc中文", min_size=1, max_size=8), min_size=40, max_size=300))
def test_no_tail_is_tiny(words: list[str]) -> None:
    pieces = split(" ".join(words), target=60)
    assert min(map(len, pieces)) >= 0.3 * 60


def test_a_short_text_is_one_piece() -> None:
    assert split("  one line  ", target=100) == ["one line"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t"])
def test_white_space_is_no_piece(text: str) -> None:
    assert split(text) == []


def test_a_blank_line_is_better_than_a_nearer_line_end() -> None:
    text = "a" * 70 + "\n\n" + "b" * 28 + "\n" + "c" * 99
    assert split(text, target=100)[0] == "a" * 70


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("x" * 80 + "\n" + "y" * 19 + ". " + "z" * 99, "x" * 80),
        ("他说：“" + "好" * 70 + "。”" + "来，" * 60, "他说：“" + "好" * 70 + "。”"),
        ("x" * 80 + ". " + "y" * 10 + ", " + "z" * 110, "x" * 80 + "."),
        ("x" * 80 + "，" + "y" * 18 + " " + "z" * 110, "x" * 80 + "，"),
        ("x" * 80 + " " + "y" * 130, "x" * 80),
        ("version 3.14" * 20, ("version 3.14" * 20)[:103]),
    ],
)
def test_the_best_boundary_wins(text: str, first: str) -> None:
    assert split(text, target=100)[0] == first


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "👍🏽", "e\u0301\u0323", "❤️", "\ud83d\ude00"])
def test_a_cluster_stays_whole(cluster: str) -> None:
    pieces = split(cluster * 100, target=50)
    assert all(piece.startswith(cluster[0]) and len(piece) % len(cluster) == 0 for piece in pieces)


def test_a_target_under_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split("text", target=0)


@pytest.mark.parametrize("unit", ["x", "字", " ", "\n", "\u0301", "?", "\n \n", "，"])
def test_the_work_grows_with_the_text(unit: str) -> None:
    assert_linear(lambda size: split((unit * size)[:size]), 20_000, 320_000)

"""Names that are words as well, so that they need not mean anybody."""

from __future__ import annotations

from functools import cache

from ..indexes.name_directory import COMMON_WORDS
from ..strategies.chinese_phrases import tagged_words
from .common_talk import CHINESE_TALK, is_talk

__all__ = ["is_word"]

SHORTEST_NUMBER = 5
"""Digits of an id that is not taken for a number."""
_NAMES = """
amber angel autumn brook buck bud carol chance chase cherry christian cliff clay cook cricket crystal daisy dale dean dolly
duke earl fern field finch forest fox frank ginger glen grant heath heather holly honey hunter iris ivy jade jasmine jet
lance lane lily lotus major march mason melody mercy miles misty monday moon olive page patience pearl penny pepper pierce
poppy prince queen ray reed river robin rock ruby rusty sage sandy sky skip star stone storm sunny tiger trip victor violet
wade ward wolf woody king
china india paris london sydney chelsea georgia virginia carolina austin dallas jordan israel florence
"""
_WORDS = COMMON_WORDS | frozenset(_NAMES.split())
"""Words, and places, that many people are named after."""


def is_word(name: str) -> bool:
    """Whether people say this normalised name without meaning a person: may, will, 海洋; a short number is one too."""
    if name.isdecimal():
        return len(name) < SHORTEST_NUMBER
    if " " in name:
        return False
    if name.isascii():
        return name in _WORDS or is_talk(name)
    return name in CHINESE_TALK or _is_in_dictionary(name)


@cache
def _is_in_dictionary(name: str) -> bool:
    """Whether jieba takes it for one word that is no name of a person."""
    tagged = tagged_words(name)
    return len(tagged) == 1 and not tagged[0][1].startswith(("nr", "x", "eng"))

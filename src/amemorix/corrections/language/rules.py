"""Corrections said in words, read by rules: what is wrong, what is right instead, and whom it is about."""

from __future__ import annotations

import re

from ...language.normalise import fold, is_mostly_cjk, tokens
from ...lazy_regex import lazy_regex
from . import chinese as correction_zh
from . import english as correction_en
from .claim import Correction

__all__ = ["plainly", "read_correction", "read_denial"]

MOST_CHARS = 400
"""A correction is a sentence or two; what is longer is a text of its own."""
_ATTRIBUTE = lazy_regex(
    r"(?:名字|姓名|生日|地址|电话|号码|时间|日期|工作|职业|年龄|爱好|name|birthday|address|phone|number|time|date|job|age|hobby)$",
    re.I,
)
"""What has a value, and is none itself."""
_EMPTY = lazy_regex(r"[不没是的有了在对啊呀哦吧\W]*")


def read_correction(text: str) -> Correction | None:
    """What the sentence corrects; None if it reads as no correction."""
    said = plainly(text)
    if not said or len(said) > MOST_CHARS:
        return None
    found = correction_zh.read_chinese(said) if is_mostly_cjk(said) else correction_en.read_english(said)
    if found is None or not _telling(found.wrong) or fold(found.wrong) == fold(found.right):
        return None
    if found.right and not _telling(found.right):
        return None
    if found.action == "replace" and _ATTRIBUTE.search(found.wrong) and not _ATTRIBUTE.search(found.right):
        return None
    return found


def read_denial(text: str) -> Correction | None:
    """What the sentence says not to be so, of somebody or something that it names; None if it denies nothing."""
    said = plainly(text)
    if not said or len(said) > MOST_CHARS:
        return None
    found = correction_zh.read_denial(said) if is_mostly_cjk(said) else correction_en.read_denial(said)
    return found if found is not None and _telling(found.wrong) else None


def plainly(text: str) -> str:
    """The sentence on one line, without the words that only say that something is wrong."""
    said = " ".join(text.replace("’", "'").split())
    return (correction_zh.LEAD if is_mostly_cjk(said) else correction_en.LEAD).sub("", said)


def _telling(words: str) -> bool:
    return bool(tokens(words)) and len(words) <= 200 and not _EMPTY.fullmatch(words)

"""What a text holds by its surface form, as flags that are stored with it."""

from __future__ import annotations

import re

from ..lazy_regex import lazy_regex
from .normalise import is_mostly_cjk
from .times import has_time_words, is_question

__all__ = ["CJK", "NAME", "NUMBER", "QUESTION", "TIME", "read_flags"]

QUESTION, TIME, NUMBER, NAME, CJK = 1, 2, 4, 8, 16
"""The text ends as a question; speaks of time; gives a number; holds a proper name or a title; is Chinese, Japanese or
Korean."""

_NUMBER = lazy_regex(
    r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twice|once|first|second|third|couple"
    r"|few|several|hundred|thousand|million)\b|[零一二三四五六七八九十百千万两俩仨][个只条本张次岁斤块元万千百十公口位名套双把台部间年月天号楼]",
    re.IGNORECASE,
)
_NAME = lazy_regex(
    r"(?<=[a-z0-9,;:'’\"] )[A-Z][a-z]+|\"[^\"\n]{2,60}\"|“[^”\n]{2,60}”|《[^》\n]+》|「[^」\n]{2,30}」|[\u4e00-\u9fff] ?[A-Z][A-Za-z]+"
)


def read_flags(text: str) -> int:
    """The flags of a text."""
    return (
        QUESTION * is_question(text)
        | TIME * has_time_words(text)
        | NUMBER * bool(_NUMBER.search(text))
        | NAME * bool(_NAME.search(text))
        | CJK * is_mostly_cjk(text)
    )

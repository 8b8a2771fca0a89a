"""Whether a question is about the one who asks it, and a statement about another than the one who makes it."""

from __future__ import annotations

import re

from ..language.normalise import fold
from ..lazy_regex import lazy_regex
from .succession import speaks_of

__all__ = ["FIRST_PERSON", "asks_of_oneself", "is_of_another"]

FIRST_PERSON = lazy_regex(r"我(?!们)|\b(?:i|my|me|mine)\b", re.I)
_REQUEST = lazy_regex(
    r"\b(?:(?:do|can|could|would|will) you )?(?:please |still |also |even )*(?:know|recall|remember|(?:tell|remind|show|give|ask|help) me|let me know)\b"
    r"|\bi(?:'d| would)? (?:wonder|forgot|forget|want to know|need to know|like to know|mean)\b"
    r"|(?:[你您]能?(?:不能|可以|还)?)?(?:还|能|可以|请|麻烦)*(?:知道|记得|记不记得|知不知道|想起来|告诉我|提醒我|说给我听|给我讲|跟我说|帮我|给我)|我(?:想知道|忘了|忘记了?|想问|问一?下)",
    re.I,
)
"""Words by which somebody asks to be told, whatever it is about."""
_TO_YOU = lazy_regex(r"[你您]|\b(?:you|your)\b", re.I)
_THIRD = lazy_regex(r"(?<![吉其])[他她](?!们)|\b(?:he|she|they|his|her|their)\b", re.I)
_BOTH = lazy_regex(r"\band i\b|[和跟与]我|我[和跟与]", re.I)


def asks_of_oneself(question: str) -> bool:
    """Whether a question that names nobody is about whoever asks it: not about a relative, nor about who is asked."""
    rest = _REQUEST.sub(" ", fold(question))
    return FIRST_PERSON.search(rest) is not None and not (_TO_YOU.search(rest) or speaks_of(rest))


def is_of_another(statement: str) -> bool:
    """Whether a statement begins with somebody else, or speaks of nobody but another."""
    text = fold(statement)
    if _BOTH.search(text):
        return False
    return speaks_of(text, first=True) or (_THIRD.search(text) is not None and FIRST_PERSON.search(text) is None)

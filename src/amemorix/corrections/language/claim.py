"""A correction said in words, and whom it is said of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...language.normalise import fold
from ...lazy_regex import lazy_regex

__all__ = ["Correction", "counted", "named"]

_SPEAKER = lazy_regex(r"(?:我(?!们)|俺(?!们)|本人|(?:i|i'm|i've|my|mine|me)\b)", re.I)
_SOMEBODY = lazy_regex(r"(?:[他她你您](?!们)|(?:he|she|his|her|you|your)(?:'s|'re)?\b)", re.I)
_NOBODY = {"", "i", "he", "she", "it", "they", "we", "you", "我", "他", "她", "它", "你", "this", "that", "there"}
_COUNTED = lazy_regex(
    r"(?:\d+|[一二两三四五六七八九十百]+)[个只条名位家台辆本张套头匹次](?!月)|(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty)(?![\w:./-])",
    re.I,
)
_ADVERB = lazy_regex(r"(?:现在|目前|如今|今年|其实|真的|早就|已经|最近|根本)+$")


@dataclass(frozen=True, slots=True)
class Correction:
    """`wrong` is to become `right` (empty: to go); `about` is the rest of the sentence, whom and what it speaks of."""

    action: Literal["replace", "remove"]
    wrong: str
    right: str = ""
    subject: str = ""
    about: str = ""

    @property
    def of_speaker(self) -> bool:
        """Whether it is about whoever says it."""
        return bool(_SPEAKER.match(self.subject or self.about))

    @property
    def of_somebody(self) -> bool:
        """Whether it is about somebody whom it does not name."""
        return not self.subject and bool(_SOMEBODY.match(self.about))


def counted(wrong: str, right: str) -> tuple[str, str]:
    """Both without what is counted, if only one of them says it: (two kids, three) differ in the number."""
    one, other = _COUNTED.match(wrong), _COUNTED.match(right)
    if one is None or other is None or not (one.end() == len(wrong) or other.end() == len(right)):
        return wrong, right
    return one.group(), other.group()


def named(subject: str) -> str:
    """The name in the subject of a sentence; empty for a pronoun."""
    subject = _ADVERB.sub("", re.sub(r"(?:'(?:s|m|re|ve)\b.*|的.*)$", "", subject.strip()))
    return "" if fold(subject) in _NOBODY else subject

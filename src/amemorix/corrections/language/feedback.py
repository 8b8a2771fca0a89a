"""What later messages say of an answer without saying what is wrong in it, read by rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...language.normalise import tokens
from ...lazy_regex import lazy_regex
from .claim import Correction

__all__ = ["SAID_OUT", "Verdict", "read_hint"]

Decision = Literal["confirm", "reject", "correct", "supplement", "none"]
_WRONG = lazy_regex(
    r"不对|不是这样|不是的|记错|搞错|弄错|说错|错了|\b(?:that's|that is|this is|it's|you're|you are) (?:wrong|not right|not true|incorrect|mistaken)\b",
    re.I,
)
_RIGHT = lazy_regex(
    r"^(?:对的?|对啊|没错|是的|确实|正是)(?:[，,。！!\s]|$)|^(?:yes|yep|right|exactly|correct|that's right)\b", re.I
)
SAID_OUT, HINTED, NODDED = 0.9, 0.7, 0.8
"""Confidence where the wrong words are named and stored, where only the matter of an answer is, and for a yes."""
SHARED_TERMS = 2
NEAR = 3
"""A yes or no counts only this soon after the answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision about one of the hits; `reading` is what is to be corrected, `said` the words it follows from."""

    decision: Decision = "none"
    confidence: float = 0.0
    hit: int = 0
    said: str = ""
    reading: Correction | None = None


def read_hint(hits: Sequence[tuple[int, str]], messages: Sequence[str]) -> Verdict:
    """The clearest yes or no that the first messages say to the hits (paragraph, text)."""
    found = [verdict for message in messages[:NEAR] if (verdict := _hint(hits, message))]
    return max(found, key=lambda verdict: verdict.confidence, default=Verdict())


def _hint(hits: Sequence[tuple[int, str]], message: str) -> Verdict | None:
    if _WRONG.search(message):
        said = set(tokens(message))
        hit = next((id_ for id_, text in hits if len(said & set(tokens(text))) >= SHARED_TERMS), None)
        return None if hit is None else Verdict("reject", HINTED, hit, message)
    if hits and _RIGHT.search(message):
        return Verdict("confirm", NODDED, hits[0][0], message)
    return None

"""The parts of a sentence that stand on their own: what one says stays when what another says has ended."""

from __future__ import annotations

import re

from ..language.normalise import simplified
from ..lazy_regex import lazy_regex
from .language.typed_values import typed_values
from .oneself import is_of_another

__all__ = ["clauses"]

_JOIN = lazy_regex(r"(,?\s+(?:and|but)\s+|,\s+|\s*[，；;]\s*)", re.I)
_SUBJECT = lazy_regex(r"(?:i|we)(?='?\s?\w)(?:\b|')|my\b|our\b|我", re.I)
_VERB = lazy_regex(
    r"(?:also |still |now |currently )*(?:am|have|own|keep|live|work|study|teach|play|love|like|hate|enjoy|speak|run|drive|cook|collect|eat|drink|go|do|can|can't|don't"
    r"|bought|got|adopted|started|joined|moved|grew)\b"
    r"|(?:也|还|都|平时|平常|现在|目前|每[天周年晚]|早上|晚上|周末|经常|已经|正在|刚刚?|最近|一直)*(?:有|养|在|是|会|喜欢|爱|学|做|当|开|吃|喝|玩|打|跑|弹|练|骑|住|对|用|写|画|教|睡|读)",
    re.I,
)
"""What a part begins with that goes on about the subject of the one before."""
_LEANS = lazy_regex(
    r"\b(?:it|that|this|there|here|them|him|her|one|used to|if|would)\b|这|那|它|之前|以前|原来|曾|如果", re.I
)
"""What points to something that another part names, or says that it is not so."""
_PLURAL = lazy_regex(r"we\b|我们", re.I)
_CJK = lazy_regex(r"[\u3400-\u9fff]")


def clauses(sentence: str) -> list[str]:
    """The sentence in the parts that each say something of its speaker, if one gives the value of an attribute: "I live in
    Leeds and have two cats" is "I live in Leeds" and "I have two cats". Else the sentence as it is."""
    if _LEANS.search(simplified(sentence)):
        return [sentence]
    pieces = _JOIN.split(sentence)
    parts = pieces[:1]
    for join, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        plain = simplified(piece)
        if _SUBJECT.match(plain):
            parts.append(piece)
        elif _VERB.match(plain) and _SUBJECT.match(parts[-1]) and not is_of_another(parts[-1]):
            plural = _PLURAL.match(parts[-1]) is not None
            subject = ("我们" if plural else "我") if _CJK.match(piece) else ("we " if plural else "I ")
            parts.append(subject + piece)
        else:
            parts[-1] += join + piece
    given = [{(one.attribute, one.norm) for one in typed_values(part) if one.polarity > 0} for part in parts]
    whole = {(one.attribute, one.norm) for one in typed_values(sentence)}
    return parts if len(parts) > 1 and any(given) and whole <= set[tuple[str, str]]().union(*given) else [sentence]

"""What kind of text a text is, by its form."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..lazy_regex import lazy_regex
from .factual import LISTED
from .narrative import SCENE
from .normalise import is_mostly_cjk
from .relations.rules import DEFINITION
from .strategy import KnowledgeType

__all__ = ["detect"]

LEAST_CHARS = 40
"""A shorter text has no form to tell by."""
VERSE_LINES, VERSE_CJK, VERSE_LATIN = 4, 16, 45
"""Lines that verse has at least, and their mean length at most."""
READ_CHARS = 20_000
_SAID = lazy_regex(r"^\s*([^\s:：|*#-][^:：|]{0,20})[:：]\s*\S")
_SPOKEN = lazy_regex(r"[“「][^”」\n]{2,200}[”」]|\"[^\"\n]{2,200}[,.!?]\"")
_TOLD = lazy_regex(
    r"\b(?:he|she|they|we|i|[A-Z][a-z]+)\s+(?:had|was|were|said|asked|went|came|saw|took|told|felt|found|knew|thought|stood|sat|left"
    r"|ran|began|heard|made|got|gave|kept|met|[a-z]{3,}ed)\b"
    r"|(?:他们?|她们?|我们?|[\u4e00-\u9fff]{2,3})[^，。！？\n]{0,12}?[\u4e00-\u9fff](?:了|着|起来|下去|过来|说道|问道|笑道)"
    r"|那天|后来|忽然|突然|从前|终于|once upon|suddenly|finally|later that|the next (?:day|morning)",
    re.IGNORECASE,
)
_STATED = lazy_regex(
    r"\b(?:is|are) (?:an?|the|one of|defined|called|known|located|used|made|based|composed)\b|\b(?:means|refers? to|consists? of|contains?|includes?|requires?"
    r"|supports?|provides?|must|should|can be|defaults? to)\b"
    r"|是(?:一[种个款项类]|指|由|用于|位于)|指的是|定义|称为|包括|包含|分为|属于|位于|用于|由[^，。\n]{1,20}组成|支持|默认|必须|应当|适用",
    re.IGNORECASE,
)


def detect(text: str) -> KnowledgeType:
    """The kind of a text; empty for a short one. A longer one without any sign is read as narrative."""
    text = text.strip()[:READ_CHARS]
    if len(text) < LEAST_CHARS and text.count("\n") + 1 < VERSE_LINES:
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    listed = sum(bool(LISTED.match(line)) for line in lines)
    if len(lines) >= 3 and listed * 2 >= len(lines):
        return "factual"
    if _is_dialogue(lines):
        return "narrative"
    if SCENE.search(text):
        return "narrative"
    defined = sum(bool(DEFINITION.match(line)) for line in lines)
    if len(lines) >= 2 and defined * 2 >= len(lines):
        return "factual"
    if _is_verse(lines, is_mostly_cjk(text)):
        return "quote"
    told = len(_TOLD.findall(text)) + 2 * len(_SPOKEN.findall(text))
    stated = 2 * len(_STATED.findall(text)) + listed + defined
    return "factual" if stated > told else "narrative"


def _is_dialogue(lines: Sequence[str]) -> bool:
    """Lines that begin with who speaks, and speakers who speak again."""
    speakers = [match.group(1).strip() for line in lines if (match := _SAID.match(line))]
    return len(speakers) * 2 > len(lines) and len(speakers) >= 3 and len(set(speakers)) < len(speakers)


def _is_verse(lines: Sequence[str], cjk: bool) -> bool:
    mean = sum(len(line.strip()) for line in lines) / max(len(lines), 1)
    longest = max((len(line.strip()) for line in lines), default=0)
    limit = VERSE_CJK if cjk else VERSE_LATIN
    return len(lines) >= VERSE_LINES and mean <= limit and longest <= 2 * limit

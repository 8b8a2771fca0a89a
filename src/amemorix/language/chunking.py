"""The cutting of texts: what kind a text is, and where it may be cut, near a length at the best boundary there is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

from ..lazy_regex import lazy_regex
from .normalise import is_mostly_cjk

__all__ = ["KnowledgeType", "chunks", "detect", "split"]

KnowledgeType = Literal["", "factual", "narrative", "quote"]
"""The kind of a text; empty: short, or said in a chat, and so of none."""

_CLOSERS = "[\"'”’」』）)】\\]]"
_BOUNDARIES = tuple(
    lazy_regex(pattern)
    for pattern in (
        r"\n[ \t\r]*\n\s*",
        r"\n\s*",
        rf"(?:[。！？!?…]+{_CLOSERS}*|\.{_CLOSERS}*(?=\s))\s*",
        r"(?:[，、；：]|[,;:](?=\s))\s*",
        r"\s+",
    )
)
"""Where a text may be cut, best first; the cut comes after the match."""

_JOINER = "\u200d"
_WHOLE = 1.25  # a rest of up to this many targets stays in one piece
_NEAR = 0.4  # a cut may be this share of the aimed length away from it

LONGEST = 1.5
"""Targets that a piece may measure."""
LEAST_CHARS = 40
"""A shorter text has no form to tell by."""
VERSE_LINES, VERSE_CJK, VERSE_LATIN = 4, 16, 45
"""Lines that verse has at least, and their mean length at most."""
READ_CHARS = 20_000
_DEFINITION = lazy_regex(r"^\s*(?:[-*+•]\s+)?[^\s:：|，,。.!?！？][^:：|，。!?！？\n]{0,38}?\s*[:：]\s*\S[^\n]*?\s*$")
"""A line `term: meaning`."""
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
_SCENE = lazy_regex(
    r"^[ \t]*(?:#{1,6}[ \t].*|第[零一二三四五六七八九十百千0-9]{1,6}[章节回幕场卷].*|(?:chapter|scene|act|part)[ \t]+[\w.]+.*"
    r"|(?:\*[ \t]*){3,}|={3,}|-{3,})[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that begins another scene."""
_LISTED = lazy_regex(r"\s*(?:[-*+•·]\s|\(?\d{1,3}[.)、)]\s*\S|[(（]?[一二三四五六七八九十]{1,3}[)）、.]|\|)")
"""A line of a list or of a table."""
_HEADING = lazy_regex(r"\s*#{1,6}\s|.{1,40}[:：]\s*$")
_BLANK = lazy_regex(r"\n[ \t]*\n\s*")


def detect(text: str) -> KnowledgeType:
    """The kind of a text; empty for a short one. A longer one without any sign is read as narrative."""
    text = text.strip()[:READ_CHARS]
    if len(text) < LEAST_CHARS and text.count("\n") + 1 < VERSE_LINES:
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    listed = sum(bool(_LISTED.match(line)) for line in lines)
    if len(lines) >= 3 and listed * 2 >= len(lines):
        return "factual"
    speakers = [match.group(1).strip() for line in lines if (match := _SAID.match(line))]
    if len(speakers) * 2 > len(lines) and len(speakers) >= 3 and len(set(speakers)) < len(speakers):
        return "narrative"  # a dialogue: lines begin with who speaks, and speakers speak again
    if _SCENE.search(text):
        return "narrative"
    defined = sum(bool(_DEFINITION.match(line)) for line in lines)
    if len(lines) >= 2 and defined * 2 >= len(lines):
        return "factual"
    lengths, limit = [len(line.strip()) for line in lines], VERSE_CJK if is_mostly_cjk(text) else VERSE_LATIN
    if len(lines) >= VERSE_LINES and sum(lengths) <= limit * len(lines) and max(lengths) <= 2 * limit:
        return "quote"
    told = len(_TOLD.findall(text)) + 2 * len(_SPOKEN.findall(text))
    stated = 2 * len(_STATED.findall(text)) + listed + defined
    return "factual" if stated > told else "narrative"


def chunks(text: str, knowledge: KnowledgeType, target: int) -> list[str]:
    """The text in pieces of about `target` characters, none over 1.5 times that; only white space is lost.

    What is factual is cut between lines, and not within a list, a table or a definition. No piece of a narrative holds the
    end of one scene and the beginning of another. Quotes are kept word for word, in whole stanzas where those fit. All
    else ends where a paragraph, a line or a sentence does.
    """
    if knowledge == "factual":
        return _packed(_blocks(text), target, "\n")
    if knowledge == "quote":
        return _packed(_BLANK.split(text), target, "\n\n")
    if knowledge == "":
        return split(text, target=target)
    starts = sorted({0, *(match.start() for match in _SCENE.finditer(text)), len(text)})
    scenes = [text[a:b].strip() for a, b in pairwise(starts)]
    return [piece for scene in scenes if scene for piece in split(scene, target=target)]


def _packed(blocks: Iterable[str], target: int, joiner: str) -> list[str]:
    """Neighbouring blocks together up to `target` characters; a block of more than 1.5 times that is cut at its lines."""
    pieces: list[str] = []
    held: list[str] = []
    for block in (part for whole in blocks for part in _fitting(whole.strip("\n"), target)):
        if held and sum(map(len, held)) + len(joiner) * len(held) + len(block) > target:
            pieces.append(joiner.join(held))
            held = []
        held.append(block)
    return [*pieces, joiner.join(held)] if held else pieces


def _fitting(block: str, target: int) -> list[str]:
    if len(block) <= LONGEST * target:
        return [block] if block.strip() else []
    lines = block.split("\n")
    return split(block, target=target) if len(lines) == 1 else _packed(lines, target, "\n")


def _blocks(text: str) -> Iterator[str]:
    """A list or table is one block, together with the heading above it; of other lines each is one."""
    held: list[str] = []
    kind = ""
    for line in text.split("\n"):
        now = _kind(line)
        if held and not (kind == "heading" or (now == kind == "listed")):
            yield "\n".join(held)
            held = []
        held.append(line)
        kind = kind if kind == "heading" and now == "blank" else now
    if held:
        yield "\n".join(held)


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if _LISTED.match(line) or (_DEFINITION.match(line) and not line.rstrip().endswith((":", "："))):
        return "listed"
    return "heading" if _HEADING.match(line) else "prose"


def split(text: str, *, target: int = 1200) -> list[str]:
    """The text in pieces of about `target` characters, none over 1.5 times that, without outer white space.

    Cuts come at the best boundary near the aim: a blank line, a line end, the end of a sentence, a comma, a space, and
    only then anywhere, outside of emoji and combined characters where possible. Nothing but white space is lost.
    Linear in the text's length. Raises ValueError if `target` is under 1.
    """
    if target < 1:
        raise ValueError("target must be at least 1")
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, target)
        pieces.append(text[start:end].strip())
        start = end
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, target: int) -> int:
    """Where the piece that begins at `start` ends; the last two pieces share what is left, so no tiny tail remains."""
    rest = len(text) - start
    if rest <= _WHOLE * target:
        return len(text)
    aim = min(target, rest // 2)
    low = start + max(1, round(aim * (1 - _NEAR)))
    high = max(low, start + int(aim * (1 + _NEAR)))
    for boundary in _BOUNDARIES:
        if cuts := [m.end() for m in boundary.finditer(text, low - 1, high) if m.end() >= low]:
            separable = [cut for cut in cuts if _separable(text, cut)]
            return min(separable or cuts, key=lambda cut: abs(cut - start - aim))
    anywhere = (*range(start + aim, low - 1, -1), *range(start + aim + 1, high + 1))
    return next((cut for cut in anywhere if _separable(text, cut)), start + aim)


def _separable(text: str, cut: int) -> bool:
    """Whether the characters on both sides of the cut are seen as two."""
    if not 0 < cut < len(text):
        return True
    before, after = text[cut - 1], text[cut]
    modifies = (  # a combining mark, a variation selector, a skin tone or a tag
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
    )
    flag = all("\U0001f1e6" <= half <= "\U0001f1ff" for half in (before, after))
    surrogates = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return not (_JOINER in (before, after) or modifies or flag or surrogates)

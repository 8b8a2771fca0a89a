"""The kinds of text that there are: how each is told by its form, cut, and read for knowledge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..lazy_regex import lazy_regex
from .chunking import split
from .normalise import is_mostly_cjk
from .relations.rules import DEFINITION, read_definitions, read_passage
from .strategy import Extraction, KnowledgeType, Passage, Strategy

__all__ = ["STRATEGIES", "detect"]

LONGEST = 1.5
"""Targets that a piece may measure."""
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
    defined = sum(bool(DEFINITION.match(line)) for line in lines)
    if len(lines) >= 2 and defined * 2 >= len(lines):
        return "factual"
    lengths, limit = [len(line.strip()) for line in lines], VERSE_CJK if is_mostly_cjk(text) else VERSE_LATIN
    if len(lines) >= VERSE_LINES and sum(lengths) <= limit * len(lines) and max(lengths) <= 2 * limit:
        return "quote"
    told = len(_TOLD.findall(text)) + 2 * len(_SPOKEN.findall(text))
    stated = 2 * len(_STATED.findall(text)) + listed + defined
    return "factual" if stated > told else "narrative"


class TalkStrategy:
    """What is short or was said in a chat: cut where a sentence ends, and read sentence by sentence."""

    knowledge: KnowledgeType = ""

    def chunks(self, text: str, target: int) -> list[str]:
        """Pieces that end where a paragraph, a line or a sentence does."""
        return split(text, target=target)

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say."""
        return read_passage(passage)


class FactualStrategy:
    """Packs lines, and never cuts within a list, a table or a definition."""

    knowledge: KnowledgeType = "factual"

    def chunks(self, text: str, target: int) -> list[str]:
        """Blocks of lines packed to about `target` characters."""
        return _packed(_blocks(text), target, "\n")

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say, and what the lines `term: meaning` define."""
        return read_passage(passage, read_definitions(passage))


class NarrativeStrategy:
    """Scenes by their headings, and within a scene pieces that end where a sentence does."""

    knowledge: KnowledgeType = "narrative"

    def chunks(self, text: str, target: int) -> list[str]:
        """No piece holds the end of one scene and the beginning of another."""
        starts = sorted({0, *(match.start() for match in _SCENE.finditer(text)), len(text)})
        scenes = [text[a:b].strip() for a, b in pairwise(starts)]
        return [piece for scene in scenes if scene for piece in split(scene, target=target)]

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say."""
        return read_passage(passage)


class QuoteStrategy:
    """Stanzas, kept word for word; a poem says nothing about the world that could be held against it."""

    knowledge: KnowledgeType = "quote"

    def chunks(self, text: str, target: int) -> list[str]:
        """Whole stanzas packed to about `target` characters; a stanza too long for that is cut between its lines."""
        return _packed(_BLANK.split(text), target, "\n\n")

    def extract(self, passage: Passage) -> Extraction:  # noqa: ARG002 - one signature for all
        """Nothing."""
        return Extraction()


STRATEGIES: dict[KnowledgeType, Strategy] = {
    strategy.knowledge: strategy
    for strategy in (TalkStrategy(), FactualStrategy(), NarrativeStrategy(), QuoteStrategy())
}


def _packed(blocks: Iterable[str], target: int, joiner: str) -> list[str]:
    """Neighbouring blocks together up to `target` characters; a block of more than 1.5 times that is cut at its lines."""
    pieces: list[str] = []
    held: list[str] = []
    for block in (part for whole in blocks for part in _fitting(whole, target)):
        if held and sum(map(len, held)) + len(joiner) * len(held) + len(block) > target:
            pieces.append(joiner.join(held))
            held = []
        held.append(block)
    return [*pieces, joiner.join(held)] if held else pieces


def _fitting(block: str, target: int) -> list[str]:
    block = block.strip("\n")
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
    if _LISTED.match(line) or (DEFINITION.match(line) and not line.rstrip().endswith((":", "："))):
        return "listed"
    return "heading" if _HEADING.match(line) else "prose"

"""Texts that state how things are: definitions, lists, tables, manuals."""

from __future__ import annotations

from collections.abc import Iterator

from ..lazy_regex import lazy_regex
from .packing import packed
from .relations.rules import DEFINITION, read_definitions, read_passage
from .strategy import Extraction, KnowledgeType, Passage

__all__ = ["LISTED", "FactualStrategy"]

LISTED = lazy_regex(r"\s*(?:[-*+•·]\s|\(?\d{1,3}[.)、)]\s*\S|[(（]?[一二三四五六七八九十]{1,3}[)）、.]|\|)")
"""A line of a list or of a table."""
_HEADING = lazy_regex(r"\s*#{1,6}\s|.{1,40}[:：]\s*$")


class FactualStrategy:
    """Packs lines, and never cuts within a list, a table or a definition."""

    knowledge: KnowledgeType = "factual"

    def chunks(self, text: str, target: int) -> list[str]:
        """Blocks of lines packed to about `target` characters."""
        return packed(_blocks(text), target, "\n")

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say, and what the lines `term: meaning` define."""
        return read_passage(passage, read_definitions(passage))


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
    if LISTED.match(line) or (DEFINITION.match(line) and not line.rstrip().endswith((":", "："))):
        return "listed"
    return "heading" if _HEADING.match(line) else "prose"

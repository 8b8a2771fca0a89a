"""Texts whose wording is what matters: verse, lyrics, sayings."""

from __future__ import annotations

from ..lazy_regex import lazy_regex
from .packing import packed
from .strategy import Extraction, KnowledgeType, Passage

__all__ = ["QuoteStrategy"]

_BLANK = lazy_regex(r"\n[ \t]*\n\s*")


class QuoteStrategy:
    """Stanzas, kept word for word; a poem says nothing about the world that could be held against it."""

    knowledge: KnowledgeType = "quote"

    def chunks(self, text: str, target: int) -> list[str]:
        """Whole stanzas packed to about `target` characters; a stanza too long for that is cut between its lines."""
        return packed(_BLANK.split(text), target, "\n\n")

    def extract(self, passage: Passage) -> Extraction:  # noqa: ARG002 - one signature for all
        """Nothing."""
        return Extraction()

"""From raw text to paragraphs with their terms and flags."""

from __future__ import annotations

from datetime import tzinfo

from ..language.normalise import content_hash, is_mostly_cjk, pack_terms, tokens
from ..language.strategies import STRATEGIES
from ..language.strategy import KnowledgeType
from ..language.text_flags import read_flags
from ..language.times import date_words
from ..store.records import NewParagraph

__all__ = ["Analyser"]


class Analyser:
    """Cuts a text and prepares each part for the lexical index."""

    def __init__(self, chunk_chars: int) -> None:
        self._chunk = chunk_chars

    def paragraphs(
        self, text: str, at: float | None, zone: tzinfo, knowledge: KnowledgeType = ""
    ) -> tuple[NewParagraph, ...]:
        """The paragraphs of a cleaned text of some kind; `at` (epoch seconds) adds the date in `zone` to the words that find it."""
        parts = STRATEGIES[knowledge].chunks(text, self._chunk) if len(text) > self._chunk else [text]
        return tuple(self.paragraph(part, at, zone) for part in parts)

    def paragraph(self, part: str, at: float | None, zone: tzinfo) -> NewParagraph:
        """The text as one paragraph, however long it is."""
        words = tokens(part)
        if at is not None:
            words += tokens(date_words(at, zone, is_mostly_cjk(part)))
        return NewParagraph(part, bytes.fromhex(content_hash(part)), pack_terms(words), read_flags(part))

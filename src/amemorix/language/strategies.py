"""The kinds of text that there are, each with its strategy."""

from __future__ import annotations

from .chunking import split
from .factual import FactualStrategy
from .narrative import NarrativeStrategy
from .quote import QuoteStrategy
from .relations.rules import read_passage
from .strategy import Extraction, KnowledgeType, Passage, Strategy

__all__ = ["STRATEGIES", "TalkStrategy"]


class TalkStrategy:
    """What is short or was said in a chat: cut where a sentence ends, and read sentence by sentence."""

    knowledge: KnowledgeType = ""

    def chunks(self, text: str, target: int) -> list[str]:
        """Pieces that end where a paragraph, a line or a sentence does."""
        return split(text, target=target)

    def extract(self, passage: Passage) -> Extraction:
        """What the sentences say."""
        return read_passage(passage)


STRATEGIES: dict[KnowledgeType, Strategy] = {
    strategy.knowledge: strategy
    for strategy in (TalkStrategy(), FactualStrategy(), NarrativeStrategy(), QuoteStrategy())
}

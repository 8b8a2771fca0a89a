"""How texts of each kind are cut and stored: what is factual, what is narrative, and what is quoted."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Literal

from ...language.chunking import chunks, detect
from ...language.normalise import clean_text
from ..access import AnyMemory, Caller, caller_of
from ..texts import ask

__all__ = ["BaseStrategy", "FactualStrategy", "NarrativeStrategy", "QuoteStrategy", "strategy_of"]


class BaseStrategy(ABC):
    """What all three do: `split` shows the pieces of a text, `store` stores it so."""

    knowledge_type: ClassVar[Literal["factual", "narrative", "quote"]]

    def __init__(self, memory: AnyMemory | Caller | None = None, *, chunk_chars: int = 1200) -> None:
        """`memory`: a kernel, a host, a `Memory` or `Client`, or the place of one; `split` needs none."""
        self._memory = memory
        self._chunk_chars = chunk_chars

    def split(self, text: str) -> list[str]:
        """The pieces of a text, of about `chunk_chars` characters each; only white space is lost."""
        return chunks(clean_text(text), self.knowledge_type, self._chunk_chars)

    async def store(self, text: str, **arguments: Any) -> dict[str, Any]:
        """Store a text with further arguments of `ingest_text`, and give its answer.

        Raises ValueError for what cannot be taken, RuntimeError for what went wrong.
        """
        kind = {"knowledge_type": self.knowledge_type}
        return await ask(caller_of(self._memory), "ingest_text", **{**arguments, **kind, "text": text})


class FactualStrategy(BaseStrategy):
    """Facts: lists, tables and definitions stay whole.

    Names are read out of them as entities, and a chat model reads relations; `entities` and `relations` that are given to
    `store` are written with the text, as what it is the evidence of.
    """

    knowledge_type = "factual"


class NarrativeStrategy(BaseStrategy):
    """What is told: no piece holds the end of one scene and the beginning of another.

    A text for which `store` is given a `chat_id` and `external_id` is the summary of a dialogue in that chat.
    """

    knowledge_type = "narrative"

    async def store(self, text: str, **arguments: Any) -> dict[str, Any]:
        """Store a narrative as a text, or as the summary of the chat that is named with an id."""
        if arguments.keys() >= {"chat_id", "external_id"}:
            return await ask(caller_of(self._memory), "ingest_summary", **{**arguments, "text": text})
        return await super().store(text, **arguments)


class QuoteStrategy(BaseStrategy):
    """Quotes: word for word, in whole stanzas where those fit."""

    knowledge_type = "quote"


def strategy_of(text: str) -> type[BaseStrategy]:
    """The strategy of a text by its form; of a short one, or one without any sign, that of narratives."""
    known: dict[str, type[BaseStrategy]] = {"factual": FactualStrategy, "quote": QuoteStrategy}
    return known.get(detect(clean_text(text)), NarrativeStrategy)

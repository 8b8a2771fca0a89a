"""For LlamaIndex (`amemorix[llama-index]`): a block of their `Memory`, and a retriever.

    from amemorix import AsyncMemory
    from amemorix.integrations.llama_index import AMemorixBlock, AMemorixRetriever
    from llama_index.core.memory import Memory

    async def main() -> None:
        async with AsyncMemory("./memory") as long_term:
            await long_term.add("I am allergic to peanuts", user="ann")
            memory = Memory.from_defaults(memory_blocks=[AMemorixBlock(memory=long_term, user="ann")])
            print(await memory.aget("what should I not eat?"))
            print(await AMemorixRetriever(long_term, user="ann").aretrieve("allergic to what?"))

`retrieve` wants a `Memory` or a `Client`, everything else takes each of the four.
"""

from __future__ import annotations

from typing import Any

from ..extras import require

require("llama-index", __name__)

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field, PrivateAttr

from .scoped_memory import AnyMemory, ScopedMemory, hit_metadata

__all__ = ["AMemorixBlock", "AMemorixRetriever"]

SAID = ("user", "assistant")
TURNS = 6
"""Of the last messages so many are asked with."""


class AMemorixBlock(BaseMemoryBlock[str]):
    """What the memory knows that matters to the last messages; those that leave the short-term memory are kept in it."""

    name: str = Field(default="long_term_memory", description="Name of the block.")
    memory: AnyMemory = Field(exclude=True, description="Where it is kept.")
    user: str = Field(default="", description="Who talks with the agent.")
    chat: str = Field(default="", description="The chat in which the agent talks.")
    budget: int = Field(default=800, description="Most tokens of what is told.")
    _scoped: ScopedMemory = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        self._scoped = ScopedMemory(self.memory, user=self.user, chat=self.chat)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ARG002
        turns = [self._scoped.turn(role, text) for role, text in _said(messages or [])][-TURNS:]
        return await self._scoped.context(turns, budget=self.budget) if turns else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if turns := [self._scoped.turn(role, text) for role, text in _said(messages)]:
            await self._scoped.add(turns)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The first lines of it, shorter by that many tokens of four characters."""
        return content[: max(0, len(content) - 4 * tokens_to_truncate)].rpartition("\n")[0] or None


class AMemorixRetriever(BaseRetriever):
    """Finds what was said, for a user or a chat; the likeliest first, scored by how likely it answers."""

    def __init__(
        self, memory: AnyMemory, *, user: str = "", chat: str = "", limit: int = 5, min_confidence: float = 0.0
    ) -> None:
        super().__init__()
        self._scoped = ScopedMemory(memory, user=user, chat=chat)
        self._limit, self._min_confidence = limit, min_confidence

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._scoped.wait(self._aretrieve(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = await self._scoped.search(query_bundle.query_str, limit=self._limit, min_confidence=self._min_confidence)
        nodes = ((TextNode(id_=hit.id, text=hit.text, metadata=hit_metadata(hit)), hit.confidence) for hit in hits)
        return [NodeWithScore(node=node, score=score) for node, score in nodes]


def _said(messages: list[ChatMessage]) -> list[tuple[str, str]]:
    """(role, text) of what the two sides said."""
    return [(one.role.value, one.content) for one in messages if one.role.value in SAID and one.content]

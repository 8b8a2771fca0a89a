"""`VectorMemoryStore`: items in this memory, found by the cosine of vectors that a model of the caller makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import MemoryCategory, MemoryItem, MemoryMetadata, MemoryStatus, checked_item
from ..store import KernelStore

if TYPE_CHECKING:
    from ...access import AnyMemory, Caller

__all__ = ["VectorMemoryStore"]


class VectorMemoryStore(KernelStore):
    """A `KernelStore` whose queries are answered by vectors alone.

    `embeddings` is an awaited function of a text that gives its vector, or an object with such an `embed`; without it the
    memory's own model makes them.
    """

    def __init__(
        self, embeddings: Callable[[str], Awaitable[Sequence[float]]] | Any = None,
        memory: AnyMemory | Caller | str | Path | None = None, namespace: str = "default", **how: Any,
    ) -> None:  # fmt: skip
        super().__init__(memory, namespace, **how)
        self._embed = None if embeddings is None else getattr(embeddings, "embed", embeddings)

    async def embed(self, text: str) -> list[float]:
        """The vector of a text by the model of the caller, or the memory's."""
        return await super().embed(text) if self._embed is None else list(await self._embed(text))

    async def add(self, item: MemoryItem) -> None:
        """Keep an item with its vector, in the place of one of the same id."""
        item = checked_item(item)
        brought = (item.model_extra or {}).get("embedding")
        vector = brought if brought is not None else await self.embed(item.content)
        await super().add(item.model_copy(update={"embedding": vector}))

    async def search(
        self, *, query: str = "", metadata: MemoryMetadata | None = None, memory_type: str | None = None,
        category: MemoryCategory | None = None, status: MemoryStatus | None = None, limit: int = 10,
        vector: Sequence[float] | None = None,
    ) -> list[MemoryItem]:  # fmt: skip
        """Items that meet every filter: the nearest to the query first, without one the last stored."""
        if vector is None and query.strip():
            vector = await self.embed(query)
        return await super().search(
            metadata=metadata, memory_type=memory_type, category=category, status=status, limit=limit, vector=vector
        )

"""`LongTermMemory`: what stays, each thing once; and memories of several kinds asked together."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .base import MemoryError, MemoryItem, MemoryMetadata, MemoryStore, StoreAround, checked_item, checked_limit, now
from .dedup import MemUpdateChecker, UpdateAction
from .store import KernelStore

if TYPE_CHECKING:
    from ..access import AnyMemory, Caller

__all__ = ["AgentMemory", "LongTermMemory", "SearchManager"]


class LongTermMemory(StoreAround):
    """A `MemoryStore` that keeps nothing twice: no item of the content, type and user of another one.

    With `update_checker` it is asked before an item is stored, which then may complete another one, or be left out. Items
    are kept in `store`, else in that of the checker, else in a namespace of `memory` (a running host, an `AMemorix` memory or
    client, the path of a configuration file; without one the memory that this process shares).
    """

    def __init__(
        self, namespace: str = "default", update_checker: MemUpdateChecker | None = None, *,
        store: MemoryStore | None = None, memory: AnyMemory | Caller | str | None = None,
    ) -> None:  # fmt: skip
        if store is None:
            store = KernelStore(memory, namespace) if update_checker is None else update_checker.store
        for one in (store, *(() if update_checker is None else (update_checker.store,))):
            if (other := getattr(one, "namespace", None)) not in (None, namespace):
                raise MemoryError(f"namespace: {namespace!r} is not that of the store, {other!r}.")
        super().__init__(store)
        self.namespace, self.update_checker = namespace, update_checker
        self._adding: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def add(self, item: MemoryItem) -> None:
        """Keep an item unless it is known; one of a known id takes its place."""
        item = checked_item(item)
        async with self._adding.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            known = await self._store.get(item.id)
            if known is None and await self._same(item):
                return
            decision = None if self.update_checker is None or known else await self.update_checker.check(item)
            if decision is None or decision.action == UpdateAction.ADD:
                await self._store.add(item)
            elif decision.action == UpdateAction.UPDATE:
                target = await self._store.get(decision.target_id or "")
                merged = {"content": decision.merged_content, "updated_at": now()}
                await self._store.add(item if target is None else target.model_copy(update=merged))

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""
        return await self._store.get(item_id)

    async def search(self, **filters: Any) -> list[MemoryItem]:
        """Items that meet every filter, as the store finds them."""
        return await self._store.search(**filters)

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata, without it all of the namespace; how many those were."""
        return await self._store.clear(metadata=metadata)

    async def _same(self, item: MemoryItem) -> bool:
        if same := getattr(self._store, "same", None):
            return await same(item) is not None
        whose = MemoryMetadata(user_id=item.metadata.user_id) if item.metadata.user_id else None
        found = await self._store.search(
            query=item.content, metadata=whose, memory_type=item.memory_type, status=item.status, limit=100
        )
        return any((one.content, one.metadata.user_id) == (item.content, item.metadata.user_id) for one in found)


class SearchManager:
    """Searches several stores at once; what several find, or find early, comes first (reciprocal rank fusion)."""

    def __init__(self, stores: Sequence[MemoryStore], *, rrf_k: int = 60) -> None:
        self._stores, self._rrf_k = list(stores), rrf_k

    async def search(self, *, limit: int = 10, **filters: Any) -> list[MemoryItem]:
        """The best of all stores, each item once."""
        answers = await asyncio.gather(*(one.search(limit=checked_limit(limit), **filters) for one in self._stores))
        items, scores = dict[str, MemoryItem](), defaultdict[str, float](float)
        for answer in answers:
            for rank, item in enumerate(answer, 1):
                items.setdefault(item.id, item)
                scores[item.id] += 1 / (self._rrf_k + rank)
        return [items[id_] for id_ in sorted(items, key=lambda id_: -scores[id_])][:limit]


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """The two memories of an agent: what is being said, and what stays."""

    short_term: MemoryStore
    long_term: MemoryStore

    async def search(self, **filters: Any) -> list[MemoryItem]:
        """What either of both finds, each item once."""
        return await SearchManager([self.short_term, self.long_term]).search(**filters)

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata from both; how many those were."""
        return await self.short_term.clear(metadata=metadata) + await self.long_term.clear(metadata=metadata)

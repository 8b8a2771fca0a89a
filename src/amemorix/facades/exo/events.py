"""`MemoryEventEmitter`: a store that tells of what is done with it, and `EventBus`, whom it tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Protocol

from .base import MemoryItem, MemoryMetadata, MemoryStore

__all__ = ["MEMORY_ADDED", "MEMORY_CLEARED", "MEMORY_SEARCHED", "EventBus", "MemoryEventEmitter"]

MEMORY_ADDED, MEMORY_SEARCHED, MEMORY_CLEARED = "memory:added", "memory:searched", "memory:cleared"


class _Emits(Protocol):
    def emit(self, event: str, /, **data: Any) -> Any: ...


class EventBus:
    """Calls the handlers of an event one after another, awaited or not, with what it tells as named arguments."""

    def __init__(self) -> None:
        self._handlers: defaultdict[str, list[Callable[..., Any]]] = defaultdict(list)

    def on(self, event: str, handler: Callable[..., Any]) -> None:
        """Have a handler called at each event of this name."""
        self._handlers[event].append(handler)

    def off(self, event: str, handler: Callable[..., Any]) -> None:
        """No longer call a handler; nothing happens if it was not called before."""
        if handler in self._handlers[event]:
            self._handlers[event].remove(handler)

    async def emit(self, event: str, /, **data: Any) -> None:
        """Tell the handlers of an event; what one raises reaches the caller."""
        for handler in list(self._handlers[event]):
            done = handler(**data)
            if isawaitable(done):
                await done


class MemoryEventEmitter:
    """A `MemoryStore` around another that tells of each call after it succeeded.

    `memory:added` (item), `memory:searched` (results, query), `memory:cleared` (count, metadata). `bus` is anything with
    such an `emit`, awaited or not.
    """

    def __init__(self, store: MemoryStore, bus: _Emits | None = None) -> None:
        self._store = store
        self.bus = EventBus() if bus is None else bus

    def __getattr__(self, name: str) -> Any:
        """What the store can do beyond a `MemoryStore`."""
        if name == "_store":
            raise AttributeError(name)
        return getattr(self._store, name)

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, and tell of it."""
        await self._store.add(item)
        await self._emit(MEMORY_ADDED, item=item)

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""
        return await self._store.get(item_id)

    async def search(self, **filters: Any) -> list[MemoryItem]:
        """What the store finds; tell of it."""
        results = await self._store.search(**filters)
        await self._emit(MEMORY_SEARCHED, results=results, query=filters.get("query", ""))
        return results

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove items, and tell how many."""
        count = await self._store.clear(metadata=metadata)
        await self._emit(MEMORY_CLEARED, count=count, metadata=metadata)
        return count

    async def _emit(self, event: str, **data: Any) -> None:
        done = self.bus.emit(event, **data)
        if isawaitable(done):
            await done

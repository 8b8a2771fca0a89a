"""`MemoryEventEmitter`: a store that tells of what is done with it, and `EventBus`, whom it tells."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from inspect import isawaitable
from typing import Any, Protocol

from .base import MemoryError, MemoryItem, MemoryMetadata, MemoryStore, StoreAround, inner_stores

__all__ = ["MEMORY_ADDED", "MEMORY_CLEARED", "MEMORY_SEARCHED", "EventBus", "MemoryEventEmitter"]

log = logging.getLogger(__name__)
WAIT_SECONDS, AGAIN_SECONDS = 10.0, 1.0
"""How long a call waits for a change, and how long nothing is asked after one that failed."""
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


class MemoryEventEmitter(StoreAround):
    """A `MemoryStore` around another that tells of each call after it succeeded.

    `memory:added` (item), `memory:searched` (results, query), `memory:cleared` (count, metadata). `bus` is anything with
    such an `emit`, awaited or not. With `follow`, over a KernelStore, it tells from its first call until `close` of what
    anybody stores or removes, other processes too: a moment later, the items as they are then, `metadata` being None.
    """

    def __init__(self, store: MemoryStore, bus: _Emits | None = None, *, follow: bool = False) -> None:
        if follow and not hasattr(inner_stores(store)[-1], "changes"):
            raise MemoryError("follow: the store does not tell of changes.")
        super().__init__(store)
        self.bus = EventBus() if bus is None else bus
        self._follows = follow
        self._begun: asyncio.Task[asyncio.Task[None]] | None = None

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, and tell of it."""
        await self._begin()
        await self._store.add(item)
        if not self._follows:
            await self._emit(MEMORY_ADDED, item=item)

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""
        await self._begin()
        return await self._store.get(item_id)

    async def search(self, **filters: Any) -> list[MemoryItem]:
        """What the store finds; tell of it."""
        await self._begin()
        results = await self._store.search(**filters)
        await self._emit(MEMORY_SEARCHED, results=results, query=filters.get("query", ""))
        return results

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove items, and tell how many."""
        await self._begin()
        count = await self._store.clear(metadata=metadata)
        if not self._follows:
            await self._emit(MEMORY_CLEARED, count=count, metadata=metadata)
        return count

    async def close(self) -> None:
        """Follow no longer."""
        if self._begun is not None:
            following = await self._begun
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    async def _emit(self, event: str, **data: Any) -> None:
        done = self.bus.emit(event, **data)
        if isawaitable(done):
            await done

    async def _begin(self) -> None:
        if self._follows:
            self._begun = self._begun or asyncio.create_task(self._start())
            await self._begun

    async def _start(self) -> asyncio.Task[None]:
        _, _, last = await self._store.changes(None)
        return asyncio.create_task(self._follow(last))

    async def _follow(self, last: int) -> None:
        while True:
            try:
                items, removed, last = await self._store.changes(last, wait_seconds=WAIT_SECONDS)
                for item in items:
                    await self._emit(MEMORY_ADDED, item=item)
                if removed:
                    await self._emit(MEMORY_CLEARED, count=removed, metadata=None)
            except Exception:
                log.exception("changes of a memory could not be told")
                await asyncio.sleep(AGAIN_SECONDS)

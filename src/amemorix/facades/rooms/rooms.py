"""`Rooms`: a memory by rooms, over any adapter."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from ...clock import Clock, SystemClock
from ...errors import InvalidRequest, TooLarge
from .models import IMemoryAdapter, MemoryEntry, MemoryInput, MemorySearchOptions, checked_id, checked_room

__all__ = ["Embed", "Rooms"]

log = logging.getLogger(__name__)
Embed = Callable[[list[str]], Any]
"""Texts to their vectors, or to what is awaited for them."""


class Rooms:
    """The memory of agents, room by room: `Rooms()` keeps them in the memory of this folder, `Rooms(adapter)` elsewhere.

    `adapter` may also be a memory, a host or its configuration file. `also` are searched and read after it, each id counts
    once; what is deleted there is deleted everywhere, and only the first is written to. `embed` makes the vectors of
    entries and queries that bring none; where it fails, words have to do. With `dedupe` an entry without an id and with the
    `data` of one that is in the room gives that one back, however many write at once. With `strict` a failure is raised; else it is
    logged, and `create_memory` gives None. What does not fit is always raised, as InvalidRequest.
    """

    def __init__(
        self, adapter: Any = None, *, also: Sequence[IMemoryAdapter] = (), embed: Embed | None = None,
        dedupe: bool = False, strict: bool = False, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(adapter, IMemoryAdapter):
            from .adapters.kernel import KernelAdapter

            adapter = KernelAdapter(adapter)
        self.adapters: tuple[IMemoryAdapter, ...] = (adapter, *also)
        self._embed = embed
        self._dedupe = dedupe
        self._strict = strict
        self._clock = clock or SystemClock()
        self._last = datetime.min.replace(tzinfo=UTC)

    async def __aenter__(self) -> Self:
        await self.init()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def init(self) -> None:
        """Prepare every adapter; each call does it too."""
        for one in self.adapters:
            await one.init()

    async def close(self) -> None:
        """Close every adapter; a memory that was handed over stays open."""
        for one in self.adapters:
            await one.close()

    async def create_memory(self, input: MemoryInput | Mapping[str, Any]) -> MemoryEntry | None:
        """Store an entry, in place of what has its id in the room. None if it has expired already, or could not be stored."""
        given = MemoryInput.read(input)
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        if given.expires_at and given.expires_at <= now:
            return None
        try:
            return await self._stored(given, now)
        except (InvalidRequest, TooLarge):
            raise
        except Exception:
            if self._strict:
                raise
            log.exception("An entry of room %r could not be stored", given.room_id)
            return None

    async def _stored(self, given: MemoryInput, now: datetime) -> MemoryEntry | None:
        first = self.adapters[0]
        known = await first.get_memory_by_id(given.id, given.room_id) if given.id else None
        values = given.model_dump(exclude_none=True)
        if given.embedding is None and first.vectors:
            values["embedding"] = await self._vector(given.data)
        if known is None:  # no two have the same time, so that they are listed in this order
            self._last = max(now, self._last + timedelta(microseconds=1))
        store = first.create_once if self._dedupe and not given.id else first.create_memory
        return await store(MemoryEntry(**values, created_at=known.created_at if known else self._last))

    async def get_memory_by_id(self, id: str, room_id: str) -> MemoryEntry | None:
        """The entry of this room with this id."""
        room_id, id = checked_room(room_id), checked_id(id)
        for adapter in self.adapters:
            if found := await adapter.get_memory_by_id(id, room_id):
                return found
        return None

    async def search_memory(self, query: str, options: MemorySearchOptions | Mapping[str, Any]) -> list[MemoryEntry]:
        """Find entries by meaning and words, best first; of several adapters those of the first first."""
        options = MemorySearchOptions.read(options)
        if not query.strip():
            return []
        if options.embedding is None and any(one.vectors for one in self.adapters):
            options = options.model_copy(update={"embedding": await self._vector(query)})
        found: dict[str, MemoryEntry] = {}
        for adapter in self.adapters:
            for one in await adapter.search_memory(query, options):
                found.setdefault(one.id, one)
        return list(found.values())[: options.limit]

    async def get_all_memories(self, room_id: str) -> list[MemoryEntry]:
        """Everything in the room, the oldest first."""
        room_id, found = checked_room(room_id), dict[str, MemoryEntry]()
        for adapter in self.adapters:
            for one in await adapter.get_all_memories(room_id):
                found.setdefault(one.id, one)
        return sorted(found.values(), key=lambda one: one.created_at) if len(self.adapters) > 1 else [*found.values()]

    async def delete_memory_by_id(self, id: str, room_id: str) -> None:
        """Delete it; no error if it is not there."""
        room_id, id = checked_room(room_id), checked_id(id)
        for adapter in self.adapters:
            await adapter.delete_memory_by_id(id, room_id)

    async def clear_memories(self, room_id: str) -> None:
        """Empty the room."""
        room_id = checked_room(room_id)
        for adapter in self.adapters:
            await adapter.clear_memories(room_id)

    async def _vector(self, text: str) -> list[float] | None:
        """None where nobody makes vectors, or fails to: words are stored and found all the same."""
        if self._embed is None:
            return None
        try:
            vectors = self._embed([text])
            if inspect.isawaitable(vectors):
                vectors = await vectors
            return [float(number) for number in vectors[0]]
        except Exception:
            if self._strict:
                raise
            log.exception("No vector could be made")
            return None

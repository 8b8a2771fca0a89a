"""Rooms: the shared suite over each adapter, and what the interface says of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import UTC, datetime
from time import time
from typing import Any

import pytest

from amemorix.errors import InvalidRequest, TooLarge
from amemorix.facades.rooms import InMemoryAdapter, MemoryEntry, Rooms
from amemorix.testing import FrozenClock, HashEmbedder
from suite import FacadeSuite, Lack, Text

BASE: set[Lack] = {"metadata", "similarity"}
"""An entry has no metadata, and does not say how similar it is."""


class RoomsPort:
    """Rooms as the suite calls them."""

    refuses = (InvalidRequest, TooLarge)

    def __init__(self, rooms: Rooms, clock: FrozenClock, *lacks: Lack) -> None:
        self.rooms = rooms
        self.clock = clock
        self.lacks: Collection[Lack] = BASE | {*lacks}

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    async def put(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:  # fmt: skip
        entry = await self.rooms.create_memory({"id": id, "data": text, "roomId": space, "expiresAt": expires_at})
        assert entry is not None
        return entry.id

    async def get(self, id: str, *, space: str = "a") -> Text | None:
        found = await self.rooms.get_memory_by_id(id, space)
        return None if found is None else Text(found.id, found.data)

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        return texts(await self.rooms.search_memory(query, {"roomId": space, "limit": limit}))

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        return texts(await self.rooms.get_all_memories(space))

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object:
        return await self.put(id, text, space=space)

    async def delete(self, id: str, *, space: str = "a") -> object:
        return await self.rooms.delete_memory_by_id(id, space)

    async def clear(self, *, space: str = "a") -> object:
        return await self.rooms.clear_memories(space)

    async def settle(self) -> None:
        """Vectors are there at once."""

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def reopened(self) -> RoomsPort:
        raise NotImplementedError


def texts(entries: Sequence[MemoryEntry]) -> list[Text]:
    return [Text(one.id, one.data) for one in entries]


@pytest.fixture
def clock() -> FrozenClock:
    """Beginning now: servers expire by their own."""
    return FrozenClock(time())


class TestInMemory(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock) -> AsyncIterator[RoomsPort]:
        async with Rooms(InMemoryAdapter(clock=clock), strict=True, clock=clock) as rooms:
            yield RoomsPort(rooms, clock, "meaning", "restart")


class TestInMemoryWithVectors(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock) -> AsyncIterator[RoomsPort]:
        async with Rooms(InMemoryAdapter(clock=clock), embed=HashEmbedder(), strict=True, clock=clock) as rooms:
            yield RoomsPort(rooms, clock, "restart", "model")

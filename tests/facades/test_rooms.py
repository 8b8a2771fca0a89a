"""Rooms: the shared suite over each adapter, and what the interface says of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from amemorix.errors import InvalidRequest, TooLarge
from amemorix.facades.rooms import IMemoryAdapter, InMemoryAdapter, MemoryEntry, Rooms
from amemorix.facades.rooms.adapters.meilisearch import MeilisearchAdapter
from amemorix.facades.rooms.adapters.pinecone import PineconeAdapter
from amemorix.facades.rooms.adapters.postgres import PostgreSQLAdapter
from amemorix.facades.rooms.adapters.qdrant import VectorDBAdapter
from amemorix.facades.rooms.adapters.redis import RedisAdapter
from amemorix.facades.rooms.rooms import Embed
from amemorix.testing import FrozenClock, HashEmbedder
from postgres_server import postgres
from redis_server import redis_server
from rooms_stand_ins import Meilisearch, Pinecone
from suite import FacadeSuite, HostedPort, Lack, Text, Way

BASE: set[Lack] = {"metadata", "similarity"}
"""An entry has no metadata, and does not say how similar it is."""


class RoomsPort:
    """Rooms as the suite calls them."""

    refuses = (InvalidRequest, TooLarge)

    def __init__(self, rooms: Rooms, clock: FrozenClock, *lacks: Lack) -> None:
        self.rooms = rooms
        self.clock = clock
        self.again: Callable[[], Awaitable[RoomsPort]]
        """Opens it anew."""
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
        await self.rooms.close()
        return await self.again()


def texts(entries: Sequence[MemoryEntry]) -> list[Text]:
    return [Text(one.id, one.data) for one in entries]


@pytest.fixture
def clock() -> FrozenClock:
    """Beginning now: servers expire by their own."""
    return FrozenClock(int(time()))


Made = Callable[[], IMemoryAdapter]


@asynccontextmanager
async def kept_by(
    adapter: Made, clock: FrozenClock, *lacks: Lack, embed: Embed | None = None
) -> AsyncIterator[RoomsPort]:
    """Rooms over what `adapter` makes, which makes it anew for a restart."""
    async with AsyncExitStack() as stack:

        async def opened() -> RoomsPort:
            rooms = await stack.enter_async_context(Rooms(adapter(), embed=embed, strict=True, clock=clock))
            port = RoomsPort(rooms, clock, *lacks)
            port.again = opened
            return port

        yield await opened()


with_and_without_vectors = pytest.mark.parametrize("embed", [None, HashEmbedder()], ids=["words", "vectors"])


def lacking(embed: Embed | None) -> Lack:
    return "model" if embed else "meaning"


@with_and_without_vectors
class TestInMemory(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, embed: Embed | None) -> AsyncIterator[RoomsPort]:
        async with kept_by(lambda: InMemoryAdapter(clock=clock), clock, lacking(embed), "restart", embed=embed) as port:
            yield port


@pytest.fixture(scope="module")
def redis_address() -> Iterator[str]:
    pytest.importorskip("redis")
    with redis_server() as address:
        yield address


@with_and_without_vectors
class TestRedis(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, redis_address: str, embed: Embed | None) -> AsyncIterator[RoomsPort]:
        prefix = uuid4().hex
        async with kept_by(
            lambda: RedisAdapter(redis_address, prefix=prefix, clock=clock), clock, lacking(embed), embed=embed
        ) as port:
            yield port


@pytest.fixture(scope="module")
def postgres_address() -> Iterator[str]:
    pytest.importorskip("psycopg")
    with postgres() as address:
        yield address


@with_and_without_vectors
class TestPostgreSQL(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, postgres_address: str, embed: Embed | None) -> AsyncIterator[RoomsPort]:
        with psycopg.connect(postgres_address, autocommit=True) as db:
            db.execute("drop table if exists room_memories")
        async with kept_by(
            lambda: PostgreSQLAdapter(postgres_address, clock=clock), clock, lacking(embed), embed=embed
        ) as port:
            yield port


@with_and_without_vectors
class TestQdrant(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, tmp_path: Path, embed: Embed | None) -> AsyncIterator[RoomsPort]:
        pytest.importorskip("qdrant_client")
        async with kept_by(
            lambda: VectorDBAdapter(str(tmp_path / "qdrant"), dimension=256, clock=clock),
            clock,
            lacking(embed),
            embed=embed,
        ) as port:
            yield port


def meilisearch(clock: FrozenClock, dimension: int) -> Made:
    """Of a stand-in, or of the server at MEILI_URL (with MEILI_KEY)."""
    if address := os.environ.get("MEILI_URL"):
        key, index = os.environ.get("MEILI_KEY", ""), f"rooms-{uuid4().hex}"
        return lambda: MeilisearchAdapter(address, key, index=index, dimension=dimension, clock=clock)
    engine = Meilisearch()
    engine.key = "key"
    return lambda: MeilisearchAdapter(
        "http://meili", "key", dimension=dimension, clock=clock, transport=engine.transport
    )


@with_and_without_vectors
class TestMeilisearch(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, embed: Embed | None) -> AsyncIterator[RoomsPort]:
        async with kept_by(meilisearch(clock, 256 if embed else 0), clock, lacking(embed), embed=embed) as port:
            yield port


def pinecone(clock: FrozenClock) -> Made:
    """Of a stand-in, or of the index at PINECONE_HOST (with PINECONE_API_KEY; of dimension 256, metric cosine)."""
    if address := os.environ.get("PINECONE_HOST"):
        return lambda: PineconeAdapter(address, os.environ["PINECONE_API_KEY"], clock=clock)
    engine = Pinecone()
    return lambda: PineconeAdapter("http://pinecone", "secret", clock=clock, transport=engine.transport)


class TestPinecone(FacadeSuite):
    many = 20

    @pytest.fixture
    async def port(self, clock: FrozenClock) -> AsyncIterator[RoomsPort]:
        async with kept_by(pinecone(clock), clock, "model", "long", embed=HashEmbedder()) as port:
            yield port


class KernelPort(HostedPort, RoomsPort):
    """Rooms in the memory itself."""

    lacks: Collection[Lack] = BASE

    async def begin(self, stack: AsyncExitStack) -> None:
        await super().begin(stack)
        self.rooms = Rooms(self.memory, strict=True, clock=self.clock)


@pytest.mark.parametrize("way", ["words", "vectors", "HTTP", "encrypted"])
class TestKernel(FacadeSuite):
    @pytest.fixture
    async def port(self, clock: FrozenClock, tmp_path: Path, way: Way) -> AsyncIterator[KernelPort]:
        async with KernelPort(tmp_path, way, clock=clock) as port:
            yield port

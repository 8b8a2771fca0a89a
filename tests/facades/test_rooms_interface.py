"""What the interface of rooms says of its own: models, expiry, vectors, several memories together, refusals, its four uses."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from amemorix import AMemorixHostService
from amemorix.errors import InvalidRequest, NotReady, TooLarge
from amemorix.facades.rooms import (
    IMemory,
    IMemoryAdapter,
    InMemoryAdapter,
    MemoryEntry,
    MemoryInput,
    MemorySearchOptions,
    Rooms,
)
from amemorix.facades.rooms.adapters.kernel import KernelAdapter, chat_of_room, room_of_chat
from amemorix.facades.rooms.adapters.pinecone import PineconeAdapter
from amemorix.facades.rooms.adapters.redis import RedisAdapter
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from entrance import hits
from redis_server import redis_server
from rooms_stand_ins import Pinecone

METHODS = {
    "init": [], "create_memory": ["input"], "get_memory_by_id": ["id", "room_id"],
    "search_memory": ["query", "options"], "get_all_memories": ["room_id"],
    "delete_memory_by_id": ["id", "room_id"], "clear_memories": ["room_id"],
}  # fmt: skip


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def rooms(clock: FrozenClock) -> AsyncIterator[Rooms]:
    async with Rooms(InMemoryAdapter(clock=clock), clock=clock) as rooms:
        yield rooms


@pytest.fixture
async def memory(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[AMemorixHostService]:
    async with memory_host(tmp_path, clock=clock, embed=HashEmbedder()) as host:
        yield host


@pytest.fixture
async def kernel(memory: AMemorixHostService, clock: FrozenClock) -> Rooms:
    return Rooms(memory, strict=True, clock=clock)


async def stored(rooms: Rooms, data: str, **given: Any) -> MemoryEntry:
    entry = await rooms.create_memory({"data": data, "roomId": "r", **given})
    assert entry is not None
    return entry


async def found(rooms: Rooms, query: str, **options: Any) -> list[str]:
    return [one.data for one in await rooms.search_memory(query, {"roomId": "r", **options})]


async def test_the_seven_methods_are_there(rooms: Rooms) -> None:
    adapters = (InMemoryAdapter, RedisAdapter, PineconeAdapter, KernelAdapter)
    for one in (IMemory, Rooms, *adapters):
        for name, arguments in METHODS.items():
            method = getattr(one, name)
            assert inspect.iscoroutinefunction(method)
            assert list(inspect.signature(method).parameters)[1:] == arguments
    assert isinstance(rooms, IMemory)
    assert isinstance(rooms.adapters[0], IMemoryAdapter)


def test_models_read_and_write_the_json_of_the_interface() -> None:
    entry = MemoryEntry.read({
        "id": "m1", "data": "hello", "roomId": "r", "embedding": [0.5, 1], "expiresAt": "2030-01-02T03:04:05Z",
        "createdAt": "2029-01-02T03:04:05.678Z",
    })  # fmt: skip
    assert (entry.room_id, entry.embedding) == ("r", [0.5, 1.0])
    assert entry.expires_at == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert json.loads(json.dumps(entry.to_json())) == {
        "id": "m1", "data": "hello", "roomId": "r", "embedding": [0.5, 1.0], "expiresAt": "2030-01-02T03:04:05Z",
        "createdAt": "2029-01-02T03:04:05.678000Z",
    }  # fmt: skip
    assert MemoryEntry.read(entry.to_json()) == entry
    assert "expiresAt" not in MemoryInput(data="x", room_id="r").to_json()
    assert MemorySearchOptions.read({"roomId": "r", "minSimilarity": 0.5}).limit == 10


def test_a_time_without_a_zone_is_utc() -> None:
    naive = MemoryInput(data="x", room_id="r", expires_at=datetime(2030, 1, 1, 12))
    assert naive.expires_at == datetime(2030, 1, 1, 12, tzinfo=UTC)
    east = MemoryInput(data="x", room_id="r", expires_at=datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=8))))
    assert east.expires_at == datetime(2030, 1, 1, 4, tzinfo=UTC)


async def test_an_id_is_made_and_one_that_is_given_is_replaced(rooms: Rooms, clock: FrozenClock) -> None:
    made = await stored(rooms, "the first")
    assert len(made.id) == 36
    assert made.created_at == datetime.fromtimestamp(clock.now(), UTC)
    clock.advance(60)
    again = await stored(rooms, "the second", id=made.id)
    assert (again.id, again.created_at) == (made.id, made.created_at)
    other = await rooms.create_memory({"id": made.id, "data": "elsewhere", "roomId": "other"})
    assert other is not None
    assert other.created_at == made.created_at + timedelta(seconds=60)
    assert [one.data for one in await rooms.get_all_memories("r")] == ["the second"]


async def test_what_has_expired_already_is_not_stored(rooms: Rooms, clock: FrozenClock) -> None:
    now = datetime.fromtimestamp(clock.now(), UTC)
    assert await rooms.create_memory({"data": "late", "roomId": "r", "expiresAt": now}) is None
    assert await rooms.get_all_memories("r") == []


async def test_a_replaced_entry_has_the_new_time_to_expire(kernel: Rooms, clock: FrozenClock) -> None:
    soon = datetime.fromtimestamp(clock.now() + 10, UTC)
    await stored(kernel, "the same words", id="a", expiresAt=soon)
    assert (await kernel.get_all_memories("r"))[0].expires_at == soon
    await stored(kernel, "the same words", id="a")
    assert (await kernel.get_all_memories("r"))[0].expires_at is None
    clock.advance(11)
    assert len(await kernel.get_all_memories("r")) == 1
    later = datetime.fromtimestamp(clock.now() + 10, UTC)
    await stored(kernel, "other words", id="a", expiresAt=later)
    clock.advance(10)
    assert await kernel.get_all_memories("r") == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"data": ""}, "data"), ({"data": 5}, "data"), ({"data": None}, "data"), ({"roomId": ""}, "roomId"), ({"roomId": "x" * 501}, "roomId"),
        ({"id": ""}, "id"), ({"id": "x" * 513}, "id"), ({"embedding": []}, "embedding"), ({"embedding": [1, float("nan")]}, "embedding"),
        ({"embedding": ["x"]}, "embedding"), ({"expiresAt": "tomorrow-ish"}, "expiresAt"), ({"room": "r"}, "room"),
    ],
    ids=str,
)  # fmt: skip
async def test_what_does_not_fit_is_refused_by_its_name(rooms: Rooms, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        await rooms.create_memory({"data": "x", "roomId": "r", **given})
    assert await rooms.get_all_memories("r") == []


async def test_other_refusals(rooms: Rooms) -> None:
    for options, field in (({"limit": 0}, "limit"), ({"limit": 201}, "limit"), ({"minSimilarity": 1.1}, "minSimilarity"),
                           ({"minSimilarity": -0.1}, "minSimilarity"), ({"roomId": ""}, "roomId")):  # fmt: skip
        with pytest.raises(InvalidRequest, match=field):
            await rooms.search_memory("x", {"roomId": "r", **options})
    for method, given in (
        (rooms.get_all_memories, [""]),
        (rooms.clear_memories, ["x" * 501]),
        (rooms.get_memory_by_id, ["a", ""]),
    ):
        with pytest.raises(InvalidRequest, match="roomId"):
            await method(*given)
    with pytest.raises(InvalidRequest, match="id"):
        await rooms.delete_memory_by_id("", "r")
    with pytest.raises(TooLarge, match="data"):
        await stored(rooms, "x" * 1_000_001)
    with pytest.raises(ValidationError):
        MemoryInput(data="", room_id="r")
    assert await rooms.search_memory("  ", {"roomId": "r"}) == []


async def test_vectors_have_one_dimension(rooms: Rooms, kernel: Rooms) -> None:
    for one in (rooms, kernel):
        await stored(one, "the first", embedding=[1, 0, 0])
        with pytest.raises(InvalidRequest, match="embedding"):
            await stored(one, "another", embedding=[1, 0])
        assert len(await one.get_all_memories("r")) == 1
        with pytest.raises(InvalidRequest, match="embedding"):
            await one.search_memory("x", {"roomId": "r", "embedding": [1, 0]})


async def test_given_vectors_are_kept_and_compared_with_that_of_the_query(rooms: Rooms, kernel: Rooms) -> None:
    for one in (rooms, kernel):
        await stored(one, "alpha", embedding=[1, 0, 0])
        await stored(one, "beta", embedding=[0.6, 0.8, 0])
        await stored(one, "gamma", embedding=[0, 0, 2])
        assert [held.embedding for held in await one.get_all_memories("r")] == [
            pytest.approx(vector, abs=1e-2) for vector in ([1, 0, 0], [0.6, 0.8, 0], [0, 0, 2])
        ]
        asked = {"embedding": [1, 0, 0], "limit": 2}
        assert await found(one, "nothing of this", **asked) == ["alpha", "beta"]
        assert (await found(one, "nothing of this", **asked, minSimilarity=0.9))[:1] == ["alpha"]
        assert await found(one, "gamma") == ["gamma"] or one is kernel


async def test_an_entry_without_its_vector_is_compared_no_more(kernel: Rooms) -> None:
    await stored(kernel, "alpha", id="a", embedding=[1, 0])
    await stored(kernel, "alpha", id="a")
    assert (await kernel.get_all_memories("r"))[0].embedding is None
    assert await found(kernel, "qqq", embedding=[1, 0], minSimilarity=0.99) == []
    await stored(kernel, "beta", id="b", embedding=[0, 1])
    await kernel.delete_memory_by_id("b", "r")
    await stored(kernel, "beta", id="b")
    assert await found(kernel, "qqq", embedding=[0, 1], minSimilarity=0.99) == []


async def test_the_model_of_the_caller_makes_vectors_where_none_are_given(clock: FrozenClock) -> None:
    asked: list[str] = []

    async def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, 0.0] if "cat" in text or "kitten" in text else [0.0, 1.0] for text in texts]

    async with Rooms(InMemoryAdapter(clock=clock), embed=embed, clock=clock) as rooms:
        await stored(rooms, "a cat sleeps")
        await stored(rooms, "a train leaves")
        assert await found(rooms, "kitten", minSimilarity=0.5) == ["a cat sleeps"]
    assert asked == ["a cat sleeps", "a train leaves", "kitten"]


async def test_min_similarity_leaves_out_what_is_less_alike(kernel: Rooms, memory: AMemorixHostService) -> None:
    await stored(kernel, "the ferry leaves at nine in the morning")
    await stored(kernel, "grandmother bakes an almond cake")
    await memory.settle()
    assert len(await found(kernel, "when does the ferry leave in the morning")) == 2
    assert await found(kernel, "the ferry leaves in the morning", minSimilarity=0.5) == [
        "the ferry leaves at nine in the morning"
    ]


async def test_min_similarity_without_vectors_has_no_effect(rooms: Rooms) -> None:
    await stored(rooms, "the ferry leaves")
    assert await found(rooms, "ferry", minSimilarity=1.0) == ["the ferry leaves"]


async def test_the_same_data_is_kept_once_if_that_is_wanted(clock: FrozenClock) -> None:
    async with Rooms(InMemoryAdapter(), dedupe=True, clock=clock) as rooms:
        first = await stored(rooms, "said twice")
        assert await stored(rooms, "said twice") == first
        assert len(await rooms.get_all_memories("r")) == 1
        await rooms.create_memory({"data": "said twice", "roomId": "elsewhere"})
        assert len(await rooms.get_all_memories("elsewhere")) == 1


class Failing(InMemoryAdapter):
    def _put(self, entry: MemoryEntry) -> None:
        raise OSError("the disk is full")


async def test_a_failure_is_logged_or_raised(caplog: pytest.LogCaptureFixture) -> None:
    async with Rooms(Failing()) as rooms:
        assert await rooms.create_memory({"data": "x", "roomId": "r"}) is None
    assert "could not be stored" in caplog.text
    async with Rooms(Failing(), strict=True) as rooms:
        with pytest.raises(OSError, match="full"):
            await rooms.create_memory({"data": "x", "roomId": "r"})


async def test_several_memories_together(clock: FrozenClock) -> None:
    history = InMemoryAdapter(clock=clock)
    async with Rooms(history, clock=clock) as past:
        await stored(past, "last year the ferry was blue", id="old")
        await stored(past, "the ferry of the history", id="both")
        clock.advance(1)
        async with Rooms(InMemoryAdapter(clock=clock), also=[history], clock=clock) as rooms:
            await stored(rooms, "today the ferry is red", id="new")
            await stored(rooms, "the ferry of today", id="both")
            assert sorted(await found(rooms, "ferry")) == [
                "last year the ferry was blue", "the ferry of today", "today the ferry is red",
            ]  # fmt: skip
            assert [one.id for one in await rooms.get_all_memories("r")] == ["old", "new", "both"]
            assert (await rooms.get_memory_by_id("old", "r")) is not None
            assert [one.id for one in await past.get_all_memories("r")] == ["old", "both"]
            await rooms.delete_memory_by_id("both", "r")
            assert await rooms.get_memory_by_id("both", "r") is None


async def test_a_closed_adapter_says_so(rooms: Rooms) -> None:
    await stored(rooms, "x")
    await rooms.close()
    with pytest.raises(NotReady, match="InMemoryAdapter is closed"):
        await rooms.get_all_memories("r")


@pytest.mark.parametrize(
    "room", ["r", " r", "r ", "a%20b", "%", "100%", "a\r\nb", "　全角", "x" * 480, "room:room:", "a/b c"]
)
def test_every_room_has_a_chat_of_its_own(room: str) -> None:
    chat = chat_of_room(room)
    assert room_of_chat(chat) == room
    assert chat == chat.strip()
    assert chat_of_room("r") == "room:r"


async def test_redis_refuses_a_room_that_is_too_large() -> None:
    with redis_server() as address:
        async with Rooms(RedisAdapter(address, most=3), strict=True) as rooms:
            for n in range(3):
                await stored(rooms, f"entry {n}", id=f"e{n}")
            await stored(rooms, "again", id="e1")
            with pytest.raises(TooLarge, match="roomId"):
                await stored(rooms, "one too many")
            await rooms.delete_memory_by_id("e0", "r")
            await stored(rooms, "now it fits")


async def test_pinecone_refuses_what_it_cannot_hold() -> None:
    engine = Pinecone()
    async with Rooms(PineconeAdapter("http://pinecone", "secret", transport=engine.transport), strict=True) as rooms:
        for embedding in (None, [0.0, 0.0]):
            with pytest.raises(InvalidRequest, match="embedding"):
                await rooms.create_memory({"data": "x", "roomId": "r", "embedding": embedding})
        with pytest.raises(TooLarge, match="data"):
            await stored(rooms, "值" * 13_000, embedding=[1.0, 0.0])
    assert engine.spaces == {}


# What rooms are for, each as the document names it.


async def test_the_history_of_a_user_is_kept(kernel: Rooms) -> None:
    for line in ("User: where is my parcel?", "Bot: it is on its way.", "User: thank you"):
        await stored(kernel, line)
    assert [one.data for one in await kernel.get_all_memories("r")][-1] == "User: thank you"
    assert await kernel.get_all_memories("another user") == []


async def test_documents_are_found_by_meaning(kernel: Rooms, memory: AMemorixHostService) -> None:
    await stored(kernel, "Returns are free within thirty days of delivery.")
    await stored(kernel, "The office is closed on public holidays.")
    await memory.settle()
    assert (await found(kernel, "days for free returns after delivery"))[0].startswith("Returns")


async def test_an_agent_keeps_its_context(kernel: Rooms, memory: AMemorixHostService) -> None:
    await stored(kernel, "step one is done", id="state")
    await stored(kernel, "step two is done", id="state")
    held = await kernel.get_memory_by_id("state", "r")
    assert held is not None
    assert held.data == "step two is done"
    # A room is a chat of the memory: its other operations read it too, and no other chat does.
    assert [hit["content"] for hit in await hits(memory, "step done", chat_id=chat_of_room("r"))] == [
        "step two is done"
    ]
    assert await hits(memory, "step done", chat_id="qq:1") == []


async def test_what_is_temporary_goes_by_itself(kernel: Rooms, clock: FrozenClock) -> None:
    await stored(kernel, "the code is 4711", expiresAt=datetime.fromtimestamp(clock.now() + 300, UTC))
    assert await found(kernel, "code") == ["the code is 4711"]
    clock.advance(300)
    assert await found(kernel, "code") == []
    assert await kernel.get_all_memories("r") == []

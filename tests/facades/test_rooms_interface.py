"""What the interface of rooms says of its own: models, expiry, vectors, several memories together, refusals, its four uses."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from amemorix import AMemorixHostService
from amemorix.errors import InvalidRequest, NotReady, TooLarge
from amemorix.facades.access import shared
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
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, scratch_config
from database_file import on_disk
from entrance import call, change, data_of, hits, told
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
async def memory(opened: Any, clock: FrozenClock) -> AMemorixHostService:
    return await opened(clock=clock, embed=HashEmbedder())


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
        ({"data": ""}, "data"), ({"data": 5}, "data"), ({"data": " \n\t"}, "data"), ({"data": None}, "data"), ({"roomId": ""}, "roomId"), ({"roomId": "x" * 501}, "roomId"),
        ({"id": ""}, "id"), ({"id": "x" * 513}, "id"), ({"embedding": []}, "embedding"), ({"embedding": [1, float("nan")]}, "embedding"),
        ({"embedding": ["x"]}, "embedding"), ({"expiresAt": "tomorrow-ish"}, "expiresAt"), ({"room": "r"}, "room"),
    ],
    ids=str,
)  # fmt: skip
async def test_what_does_not_fit_is_refused_by_its_name(rooms: Rooms, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        await rooms.create_memory({"data": "x", "roomId": "r", **given})
    assert await rooms.get_all_memories("r") == []


async def test_other_refusals(rooms: Rooms, kernel: Rooms) -> None:
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
    for one in (rooms, kernel):
        with pytest.raises((InvalidRequest, TooLarge), match="data"):
            await stored(one, "x" * 1_000_001)
    with pytest.raises(ValidationError):
        MemoryInput(data="", room_id="r")
    assert await rooms.search_memory("  ", {"roomId": "r"}) == []


async def test_each_room_has_a_dimension_of_its_own(kernel: Rooms, memory: AMemorixHostService) -> None:
    for room, vector in (("r", [1.0, 0.0]), ("q", [0.0, 1.0, 0.0]), ("s", None)):
        await kernel.create_memory({"id": "a", "data": f"alpha of {room}", "roomId": room, "embedding": vector})
    for room, vector in (("r", [1.0, 0.0]), ("q", [0.0, 1.0, 0.0]), ("s", [1.0])):
        near = await kernel.search_memory("alpha", {"roomId": room, "embedding": vector})
        assert [one.data for one in near] == [f"alpha of {room}"]
    assert [one.embedding for one in await kernel.get_all_memories("q")] == [[0, 1, 0]]
    await stored(kernel, "beta", id="b", embedding=[1, 1])
    await kernel.delete_memory_by_id("a", "r")
    with pytest.raises(InvalidRequest, match="embedding"):
        await stored(kernel, "gamma", embedding=[1, 1, 1])
    await stored(kernel, "beta", id="b")  # the last vector goes with its entry's
    await stored(kernel, "gamma", embedding=[1, 1, 1])
    assert await found(kernel, "nothing", embedding=[1, 1, 1], limit=1) == ["gamma"]
    await kernel.clear_memories("r")
    await stored(kernel, "delta", embedding=[1])
    for room in "rqs":
        await kernel.clear_memories(room)
    assert (await call(memory, "memory_vector_admin", "spaces"))["items"] == []


async def test_the_vectors_of_rooms_that_had_one_space_are_kept(tmp_path: Path, clock: FrozenClock) -> None:
    async with memory_host(tmp_path, clock=clock) as host:
        rooms = Rooms(host, strict=True, clock=clock)
        for room in ("r", "q"):
            await rooms.create_memory({"id": "a", "data": f"alpha of {room}", "roomId": room, "embedding": [1, 0]})
        await call(host, "memory_vector_admin", "create_space", space="mine")
        folder = data_of(host)
    change(folder, "update space_vectors set space = (select min(id) from vector_spaces)")
    change(folder, "delete from vector_spaces where name = 'room:q'")
    change(folder, "update vector_spaces set name = 'rooms' where name = 'room:r'")
    change(folder, "drop index refs_by_hash")
    change(folder, "pragma user_version = 6")
    async with memory_host(tmp_path, clock=clock) as host:
        rooms = Rooms(host, strict=True, clock=clock)
        assert sorted(one["space"] for one in (await call(host, "memory_vector_admin", "spaces"))["items"]) == ["mine", "room:q", "room:r"]  # fmt: skip
        for room in ("r", "q"):
            (entry,) = await rooms.search_memory("nothing of this", {"roomId": room, "embedding": [1, 0]})
            assert (entry.data, entry.embedding) == (f"alpha of {room}", [1, 0])
        await rooms.clear_memories("q")
        await rooms.create_memory({"data": "beta", "roomId": "q", "embedding": [1, 2, 3]})


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


@pytest.mark.parametrize("sharing", [{"shared_memory_groups": [{"targets": ["room:r", "qq:1", "room:other"]}]},
                                     {"global_memory_sharing_enabled": True}], ids=["groups", "all"])  # fmt: skip
async def test_nothing_of_others_is_in_a_room(opened: Any, sharing: dict[str, Any]) -> None:
    host = await opened(embed=HashEmbedder(), **sharing)
    rooms = Rooms(host, strict=True)
    for place in (
        {"chat_id": "qq:1"},
        {"chat_id": "qq:1", "scope": "global"},
        {"chat_id": "room:r", "source": "elsewhere"},
    ):
        await told(host, "the kettle is on the stove", **place)
    await rooms.create_memory({"data": "the kettle is in the garden", "roomId": "other"})
    await host.settle()
    assert await found(rooms, "where is the kettle") == await rooms.get_all_memories("r") == []
    mine = await stored(rooms, "the kettle is mine", id="k")
    assert await found(rooms, "where is the kettle") == ["the kettle is mine"]
    await rooms.clear_memories("r")
    assert len(await hits(host, "kettle", chat_id="qq:1")) >= 2
    assert await rooms.get_memory_by_id(mine.id, "r") is None


async def test_meaning_is_found_at_once_by_one_who_waits(memory: AMemorixHostService) -> None:
    rooms = Rooms(KernelAdapter(memory, wait="vectors"), strict=True)
    await stored(rooms, "the ferry leaves at nine in the morning")
    found = await call(memory, "search_memory", query="the ferry in the morning", chat_id=chat_of_room("r"))
    assert found["hits"][0]["similarity"] > 0.5


async def test_min_similarity_leaves_out_what_is_less_alike(kernel: Rooms, memory: AMemorixHostService) -> None:
    await stored(kernel, "the ferry leaves at nine in the morning")
    await stored(kernel, "grandmother bakes an almond cake")
    await memory.settle()
    assert len(await found(kernel, "when does the ferry leave in the morning")) == 2
    assert await found(kernel, "the ferry leaves in the morning", minSimilarity=0.5) == [
        "the ferry leaves at nine in the morning"
    ]


async def test_where_no_vector_can_be_made_words_do(clock: FrozenClock, caplog: pytest.LogCaptureFixture) -> None:
    def fails(texts: list[str]) -> list[list[float]]:
        raise OSError("the endpoint is away")

    async with Rooms(InMemoryAdapter(clock=clock), embed=fails, clock=clock) as rooms:
        await stored(rooms, "the ferry leaves")
        assert await found(rooms, "ferry") == ["the ferry leaves"]
        assert "endpoint is away" in caplog.text
    async with Rooms(InMemoryAdapter(clock=clock), embed=fails, strict=True) as rooms:
        with pytest.raises(OSError, match="away"):
            await stored(rooms, "the ferry leaves")


async def test_min_similarity_without_vectors_has_no_effect(rooms: Rooms, caplog: pytest.LogCaptureFixture) -> None:
    await stored(rooms, "the ferry leaves")
    for _ in range(2):
        assert await found(rooms, "ferry", minSimilarity=1.0) == ["the ferry leaves"]
    assert caplog.text.count("minSimilarity has no effect") == 1


@pytest.mark.parametrize("kept_in", ["the memory", "the process"])
async def test_the_same_data_is_kept_once_if_that_is_wanted(
    memory: AMemorixHostService, clock: FrozenClock, kept_in: str
) -> None:
    adapter: Any = memory if kept_in == "the memory" else InMemoryAdapter(clock=clock)
    many = [Rooms(adapter, dedupe=True, strict=True, clock=clock) for _ in range(2)]
    first = await stored(many[0], "said  twice", embedding=[1, 0])
    clock.advance(60)
    assert await stored(many[1], "said  twice", embedding=[0, 1]) == first
    assert await many[0].get_all_memories("r") == [first]
    await many[0].create_memory({"data": "said  twice", "roomId": "elsewhere"})
    assert len(await many[0].get_all_memories("elsewhere")) == 1
    assert (await stored(many[0], "said  twice", id="mine")).id == "mine"
    told_at_once = await asyncio.gather(*(stored(many[n % 2], "said by everybody") for n in range(20)))
    assert len({one.id for one in told_at_once}) == 1
    assert [one.data for one in await many[0].get_all_memories("r")].count("said by everybody") == 1


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


async def test_what_is_deleted_can_be_erased_at_once(memory: AMemorixHostService, clock: FrozenClock) -> None:
    rooms = Rooms(KernelAdapter(memory, purge=True), strict=True, clock=clock)
    await stored(rooms, "the combination is xylophone", id="zeppelin", embedding=[1, 2])
    await stored(rooms, "it stays")
    await memory.settle()
    await rooms.delete_memory_by_id("zeppelin", "r")
    files = on_disk(data_of(memory))
    assert any(b"it stays" in one for one in files)
    assert [one for one in files if b"xylophone" in one or b"zeppelin" in one] == []


async def test_a_room_that_is_erased_leaves_no_name(memory: AMemorixHostService, clock: FrozenClock) -> None:
    rooms, room = Rooms(KernelAdapter(memory, purge=True), strict=True, clock=clock), "consulting-hour-of-ann"
    for n in range(2):
        await rooms.create_memory({"data": f"entry {n}", "roomId": room, "embedding": [1, n]})
    await Rooms(memory).delete_memory_by_id((await rooms.get_all_memories(room))[0].id, room)
    await rooms.clear_memories(room)
    files = on_disk(data_of(memory))
    assert [one for one in files if room.encode() in one] == []
    written = asyncio.gather(*(rooms.create_memory({"data": f"more {n}", "roomId": room}) for n in range(5)))
    await rooms.clear_memories(room)
    await written
    await rooms.clear_memories(room)
    assert await rooms.get_all_memories(room) == []


def test_the_rooms_of_a_folder_are_used_from_any_loop(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    rooms = Rooms(config, strict=True)
    try:
        for n in range(2):
            asyncio.run(stored(rooms, f"said in loop {n}"))
        assert len(asyncio.run(Rooms(str(config)).get_all_memories("r"))) == 2
    finally:
        shared(config).close()


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


WITHOUT_CLIENTS = """
import sys
sys.modules.update(dict.fromkeys(("redis", "psycopg", "qdrant_client")))
import pkgutil, amemorix.facades.rooms.adapters as adapters
from importlib import import_module
from amemorix.errors import NotReady
modules = {name: import_module(f"{adapters.__name__}.{name}") for _, name, _ in pkgutil.iter_modules(adapters.__path__)}
import_module("amemorix.facades.rooms.mirror")
for module, made in (("redis", "RedisAdapter"), ("postgres", "PostgreSQLAdapter"), ("qdrant", "VectorDBAdapter")):
    try:
        getattr(modules[module], made)("redis://x", **({"dimension": 3} if module == "qdrant" else {}))
    except NotReady as exc:
        print(exc)
"""


def test_every_adapter_is_imported_without_its_client_and_names_its_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_CLIENTS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"amemorix\[\w+\]", done.stdout) == ["amemorix[redis]", "amemorix[postgres]", "amemorix[qdrant]"]


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

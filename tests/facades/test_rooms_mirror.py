"""Rooms of a memory, copied into another adapter as they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService
from amemorix.facades.rooms import InMemoryAdapter, MemoryEntry, Rooms
from amemorix.facades.rooms.mirror import RoomMirror
from amemorix.testing import FrozenClock, memory_host
from entrance import call, told

ROOMS = ("r", "other", " spaced ")


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
async def memory(tmp_path: Path, clock: FrozenClock) -> AsyncIterator[AMemorixHostService]:
    async with memory_host(tmp_path, clock=clock) as host:
        yield host


@pytest.fixture
async def rooms(memory: AMemorixHostService, clock: FrozenClock) -> Rooms:
    return Rooms(memory, strict=True, clock=clock)


@pytest.fixture
async def copy(clock: FrozenClock) -> AsyncIterator[InMemoryAdapter]:
    adapter = InMemoryAdapter(clock=clock)
    yield adapter
    await adapter.close()


async def stored(rooms: Rooms, id: str, data: str, room: str = "r", expires_at: datetime | None = None) -> None:
    given = {"id": id, "data": data, "roomId": room, "embedding": [1.0, 2.0], "expiresAt": expires_at}
    assert await rooms.create_memory(given) is not None


async def held(adapter: Rooms | InMemoryAdapter) -> list[MemoryEntry]:
    return [
        one.model_copy(update={"embedding": None}) for room in ROOMS for one in await adapter.get_all_memories(room)
    ]


async def test_what_happens_in_rooms_happens_in_the_copy(
    rooms: Rooms, memory: AMemorixHostService, copy: InMemoryAdapter, clock: FrozenClock
) -> None:
    await stored(rooms, "a", "there before")
    await stored(rooms, " a ", "in a room of odd names", " spaced ")
    mirror = RoomMirror(memory, copy)
    assert await mirror.catch_up() == 2
    assert await held(copy) == await held(rooms)
    assert await mirror.catch_up() == 0
    await stored(rooms, "a", "worded anew")
    await stored(rooms, "b", "for an hour", expires_at=datetime.fromtimestamp(clock.now() + 3600, UTC))
    await told(memory, "a note that is in no room", chat_id="qq:1")
    assert await mirror.catch_up() == 2
    assert [one.data for one in await copy.get_all_memories("r")] == ["worded anew", "for an hour"]
    assert (await copy.get_all_memories("r"))[0].embedding == pytest.approx([1, 2], abs=1e-2)
    assert await held(copy) == await held(rooms)
    clock.advance(3600)
    assert await mirror.catch_up() == 1
    await rooms.delete_memory_by_id("a", "r")
    assert await mirror.catch_up() == 1
    await rooms.clear_memories(" spaced ")
    assert await mirror.catch_up() == 1
    assert await held(copy) == []


async def test_a_purge_reaches_the_copy_also_later(
    rooms: Rooms, memory: AMemorixHostService, copy: InMemoryAdapter, tmp_path: Path
) -> None:
    await stored(rooms, "a", "it stays")
    await stored(rooms, "b", "it must go for good")
    state = tmp_path / "mirror.json"
    await RoomMirror(memory, copy, state=state).catch_up()
    await call(
        memory, "memory_document_admin", "delete", source="room:r", chat_id="room:r", external_ids=["b"], purge=True
    )
    later = RoomMirror(memory, copy, state=state)
    assert await later.catch_up() == 1
    assert [one.id for one in await copy.get_all_memories("r")] == ["a"]
    await call(memory, "memory_delete_admin", "execute", mode="source", selector={"source": "room:r"}, purge=True)
    await RoomMirror(memory, copy, state=state).catch_up()
    assert await held(copy) == []
    assert "it must go" not in state.read_text("utf-8")


async def test_one_that_was_away_too_long_compares_everything(
    rooms: Rooms, memory: AMemorixHostService, copy: InMemoryAdapter, tmp_path: Path
) -> None:
    state = tmp_path / "mirror.json"
    await stored(rooms, "a", "there before")
    await RoomMirror(memory, copy, state=state).catch_up()
    await rooms.delete_memory_by_id("a", "r")
    await stored(rooms, "b", "in its place", "other")
    state.write_text(state.read_text("utf-8").replace('"since": ', '"since": 99'), "utf-8")
    assert await RoomMirror(memory, copy, state=state).catch_up() == 2
    assert await held(copy) == await held(rooms)


async def test_it_follows_while_it_runs(rooms: Rooms, memory: AMemorixHostService, copy: InMemoryAdapter) -> None:
    following = asyncio.create_task(RoomMirror(memory, copy).run())
    await stored(rooms, "a", "said while it runs")
    async with asyncio.timeout(30):
        while not await held(copy):  # noqa: ASYNC110  # there is no event of it
            await asyncio.sleep(0)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


STEP = st.tuples(
    st.sampled_from(["put", "put", "delete", "clear", "expire", "follow"]), st.integers(0, 3), st.sampled_from(ROOMS)
)


@settings(max_examples=8, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(STEP, min_size=1, max_size=12))
async def test_after_any_history_the_copy_is_the_same(
    rooms: Rooms, memory: AMemorixHostService, copy: InMemoryAdapter, clock: FrozenClock, tmp_path: Path,
    history: list[tuple[str, int, str]],
) -> None:  # fmt: skip
    mirror = RoomMirror(memory, copy, state=tmp_path / "mirror.json")
    for n, (step, which, room) in enumerate(history):
        match step:
            case "put":
                expires = datetime.fromtimestamp(clock.now() + 50, UTC) if which == 3 else None
                await stored(rooms, f"e{which}", f"said {n}", room, expires)
            case "delete":
                await rooms.delete_memory_by_id(f"e{which}", room)
            case "clear":
                await rooms.clear_memories(room)
            case "expire":
                clock.advance(20)
            case _:
                await mirror.catch_up()
    await mirror.catch_up()
    assert await held(copy) == await held(rooms)

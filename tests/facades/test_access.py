"""What facades stand on: one memory of a configuration file, and the same calls over every kind of memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService, AsyncMemory, Memory
from amemorix.errors import InvalidRequest, MemoryFault
from amemorix.facades.access import SharedMemory, caller_of, shared
from amemorix.facades.exo import HumanMemory, KernelStore
from amemorix.facades.procedural import ProceduralMemory
from amemorix.facades.xaibo import AMemorixMemory

NO_MODEL = '[embedding]\nprovider = "none"\n'


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "bot" / "memory.toml"
    path.parent.mkdir()
    path.write_text(NO_MODEL, "utf-8")
    yield path
    shared(path).close()


async def stored(memory: Any, text: str) -> list[str]:
    caller = caller_of(memory)
    await caller.call("ingest_text", {"text": text, "chat_id": "c"})
    found = await caller.call("memory_text_admin", action="list", chat_id="c")
    with pytest.raises(MemoryFault, match="text"):
        await caller.call("ingest_text", text="", chat_id="c")
    return [item["text"] for item in found["items"]]


def test_everybody_in_a_process_shares_the_memory_of_a_file(config: Path) -> None:
    one = shared(config)
    assert shared(str(config)) is one
    assert asyncio.run(stored(config, "the ferry leaves at nine")) == ["the ferry leaves at nine"]
    assert asyncio.run(stored(one, "the last one at six")) == ["the last one at six", "the ferry leaves at nine"]
    assert one.call_sync("memory_text_admin", action="list", chat_id="c")["count"] == 2
    assert (config.parent / "data" / "a-memorix" / "memory.db").exists()


def test_it_is_opened_again_after_it_was_closed(config: Path) -> None:
    shared(config).call_sync("ingest_text", text="kept", chat_id="c")
    shared(config).close()
    assert shared(config).call_sync("memory_text_admin", action="list", chat_id="c")["count"] == 1


async def test_a_host_an_awaited_memory_and_a_blocking_one_answer_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(NO_MODEL, "utf-8")
    host = AMemorixHostService(path)
    await host.start()
    assert await stored(host, "said") == ["said"]
    await host.stop()
    async with AsyncMemory(path) as memory:
        assert await stored(memory, "again") == ["again", "said"]
    blocking = await asyncio.to_thread(Memory, path)
    assert await stored(blocking, "and again") == ["and again", "again", "said"]
    await asyncio.to_thread(blocking.close)


def test_two_places_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="url"):
        shared("a.toml", url="http://127.0.0.1:1")


def test_a_closed_one_says_so(config: Path) -> None:
    one: SharedMemory = shared(config)
    one.close()
    with pytest.raises(MemoryFault, match="closed"):
        one.call_sync("memory_stats")


async def test_a_chat_filter_speaks_of_chats_and_not_of_what_facades_keep(opened: Any) -> None:
    host = await opened(filter={"mode": "whitelist", "chats": ["qq:1"]})
    memory, store, flows = AMemorixMemory.over(host), KernelStore(host), ProceduralMemory(host, hidden_size=0)
    await memory.store_memory("kept all the same")
    await store.add(HumanMemory(content="kept all the same"))
    await flows.memorize("kept all the same", "f", "f", agent_id="a")
    assert len(await memory.list_memories()) == len(await store.search()) == len(await flows.list_flows("a")) == 1
    assert len(await store.search(query="kept")) == len(await flows.recall("kept", "a")) == 1

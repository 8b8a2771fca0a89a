"""Waiting until the background has caught up: in this process, and at a daemon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService, AsyncClient, AsyncMemory, Client, Memory
from amemorix.errors import TimedOut
from amemorix.testing import HashEmbedder, scratch_config
from conftest import Open
from daemon_process import Running, daemon
from entrance import call, refused, told

SETTLE = "memory_runtime_admin"
LINES = 40


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Running]:
    config = scratch_config(tmp_path, {"embedding.provider": "none", "http.port": 0})
    with daemon(config) as running:
        yield running


def turns(round_: int) -> list[dict[str, str]]:
    return [{"speaker": "Ada", "text": f"I bought kite {round_}-{n} in Porto."} for n in range(LINES)]


def test_a_memory_and_a_client_wait_at_the_daemon(tmp_path: Path, serving: Running) -> None:
    for n, opened in enumerate((lambda: Memory(tmp_path), lambda: Client(serving.url))):
        with opened() as memory:
            memory.add(messages=turns(n), chat="c")
            memory.settle()
            assert not any(memory.call("memory_stats")["lag"].values())


async def test_their_awaited_twins_wait_too(tmp_path: Path, serving: Running) -> None:
    for n, opened in enumerate((lambda: AsyncMemory(tmp_path), lambda: AsyncClient(serving.url))):
        async with opened() as memory:
            await memory.add(messages=turns(n), chat="c")
            await memory.settle()
            assert not any((await memory.call("memory_stats"))["lag"].values())


def test_who_gives_up_is_told(tmp_path: Path, serving: Running) -> None:
    with Memory(tmp_path) as memory:
        memory.add(messages=turns(0), chat="c")
        with pytest.raises(TimedOut) as caught:
            memory.settle(timeout=0)
        assert caught.value.details["waiting"]
        memory.settle(timeout=600)


@pytest.fixture
def held_back() -> Iterator[tuple[Any, threading.Event]]:
    """An embedding function that waits at kites until it is let go."""
    words, let_go = HashEmbedder(), threading.Event()

    def embed(texts: Sequence[str]) -> Any:
        if any("kite" in text for text in texts):
            let_go.wait(60)
        return words(texts)

    yield embed, let_go
    let_go.set()


async def test_after_so_many_seconds_it_says_what_waits(opened: Open, held_back: tuple[Any, threading.Event]) -> None:
    embed, let_go = held_back
    host = await opened(embed=embed)
    await told(host, "a red kite", chat_id="c")

    answer = await call(host, SETTLE, "settle", seconds=0.2)

    assert (answer["settled"], answer["waiting"]["vectors"]) == (False, 1)
    with pytest.raises(TimedOut, match=r"after 0\.2 s") as caught:
        await host.settle(0.2)
    assert caught.value.details["waiting"]["vectors"] == 1
    let_go.set()
    answer = await call(host, SETTLE, "settle", seconds=600)
    assert (answer["settled"], answer["waiting"]) == (True, {})


async def test_several_wait_for_the_same_work(opened: Open, held_back: tuple[Any, threading.Event]) -> None:
    embed, let_go = held_back
    host = await opened(embed=embed)
    await told(host, "a red kite", chat_id="c")
    waiting = [asyncio.ensure_future(call(host, SETTLE, "settle", seconds=600)) for _ in range(3)]
    assert not (await call(host, SETTLE, "settle", seconds=0))["settled"]
    let_go.set()
    assert [one["settled"] for one in await asyncio.gather(*waiting)] == [True, True, True]
    assert (await call(host, "memory_stats"))["embedding"]["pending"] == 0


async def test_the_bound_is_a_number_of_seconds(host: AMemorixHostService) -> None:
    for wrong in (-1, 601, "soon"):
        await refused(host, SETTLE, {"action": "settle", "seconds": wrong}, "seconds")

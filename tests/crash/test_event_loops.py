"""A memory lives in the event loop that it was started in, and says so to whoever calls it from another."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService, SDKMemoryKernel
from amemorix.clock import SystemClock
from amemorix.errors import NotReady
from amemorix.host.environment import Surroundings
from amemorix.language.times import local_zone
from amemorix.testing import HashEmbedder, memory_host, scratch_config

NOTE = {"external_id": "n", "source_type": "note", "text": "The kettle is blue."}
CALLS = {
    "call": lambda host: host.call("memory_stats"),
    "settle": lambda host: host.settle(5),
    "start": lambda host: host.start(),
    "reload": lambda host: host.reload(),
    "update_config": lambda host: host.update_config({"retrieval.candidates": 60}),
}


def memory(folder: Path, *, watch: bool = True) -> AMemorixHostService:
    path = scratch_config(folder, {"embedding.provider": "host"})
    around = Surroundings({}, SystemClock(), local_zone(), HashEmbedder(16))
    return AMemorixHostService(path, surroundings=around, watch=watch)


@pytest.fixture
def host(tmp_path: Path) -> AMemorixHostService:
    return memory(tmp_path)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """As a host does that is not asynchronous: one loop a call."""
    return asyncio.run(work)


def assert_free(folder: Path) -> None:
    """The write is there, and nobody holds the folder."""

    async def again() -> dict[str, Any]:
        async with memory_host(folder) as host:
            return await host.invoke("ingest_text", NOTE)

    assert run(again())["reason"] == "exists"


def test_a_loop_for_each_call_is_refused_with_the_reason(host: AMemorixHostService, tmp_path: Path) -> None:
    run(host.start())
    answer = run(host.invoke("ingest_text", NOTE))
    assert (answer["success"], answer["error_code"]) == (False, "not_ready")
    assert "closed" in answer["error"] and "one loop" in answer["error"]
    for name, call in CALLS.items():
        with pytest.raises(NotReady, match="closed"):
            run(call(host))
        assert host.state == "ready", name
    run(host.stop())
    run(host.stop())
    assert host.state == "stopped"


def test_stop_closes_what_another_loop_began(host: AMemorixHostService, tmp_path: Path) -> None:
    async def used() -> None:
        await host.start()
        await host.call("ingest_text", NOTE)
        await host.settle()
        await host.update_config({"storage.readers": 3})
        await host.call("search_memory", {"query": "kettle", "used": True})

    before = {*threading.enumerate()}  # a memory that other tests share may be open
    run(used())
    run(host.stop())
    assert not [thread for thread in {*threading.enumerate()} - before if thread.name.startswith("amemorix")]
    assert_free(tmp_path)


def test_stop_after_a_loop_that_was_closed_with_all_that_ran_in_it(tmp_path: Path) -> None:
    host, loop = memory(tmp_path, watch=False), asyncio.new_event_loop()
    loop.run_until_complete(host.start())
    loop.run_until_complete(host.call("ingest_text", NOTE))
    loop.run_until_complete(asyncio.sleep(0.1))
    left = asyncio.all_tasks(loop)
    loop.close()
    run(host.stop())
    for task in left:
        task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
        with contextlib.suppress(BaseException):  # what it waited for was of the loop
            task.get_coro().close()  # pyright: ignore[reportOptionalMemberAccess]
    assert_free(tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs on another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_loop_on_another_thread_is_named_and_stop_goes_there(
    host: AMemorixHostService, elsewhere: asyncio.AbstractEventLoop, tmp_path: Path
) -> None:
    asyncio.run_coroutine_threadsafe(host.start(), elsewhere).result(60)
    answer = run(host.invoke("ingest_text", NOTE))
    assert answer["error_code"] == "not_ready"
    assert "run_coroutine_threadsafe" in answer["error"]
    assert asyncio.run_coroutine_threadsafe(host.invoke("ingest_text", NOTE), elsewhere).result(60)["success"]
    run(host.stop())
    assert host.state == "stopped"
    assert_free(tmp_path)


def test_a_memory_that_was_stopped_is_started_in_another_loop(host: AMemorixHostService, tmp_path: Path) -> None:
    async def used() -> None:
        await asyncio.gather(host.start(), host.start())
        await asyncio.gather(*(host.update_config({"storage.readers": count}) for count in (2, 3)))
        await host.call("ingest_text", NOTE)
        await asyncio.gather(host.stop(), host.stop())

    for _ in range(3):
        run(used())
    assert_free(tmp_path)


@pytest.mark.parametrize("step", ["pause", "close"])
def test_a_stop_that_fails_ends_stopped(
    step: str, host: AMemorixHostService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def used() -> None:
        await host.start()
        await host.call("ingest_text", NOTE)
        done = getattr(SDKMemoryKernel, step)

        async def failing(kernel: SDKMemoryKernel) -> None:
            await done(kernel)
            raise OSError("the disk is gone")

        with monkeypatch.context() as patch, pytest.raises(OSError, match="gone"):
            patch.setattr(SDKMemoryKernel, step, failing)
            await host.stop()
        assert host.state == "stopped"

    run(used())
    assert_free(tmp_path)

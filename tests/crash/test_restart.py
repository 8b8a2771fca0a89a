"""Stopping and starting: what was acknowledged is there, and a stopped memory stays stopped."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import NotReady
from amemorix.indexes.vectors import embedding
from amemorix.testing import HashEmbedder, ScriptedChat, memory_host, scratch_config
from database_file import open_database
from entrance import change, data_of, rows
from pace import until

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_memory", {"query": "kettle"}),
    ("ingest_text", {"external_id": "late", "source_type": "note", "text": "Too late."}),
    ("ingest_summary", {"external_id": "late", "chat_id": "c", "text": "Too late."}),
    ("ingest_messages", {"chat_id": "c", "messages": [{"text": "Too late."}]}),
    ("memory_stats", {}),
    ("memory_source_admin", {"action": "delete", "source": "note"}),
    ("memory_runtime_admin", {"action": "save"}),
    ("memory_runtime_admin", {"action": "rebuild_all_vectors"}),
)


def note(number: int, text: str = "") -> dict[str, Any]:
    return {"external_id": f"n{number}", "source_type": "note", "text": text or f"Kettle number {number} is blue."}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_stopped_memory_answers_not_ready_and_nothing_starts_again(tmp_path: Path) -> None:
    others = set(threading.enumerate())
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
    before = tree(tmp_path)

    answers = [await host.invoke(component, args) for component, args in CALLS]
    for late in (host.reload(), host.update_config({"retrieval.candidates": 60}), host.settle(1)):
        with pytest.raises(NotReady):
            await late
    await asyncio.sleep(0.4)

    assert {answer["error_code"] for answer in answers} == {"not_ready"}
    assert host.state == "stopped"
    assert [one for one in threading.enumerate() if one not in others and one.name.startswith("amemorix")] == []
    assert tree(tmp_path) == before


async def test_a_memory_that_was_never_started_touches_no_file(tmp_path: Path) -> None:
    host = AMemorixHostService(tmp_path / "config" / "a_memorix.toml")
    assert (await host.invoke("memory_stats"))["error_code"] == "not_ready"
    await host.stop()
    assert list(tmp_path.iterdir()) == []


async def test_starting_and_stopping_twice_is_the_same_as_once(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await host.start()
        await asyncio.gather(host.start(), host.start())
        await host.call("ingest_text", note(1))
        await asyncio.gather(host.stop(), host.stop())
        await asyncio.gather(host.start(), host.start())
        assert (await host.invoke("memory_stats"))["paragraphs"] == 1


async def test_calls_that_come_while_it_starts_wait_for_it(tmp_path: Path) -> None:
    host = AMemorixHostService(scratch_config(tmp_path, {"embedding": {"provider": "none"}}), watch=False)
    starting = asyncio.create_task(host.start())
    await asyncio.sleep(0)
    assert (await host.invoke("memory_stats"))["success"]
    await starting
    await host.stop()


async def test_stop_lets_the_calls_in_flight_finish(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        calls = [asyncio.create_task(host.invoke("ingest_text", note(i))) for i in range(200)]
        calls += [asyncio.create_task(host.invoke("search_memory", {"query": "kettle"})) for _ in range(50)]
        await asyncio.sleep(0.005)
        await host.stop()
        answers = await asyncio.gather(*calls)
        assert all(answer["success"] or answer["error_code"] == "not_ready" for answer in answers), answers
        stored = sum(answer["success"] for answer in answers[:200])
        await host.start()
        assert (await host.invoke("memory_stats"))["paragraphs"] == stored > 0


class SlowChat(ScriptedChat):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__({"check": {"ok": True}})
        self.begun, self.let_go = asyncio.Event(), asyncio.Event()

    async def answer(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self.begun.set()
        await self.let_go.wait()
        return await super().answer(*args, **kwargs)


@contextlib.asynccontextmanager
async def underway(host: AMemorixHostService, chat: SlowChat) -> AsyncGenerator[None]:
    """A call that takes as long as the block."""
    call = asyncio.create_task(host.invoke("memory_runtime_admin", {"action": "check", "probe": True}))
    await chat.begun.wait()
    try:
        yield
    finally:
        chat.let_go.set()
        assert (await call)["success"]


async def test_a_stop_that_is_given_up_on_is_carried_through(tmp_path: Path) -> None:
    chat = SlowChat()
    async with memory_host(tmp_path, chat=chat) as host:
        async with underway(host, chat):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(host.stop(), 0.05)
            assert host.state == "stopping"
        await host.stop()
        assert host.state == "stopped"
        async with memory_host(tmp_path) as other:
            assert (await other.invoke("memory_stats"))["success"]


async def test_a_config_change_that_is_given_up_on_leaves_a_working_memory(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        for number in range(12):
            change = asyncio.create_task(host.update_config({"embedding.model_name": f"m{number}"}))
            await asyncio.sleep(0.0015 * number)
            change.cancel()
            await asyncio.gather(change, return_exceptions=True)
        await host.call("ingest_text", note(1))
        await host.settle(600)
        stats = await host.invoke("memory_stats")
        assert stats["embedding"]["pending"] == 0
        assert stats["embedding"]["model"] == (await host.get_config())["embedding"]["model_name"]
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        assert (await host.invoke("memory_stats"))["paragraphs"] == 1


async def test_settle_goes_on_with_the_memory_that_takes_over(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        for number in range(6):
            await host.call("ingest_text", note(number))
            settling = asyncio.create_task(host.settle(600))
            await asyncio.sleep(0)
            await host.update_config({"embedding.model_name": f"m{number}"})
            await settling
            await host.settle(600)
            stats = await host.invoke("memory_stats")
            assert (stats["embedding"]["pending"], stats["embedding"]["model"]) == (0, f"m{number}")


async def test_a_rebuild_begun_while_the_config_changes_is_not_forgotten(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        await host.settle(600)
        for number in range(20):
            change = asyncio.create_task(host.update_config({"retrieval.candidates": 50 + number}))
            await asyncio.sleep(0.001 * (number % 7))
            begun = await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
            await change
            await host.settle(600)
            status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})
            assert begun["success"], begun
            assert status["embedding"]["serving_generation"] == begun["generation"], (number, status)


async def test_a_rebuild_that_the_old_kernel_brought_to_its_end_is_taken_up_by_the_new(tmp_path: Path) -> None:
    """The old kernel's last write may come after the new kernel has chosen what to fill."""
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        await host.settle(600)
        change(host, "update embedding_generations set status = 'retired'")
        change(host, "insert into embedding_generations (fingerprint, provider, model, dimension, status, created_at, served_at) "
                     "select fingerprint, provider, model, dimension, 'serving', created_at, served_at from embedding_generations")  # fmt: skip
        ((made,),) = rows(host, "select max(id) from embedding_generations")

        await host.settle(600)

        status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})
        assert (status["embedding"]["state"], status["embedding"]["serving_generation"]) == ("idle", made)
        assert await host.invoke("search_memory", {"query": "note"})


async def test_a_rebuild_begun_through_a_call_of_the_old_kernel_is_carried_out_by_the_new(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        await host.settle(600)
        with closing(open_database(data_of(host) / "memory.db", isolation_level=None)) as other:
            other.execute("begin immediate")  # the old kernel cannot write yet
            rebuild = asyncio.create_task(host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"}))
            await asyncio.sleep(0.1)
            update = asyncio.create_task(host.update_config({"retrieval.candidates": 51}))

            async def taken_over() -> bool:
                return (await host.get_config())["retrieval"]["candidates"] == 51

            await until(taken_over)
            other.execute("rollback")
        begun, _ = await asyncio.gather(rebuild, update)
        assert begun["success"], begun
        await host.settle(600)
        assert (await host.invoke("memory_stats"))["embedding"]["serving_generation"] == begun["generation"]


async def half_dropped(host: AMemorixHostService) -> None:
    """Wait until some vectors of the first generation are gone."""
    counted = "select g.id, count(e.generation) from embedding_generations g left join embeddings e on e.generation = g.id group by 1"
    (_, before), *_ = rows(host, counted)
    while True:
        (_, left), *others = rows(host, counted)
        if left < before:
            assert others and left, "too late to see it"
            return
        await asyncio.sleep(0.001)


async def test_vectors_of_a_model_that_comes_back_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the memory ended while they were being dropped."""
    monkeypatch.setattr(embedding, "DROP_STEP", 10)
    monkeypatch.setattr(embedding, "NOTE_EVERY", 100)
    settings = {"embedding": {"model_name": "first", "keep_generations": 0}}
    async with memory_host(tmp_path, embed=HashEmbedder(16), **settings) as host:
        turns = [{"text": f"Kettle {i} is blue."} for i in range(600)]
        await host.call("ingest_messages", {"chat_id": "c", "messages": turns})
        await host.settle(600)
        await host.update_config({"embedding.model_name": "second"})
        await half_dropped(host)
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("crashed"))
    async with memory_host(tmp_path / "crashed", embed=HashEmbedder(16), **settings) as host:
        await host.settle(600)
        found = (await host.invoke("memory_runtime_admin", {"action": "rebuild_status"}))["generations"]
        assert [(one["model"], one["status"], one["vectors"]) for one in found] == [("first", "serving", 600)]


async def test_what_was_written_since_the_last_snapshot_is_found(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await host.call("ingest_text", note(1))
        await host.call("memory_runtime_admin", {"action": "save"})
        await host.call("ingest_text", note(2, "A lantern of brass."))
        await host.call("ingest_text", note(1, "A kettle of iron."))
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("crashed"))
    async with memory_host(tmp_path / "crashed") as host:
        for query, content in (("lantern", "A lantern of brass."), ("kettle", "A kettle of iron.")):
            hits = (await host.invoke("search_memory", {"query": query}))["hits"]
            assert [hit["content"] for hit in hits] == [content]

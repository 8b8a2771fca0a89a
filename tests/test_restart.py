"""Stopping and starting: what was acknowledged is there, and a stopped memory stays stopped."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import NotReady
from amemorix.indexes.vectors import embedding, generations
from amemorix.testing import HashEmbedder, memory_host, scratch_config

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
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
    before = tree(tmp_path)

    answers = [await host.invoke(component, args) for component, args in CALLS]
    for change in (host.reload(), host.update_config({"retrieval.candidates": 60}), host.settle(1)):
        with pytest.raises(NotReady):
            await change
    await asyncio.sleep(0.4)

    assert {answer["error_code"] for answer in answers} == {"not_ready"}
    assert host.state == "stopped"
    assert [thread for thread in threading.enumerate() if thread.name.startswith("amemorix")] == []
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


async def test_a_stop_that_is_given_up_on_is_carried_through(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        with host._kernels._leases.taken(host.kernel), pytest.raises(TimeoutError):  # a call that takes long
            await asyncio.wait_for(host.stop(), 0.05)
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
        await host.settle(120)
        stats = await host.invoke("memory_stats")
        assert stats["embedding"]["pending"] == 0
        assert stats["embedding"]["model"] == (await host.get_config())["embedding"]["model_name"]
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        assert (await host.invoke("memory_stats"))["paragraphs"] == 1


async def test_settle_goes_on_with_the_memory_that_takes_over(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        for number in range(6):
            await host.call("ingest_text", note(number))
            settling = asyncio.create_task(host.settle(120))
            await asyncio.sleep(0)
            await host.update_config({"embedding.model_name": f"m{number}"})
            await settling
            await host.settle(120)
            stats = await host.invoke("memory_stats")
            assert (stats["embedding"]["pending"], stats["embedding"]["model"]) == (0, f"m{number}")


async def test_a_rebuild_begun_while_the_config_changes_is_not_forgotten(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        await host.settle(120)
        for number in range(20):
            change = asyncio.create_task(host.update_config({"retrieval.candidates": 50 + number}))
            await asyncio.sleep(0.001 * (number % 7))
            begun = await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
            await change
            await host.settle(120)
            status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})
            assert begun["success"], begun
            assert status["embedding"]["serving_generation"] == begun["generation"], (number, status)


async def test_a_rebuild_that_the_old_kernel_brought_to_its_end_is_taken_up_by_the_new(tmp_path: Path) -> None:
    """The old kernel's last write may come after the new kernel has chosen what to fill."""
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        await host.settle(120)
        kernel = host.kernel
        info, now = kernel.parts.embedder.part.info, kernel.surroundings.clock.now()
        made = await kernel.store.write(lambda db: kernel.store.embeddings.create(db, info, "building", now))
        await kernel.store.write(lambda db: kernel.store.embeddings.serve(db, made.id, now))

        await host.settle(120)

        status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})
        assert (status["embedding"]["state"], status["embedding"]["serving_generation"]) == ("idle", made.id)
        assert await host.invoke("search_memory", {"query": "note"})


async def test_a_rebuild_begun_through_a_call_of_the_old_kernel_is_carried_out_by_the_new(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await host.call("ingest_text", note(1))
        old = host.kernel
        with host._kernels._leases.taken(old):  # a call that takes long
            await host.update_config({"retrieval.candidates": 50})
            await host.settle(120)
            begun = await old.vectors.embedding.rebuild()
        await host.settle(120)
        assert (await host.invoke("memory_stats"))["embedding"]["serving_generation"] == begun.id


async def half_dropped(host: AMemorixHostService) -> None:
    """Wait until some vectors of the first generation are gone."""
    rows = host.kernel.store.embeddings
    (_, before), *_ = await host.kernel.store.read(rows.all)
    while True:
        (_, left), *others = await host.kernel.store.read(rows.all)
        if left < before:
            assert others and left, "too late to see it"
            return
        await asyncio.sleep(0.001)


async def test_vectors_of_a_model_that_comes_back_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the memory ended while they were being dropped."""
    monkeypatch.setattr(generations, "DROP_STEP", 10)
    monkeypatch.setattr(embedding, "NOTE_EVERY", 100)
    settings = {"embedding": {"model_name": "first", "keep_generations": 0}}
    async with memory_host(tmp_path, embed=HashEmbedder(16), **settings) as host:
        turns = [{"text": f"Kettle {i} is blue."} for i in range(600)]
        await host.call("ingest_messages", {"chat_id": "c", "messages": turns})
        await host.settle(120)
        await host.update_config({"embedding.model_name": "second"})
        await half_dropped(host)
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("crashed"))
    async with memory_host(tmp_path / "crashed", embed=HashEmbedder(16), **settings) as host:
        await host.settle(120)
        found = await host.kernel.store.read(host.kernel.store.embeddings.all)
        assert [(one.model, one.status, count) for one, count in found] == [("first", "serving", 600)]


@pytest.mark.parametrize("backend", ["native", "fts5"])
async def test_what_was_written_since_the_last_snapshot_is_found(backend: str, tmp_path: Path) -> None:
    settings = {"retrieval": {"sparse": {"backend": backend}}}
    async with memory_host(tmp_path, **settings) as host:
        await host.call("ingest_text", note(1))
        await host.call("memory_runtime_admin", {"action": "save"})
        await host.call("ingest_text", note(2, "A lantern of brass."))
        await host.call("ingest_text", note(1, "A kettle of iron."))
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("crashed"))
    async with memory_host(tmp_path / "crashed", **settings) as host:
        for query, content in (("lantern", "A lantern of brass."), ("kettle", "A kettle of iron.")):
            hits = (await host.invoke("search_memory", {"query": query}))["hits"]
            assert [hit["content"] for hit in hits] == [content]

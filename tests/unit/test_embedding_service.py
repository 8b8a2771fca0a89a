"""Vectors follow the texts, whatever becomes of the model."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.models.host.embedder import HostEmbedder
from amemorix.models.local.catalog import MODELS
from amemorix.models.local.install import installed
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, pause_background
from conftest import Open
from endpoint import Endpoint, endpoint
from entrance import contents, found, hits, refused, rows, said, stats, told
from pace import PATIENCE, until

CALM = {"retry_seconds": 10.0, "retry_max_seconds": 40.0, "max_attempts": 1}


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


def at(served: Endpoint, model: str = "small", **more: Any) -> dict[str, Any]:
    """The settings for a model of the endpoint."""
    return {**CALM, "provider": "openai", "base_url": served.base_url, "model_name": model, **more}


async def state(host: AMemorixHostService) -> dict[str, Any]:
    return (await host.invoke("memory_stats", {}))["embedding"]


async def lanes(host: AMemorixHostService, query: str) -> set[str]:
    """Which lanes found the first hit."""
    return set((await hits(host, query))[0]["explain"]["lanes"])


async def is_idle(host: AMemorixHostService) -> bool:
    return (await state(host))["state"] == "idle"


async def kites(host: AMemorixHostService, count: int) -> None:
    """One chat each, so that the vectors are many and the sessions too."""
    await said(host, "c", *(("Ada", f"the kite number{n}") for n in range(count)))


# doing its work


async def test_texts_go_in_batches_and_names_stay_out(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, batch_size=16, max_concurrent=1))
    await said(host, "c", *((("Melanie"), f"Melanie flew kite{n}") for n in range(64)))
    await host.settle(600)

    documents = [texts for _, texts in served.requests if texts != ["dimension"]]
    assert [len(texts) for texts in documents] == [16, 16, 16, 16]
    assert served.texts("small")[0] == "flew kite0"
    assert (await state(host))["pending"] == 0


async def test_a_backlog_is_got_on_with_however_often_calls_wait(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), embedding={"batch_size": 4, "max_concurrent": 1})
    await pause_background(host)
    await kites(host, 12)
    embedding = host.kernel.vectors.embedding
    worker = embedding._worker  # pyright: ignore[reportPrivateUsage]
    target = await embedding._claimed(embedding._target)  # type: ignore[arg-type]  # pyright: ignore
    for made in (4, 8, 12):
        step = asyncio.create_task(worker.fill(target, time.time()))
        await asyncio.sleep(0)
        with worker.going_first([]):  # a call begins to wait after the step has begun
            assert await step
        assert rows(host, "select count(*) from embeddings where length(vector) > 0") == [(made,)]


async def test_the_key_comes_from_the_environment(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, api_key_env="MY_KEY"), environ={"MY_KEY": "s3cret"})
    await told(host, "kite")
    await host.settle(600)

    assert {headers["Authorization"] for headers in served.headers} == {"Bearer s3cret"}
    assert "s3cret" not in str(await host.get_config()) + await host.get_raw_config()


async def test_a_missing_key_is_said_and_the_memory_works(served: Endpoint, opened: Open) -> None:
    with pytest.raises(Exception, match="MY_KEY"):
        await opened(embedding=at(served, api_key_env="MY_KEY"))


async def test_a_write_waits_for_no_vector(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, query_timeout_seconds=0.2, timeout_seconds=600.0))
    served.open.clear()
    await told(host, "the kite")

    assert await contents(host, "kite") == ["the kite"]
    assert served.given_up == 0
    assert (await state(host))["pending"] == 1
    served.open.set()


# trouble


async def test_an_endpoint_that_is_down_loses_nothing(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    await told(host, "a lamp")
    await host.settle(600)
    served.status = 503
    await kites(host, 40)
    await until(lambda: len(served.requests) >= 3)
    await until(lambda: has_error(host))
    await until(lambda: stays_quiet(served))
    tries = len(served.requests)
    down = await state(host)

    assert (down["pending"], down["failed"], down["state"]) == (40, 0, "embedding")
    assert "503" in down["error"]
    report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]
    [told_of] = [finding for finding in report["findings"] if finding["name"] == "embedding"]
    assert "endpoint" in told_of["detail"]
    await asyncio.sleep(0.5)
    assert len(served.requests) == tries, "it asked again before the pause was over"

    served.status = 200
    clock.advance(10)
    await until(lambda: is_idle(host))
    assert (await state(host))["error"] == ""
    assert (await found(host, "kite number7"))["degraded"] == []


async def test_pauses_double_up_to_the_longest(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    await told(host, "a lamp")
    await host.settle(600)
    served.status = 503
    await told(host, "a kite")
    for pause in (10, 20, 40, 40):
        before = len(served.requests)
        await until(lambda tries=before: len(served.requests) > tries)
        await until(lambda: stays_quiet(served))
        quiet = len(served.requests)
        clock.advance(pause - 1)
        await asyncio.sleep(0.3)
        assert len(served.requests) == quiet
        clock.advance(1)
    served.status = 200
    clock.advance(100)
    await until(lambda: is_idle(host))


async def stays_quiet(served: Endpoint) -> bool:
    before = len(served.requests)
    await asyncio.sleep(0.3)
    return len(served.requests) == before


async def test_a_bad_text_fails_alone_and_is_tried_again(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    served.poison = "poison"
    await told(host, "the poison kite")
    await kites(host, 20)

    async def one_left() -> bool:
        now = await state(host)
        return (now["pending"], now["failed"]) == (1, 1)

    await until(one_left)
    assert "poison" not in (await state(host))["error"] or "refused" in (await state(host))["error"]
    assert "the poison kite" in await contents(host, "poison")

    served.poison = ""
    assert (await host.invoke("memory_runtime_admin", {"action": "recover_embedding"}))["retried"] == 1
    await host.settle(600)
    assert ((await state(host))["pending"], (await state(host))["failed"]) == (0, 0)


async def test_a_bad_text_does_not_hold_up_a_rebuild_for_ever(served: Endpoint, opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embedding=at(served), clock=clock)
    await told(host, "the poison kite")
    await kites(host, 5)
    await host.settle(600)
    served.poison = "poison"
    begun = await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})

    async def switched() -> bool:
        clock.advance(50)
        return (await state(host))["serving_generation"] == begun["generation"]

    await until(switched)
    assert (await state(host))["failed"] == 1


async def test_a_query_is_answered_by_the_others_while_the_model_is_silent(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, query_timeout_seconds=0.3, timeout_seconds=600.0))
    await kites(host, 5)
    await host.settle(600)
    served.open.clear()
    answer = await found(host, "kite number3")

    assert served.given_up == 0
    assert answer["degraded"] == ["dense"]
    assert answer["hits"][0]["content"] == "the kite number3"


async def test_a_model_that_is_down_slows_one_search_and_not_every(
    served: Endpoint, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amemorix.indexes.vectors.serving.REST_SECONDS", 3600.0)
    host = await opened(embedding=at(served, query_timeout_seconds=0.5, max_attempts=3), clock=SystemClock())
    await kites(host, 5)
    await host.settle(600)
    served.status = 503
    before = len(served.requests)
    for n in range(20):
        assert (await found(host, f"kite number{n}"))["degraded"] == ["dense"]
    await until(lambda: stays_quiet(served))
    assert {tuple(texts) for _, texts in served.requests[before:]} == {("kite number0",)}

    served.status = 200
    await host.update_config({"embedding.query_timeout_seconds": 60.0})
    await host.invoke("memory_runtime_admin", {"action": "recover_embedding"})
    assert (await found(host, "another kite"))["degraded"] == []


async def test_a_query_that_waits_for_its_turn_is_not_late(opened: Open) -> None:
    """Thirty at once on two threads: the last one's turn comes three time-outs after it was asked."""
    words = HashEmbedder(32)

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        if texts[0].startswith("where"):
            time.sleep(0.1)
        return words(texts)

    host = await opened(embed=embed, embedding={"query_timeout_seconds": 0.5})
    await kites(host, 5)
    await host.settle(600)
    answers = await asyncio.gather(*(found(host, f"where is kite number{n}") for n in range(30)))

    assert [answer["degraded"] for answer in answers] == [[]] * 30


async def test_nobody_queues_behind_a_silent_model(opened: Open) -> None:
    let_go, words, in_vain = threading.Event(), HashEmbedder(32), list[str]()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        if texts[0].startswith("where") and not let_go.wait(60):
            in_vain.extend(texts)
        return words(texts)

    host = await opened(embed=embed, embedding={"query_timeout_seconds": 0.3})
    await kites(host, 5)
    await host.settle(600)
    answers = await asyncio.gather(*(found(host, f"where is kite number{n}") for n in range(10)))

    assert in_vain == []
    assert [answer["degraded"] for answer in answers] == [["dense"]] * 10
    let_go.set()


async def test_stopping_does_not_wait_for_a_silent_model(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, timeout_seconds=600.0, max_attempts=10))
    await kites(host, 5)
    await host.settle(600)
    served.open.clear()
    asked = len(served.requests)
    await told(host, "a lamp")
    await until(lambda: len(served.requests) > asked)
    await host.stop()

    assert served.given_up == 0


@pytest.mark.parametrize("answer", [None, [], [[]], [["a"]], [[float("nan")] * 64], [[0.0] * 64], "text", [[1.0] * 65]])
async def test_a_function_of_the_host_that_answers_nonsense_harms_nothing(opened: Open, answer: Any) -> None:
    good = HashEmbedder(64)
    nonsense = False

    def embed(texts: Sequence[str]) -> Any:
        return answer if nonsense else good(texts)

    host = await opened(embed=embed, clock=FrozenClock(), embedding={"max_attempts": 1})
    await told(host, "a lamp")
    await host.settle(600)
    nonsense = True
    await told(host, "a kite")
    await until(lambda: has_error(host))
    assert await contents(host, "kite") == ["a kite"]
    assert (await stats(host))["paragraphs"] == 2

    nonsense = False
    await host.invoke("memory_runtime_admin", {"action": "recover_embedding"})
    await host.settle(600)
    assert (await found(host, "kite"))["degraded"] == []


async def has_error(host: AMemorixHostService) -> bool:
    return bool((await state(host))["error"])


async def test_a_function_of_the_host_that_raises_harms_nothing(opened: Open) -> None:
    def embed(texts: Sequence[str]) -> Any:
        raise KeyError("no idea")

    host = await opened(embed=embed, clock=FrozenClock())
    await told(host, "a kite")
    answer = await found(host, "kite")

    assert [hit["content"] for hit in answer["hits"]] == ["a kite"]
    assert "no idea" in (await host.invoke("memory_stats", {}))["notice"]


async def test_an_asynchronous_function_of_the_host_is_awaited(opened: Open) -> None:
    good = HashEmbedder(64)

    async def embed(texts: Sequence[str]) -> Any:
        await asyncio.sleep(0.01)
        return good(texts)

    host = await opened(embed=embed)
    await kites(host, 40)
    await host.settle(600)
    assert await lanes(host, "kite number7") == {"sparse", "dense"}


async def test_an_endpoint_that_is_down_at_the_start_is_used_when_it_comes_up(served: Endpoint, opened: Open) -> None:
    served.status = 503
    host = await opened(embedding=at(served, retry_seconds=0.1), clock=SystemClock())
    await kites(host, 3)
    notice = (await host.invoke("memory_stats", {}))["notice"]

    assert "503" in notice
    assert await contents(host, "kite number1", limit=1) == ["the kite number1"]

    served.status = 200
    await until(lambda: is_idle(host))
    assert (await host.invoke("memory_stats", {}))["notice"] == ""
    assert await lanes(host, "kite number1") == {"sparse", "dense"}


# changing models


async def test_the_old_model_answers_until_the_new_vectors_are_complete(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, "small"))
    await kites(host, 40)
    await host.settle(600)
    old = (await state(host))["generation"]
    hold = threading_gate(served, "large")
    await host.update_config({"embedding.model_name": "large"})
    await kites(host, 3)
    for n in range(5):
        answer = await found(host, f"kite number{n}")
        assert answer["degraded"] == []
        assert "dense" in answer["hits"][0]["explain"]["lanes"]
    during = await state(host)

    assert (during["state"], during["serving_generation"]) == ("rebuilding", old)
    assert during["generation"] != old
    hold.clear()
    await host.settle(600)
    after = await state(host)
    assert (after["state"], after["model"], after["dimension"]) == ("idle", "large", 128)
    assert after["serving_generation"] == during["generation"]
    assert await lanes(host, "kite number9") == {"sparse", "dense"}


def threading_gate(served: Endpoint, model: str) -> set[str]:
    """Keep documents of a model waiting (its queries and the question for its dimension pass) until it is cleared."""
    held = {model}
    plain = served.answer

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        while body["model"] in held and body["input"] != ["dimension"]:
            time.sleep(0.01)
        return plain(body)

    served.answer = answer  # type: ignore[method-assign]
    return held


async def test_changing_back_restores_at_once_and_fills_in_what_came_meanwhile(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served, "small"))
    await kites(host, 30)
    await host.settle(600)
    first = (await state(host))["generation"]
    await host.update_config({"embedding.model_name": "large"})
    await host.settle(600)
    await told(host, "a lamp meanwhile", chat_id="c")
    await host.settle(600)
    embedded = served.texts("small")
    await host.update_config({"embedding.model_name": "small"})
    await host.settle(600)
    now = await state(host)

    assert (now["serving_generation"], now["dimension"], now["pending"]) == (first, 64, 0)
    assert served.texts("small")[len(embedded) :] == ["a lamp meanwhile"], "nothing else had to be embedded again"
    assert await lanes(host, "kite number3") == {"sparse", "dense"}


async def test_another_dimension_under_the_same_name_is_another_model(served: Endpoint, tmp_path: Path) -> None:
    async with memory_host(tmp_path, embedding=at(served)) as host:
        await kites(host, 5)
        await host.settle(600)
    served.dimensions["small"] = 96
    async with memory_host(tmp_path, embedding=at(served)) as host:
        assert await contents(host, "kite number3", limit=1) == ["the kite number3"]
        await host.settle(600)
        assert (await state(host))["dimension"] == 96
        assert await lanes(host, "kite number3") == {"sparse", "dense"}


async def test_another_dimension_in_the_middle_is_refused(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served), clock=FrozenClock())
    await kites(host, 5)
    await host.settle(600)
    served.dimensions["small"] = 96
    await told(host, "a lamp")
    await until(lambda: has_error(host))

    assert "96" in (await state(host))["error"]
    answer = await found(host, "a lamp")
    assert (answer["hits"][0]["content"], answer["degraded"]) == ("a lamp", ["dense"])


async def test_a_model_that_cannot_be_reached_takes_nothing_away(served: Endpoint, opened: Open) -> None:
    """The old model goes on answering while the new one does not."""
    host = await opened(embedding=at(served, "small", retry_seconds=0.1), clock=SystemClock())
    await kites(host, 5)
    await host.settle(600)
    await host.update_config({"embedding.model_name": "missing"})

    async def told_so() -> bool:
        return "404" in (await host.invoke("memory_stats", {}))["notice"]

    await until(told_so)
    answer = await found(host, "kite number3")

    assert answer["hits"][0]["content"] == "the kite number3"
    assert "dense" in answer["hits"][0]["explain"]["lanes"]
    await host.update_config({"embedding.model_name": "small"})
    await host.settle(600)
    assert await lanes(host, "kite number3") == {"sparse", "dense"}


async def test_without_a_model_and_back_nothing_is_embedded_again(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served))
    await kites(host, 5)
    await host.settle(600)
    await host.update_config({"embedding.provider": "none"})
    assert await lanes(host, "kite number3") == {"sparse"}
    embedded = len(served.texts("small"))
    await host.update_config({"embedding.provider": "openai"})
    await host.settle(600)

    assert await lanes(host, "kite number3") == {"sparse", "dense"}
    assert len(served.texts("small")) == embedded + 1, "only the query"


async def test_only_so_many_generations_are_kept(served: Endpoint, opened: Open, tmp_path: Path) -> None:
    served.dimensions |= {f"m{n}": 32 for n in range(4)}
    host = await opened(embedding=at(served, "m0", keep_generations=1))
    await kites(host, 5)
    for n in (0, 1, 2, 3):
        await host.update_config({"embedding.model_name": f"m{n}"})
        await host.settle(600)
        await host.invoke("memory_runtime_admin", {"action": "save"})
    status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})

    assert [(item["model"], item["status"]) for item in status["generations"]] == [("m2", "retired"), ("m3", "serving")]
    folders = {path.name for path in (tmp_path / "data" / "a-memorix" / "indexes").glob("vectors-*")}
    assert folders <= {f"vectors-{item['id']}" for item in status["generations"]}


@pytest.mark.parametrize(("text", "query"), [("a kite by the sea", "kite sea"), ("海边的风筝", "风筝")])
async def test_a_query_whose_vectors_are_dropped_meanwhile_says_that_it_did_without(
    opened: Open, text: str, query: str
) -> None:
    asked, let_go = threading.Event(), threading.Event()
    words = HashEmbedder(32)

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        if list(texts) == [query]:
            asked.set()
            let_go.wait(20)
        return words(texts)

    host = await opened(embed=embed, embedding={"keep_generations": 0, "query_timeout_seconds": 20})
    await told(host, text)
    await host.settle(600)
    search = asyncio.create_task(host.invoke("search_memory", {"query": query}))
    await asyncio.to_thread(asked.wait, 10)
    await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
    await host.settle(600)
    let_go.set()
    meanwhile, after = await search, await host.invoke("search_memory", {"query": query})

    assert ([hit["content"] for hit in meanwhile["hits"]], meanwhile["degraded"]) == ([text], ["dense"])
    assert ([hit["content"] for hit in after["hits"]], after["degraded"]) == ([text], [])


async def test_a_rebuild_goes_on_after_a_restart(served: Endpoint, tmp_path: Path) -> None:
    async with memory_host(tmp_path, embedding=at(served)) as host:
        await kites(host, 20)
        await host.settle(600)
        held = threading_gate(served, "small")
        begun = await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
        held.clear()
    async with memory_host(tmp_path, embedding=at(served)) as host:
        await host.settle(600)
        assert (await state(host))["serving_generation"] == begun["generation"]


async def test_one_rebuild_at_a_time(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served))
    await kites(host, 5)
    await host.settle(600)
    held = threading_gate(served, "small")
    await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
    try:
        error = await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
        status = await host.invoke("memory_runtime_admin", {"action": "rebuild_status"})
    finally:
        held.clear()

    assert error["error_code"] == "conflict"
    assert (status["embedding"]["state"], status["total"]) == ("rebuilding", 5)
    assert status["progress"] < 1


async def test_what_is_deleted_and_written_during_a_rebuild_is_right_after_it(served: Endpoint, opened: Open) -> None:
    host = await opened(embedding=at(served))
    await kites(host, 10)
    await told(host, "a doomed lamp", source="doomed")
    await host.settle(600)
    held = threading_gate(served, "small")
    await host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
    await host.invoke("memory_source_admin", {"action": "delete", "source": "doomed"})
    await told(host, "a fresh walrus")
    held.clear()
    await host.settle(600)

    assert not any("lamp" in text for text in await contents(host, "a doomed lamp", limit=50))
    assert await lanes(host, "fresh walrus") == {"sparse", "dense"}
    report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]
    assert report["ok"], report


async def test_a_vector_that_came_while_the_loop_was_held_up_is_used(opened: Open) -> None:
    loop, held = asyncio.get_running_loop(), threading.Event()

    def hold_up() -> None:
        held.set()
        time.sleep(0.5)  # for longer than the vector is waited for

    class Slow(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            if "kite?" in texts:
                loop.call_soon_threadsafe(hold_up)
                held.wait(PATIENCE)
                time.sleep(0.1)
            return super().embed(texts)

    host = await opened(embed=Slow(), embedding={"query_timeout_seconds": 0.3})
    await told(host, "kite")
    await host.settle(600)
    answer = await found(host, "kite?")
    assert (held.is_set(), answer["degraded"]) == (True, [])
    assert "dense" in answer["hits"][0]["explain"]["lanes"]


# a model that reads English alone


async def test_texts_that_the_model_does_not_read_are_left_to_the_other_lanes(
    dense_host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HostEmbedder, "reads", lambda _, text: HashEmbedder(languages=("en",)).reads(text))
    for text in ("今天天气不错", "the weather is fine", "今天 deploy 了三次服务", "🎂"):
        await told(dense_host, text)
    await dense_host.settle(600)
    progress = await state(dense_host)
    assert (progress["state"], progress["pending"], progress["failed"]) == ("idle", 0, 0)
    assert rows(dense_host, "select count(*) from embeddings where length(vector) > 0") == [(2,)]


@pytest.mark.local_model
@pytest.mark.parametrize("name", MODELS)
async def test_a_local_model_finds_meaning(opened: Open, name: str) -> None:
    if installed(MODELS[name]) is None:
        pytest.skip(f"{name} is not installed; `amemorix models install {name}` installs it")
    settings = {"embedding": {"provider": "local", "model_name": name}, "retrieval": {"noise": {"enabled": False}}}
    host = await opened(**settings, environ=os.environ)
    await said(host, "c", ("Ada", "My dog needs to see the vet."), ("Bob", "The stock market fell again."),
               ("林澈", "我喜欢喝桂花乌龙"), ("Cy", "I planted tomatoes in the garden."))  # fmt: skip
    await host.settle(600)

    first = (await hits(host, "Which pet is ill?", chat_id="c"))[0]
    assert first["content"] == "My dog needs to see the vet."
    assert np.isfinite(first["explain"]["lanes"]["dense"]["score"])
    assert (await contents(host, "桂花乌龙", chat_id="c"))[0] == "我喜欢喝桂花乌龙"
    assert (await state(host))["pending"] == 0
    assert await refused(host, "search_memory", {"query": ""}, "query")

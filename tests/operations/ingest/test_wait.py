"""A call that stores can wait until what it stored is in the indexes, or has its vectors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import ModelUnavailable
from amemorix.models.host.embedder import HostEmbedder
from amemorix.testing import HashEmbedder, pause_background
from conftest import Open
from entrance import call, contents, hits, refused, rows, said, told
from pace import until

VECTORS = "select count(*) from embeddings where length(vector) > 0"


async def test_indexed_means_listed_by_every_projection(dense_host: AMemorixHostService) -> None:
    answer = await told(dense_host, "a red kite", chat_id="c", wait="indexed")

    lag = (await call(dense_host, "memory_stats"))["lag"]
    assert {name: lag[name] for name in ("sparse", "columns", "graph", "names")} == dict.fromkeys(
        ("sparse", "columns", "graph", "names"), 0
    )
    assert answer["wait_error"] == ""
    assert await contents(dense_host, "kite", chat_id="c") == ["a red kite"]


async def test_vectors_are_there_when_it_returns(dense_host: AMemorixHostService) -> None:
    for n in range(3):
        answer = await told(dense_host, f"a red kite, number {n}", chat_id="c", wait="vectors")
        assert (answer["wait_error"], len(answer["stored_ids"])) == ("", 1)
        assert rows(dense_host, VECTORS) == [(n + 1,)]
    answer = await said(dense_host, "c", ("Ada", "I flew a kite."), ("Bob", "So did I."), wait="vectors")
    assert answer["wait_error"] == ""
    assert rows(dense_host, VECTORS) == [(5,)]
    (first, *_) = await hits(dense_host, "I flew a kite", chat_id="c")
    assert (first["content"], first["explain"]["lanes"]["dense"]["rank"]) == ("I flew a kite.", 1)


async def test_a_long_text_waits_for_all_of_its_paragraphs(dense_host: AMemorixHostService) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of kites. " * 20 for n in range(8))
    answer = await told(dense_host, text, chat_id="c", wait="vectors")
    assert len(answer["stored_ids"]) > 1
    assert rows(dense_host, VECTORS) == [(len(answer["stored_ids"]),)]


async def test_a_text_that_is_there_already_is_waited_for_too(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "a red kite", chat_id="c", external_id="x")
    again = await told(dense_host, "a red kite", chat_id="c", external_id="x", wait="vectors")
    assert (again["reason"], again["wait_error"]) == ("exists", "")
    assert rows(dense_host, VECTORS) == [(1,)]


async def test_without_a_model_it_is_stored_and_said(host: AMemorixHostService) -> None:
    answer = await told(host, "a red kite", chat_id="c", wait="vectors")
    assert answer["stored_ids"]
    assert "no embedding model" in answer["wait_error"]
    assert await contents(host, "kite", chat_id="c") == ["a red kite"]
    turns = await said(host, "c", ("Ada", "I flew it."), wait="vectors")
    assert turns["stored_ids"]
    assert "no embedding model" in turns["wait_error"]


@pytest.mark.parametrize(
    "fault",
    [RuntimeError("no GPU left"), ModelUnavailable("There is no GPU left.", endpoint_down=True)],
    ids=["text", "endpoint"],
)
async def test_a_model_that_fails_is_named_and_nothing_is_lost(opened: Open, fault: Exception) -> None:
    words, fails = HashEmbedder(), False

    def embed(texts: Sequence[str]) -> Any:
        if fails:
            raise fault
        return words(texts)

    host = await opened(embed=embed)
    fails = True
    answer = await told(host, "a red kite", chat_id="c", wait="vectors")
    assert answer["stored_ids"]
    assert "no GPU left" in answer["wait_error"]
    assert await contents(host, "kite", chat_id="c") == ["a red kite"]

    fails = False
    await host.invoke("memory_runtime_admin", {"action": "recover_embedding"})
    again = await told(host, "a green kite", chat_id="c", wait="vectors")
    assert again["wait_error"] == ""


async def test_a_silent_model_is_not_waited_for_for_ever(opened: Open) -> None:
    words, let_go = HashEmbedder(), threading.Event()

    def embed(texts: Sequence[str]) -> Any:
        if any("kite" in text for text in texts):
            let_go.wait(60)
        return words(texts)

    host = await opened(embed=embed, embedding={"timeout_seconds": 0.3})
    answer = await told(host, "a red kite", chat_id="c", wait="vectors")
    let_go.set()
    assert answer["stored_ids"]
    assert "0.3 s" in answer["wait_error"]


async def test_a_background_that_rests_is_not_waited_for_for_ever(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), embedding={"timeout_seconds": 0.3})
    await pause_background(host)
    answer = await told(host, "a red kite", chat_id="c", wait="vectors")
    assert answer["stored_ids"]
    assert "0.3 s" in answer["wait_error"]


async def test_a_text_that_the_model_does_not_read_is_named(
    dense_host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HostEmbedder, "reads", lambda _, text: HashEmbedder(languages=("en",)).reads(text))
    answer = await told(dense_host, "我喜欢喝桂花乌龙", chat_id="c", wait="vectors")
    assert "does not read" in answer["wait_error"]


async def test_what_was_not_stored_is_not_waited_for(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), filter={"mode": "blacklist", "chats": ["c"]})
    answer = await told(host, "a red kite", chat_id="c", wait="vectors")
    assert (answer["reason"], answer["wait_error"]) == ("chat_filtered", "")


async def test_another_wish_is_refused_by_name(host: AMemorixHostService) -> None:
    await refused(host, "ingest_text", {"text": "a kite", "wait": "for ever"}, "wait")


async def test_many_texts_are_waited_for_together(dense_host: AMemorixHostService) -> None:
    items = [{"text": f"a red kite, number {n}", "chat_id": "c"} for n in range(3)]
    answer = await call(dense_host, "ingest_texts", items=items, wait="vectors")
    assert (answer["wait_error"], len(answer["results"])) == ("", 3)
    assert rows(dense_host, VECTORS) == [(3,)]


async def test_each_wait_of_a_call_is_kept(host: AMemorixHostService) -> None:
    await pause_background(host)  # nothing but the call lists what it stored
    items = [{"text": "a red kite", "chat_id": "c", "wait": "indexed"}, {"text": "a blue kite", "chat_id": "c"}]
    answer = await call(host, "ingest_texts", items=items, wait="searchable")
    lag = (await call(host, "memory_stats"))["lag"]
    assert (answer["wait_error"], lag["sparse"], lag["columns"]) == ("", 0, 0)


@pytest.mark.parametrize("component", ["ingest_text", "ingest_texts", "ingest_messages", "ingest_summary"])
async def test_what_is_searchable_is_found_by_meaning(dense_host: AMemorixHostService, component: str) -> None:
    text = {"text": "Ada flew a red kite.", "external_id": "x", "chat_id": "c"}
    given: dict[str, dict[str, Any]] = {
        "ingest_text": text,
        "ingest_texts": {"items": [text]},
        "ingest_messages": {"chat_id": "c", "messages": [{"speaker": "Ada", "text": text["text"]}]},
        "ingest_summary": text,
    }
    answer = await call(dense_host, component, wait="searchable", **given[component])
    assert answer["wait_error"] == ""
    assert rows(dense_host, VECTORS) == [(1,)]
    (first,) = await hits(dense_host, "a red kite", chat_id="c")
    assert first["explain"]["lanes"]["dense"]["rank"] == 1


async def test_what_is_stored_waits_for_no_model(opened: Open) -> None:
    words, let_go = HashEmbedder(), threading.Event()

    def embed(texts: Sequence[str]) -> Any:
        if any("kite" in text for text in texts):
            let_go.wait(60)
        return words(texts)

    host = await opened(embed=embed)
    answer = await told(host, "a red kite", chat_id="c", wait="stored")
    assert (len(answer["stored_ids"]), answer["wait_error"]) == (1, "")
    let_go.set()


async def test_where_words_are_all_there_is_nothing_is_waited_for(host: AMemorixHostService) -> None:
    answer = await told(host, "a red kite", chat_id="c", wait="searchable")
    assert (len(answer["stored_ids"]), answer["wait_error"]) == (1, "")


async def test_what_is_not_searchable_in_time_is_counted(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), embedding={"timeout_seconds": 0.3})
    await pause_background(host)
    answer = await said(host, "c", ("Ada", "a red kite"), ("Bob", "a green kite"), wait="searchable")
    assert len(answer["stored_ids"]) == 2
    assert answer["wait_error"] == "2 of 2 vectors were not made within 0.3 s; they will be."


async def test_what_a_call_waits_for_goes_before_all_that_waits_already(opened: Open) -> None:
    words, made, begun, let_go = HashEmbedder(), list[str](), threading.Event(), threading.Event()

    def embed(texts: Sequence[str]) -> Any:
        made.extend(texts)
        if any("kite" in text for text in texts):
            begun.set()
            let_go.wait(60)
        return words(texts)

    host = await opened(embed=embed, embedding={"batch_size": 4, "max_concurrent": 1})
    await said(host, "c", *(("Ada", f"I flew kite number{n}") for n in range(200)))
    await asyncio.to_thread(begun.wait, 60)

    waiting = asyncio.ensure_future(told(host, "The ferry leaves at nine.", chat_id="d", wait="searchable"))

    def is_stored() -> bool:
        return waiting.done() or bool(rows(host, "select 1 from paragraphs where content like 'The ferry%'"))

    await until(is_stored, "it was not stored")
    let_go.set()

    assert (await waiting)["wait_error"] == ""
    before = made[: made.index("The ferry leaves at nine.")]
    assert sum("kite" in text for text in before) < 100, "the rest of two hundred waits"
    await until(lambda: rows(host, VECTORS) == [(201,)], "the rest was forgotten")

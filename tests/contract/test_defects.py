"""Seventeen defects that a long-term memory for chatbots has been seen to have; each test shows that it is not ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amemorix import AMemorixHostService, MemoryFault
from amemorix.errors import InvalidConfig
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, scratch_config
from conftest import Open
from entrance import contents, found, hits, refused, said, stats, told
from pace import processor_time

MODES = ("search", "time", "hybrid", "episode", "aggregate")


async def test_01_a_search_with_chat_id_finds_turns_notes_and_summaries(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "the kite in a turn"))
    await told(host, "the kite in a note", chat_id="c", source_type="chat_turn")
    await host.invoke("ingest_summary", {"external_id": "s", "chat_id": "c", "text": "the kite in a summary"})

    assert len(await hits(host, "kite", chat_id="c")) == 3


async def test_02_the_same_text_in_two_chats_is_two_memories(host: AMemorixHostService) -> None:
    for chat, when in (("a", 1_000.0), ("b", 2_000.0)):
        await told(host, "happy birthday", external_id="same", source_type="note", chat_id=chat, timestamp=when)
    (in_a,) = await hits(host, "birthday", chat_id="a")
    (in_b,) = await hits(host, "birthday", chat_id="b")

    assert (in_a["chat_id"], in_a["time"]["start"]) == ("a", 1_000.0)
    assert (in_b["chat_id"], in_b["time"]["start"]) == ("b", 2_000.0)
    assert in_a["id"] != in_b["id"]
    assert in_a["hash"] == in_b["hash"]


async def test_02b_the_same_text_twice_in_a_chat_is_two_memories(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "the kettle whistles", 1_000.0), ("Bob", "the kettle whistles", 90_000.0))
    assert {hit["time"]["start"] for hit in await hits(host, "kettle", chat_id="c")} == {1_000.0, 90_000.0}


@pytest.mark.parametrize("mode", MODES)
async def test_03_hits_carry_where_they_come_from(host: AMemorixHostService, mode: str) -> None:
    await told(
        host, "the kite", external_id="x1", chat_id="c", source="diary", tags=["t"], person_ids=["u"], timestamp=1_000
    )
    await host.settle(600)
    window = {"time_start": 1} if mode in ("time", "hybrid") else {}
    for hit in await hits(host, "kite", mode=mode, chat_id="c", **window):
        assert (hit["chat_id"], hit["source"], hit["person_ids"]) == ("c", "diary", ["u"])
        assert hit["time"]["start"] == 1_000
        if hit["type"] == "paragraph":
            assert (hit["external_id"], hit["tags"]) == ("x1", ["t"])


@pytest.mark.parametrize("embed", [None, HashEmbedder()], ids=["words", "vectors"])
async def test_04_what_is_unrelated_finds_nothing_likely_and_what_is_related_all(opened: Open, embed: Any) -> None:
    host = await opened(embed=embed)
    await said(host, "c", *((f"p{n}", f"the walrus number {n} sleeps on the pier") for n in range(40)))
    await said(host, "d", *((f"p{n}", f"invoice {n} was paid by bank transfer") for n in range(40)))
    await host.settle(600)

    for unrelated in ("quantum chromodynamics", "海盐柠檬饼干"):
        answer = await host.invoke("search_memory", {"query": unrelated, "limit": 5})
        assert answer["weak"] or not answer["hits"], unrelated
    answer = await contents(host, "walrus", limit=50)
    assert sum("walrus" in text for text in answer) == 40


async def test_05_the_words_find_what_the_vectors_miss(opened: Open) -> None:
    """With vectors that are all the same, the order comes from the words."""

    def useless(texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 8))

    host = await opened(embed=useless)
    await said(
        host, "c", *((f"p{n}", f"sentence {n} about the weather") for n in range(50)), ("Ada", "the axolotl escaped")
    )
    await host.settle(600)

    assert (await contents(host, "axolotl"))[0] == "the axolotl escaped"


async def test_06_an_ingest_rewrites_no_file_and_costs_the_same_at_any_size(opened: Open, tmp_path: Path) -> None:
    host = await opened(embed=HashEmbedder())

    async def cost() -> float:
        spent: list[float] = []
        for n in range(20):
            with processor_time(spent):
                await told(host, f"one more kite {n}")
        return min(spent)

    await told(host, "first")
    await host.settle(600)
    await host.invoke("memory_runtime_admin", {"action": "save"})
    indexes = tmp_path / "data" / "a-memorix" / "indexes"
    before = {path: path.stat().st_mtime_ns for path in indexes.rglob("*") if path.is_file()}
    small = await cost()
    for batch in range(4):
        await said(host, "c", *(("Ada", f"turn {batch} {n}") for n in range(1_000)))
    large = await cost()

    assert {path: path.stat().st_mtime_ns for path in indexes.rglob("*") if path.is_file()} == before
    assert large < 4 * small, (small, large)


async def test_07_a_chat_is_searched_by_index_and_not_by_reading_everything(opened: Open, tmp_path: Path) -> None:
    unread = {"enabled": False}
    host, small = await opened(facts=unread), await opened(tmp_path / "small", facts=unread)
    for one in (host, small):
        await said(one, "small", *(("Ada", f"the kite {n}") for n in range(20)))
    for chat in range(5):
        await said(host, f"big{chat}", *(("Bob", f"talk {n} of the kite") for n in range(1_000)))
    await hits(host, "kite", chat_id="small")
    alone: list[float] = []
    among: list[float] = []
    for n in range(15):
        with processor_time(alone):
            await hits(small, f"kite {n}", chat_id="small")
        with processor_time(among):
            await hits(host, f"kite {n}", chat_id="small")

    assert min(among) < 3 * min(alone), (min(alone), min(among))


@pytest.mark.parametrize("mode", MODES)
async def test_08_words_and_vectors_work_together_from_the_first_text_on(
    dense_host: AMemorixHostService, mode: str
) -> None:
    await said(dense_host, "c", ("Ada", "the kite", 1_000.0), ("Bob", "a lamp", 2_000.0))
    await dense_host.settle(600)
    answer = await found(dense_host, "kite", mode=mode, chat_id="c", time_start=1)

    assert answer["degraded"] == []
    first = answer["hits"][0]
    if first["type"] == "paragraph":
        assert {"sparse", "dense"} <= set(first["explain"]["lanes"])


async def test_09_a_text_without_a_vector_gets_one_after_a_restart(tmp_path: Path) -> None:
    def broken(texts: Sequence[str]) -> Any:
        raise ConnectionError("down")

    async with memory_host(tmp_path, embed=broken) as host:
        await told(host, "the kite", external_id="x")
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        await host.settle(600)
        (hit,) = await hits(host, "kite")
        again = await told(host, "the kite", external_id="x")

        assert (await host.invoke("memory_stats", {}))["embedding"]["pending"] == 0
        assert "dense" in hit["explain"]["lanes"]
        assert again["reason"] == "exists"


async def test_10_another_dimension_loses_nothing_and_changing_back_restores(tmp_path: Path) -> None:
    asked: list[str] = []

    def model(dimension: int) -> Any:
        inner = HashEmbedder(dimension)

        def embed(texts: Sequence[str]) -> Any:
            asked.extend(texts)
            return inner(texts)

        return embed

    for dimension in (32, 48, 32):
        asked.clear()
        async with memory_host(tmp_path, embed=model(dimension)) as host:
            if dimension == 32 and not (await stats(host))["paragraphs"]:
                await said(host, "c", *(("Ada", f"the kite {n}") for n in range(20)))
            assert await contents(host, "kite 7", limit=1) == ["the kite 7"]
            await host.settle(600)
            state = (await host.invoke("memory_stats", {}))["embedding"]
            assert (state["dimension"], state["pending"], state["state"]) == (dimension, 0, "idle")
            assert "dense" in (await hits(host, "kite 7"))[0]["explain"]["lanes"]
    assert not [text for text in asked if text.startswith("the kite")]


async def test_11_times_are_exact_read_in_many_forms_and_never_made_up(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "early kite", 1_683_540_000.25), ("Ada", "late kite", 1_683_540_030.5))
    await told(host, "undated kite", chat_id="c")
    now = FrozenClock().now()

    assert await contents(host, mode="time", time_start=1_683_540_030, time_end=1_683_540_031) == ["late kite"]
    assert await contents(host, mode="time", time_start="2023-05-08T10:00:00Z", time_end="2023-05-08T10:00:29Z") == [
        "early kite"
    ]
    assert await contents(host, mode="time", time_start=now - 60, time_end=now + 60) == []


BAD_FILES = [
    ("[retrieval]\ncandidtes = 5\n", "candidates"),
    ('[filter]\nmode = "blaklist"\n', "blacklist"),
    ("[retrieval\n", "line"),
    ("[embedding]\nbatch_size = 0\n", "embedding.batch_size"),
]


@pytest.mark.parametrize(("text", "word"), BAD_FILES, ids=lambda value: str(value)[:20])
async def test_12_a_bad_configuration_is_said_at_the_start_and_changes_nothing_later(
    tmp_path: Path, text: str, word: str
) -> None:
    path = scratch_config(tmp_path, {"embedding": {"provider": "none"}})
    good = path.read_text("utf-8")
    path.write_text(text, "utf-8")
    host = AMemorixHostService(path, watch=False)
    with pytest.raises(InvalidConfig, match=word):
        await host.start()
    assert host.state == "stopped"

    path.write_text(good, "utf-8")
    await host.start()
    await told(host, "the kite", chat_id="c")
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidConfig):
        await host.reload()
    assert await contents(host, "kite", chat_id="c") == ["the kite"]
    await host.stop()


@pytest.mark.parametrize(
    "args",
    [
        {"relations": [{"subject": "a", "predicate": "b", "object": "c", "confidence": "very"}]},
        {"relations": [{"subject": "a", "predicate": "b", "object": "c"}, {"subject": "x"}]},
        {"timestamp": 1e20},
        {"text": "\ud800"},
        {"tags": ["one", ["two"]]},
        {"metadata": {"a": object()}},
        {"person_ids": "u1"},
        {"entities": {"name": "a"}},
    ],
    ids=lambda args: next(iter(args)),
)
async def test_13_a_bad_call_is_an_error_that_names_the_field_and_leaves_nothing_behind(
    host: AMemorixHostService, args: dict[str, Any]
) -> None:
    (field,) = args
    good = {"external_id": "x", "source_type": "note", "text": "the kite", "chat_id": "c", "entities": ["kite"]}
    error = await refused(host, "ingest_text", {**good, **args})

    assert field in error
    with pytest.raises(MemoryFault, match=field):
        await host.call("ingest_text", {**good, **args})
    assert await contents(host, "kite", chat_id="c") == []


async def test_14_new_text_under_a_known_id_replaces_the_old(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "Ada lives in Rome", external_id="home", chat_id="c")
    await told(dense_host, "Ada lives in Oslo", external_id="home", chat_id="c")
    await dense_host.settle(600)

    assert await contents(dense_host, "Where does Ada live?", chat_id="c") == ["Ada lives in Oslo"]
    assert "Ada lives in Rome" not in await contents(dense_host, "Rome", chat_id="c", limit=50)


ODD_VALUES: list[Any] = [
    ("ingest_text", {"timestamp": float("nan")}, "timestamp"),
    ("ingest_text", {"timestamp": 1e20}, "timestamp"),
    ("ingest_text", {"relations": [{"subject": "a", "predicate": "p", "object": "b", "confidence": 99}]},
     "relations.0.confidence"),
    ("ingest_text", {"relations": [{"subject": "Ada", "predicate": "is", "object": "ADA "}]}, "relations.0"),
    ("ingest_text", {"tags": 5}, "tags"),
    ("search_memory", {"limit": -5}, "limit"),
    ("search_memory", {"limit": float("nan")}, "limit"),
    ("search_memory", {"time_start": float("inf")}, "time_start"),
    ("search_memory", {"query": 5}, "query"),
]  # fmt: skip


async def test_15_odd_values_are_refused_by_name(host: AMemorixHostService) -> None:
    for component, args, field in ODD_VALUES:
        good = {
            "ingest_text": {"external_id": "x", "source_type": "n", "text": "kite"},
            "search_memory": {"query": "kite"},
        }
        await refused(host, component, {**good[component], **args}, field)


async def test_15b_the_word_false_is_false(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"chats": ["c"]}) as host:
        result = await told(host, "kite", chat_id="c", respect_filter="false")
        assert result["stored_ids"]
        assert len(await hits(host, "kite", chat_id="c", respect_filter="false")) == 1
        assert await hits(host, "kite", chat_id="c", respect_filter="true") == []


async def test_16_sizes_are_bounded(host: AMemorixHostService) -> None:
    await told(host, "the kite")
    await refused(host, "search_memory", {"query": "kite " * 200_000}, "query")
    await refused(host, "ingest_text", {"external_id": "x", "source_type": "n", "text": "k" * 2_000_000}, "text")
    await refused(
        host, "ingest_text", {"external_id": "x", "source_type": "n", "text": "k", "tags": ["t"] * 1_001}, "tags"
    )
    turns = [{"text": "k"}] * 5_001
    await refused(host, "ingest_messages", {"chat_id": "c", "messages": turns}, "messages")
    await found(host, "kite " * 2_000)

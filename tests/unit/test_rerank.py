"""The second look at the head of a ranking: token vectors as rows, a budget, and no trace left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from amemorix import AMemorixHostService
from amemorix.models.local import catalog
from amemorix.models.local.install import install
from amemorix.ports import Encoded
from amemorix.search.rerank import best_matches
from amemorix.testing import memory_host
from database_file import open_database
from entrance import contents, found, hits, said
from test_models_tiny import published

WORDS = np.array([[127, 0], [0, 127]], np.int8)


@pytest.fixture
async def tiny_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AMemorixHostService]:
    """A memory with the tiny local model, which gives token vectors."""
    model = published(tmp_path / "published")
    monkeypatch.setattr(catalog, "DEFAULT_MODEL", model)
    monkeypatch.setattr(catalog, "MODELS", {model.name: model})
    install(model, tmp_path / "published", tmp_path / "cache")
    environ = {"AMEMORIX_CACHE": str(tmp_path / "cache")}
    async with memory_host(tmp_path / "memory", environ=environ, embedding={"provider": "local"}) as host:
        await said(
            host,
            "c",
            ("Ada", "The red boat lies on the lake."),
            ("Bob", "Is it green?"),
            ("Ada", "No, the boat is red."),
        )
        await host.settle()
        yield host


def test_each_word_of_the_query_finds_its_nearest_in_each_text() -> None:
    query = Encoded(np.zeros(2, np.float32), WORDS, np.array([0.5, 0.5], np.float32))
    codes = {1: WORDS[:1].tobytes(), 2: WORDS.tobytes(), 4: np.array([[-127, 0]], np.int8).tobytes()}

    matches = best_matches(query, [1, 2, 3, 4], codes)

    np.testing.assert_allclose(matches, [[1, 0], [1, 1], [0, 0], [0, 0]], atol=1e-6)


async def test_hits_say_what_their_words_added(tiny_host: AMemorixHostService) -> None:
    answer = await found(tiny_host, "Where is the red boat?", chat_id="c")

    assert answer["degraded"] == []
    assert "tokens" in answer["hits"][0]["explain"]["signals"]
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


async def test_a_line_of_few_words_counts_less_for_its_length(tiny_host: AMemorixHostService) -> None:
    short = "A red boat!"
    long = "A red boat, a green boat, a red lake, a green lake, boats and boats, a lake of green boats."
    await said(tiny_host, "c", ("Bob", short), ("Bob", long))
    await tiny_host.settle()

    found = await hits(tiny_host, "red boat", chat_id="c")

    added = {hit["content"]: hit["explain"]["signals"].get("length", 0.0) for hit in found}
    assert 0 < added[short] < added[long]


async def test_it_can_be_switched_off(tiny_host: AMemorixHostService) -> None:
    await tiny_host.update_config({"retrieval.rerank.enabled": False})

    assert all("tokens" not in hit["explain"]["signals"] for hit in await hits(tiny_host, "red boat", chat_id="c"))


async def test_a_head_that_takes_too_long_ends_where_it_is(tiny_host: AMemorixHostService) -> None:
    await said(tiny_host, "c", *(("Bob", f"A red boat, number {n}, is on the lake.") for n in range(150)))
    await tiny_host.settle()
    await tiny_host.update_config({"retrieval.rerank.budget_ms": 1e-6, "retrieval.rerank.depth": 100})

    answer = await found(tiny_host, "red boat on a lake", chat_id="c", limit=100)

    assert answer["degraded"] == ["rerank"]
    assert len(answer["hits"]) == 100
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


async def test_token_vectors_go_with_their_paragraph_and_their_generation(
    tiny_host: AMemorixHostService, tmp_path: Path
) -> None:
    database = next((tmp_path / "memory").rglob("*.db"))

    def rows() -> list[tuple[int, int]]:
        with open_database(f"file:{database}?mode=ro", uri=True) as db:
            return db.execute("select generation, length(v) % 32 from paragraph_tokens order by 1, 2").fetchall()

    assert rows() == [(1, 0)] * 3
    await tiny_host.update_config({"embedding.keep_generations": 0})
    await tiny_host.invoke("memory_runtime_admin", {"action": "rebuild_all_vectors"})
    await tiny_host.settle()
    assert rows() == [(2, 0)] * 3


@pytest.mark.local_model
async def test_chinese_and_english_answer_each_other(local_model: str, tmp_path: Path) -> None:
    embedding = {"provider": "local", "model_name": local_model}
    async with memory_host(tmp_path, embedding=embedding) as host:
        await said(
            host,
            "c",
            ("林澈", "我花生一吃就起疹子"),
            ("Mai", "I run five kilometres every evening."),
            ("周枝", "我的猫叫团子"),
        )
        await host.settle()

        asked = ["有什么东西不能吃？会过敏吗", "Who has an allergy to peanuts?", "谁每天晚上跑步？"]
        first = [(await contents(host, query, chat_id="c", limit=1)) for query in asked]

    assert first == [["我花生一吃就起疹子"], ["我花生一吃就起疹子"], ["I run five kilometres every evening."]]

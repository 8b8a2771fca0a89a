"""Every hit says how near the query it is by the model's own measure; who asks may cut by it and choose the fusion."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, pause_background
from conftest import Open
from entrance import call, contents, found, hits, refused, said, told

TEXTS = ["red kite over the hill", "red kite", "a kite shop", "the hill is green", "lamps need oil", "oil and vinegar"]
GREEN_TEA = "I love drinking green tea"


async def stored(host: AMemorixHostService, texts: Sequence[str] = TEXTS) -> None:
    for text in texts:
        await told(host, text, chat_id="c")
    await host.settle(600)


def cosine(model: HashEmbedder, one: str, other: str) -> float:
    return float(np.prod(model.embed([one, other]), axis=0).sum())


# similarity


@pytest.mark.parametrize("dimension", [8, 256])
async def test_it_is_the_cosine_of_the_model_between_0_and_1(opened: Open, dimension: int) -> None:
    model = HashEmbedder(dimension)
    host = await opened(embed=model)
    await stored(host)
    answer = await hits(host, "red kite", chat_id="c", limit=10, gate=False)

    assert len(answer) == len(TEXTS)
    for hit in answer:
        wanted = max(cosine(model, "red kite", hit["content"]), 0.0)
        assert hit["similarity"] == pytest.approx(wanted, abs=0.02), hit["content"]
        assert 0 <= hit["similarity"] <= 1
    assert next(hit for hit in answer if hit["content"] == "red kite")["similarity"] >= 0.99


async def test_without_a_model_there_is_none_and_nothing_is_cut(host: AMemorixHostService) -> None:
    await stored(host)
    answer = await found(host, "red kite", chat_id="c", min_similarity=0.99)

    assert {hit["similarity"] for hit in answer["hits"]} == {None}
    assert "red kite over the hill" in [hit["content"] for hit in answer["hits"]]
    assert any("min_similarity" in warning for warning in answer["warnings"])
    assert not (await found(host, "red kite", chat_id="c"))["warnings"]


async def test_what_was_stored_a_moment_ago_has_one_at_once(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)
    await pause_background(dense_host)
    await told(dense_host, "red kite on a long line", chat_id="c")
    asked: dict[str, Any] = {"chat_id": "c", "limit": 10, "min_similarity": 0}
    at_once = {hit["content"]: hit["similarity"] for hit in await hits(dense_host, "red kite", **asked)}

    wanted = cosine(HashEmbedder(), "red kite", "red kite on a long line")
    assert at_once["red kite on a long line"] == pytest.approx(wanted, abs=0.02)
    unasked = {hit["content"]: hit["similarity"] for hit in await hits(dense_host, "red kite", chat_id="c")}
    assert (unasked["red kite on a long line"], unasked["red kite"]) == (None, pytest.approx(1, abs=0.01))
    assert await contents(dense_host, "kite on a long line", chat_id="c", min_similarity=0.8) == [
        "red kite on a long line"
    ]


async def test_a_model_that_takes_too_long_over_a_hit_leaves_it_without(opened: Open) -> None:
    words, let_go = HashEmbedder(), threading.Event()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        if any("long line" in text for text in texts):
            let_go.wait(60)
        return words(texts)

    host = await opened(embed=embed, embedding={"query_timeout_seconds": 0.2})
    await stored(host)
    await told(host, "red kite on a long line", chat_id="c")
    answer = await found(host, "red kite", chat_id="c", min_similarity=0.9)
    let_go.set()

    assert {hit["content"]: hit["similarity"] for hit in answer["hits"]} == {
        "red kite on a long line": None, "red kite": pytest.approx(1, abs=0.01),
    }  # fmt: skip
    assert any("min_similarity" in warning for warning in answer["warnings"])


async def test_a_model_that_fails_leaves_hits_without(opened: Open) -> None:
    words, fails = HashEmbedder(), False

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        if fails:
            raise RuntimeError("no GPU left")
        return words(texts)

    host = await opened(embed=embed)
    await stored(host)
    fails = True
    answer = await found(host, "green hill", chat_id="c")
    assert answer["hits"]
    assert {hit["similarity"] for hit in answer["hits"]} == {None}
    assert answer["degraded"] == ["dense"]


async def test_modes_without_a_query_compare_nothing(dense_host: AMemorixHostService) -> None:
    await said(dense_host, "c", ("Ada", "red kite over the hill", "2023-05-08T10:00:00Z"))
    await dense_host.settle(600)
    window = {"mode": "time", "time_start": "2023-05-01", "chat_id": "c"}

    assert [hit["similarity"] for hit in await hits(dense_host, **window)] == [None]
    (dated,) = await hits(dense_host, "red kite", **window)
    assert dated["similarity"] == pytest.approx(cosine(HashEmbedder(), "red kite", dated["content"]), abs=0.02)


async def test_an_episode_is_as_near_as_its_best_paragraph(dense_host: AMemorixHostService) -> None:
    await said(dense_host, "c", ("Ada", "red kite over the hill", "2023-05-08T10:00:00Z"),
               ("Bob", "red kite", "2023-05-08T10:01:00Z"))  # fmt: skip
    await dense_host.settle(600)
    for mode in ("episode", "aggregate"):
        near = {hit["type"]: hit["similarity"] for hit in await hits(dense_host, "red kite", mode=mode, chat_id="c")}
        assert near["episode"] == pytest.approx(1, abs=0.01)


async def test_a_wording_of_that_time_has_one(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(embed=HashEmbedder(), clock=clock)
    await told(host, "red kite", chat_id="c", external_id="x")
    await host.settle(600)
    before = clock.now()
    clock.advance(3600)
    await told(host, "blue boat", chat_id="c", external_id="x")
    await host.settle(600)
    (old,) = await hits(host, "red kite", chat_id="c", as_of=before, min_similarity=0)
    assert (old["content"], old["similarity"]) == ("red kite", pytest.approx(1, abs=0.01))


# min_similarity


async def test_what_is_less_alike_is_left_out_and_the_limit_is_filled_from_below(opened: Open) -> None:
    """The three that are alike share no word with the query; those that share its words are far away."""
    near, far = [f"alike {n}" for n in range(3)], [f"wanted thing number {n}" for n in range(6)]
    vectors = {"wanted thing": [1.0, 0.0], **{text: [0.9, 0.436] for text in near}}
    vectors |= {text: [0.3, 0.954] for text in far}
    host = await opened(embed=lambda texts: [vectors.get(text, [0.0, 1.0]) for text in texts])
    await stored(host, [*near, *far])

    cut = await hits(host, "wanted thing", chat_id="c", limit=3, gate=False, min_similarity=0.5)
    assert sorted(hit["content"] for hit in cut) == near
    everything = await hits(host, "wanted thing", chat_id="c", limit=20, gate=False)
    assert len(everything) == 9
    order = [hit["content"] for hit in everything if hit["similarity"] >= 0.5]
    assert [hit["content"] for hit in cut] == order


async def test_the_new_arguments_at_their_defaults_change_nothing(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)
    plain = await found(dense_host, "red kite hill", chat_id="c")
    said_out = await found(
        dense_host, "red kite hill", chat_id="c", min_similarity=0, gate=True, fusion="weighted", rrf_k=60
    )
    assert plain == said_out


@pytest.mark.parametrize(
    ("field", "value"),
    [("min_similarity", 1.1), ("min_similarity", -0.1), ("rrf_k", 0), ("stage1", 0), ("fusion", "sum"), ("gate", "perhaps")],
)  # fmt: skip
async def test_what_is_out_of_range_is_refused_by_name(host: AMemorixHostService, field: str, value: Any) -> None:
    await refused(host, "search_memory", {"query": "kite", field: value}, field)


# gate


@pytest.mark.parametrize("query", ["quantum entanglement of photons", "thanks a lot"])
async def test_the_gate_can_be_left_out(dense_host: AMemorixHostService, query: str) -> None:
    await stored(dense_host)
    assert await hits(dense_host, query, chat_id="c") == []
    assert len(await hits(dense_host, query, chat_id="c", gate=False)) == 5


# fusion


async def test_rrf_sums_the_reciprocal_ranks_of_both_lanes(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)
    for k in (1, 60):
        answer = await hits(dense_host, "red kite hill", chat_id="c", limit=10, fusion="rrf", rrf_k=k, gate=False)
        scores = [hit["score"] for hit in answer]
        assert scores == sorted(scores, reverse=True)
        for hit in answer:
            ranks = [lane["rank"] for name, lane in hit["explain"]["lanes"].items() if name in ("sparse", "dense")]
            assert ranks
            assert hit["score"] == pytest.approx(sum(1 / (k + rank) for rank in ranks), abs=1e-6)
        for lane in ("sparse", "dense"):
            lanes = [hit["explain"]["lanes"].get(lane) for hit in answer]
            by_score = sorted((one for one in lanes if one), key=lambda one: one["rank"])
            assert [one["rank"] for one in by_score] == list(range(1, len(by_score) + 1))
            assert [one["score"] for one in by_score] == sorted((one["score"] for one in by_score), reverse=True)


async def test_a_higher_k_lets_lower_ranks_count_more(opened: Open) -> None:
    """`first` leads one list and is far down the other; `steady` is third in both."""
    words = ["kite " * n + f"x{n}" for n in range(6, 0, -1)]  # by falling share of the word
    by_words = [words[0], words[1], words[2], words[3], words[4], words[5]]
    first, steady = by_words[0], by_words[2]
    by_meaning = [by_words[3], by_words[4], steady, by_words[5], by_words[1], first]
    vectors = {text: [1.0 - 0.1 * n, (1 - (1.0 - 0.1 * n) ** 2) ** 0.5] for n, text in enumerate(by_meaning)}
    host = await opened(embed=lambda texts: [vectors.get(text.strip(), [1.0, 0.0]) for text in texts])
    await stored(host, by_words)

    def best(answer: list[dict[str, Any]]) -> list[str]:
        return [hit["content"] for hit in answer if hit["content"] in (first, steady)]

    asked: dict[str, Any] = {"chat_id": "c", "limit": 6, "fusion": "rrf", "gate": False}
    low, high = await hits(host, "kite", rrf_k=1, **asked), await hits(host, "kite", rrf_k=1000, **asked)
    lanes = {hit["content"]: hit["explain"]["lanes"] for hit in low}
    ranks = {text: sorted(lane["rank"] for lane in lanes[text].values()) for text in (first, steady)}
    assert ranks == {first: [1, 6], steady: [3, 3]}
    assert best(low) == [first, steady]
    assert best(high) == [steady, first]


async def test_stage1_says_how_many_of_each_lane_take_part(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)
    asked: dict[str, Any] = {"chat_id": "c", "limit": 10, "fusion": "rrf", "gate": False}
    assert len(await hits(dense_host, "red kite hill", stage1=1, **asked)) <= 2
    assert len(await hits(dense_host, "red kite hill", stage1=50, **asked)) == len(TEXTS)
    assert len(await hits(dense_host, "red kite hill", **{**asked, "limit": 1})) == 1


async def test_rrf_goes_by_words_alone_where_there_is_no_model(host: AMemorixHostService) -> None:
    await stored(host)
    answer = await hits(host, "red kite", chat_id="c", fusion="rrf", gate=False)
    assert answer[0]["score"] == pytest.approx(1 / 61, abs=1e-6)
    assert set(answer[0]["explain"]["lanes"]) == {"sparse"}


async def test_the_fusion_leaves_the_confidence_of_a_hit_as_it_is(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)

    async def confidences(**args: Any) -> dict[str, float]:
        answer = await hits(dense_host, "red kite hill", chat_id="c", limit=10, gate=False, **args)
        return {hit["content"]: hit["confidence"] for hit in answer}

    weighted, rrf = await confidences(), await confidences(fusion="rrf", stage1=50)
    assert rrf == weighted


async def test_rrf_shows_what_may_be_seen_and_no_more(dense_host: AMemorixHostService) -> None:
    await stored(dense_host)
    await told(dense_host, "red kite", chat_id="other")
    await dense_host.settle(600)
    answer = await hits(dense_host, "red kite", chat_id="other", fusion="rrf", gate=False, limit=50, stage1=50)
    assert [(hit["chat_id"], hit["content"]) for hit in answer] == [("other", "red kite")]


# the local models


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("query", "same", "stranger"),
    [
        (GREEN_TEA, "green tea is my favourite drink", "The stock market fell again"),
        ("我喜欢喝桂花乌龙", "桂花乌龙是我最爱的茶", "股市又跌了，大家都很难过"),
        (GREEN_TEA, "我最喜欢喝绿茶", "股市又跌了，大家都很难过"),
    ],
)
async def test_a_paraphrase_is_far_above_a_stranger_and_the_text_itself_is_1(
    opened: Open, local_model: str, query: str, same: str, stranger: str
) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model}, environ=os.environ)
    await stored(host, [query, same, stranger])
    asked: dict[str, Any] = {"chat_id": "c", "gate": False, "min_similarity": 0}
    near = {hit["content"]: hit["similarity"] for hit in await hits(host, query, **asked)}

    assert near[query] >= 0.98
    assert near[same] >= 0.6
    assert near[stranger] <= 0.25


@pytest.mark.local_model
async def test_it_is_what_embed_texts_gives(opened: Open, local_model: str) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model}, environ=os.environ)
    texts = ["green tea is my favourite drink", "The stock market fell again"]
    await stored(host, texts)
    vectors = np.array((await call(host, "embed_texts", texts=[GREEN_TEA, *texts]))["vectors"])
    asked: dict[str, Any] = {"chat_id": "c", "gate": False, "min_similarity": 0}
    near = {hit["content"]: hit["similarity"] for hit in await hits(host, GREEN_TEA, **asked)}
    for text, vector in zip(texts, vectors[1:], strict=True):
        assert near[text] == pytest.approx(max(float(vectors[0] @ vector), 0), abs=0.02)

"""`embed_texts`: the vectors of the memory's own model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder
from conftest import Open
from entrance import call, refused


async def test_each_text_has_a_unit_vector_in_its_place(dense_host: AMemorixHostService) -> None:
    texts = ["a red kite", "a green hill", "a red kite"]
    answer = await call(dense_host, "embed_texts", texts=texts)

    vectors = np.array(answer["vectors"], np.float32)
    assert answer["dimension"] == 256
    assert answer["model"]
    assert vectors.shape == (3, 256)
    np.testing.assert_allclose(vectors, HashEmbedder().embed(texts), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


async def test_a_text_without_a_word_has_zeros(dense_host: AMemorixHostService) -> None:
    answer = await call(dense_host, "embed_texts", texts=["", " \n ", "a kite"])
    assert [any(vector) for vector in answer["vectors"]] == [False, False, True]
    assert {len(vector) for vector in answer["vectors"]} == {256}
    assert (await call(dense_host, "embed_texts", texts=[""]))["vectors"] == [[0.0] * 256]


async def test_white_space_at_the_ends_makes_no_other_text(dense_host: AMemorixHostService) -> None:
    one, other = (await call(dense_host, "embed_texts", texts=["a kite", "  a kite\n"]))["vectors"]
    assert one == other


async def test_without_a_model_it_says_so(host: AMemorixHostService) -> None:
    error = await refused(host, "embed_texts", {"texts": ["a kite"]}, code="model_unavailable")
    assert "model" in error


async def test_what_the_model_says_is_passed_on(opened: Open) -> None:
    words, fails = HashEmbedder(), False

    def embed(texts: Sequence[str]) -> Any:
        if fails:
            raise RuntimeError("no GPU left")
        return words(texts)

    host = await opened(embed=embed)
    fails = True
    assert "no GPU left" in await refused(host, "embed_texts", {"texts": ["a kite"]}, code="model_unavailable")


@pytest.mark.parametrize(
    ("args", "field"),
    [({}, "texts"), ({"texts": []}, "texts"), ({"texts": ["x"] * 1001}, "texts"), ({"texts": [1]}, "texts"), ({"texts": ["x"], "kind": "z"}, "kind")],
)  # fmt: skip
async def test_what_cannot_be_embedded_is_refused_by_name(
    dense_host: AMemorixHostService, args: dict[str, Any], field: str
) -> None:
    result = await dense_host.invoke("embed_texts", args)
    assert result["error_code"] == "invalid_request"
    assert field in result["error"]


async def test_too_much_text_at_once_is_refused(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), ingest={"max_call_chars": 10_000, "max_text_chars": 10_000})
    assert "texts" in await refused(host, "embed_texts", {"texts": ["kite " * 1_500] * 2}, "texts")


@pytest.mark.local_model
async def test_queries_and_passages_are_put_as_the_model_wants_them(opened: Open, local_model: str) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model}, environ=os.environ)
    texts = ["Which pet is ill?", "My dog needs to see the vet."]
    passages = await call(host, "embed_texts", texts=texts, kind="passage")
    queries = await call(host, "embed_texts", texts=texts, kind="query")

    assert (passages["model"], passages["dimension"]) == (local_model, 384)
    assert passages == await call(host, "embed_texts", texts=texts)
    assert queries["vectors"] != passages["vectors"]

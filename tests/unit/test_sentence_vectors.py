"""The vectors of sentences that are kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix.facts import sentence_vectors
from amemorix.facts.sentence_vectors import SentenceVectors
from amemorix.testing import HashEmbedder


class Counting(HashEmbedder):
    def __init__(self, model: str) -> None:
        super().__init__(model=model)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts)


def test_what_was_asked_for_lately_is_not_embedded_again() -> None:
    vectors, embedder = SentenceVectors(), Counting("one")
    first = vectors.of(embedder, ["I live in Leeds.", "I have two cats.", "I live in Leeds."])
    again = vectors.of(embedder, ["I have two cats.", "I moved to York."])
    assert embedder.asked == ["I live in Leeds.", "I have two cats.", "I moved to York."]
    np.testing.assert_array_equal(first[1], again[0])
    np.testing.assert_allclose(first[0], embedder.embed(["I live in Leeds."])[0], atol=1e-3)


def test_another_model_makes_its_own() -> None:
    vectors, one, other = SentenceVectors(), Counting("one"), Counting("other")
    for embedder in (one, other, one):
        vectors.of(embedder, ["I live in Leeds."])
    assert len(one.asked) == 2 and len(other.asked) == 1


def test_a_sentence_that_is_kept_does_not_keep_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "MOST_SENTENCES", 256)
    vectors, embedder = SentenceVectors(), HashEmbedder(1024)
    tracemalloc.start()
    try:
        for batch in range(32):
            vectors.of(embedder, [f"I saw {batch} {place}." for place in range(64)])
            vectors.of(embedder, [f"I saw {one} 0." for one in range(batch)])
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * 256 * 1024 * 2

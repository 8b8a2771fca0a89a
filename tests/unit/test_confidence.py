"""Confidence: no hit stands above a far likelier one, and many small chances make an answer that is not weak."""

from __future__ import annotations

import numpy as np
import pytest

from amemorix.search.confidence import FEATURES, WEAK, is_weak, judge, likely_first
from amemorix.search.fusion import Fused


def ranked(confidence: list[float]) -> Fused:
    """Candidates 1, 2, 3 … in that order, with falling scores."""
    count = len(confidence)
    nothing = np.zeros(count, np.float32)
    score = np.linspace(0.9, 0.5, count, dtype=np.float32)
    return Fused(
        np.arange(1, count + 1), score, ("dense",), score[:, None], (1.0,), nothing, nothing, nothing,
        np.column_stack([nothing, nothing]), np.array(confidence, np.float32),
    )  # fmt: skip


def test_a_far_likelier_hit_comes_first_and_scores_as_much_as_what_it_passes() -> None:
    moved = likely_first(ranked([0.09, 0.3, 0.64, 0.4]), 0.5)
    assert moved.ids.tolist() == [3, 2, 4, 1]
    assert moved.score.tolist() == sorted(moved.score.tolist(), reverse=True)
    assert (moved.values @ np.array(moved.weights, np.float32)).tolist() == pytest.approx(moved.score.tolist())


@pytest.mark.parametrize("far", [0.3, 0.5, 1.0])
def test_none_stands_above_one_of_which_it_is_a_smaller_share(far: float) -> None:
    for seed in range(50):
        confidence = np.random.default_rng(seed).random(30) ** 3
        moved = likely_first(ranked(confidence.tolist()), far).confidence
        best_below = np.maximum.accumulate(moved[::-1])[::-1]
        assert (moved >= far * best_below).all(), seed


def test_what_agrees_keeps_its_order() -> None:
    fused = ranked([0.6, 0.5, 0.7, 0.4])
    assert likely_first(fused, 0.5) is fused


def test_an_answer_is_weak_where_it_is_unlikely_that_any_hit_answers() -> None:
    assert is_weak([WEAK - 0.02, 0.0])
    assert not is_weak([WEAK / 3] * 4)
    assert not is_weak([0.6])
    assert not is_weak([]), "nothing is no weak answer"


def test_each_kind_has_a_weight_for_every_feature() -> None:
    for kind in ("model", "words"):
        assert len(judge(kind).weights) == len(judge(kind).mean) == len(judge(kind).spread) == len(FEATURES)

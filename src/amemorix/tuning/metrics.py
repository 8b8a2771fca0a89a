"""How good a ranking is, and whether one set of settings is better than another."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Comparison", "Objective", "Outcome", "between", "compare", "outcome", "percentile", "worth"]

Objective = Literal["precision_priority", "balanced", "recall_priority"]
_WORTH: Mapping[str, tuple[float, float, float]] = {
    "precision_priority": (0.6, 0.3, 0.1),
    "balanced": (0.3, 0.3, 0.4),
    "recall_priority": (0.1, 0.2, 0.7),
}
"""What reciprocal rank, discounted gain and recall count for."""
DRAWS, BLOCK = 10_000, 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """How well one question was answered, every figure within the first hits and in 0..1."""

    query: int
    kind: str
    reciprocal_rank: float
    gain: float
    recall: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of settings on the same questions; `low` and `high` bound the difference by 95 %.

    `p` is the chance of a difference as large if both were as good: a one-sided permutation test of the pairs' signs.
    """

    questions: int = 0
    before: float = 0.0
    after: float = 0.0
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    p: float = 1.0


def outcome(
    query: int, kind: str, ranked: Sequence[int], targets: Collection[int], k: int, milliseconds: float
) -> Outcome:
    """Judge the first k of a ranking without repetitions.

    Gain is discounted cumulative gain with binary gains over the ideal one (Järvelin and Kekäläinen 2002); recall is of
    as many targets as k hits can hold.
    """
    places = [rank for rank, id_ in enumerate(ranked[:k], 1) if id_ in targets]
    reachable = min(len(targets), k)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, reachable + 1))
    found = sum(1 / math.log2(rank + 1) for rank in places)
    return Outcome(query, kind, 1 / places[0] if places else 0.0, found / ideal, len(places) / reachable, milliseconds)


def between(one: Outcome, other: Outcome) -> Outcome:
    """The mean of two answers to the same question."""
    return Outcome(
        one.query,
        one.kind,
        (one.reciprocal_rank + other.reciprocal_rank) / 2,
        (one.gain + other.gain) / 2,
        (one.recall + other.recall) / 2,
        (one.milliseconds + other.milliseconds) / 2,
    )


def worth(one: Outcome, objective: Objective) -> float:
    """A question's figures as one number in 0..1."""
    rank, gain, recall = _WORTH[objective]
    return rank * one.reciprocal_rank + gain * one.gain + recall * one.recall


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie; 0 for none."""
    return float(np.percentile(np.asarray(values, np.float64), percent)) if values else 0.0


def compare(before: Mapping[int, float], after: Mapping[int, float], *, seed: int) -> Comparison:
    """Compare what the same questions are worth, by question; repeatable."""
    both = sorted(before.keys() & after.keys())
    if not both:
        return Comparison()
    one = np.array([before[id_] for id_ in both])
    other = np.array([after[id_] for id_ in both])
    pairs = other - one
    means, chance = _resampled(pairs, seed), _by_chance(pairs, seed)
    low, high = np.percentile(means, [2.5, 97.5])
    return Comparison(
        len(both), float(one.mean()), float(other.mean()), float(pairs.mean()), float(low), float(high), chance
    )


def _resampled(pairs: np.ndarray, seed: int) -> np.ndarray:
    """Means of samples drawn with replacement (Efron and Tibshirani 1993, chapter 13)."""
    generator, count = np.random.default_rng(seed), len(pairs)
    even = np.full(count, 1 / count)
    return np.concatenate([generator.multinomial(count, even, BLOCK) @ pairs / count for _ in range(DRAWS // BLOCK)])


def _by_chance(pairs: np.ndarray, seed: int) -> float:
    """The share of random signs that give a mean as high, itself counted (Phipson and Smyth 2010)."""
    generator, total = np.random.default_rng(seed + 1), float(pairs.sum())
    higher = 0
    for _ in range(DRAWS // BLOCK):
        signs = generator.integers(0, 2, (BLOCK, len(pairs))) * 2 - 1
        higher += int(np.count_nonzero(signs @ pairs >= total - 1e-12))
    return (higher + 1) / (DRAWS + 1)

"""Whether one set of settings answers questions better than another, and is to be recommended."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .rows import RoundItem
from .search_space import changed

__all__ = [
    "Comparison", "Objective", "Outcome", "Verdict", "compare", "judge", "mean_outcome", "outcome", "percentile",
    "worth",
]  # fmt: skip

Objective = Literal["precision_priority", "balanced", "recall_priority"]
_WORTH: Mapping[str, tuple[float, float, float]] = {
    "precision_priority": (0.6, 0.3, 0.1), "balanced": (0.3, 0.3, 0.4), "recall_priority": (0.1, 0.2, 0.7),
}  # fmt: skip
"""What reciprocal rank, discounted gain and recall count for."""
DRAWS, BLOCK = 10_000, 500
SIGNIFICANT = 0.05
WORSE = 0.005
"""The held-out questions must not lose more."""
WORSE_KIND, KIND_LEAST = 0.05, 10
"""Neither must questions of one kind, where there are enough of them that it is no chance."""
SLOWER, SLOWER_MS, SLOWER_MEDIAN = 1.2, 10.0, 1.1
"""The 95th percentile may take so many times as long or so many milliseconds more; where the median has not grown too,
the machine was busy with something else."""


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison came to; `reasons` say why the profile is not recommended."""

    recommended: bool = False
    reasons: tuple[str, ...] = ()
    best_round: int = 0
    profile: dict[str, Any] = field(default_factory=dict)
    """Every setting of the best round."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Those that are not as they were."""
    validation: Comparison = field(default_factory=Comparison)
    held_out: Comparison = field(default_factory=Comparison)
    p95_before: float = 0.0
    p95_after: float = 0.0
    kinds: dict[str, Comparison] = field(default_factory=dict)


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


def mean_outcome(one: Outcome, other: Outcome) -> Outcome:
    """The mean of two answers to the same question."""
    return Outcome(
        one.query, one.kind, (one.reciprocal_rank + other.reciprocal_rank) / 2, (one.gain + other.gain) / 2,
        (one.recall + other.recall) / 2, (one.milliseconds + other.milliseconds) / 2,
    )  # fmt: skip


def worth(one: Outcome, objective: Objective) -> float:
    """A question's figures as one number in 0..1."""
    rank, gain, recall = _WORTH[objective]
    return rank * one.reciprocal_rank + gain * one.gain + recall * one.recall


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie; 0 for none."""
    return float(np.percentile(np.asarray(values, np.float64), percent)) if values else 0.0


def compare(before: Mapping[int, float], after: Mapping[int, float], *, seed: int) -> Comparison:
    """Compare what the same questions are worth, by question; repeatable.

    The bounds are those of means resampled with replacement (Efron and Tibshirani 1993, chapter 13); `p` is the share of
    random signs that give a mean as high, itself counted (Phipson and Smyth 2010).
    """
    both = sorted(before.keys() & after.keys())
    if not both:
        return Comparison()
    one, other = np.array([before[id_] for id_ in both]), np.array([after[id_] for id_ in both])
    pairs, count = other - one, len(both)
    draws, signs = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    means: list[np.ndarray] = []
    higher = 0
    for _ in range(DRAWS // BLOCK):
        means.append(draws.multinomial(count, np.full(count, 1 / count), BLOCK) @ pairs / count)
        flipped = (signs.integers(0, 2, (BLOCK, count)) * 2 - 1) @ pairs
        higher += int(np.count_nonzero(flipped >= float(pairs.sum()) - 1e-12))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return Comparison(
        count, float(one.mean()), float(other.mean()), float(pairs.mean()), float(low), float(high),
        (higher + 1) / (DRAWS + 1),
    )  # fmt: skip


def judge(
    best: RoundItem,
    baseline: Mapping[str, Any],
    validation: Sequence[Sequence[Outcome]],
    held_out: Sequence[Sequence[Outcome]],
    *,
    objective: Objective,
    seed: int,
) -> Verdict:
    """Compare the baseline's outcomes with those of the best round.

    One profile alone is tested, the best by the training questions, so that the test needs no correction.
    """

    def compared(outcomes: Sequence[Sequence[Outcome]], kind: str | None = None) -> Comparison:
        before, after = (
            {one.query: worth(one, objective) for one in some if kind in (None, one.kind)} for some in outcomes
        )
        return compare(before, after, seed=seed)

    tested, again = compared(validation), compared(held_out)
    both = [[*one, *other] for one, other in zip(validation, held_out, strict=True)]
    kinds = {kind: compared(both, kind) for kind in sorted({one.kind for one in both[0]})}
    times = [[one.milliseconds for one in outcomes] for outcomes in both]
    before, after = (percentile(some, 95) for some in times)
    reasons: list[str] = []
    if tested.difference <= 0 or tested.p >= SIGNIFICANT:
        reasons.append(
            f"On the validation questions the difference of {tested.difference:+.4f} may be chance (p = {tested.p:.3f})."
        )
    if again.difference < -WORSE:
        reasons.append(f"The held-out questions are answered worse: {again.difference:+.4f}.")
    medians = [percentile(some, 50) for some in times]
    if after > max(SLOWER * before, before + SLOWER_MS) and medians[1] > SLOWER_MEDIAN * medians[0]:
        reasons.append(
            f"The slowest searches take longer: {after:.1f} ms instead of {before:.1f} ms (95th percentile)."
        )
    reasons += [
        f"Questions of the kind `{kind}` are answered worse: {one.difference:+.4f}."
        for kind, one in kinds.items()
        if one.questions >= KIND_LEAST and one.difference < -WORSE_KIND and one.high < 0
    ]
    return Verdict(
        not reasons, tuple(reasons), best.round, dict(best.profile), changed(best.profile, baseline), tested, again,
        round(before, 3), round(after, 3), kinds,
    )  # fmt: skip

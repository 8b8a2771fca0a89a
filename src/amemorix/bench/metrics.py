"""Figures of merit of a ranking, and of a list of timings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

__all__ = ["Interval", "Score", "bootstrap", "distinct", "mean_score", "percentile", "score_ranking"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """How well one ranking found the evidence, or the mean over many; every figure lies in 0..1."""

    recall_5: float = 0.0
    recall_10: float = 0.0
    recall_20: float = 0.0
    any_5: float = 0.0
    any_10: float = 0.0
    mrr: float = 0.0
    ndcg_10: float = 0.0
    session_1: float = 0.0
    session_3: float = 0.0
    session_5: float = 0.0


def score_ranking(
    turns: Sequence[str], evidence: Collection[str], sessions: Sequence[str], evidence_sessions: Collection[str]
) -> Score:
    """Score a ranking of turns and the ranking of sessions that follows from it; best first, nothing twice.

    `recall_k` is the share of the evidence in the first k, `any_k` is 1 if some of it is there, `mrr` is one over the
    rank of the first, `ndcg_10` is discounted cumulative gain with binary gains over the ideal one (Järvelin and
    Kekäläinen 2002), `session_k` is recall of the evidence's sessions. Without evidence every figure is 0.
    """
    places = [rank for rank, turn in enumerate(turns, 1) if turn in evidence]
    return Score(
        recall_5=_recall(turns, evidence, 5),
        recall_10=_recall(turns, evidence, 10),
        recall_20=_recall(turns, evidence, 20),
        any_5=float(any(rank <= 5 for rank in places)),
        any_10=float(any(rank <= 10 for rank in places)),
        mrr=1 / places[0] if places else 0.0,
        ndcg_10=_ndcg(places, len(evidence), 10),
        session_1=_recall(sessions, evidence_sessions, 1),
        session_3=_recall(sessions, evidence_sessions, 3),
        session_5=_recall(sessions, evidence_sessions, 5),
    )


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean of each figure; all 0 for no scores."""
    if not scores:
        return Score()
    return Score(**{f.name: sum(getattr(s, f.name) for s in scores) / len(scores) for f in fields(Score)})


def bootstrap(values: Sequence[float], *, seed: int = 0, rounds: int = 2000, level: float = 0.95) -> Interval:
    """Percentile bootstrap interval of the mean (Efron and Tibshirani 1993, chapter 13); the same seed, the same result."""
    if not values:
        return Interval(0.0, 0.0)
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = [float(generator.choice(sample, sample.size).mean()) for _ in range(rounds)]
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(low), float(high))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie, interpolated between neighbours; 0 for no values."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), percent)) if values else 0.0


def distinct(values: Iterable[str]) -> list[str]:
    """The values in their order, each where it is first seen."""
    return list(dict.fromkeys(values))


def _recall(ranked: Sequence[str], wanted: Collection[str], k: int) -> float:
    return len(set(ranked[:k]) & set(wanted)) / len(wanted) if wanted else 0.0


def _ndcg(places: Sequence[int], relevant: int, k: int) -> float:
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    return sum(1 / math.log2(rank + 1) for rank in places if rank <= k) / ideal if ideal else 0.0

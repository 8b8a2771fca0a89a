"""The merging of signals into one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..config.model import Weights
from ..ports import SparseScores
from .lanes import DenseScores
from .signals import Floats, Ids, places

__all__ = ["RRF_K", "Fused", "candidates", "fuse", "reciprocal_rank_fusion", "weighted"]

RRF_K = 60
OCCASIONAL = frozenset({"person", "graph", "when", "answer", "time", "reply"})
"""Signals that many queries do not have: they count towards the reachable score only where they occur."""


@dataclass(frozen=True, slots=True)
class Fused:
    """Candidates, best first. `signals` holds each signal scaled to 0..1, `weights` what it counts for."""

    ids: Ids
    score: Floats
    signals: dict[str, Floats]
    weights: dict[str, float]
    cosine: Floats
    coverage: Floats
    bm25: Floats

    def top(self, count: int) -> Fused:
        """The first `count`."""
        return self.take(np.arange(min(count, len(self.ids))))

    def take(self, at: NDArray[np.intp]) -> Fused:
        """Those at these places, in this order."""
        return Fused(
            self.ids[at],
            self.score[at],
            {name: values[at] for name, values in self.signals.items()},
            self.weights,
            self.cosine[at],
            self.coverage[at],
            self.bm25[at],
        )


def candidates(sparse: SparseScores, dense: DenseScores, others: Sequence[Ids], limit: int) -> Ids:
    """Sorted ids of what any lane puts forward: at most `limit` of words, windows and vectors each."""
    near = np.nan_to_num(dense.cosine, nan=-2.0) + 2.0
    worded = (sparse.ids[_best(score, limit)] for score in (sparse.paragraph, sparse.window))
    meant = dense.ids[_best(near, limit)]
    return np.unique(np.concatenate([*others, meant, *worded]))


def _best(score: Floats, limit: int) -> NDArray[np.intp]:
    """Places of the highest scores above zero."""
    if len(score) > limit:
        top = np.argpartition(-score, limit)[:limit]
        return top[score[top] > 0]
    return np.flatnonzero(score > 0)


def fuse(ids: Ids, signals: dict[str, Floats], weights: Weights, sparse: SparseScores, dense: DenseScores) -> Fused:
    """The candidates by the weighted sum of their signals."""
    at = places(sparse.ids, ids)
    known = at >= 0
    coverage, bm25 = np.zeros(len(ids), np.float32), np.zeros(len(ids), np.float32)
    coverage[known] = np.maximum(sparse.coverage[at[known]], sparse.window_coverage[at[known]])
    bm25[known] = sparse.paragraph[at[known]]
    counted, score, total = weighted(signals, weights)
    order = np.lexsort((-ids, -total))
    return Fused(ids, score, signals, counted, dense.of(ids), coverage, bm25).take(order)


def weighted(signals: Mapping[str, Floats], weights: Weights) -> tuple[dict[str, float], Floats, Floats]:
    """(what each signal counts for, score in 0..1, weighted sum): the score is the sum over what it could have reached."""
    counted = {name: -weights.question if name == "question" else float(getattr(weights, name)) for name in signals}
    size = len(next(iter(signals.values())))
    total = sum((counted[name] * values for name, values in signals.items()), np.zeros(size, np.float32))
    reachable = (
        sum(w for name, w in counted.items() if w > 0 and (name not in OCCASIONAL or signals[name].any())) or 1.0
    )
    return counted, np.clip(total / reachable, 0.0, 1.0).astype(np.float32), total


def reciprocal_rank_fusion(rankings: Mapping[str, Sequence[str]], k: int = RRF_K) -> dict[str, float]:
    """Sum of 1 / (k + rank) over the rankings (Cormack, Clarke, Büttcher 2009); ranks begin at 1."""
    scores: dict[str, float] = {}
    for ranking in rankings.values():
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores

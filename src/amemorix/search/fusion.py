"""The merging of signals into one ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..config.model import Weights
from ..ports import SparseScores
from .lanes import DenseScores
from .signals import Floats, Ids

__all__ = ["RRF_K", "Fused", "candidates", "fuse", "reciprocal_rank_fusion", "weighted"]

RRF_K = 60
OCCASIONAL = frozenset({"person", "graph", "when", "answer", "time", "reply"})
"""Signals that many queries do not have: they count towards the reachable score only where they occur."""
TAKEN_OFF = frozenset({"question", "retention"})
"""Signals that speak against a candidate."""


@dataclass(frozen=True, slots=True)
class Fused:
    """Candidates, best first."""

    ids: Ids
    score: Floats
    names: tuple[str, ...]
    """The signals."""
    values: Floats
    """Each signal scaled to 0..1, shape (candidates, signals)."""
    weights: tuple[float, ...]
    """What each signal counts for."""
    cosine: Floats
    coverage: Floats
    bm25: Floats

    @property
    def signals(self) -> dict[str, Floats]:
        """The values by the name of their signal."""
        return {name: self.values[:, i] for i, name in enumerate(self.names)}

    def top(self, count: int) -> Fused:
        """The first `count`."""
        return self.take(slice(count))

    def take(self, at: NDArray[np.intp] | slice) -> Fused:
        """Those at these places, in this order."""
        return replace(
            self,
            ids=self.ids[at],
            score=self.score[at],
            values=self.values[at],
            cosine=self.cosine[at],
            coverage=self.coverage[at],
            bm25=self.bm25[at],
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


def fuse(ids: Ids, signals: Mapping[str, Floats], weights: Weights, sparse: SparseScores, dense: DenseScores) -> Fused:
    """The candidates by the weighted sum of their signals."""
    at = sparse.places(ids)
    known = at >= 0
    coverage, bm25 = np.zeros(len(ids), np.float32), np.zeros(len(ids), np.float32)
    coverage[known] = np.maximum(sparse.coverage[at[known]], sparse.window_coverage[at[known]])
    bm25[known] = sparse.paragraph[at[known]]
    names, values = tuple(signals), np.stack([*signals.values()], axis=1)
    return weighted(Fused(ids, np.zeros(0, np.float32), names, values, (), dense.of(ids), coverage, bm25), weights)


def weighted(fused: Fused, weights: Weights) -> Fused:
    """The same candidates by the weighted sum of their signals; the score is the sum over what it could have reached."""
    counted = np.array(
        [-getattr(weights, name) if name in TAKEN_OFF else getattr(weights, name) for name in fused.names], np.float32
    )
    total = fused.values @ counted
    always = np.array([name not in OCCASIONAL for name in fused.names])
    occurs = np.logical_or(always, fused.values.any(axis=0))
    reachable = float(counted[(counted > 0) & occurs].sum()) or 1.0
    score = np.clip(total / np.float32(reachable), 0.0, 1.0)
    fused = replace(fused, score=score, weights=tuple(counted.tolist()))
    return fused.take(np.lexsort((-fused.ids, -total)))


def reciprocal_rank_fusion(rankings: Mapping[str, Sequence[str]], k: int = RRF_K) -> dict[str, float]:
    """Sum of 1 / (k + rank) over the rankings (Cormack, Clarke, Büttcher 2009); ranks begin at 1."""
    scores: dict[str, float] = {}
    for ranking in rankings.values():
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores

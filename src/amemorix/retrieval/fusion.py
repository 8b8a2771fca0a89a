"""The merging of the lanes' scores into one ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..config.model import Weights
from ..ports import SparseScores
from ..storage.paragraphs import Candidate
from .lanes import DenseScores
from .plan import SearchPlan

__all__ = ["RRF_K", "Fused", "candidates", "fuse", "reciprocal_rank_fusion"]

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
QUESTION, SPEAKS_OF_TIME = 1, 2
RRF_K = 60
OCCASIONAL = frozenset({"person", "graph", "when"})
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


def candidates(sparse: SparseScores, dense: DenseScores, graph: Mapping[int, float], others: Ids, limit: int) -> Ids:
    """Sorted ids of what any lane puts forward: at most `limit` of each."""
    near = np.nan_to_num(dense.cosine, nan=-2.0) + 2.0
    worded = (sparse.ids[_best(score, limit)] for score in (sparse.paragraph, sparse.window))
    meant = dense.ids[_best(near, limit)]
    return np.unique(np.concatenate([others, np.fromiter(graph, np.int64, len(graph)), meant, *worded]))


def _best(score: Floats, limit: int) -> NDArray[np.intp]:
    """Places of the highest scores above zero."""
    if len(score) > limit:
        top = np.argpartition(-score, limit)[:limit]
        return top[score[top] > 0]
    return np.flatnonzero(score > 0)


def fuse(
    plan: SearchPlan,
    visible: Sequence[Candidate],
    sparse: SparseScores,
    dense: DenseScores,
    graph: Mapping[int, float],
    mentions: Callable[[Sequence[Candidate]], Floats],
) -> Fused:
    """Weighted sum of the scaled signals, divided by the weight they could reach: a score in 0..1.

    Lexical signals are scaled by the best candidate, cosines between the store's noise floor and the best one.
    `mentions` tells, for candidates that nobody is known to have said, which speak of the person named.
    """
    ids = np.array([c.id for c in visible], np.int64)
    at = _places(sparse.ids, ids)
    known = at >= 0
    cosine = dense.of(ids)
    top = float(np.nanmax(dense.cosine)) if len(dense.cosine) and not np.isnan(dense.cosine).all() else 0.0
    signals = {
        "person": _person(plan, visible, mentions),
        "paragraph": _scaled(_picked(sparse.paragraph, at, known)),
        "window": _scaled(_picked(sparse.window, at, known)),
        "session": _scaled(_picked(sparse.session, at, known)),
        "dense": _between(cosine, dense.floor, top),
        "previous": _between(_previous(sparse, dense, at, known), dense.floor, top),
        "graph": np.array([graph.get(int(i), 0.0) for i in ids], np.float32),
        "when": _flag(visible, SPEAKS_OF_TIME) * float(bool(plan.query and plan.query.asks_when)),
        "question": _flag(visible, QUESTION),
    }
    return _ranked(ids, signals, plan.settings.weights, cosine, sparse, at, known)


def _ranked(
    ids: Ids,
    signals: dict[str, Floats],
    weights: Weights,
    cosine: Floats,
    sparse: SparseScores,
    at: NDArray[np.intp],
    known: NDArray[np.bool_],
) -> Fused:
    counted = {name: -weights.question if name == "question" else float(getattr(weights, name)) for name in signals}
    total = sum((counted[name] * values for name, values in signals.items()), np.zeros(len(ids), np.float32))
    reachable = (
        sum(w for name, w in counted.items() if w > 0 and (name not in OCCASIONAL or signals[name].any())) or 1.0
    )
    score = np.clip(total / reachable, 0.0, 1.0).astype(np.float32)
    coverage = np.maximum(_picked(sparse.coverage, at, known), _picked(sparse.window_coverage, at, known))
    order = np.lexsort((-ids, -total))
    bm25 = _picked(sparse.paragraph, at, known)
    return Fused(ids, score, signals, counted, cosine, coverage, bm25).take(order)


def reciprocal_rank_fusion(rankings: Mapping[str, Sequence[str]], k: int = RRF_K) -> dict[str, float]:
    """Sum of 1 / (k + rank) over the rankings (Cormack, Clarke, Büttcher 2009); ranks begin at 1."""
    scores: dict[str, float] = {}
    for ranking in rankings.values():
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return scores


def _places(ids: Ids, wanted: Ids) -> NDArray[np.intp]:
    """Where each wanted id stands in `ids` (any order), -1 if it does not."""
    if not len(ids):
        return np.full(len(wanted), -1, np.intp)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    found = order[at]
    return np.where(ids[found] == wanted, found, -1)


def _picked(values: Floats, at: NDArray[np.intp], known: NDArray[np.bool_]) -> Floats:
    out = np.zeros(len(at), np.float32)
    out[known] = values[at[known]]
    return out


def _scaled(values: Floats) -> Floats:
    top = float(values.max()) if len(values) else 0.0
    return values / top if top > 0 else values


def _between(cosine: Floats, floor: float, top: float) -> Floats:
    if top <= floor:
        return np.zeros(len(cosine), np.float32)
    return np.nan_to_num(np.clip((cosine - floor) / (top - floor), 0.0, 1.0), nan=0.0).astype(np.float32)


def _previous(sparse: SparseScores, dense: DenseScores, at: NDArray[np.intp], known: NDArray[np.bool_]) -> Floats:
    """Cosine of the paragraph before each candidate, NaN where there is none."""
    out = np.full(len(at), np.nan, np.float32)
    before = np.where(known, sparse.previous[at] if len(sparse.previous) else -1, -1)
    has = before >= 0
    out[has] = dense.of(sparse.ids[before[has]])
    return out


def _person(
    plan: SearchPlan, visible: Sequence[Candidate], mentions: Callable[[Sequence[Candidate]], Floats]
) -> Floats:
    one = plan.query.one_person if plan.query else None
    if one is None:
        return np.zeros(len(visible), np.float32)
    said = np.array([c.speaker in one for c in visible], np.float32)
    unsaid = [i for i, c in enumerate(visible) if not c.speaker]
    if unsaid:
        said[unsaid] = mentions([visible[i] for i in unsaid])
    return said


def _flag(visible: Sequence[Candidate], flag: int) -> Floats:
    return np.array([bool(c.flags & flag) for c in visible], np.float32)

"""The merging of what the lanes found into one ranking: signals of each candidate, and their weighted sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..config.model import Weights
from ..indexes.projections import SearchIndexes
from ..indexes.sparse.levels import SparseScores
from ..language.normalise import NAME, NUMBER, QUESTION, TIME, fold
from ..sorted_arrays import contains, distinct, filled
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.paragraphs import Visible
from .lanes import DenseScores, Floats, Ids
from .query import SearchPlan
from .retention import retained_all

__all__ = ["RANKED", "Fused", "by_reciprocal_rank", "candidates", "fading", "fuse", "weighted"]

OCCASIONAL = frozenset({"person", "graph", "when", "answer", "time", "reply"})
"""Signals that many queries do not have: they count towards the reachable score only where they occur."""
TAKEN_OFF = frozenset({"question", "retention"})
"""Signals that speak against a candidate."""
RANKED = {"sparse": "sparse_rank", "dense": "dense_rank"}
"""Lane -> signal of its ranks, where those alone order the hits."""
TRUSTED_COVERAGE = 0.5
"""Share of the query's weighted words in the best window from which its words are fully trusted."""


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
    matched: Floats
    """How well the query's words are met, token by token: by the paragraph and by it with its neighbours, shape
    (candidates, 2), in 0..1; NaN where no token was compared."""
    confidence: Floats
    """How likely each answers the query; NaN until it is judged."""

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
            self, ids=self.ids[at], score=self.score[at], values=self.values[at], cosine=self.cosine[at],
            coverage=self.coverage[at], bm25=self.bm25[at], matched=self.matched[at], confidence=self.confidence[at],
        )  # fmt: skip

    def boosted(self, name: str, weight: float, values: Floats) -> Fused:
        """Ordered by the score with `weight` times a further signal added, at most 1; equal ones keep their order."""
        total = self.score + np.float32(weight) * values
        marked = replace(
            self,
            score=np.minimum(total, np.float32(1)),
            names=(*self.names, name),
            values=np.column_stack([self.values, values]),
            weights=(*self.weights, weight),
        )
        return marked.take(np.argsort(-total, kind="stable"))


def candidates(sparse: SparseScores, dense: DenseScores, others: Sequence[Ids], limit: int) -> Ids:
    """Sorted ids of what any lane puts forward: at most `limit` of words, windows and vectors each."""

    def best(score: Floats) -> NDArray[np.intp]:
        if len(score) > limit:
            top = np.argpartition(-score, limit)[:limit]
            return top[score[top] > 0]
        return np.flatnonzero(score > 0)

    near = filled(dense.cosine, -2.0) + 2.0
    worded = (sparse.ids[best(score)] for score in (sparse.paragraph, sparse.window))
    return distinct(np.concatenate([*others, dense.ids[best(near)], *worded]))


def fuse(
    db: Connection,
    indexes: SearchIndexes,
    plan: SearchPlan,
    visible: Visible,
    sparse: SparseScores,
    dense: DenseScores,
    graph: Mapping[int, float],
) -> Fused:
    """What may be seen, by the weighted sum of its signals.

    Lexical signals are scaled by the best candidate, cosines between the store's noise floor and the best one. Where
    there are vectors, lexical signals count less the less of the query any candidate holds: a paraphrase shares no more
    than chance words with its answer.
    """
    ids, wants, weights = visible.ids, plan.query.wants, plan.settings.weights
    at, cosine, nothing = sparse.places(ids), dense.of(ids), np.zeros(len(ids), np.float32)
    bm25, coverage = _picked(sparse.paragraph, at), _picked(sparse.window_coverage, at)
    trust = np.float32(min(1.0, float(coverage.max(initial=0.0)) / TRUSTED_COVERAGE) if len(dense.ids) else 1)
    flag = {sign: ((visible.flags & sign) > 0).astype(np.float32) for sign in (QUESTION, TIME, NUMBER, NAME)}
    signals = {
        "person": _person(db, plan, visible),
        "paragraph": trust * _scaled(bm25),
        "window": trust * _scaled(_picked(sparse.window, at)),
        "session": trust * _scaled(_picked(sparse.session, at)),
        "coverage": coverage,
        "dense": _between(cosine, dense),
        "topic": _between(_topic(sparse, dense, cosine, at), dense),
        "reply": _reply(indexes, sparse, dense, at),
        "graph": np.array([graph.get(id_, 0.0) for id_ in ids.tolist()], np.float32) if graph else nothing,
        "time": _in_time(plan, visible),
        "when": flag[TIME] if wants & TIME else nothing,
        "answer": np.maximum(flag[NAME] if wants & NAME else nothing, flag[NUMBER] if wants & NUMBER else nothing),
        "question": flag[QUESTION],
    }
    if weights.retention or plan.settings.rerank.weights.retention:
        signals |= fading(retained_all(visible.strength, visible.anchor_at, plan.now, plan.half_life))
    values, covered = np.stack([*signals.values()], axis=1), np.maximum(_picked(sparse.coverage, at), coverage)
    unknown = np.full(len(ids), np.nan, np.float32)
    matched = np.column_stack([unknown, unknown])
    return weighted(Fused(ids, nothing, tuple(signals), values, (), cosine, covered, bm25, matched, unknown), weights)


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


def by_reciprocal_rank(fused: Fused, k: int, stage1: int) -> Fused:
    """The first `stage1` by words and by cosine, by the sum of 1 / (k + rank) (Cormack, Clarke, Büttcher 2009); ranks
    begin at 1."""
    words = np.where(fused.bm25 > 0, fused.bm25, np.float32(np.nan))
    values = np.zeros((len(fused.ids), len(RANKED)), np.float32)
    for column, score in enumerate((words, fused.cosine)):
        first = np.lexsort((-fused.ids, -score))[: min(stage1, int(np.isfinite(score).sum()))]
        values[first, column] = 1 / (k + 1 + np.arange(len(first)))
    score = values.sum(axis=1)
    ranked = replace(fused, score=score, names=(*RANKED.values(),), values=values, weights=(1.0,) * len(RANKED))
    order = np.lexsort((-fused.ids, -score))
    return ranked.take(order[score[order] > 0])


def fading(left: Floats) -> dict[str, Floats]:
    """How much more each candidate has faded than the freshest one, in hundredths; no signal where all are as fresh."""
    lost = np.round(left.max() - left, 2) if len(left) else left
    return {"retention": lost.astype(np.float32)} if lost.any() else {}


def _scaled(values: Floats) -> Floats:
    """Divided by the highest value."""
    top = float(values.max()) if len(values) else 0.0
    return values / top if top > 0 else values


def _picked(values: Floats, at: NDArray[np.intp]) -> Floats:
    """The values at these places, 0 at -1."""
    if not len(values):
        return np.zeros(len(at), np.float32)
    return np.where(at >= 0, values[at], np.float32(0))


def _between(cosine: Floats, dense: DenseScores) -> Floats:
    """Cosines scaled between the floor and the highest one."""
    if dense.top <= dense.floor:
        return np.zeros(len(cosine), np.float32)
    share = np.clip((cosine - dense.floor) / (dense.top - dense.floor), 0.0, 1.0)
    return filled(share.astype(np.float32), 0.0)


def _topic(sparse: SparseScores, dense: DenseScores, own: Floats, at: NDArray[np.intp]) -> Floats:
    """The highest cosine in each candidate's session."""
    if not len(sparse.ids) or not len(dense.ids):
        return own
    cosine = filled(dense.of(sparse.ids), -1.0)
    first = sparse.previous < 0
    best = np.maximum.reduceat(cosine, np.flatnonzero(first))[np.cumsum(first) - 1]
    return np.where(at >= 0, best[at], own)


def _reply(indexes: SearchIndexes, sparse: SparseScores, dense: DenseScores, at: NDArray[np.intp]) -> Floats:
    """How well the paragraph before matches the query, if it is a question: then this one answers it."""
    out = np.zeros(len(at), np.float32)
    if not len(sparse.ids):
        return out
    before = np.where(at >= 0, sparse.previous[at], -1)
    has = np.flatnonzero(before >= 0)
    earlier = sparse.ids[before[has]]
    known, flags = indexes.columns.flags(earlier)
    asked = known[(flags & QUESTION) > 0]
    match = _between(dense.of(earlier), dense) if len(dense.ids) else _scaled(sparse.paragraph)[before[has]]
    out[has] = np.where(contains(asked, earlier), match, 0)
    return out


def _person(db: Connection, plan: SearchPlan, visible: Visible) -> Floats:
    """1 for what the one person named has said, or, where nobody is known to have said it, for what holds the name."""
    if len(plan.query.persons) != 1:
        return np.zeros(len(visible.ids), np.float32)
    said = np.isin(visible.speaker, list(plan.query.persons[0])).astype(np.float32)
    unsaid = visible.ids[visible.speaker == 0].tolist()
    if unsaid:
        names, texts = [fold(name) for name in plan.query.names], paragraph_rows.contents(db, unsaid)
        folded = (fold(texts.get(id_, "")) for id_ in unsaid)
        said[visible.speaker == 0] = [any(name in text for name in names) for text in folded]
    return said


def _in_time(plan: SearchPlan, visible: Visible) -> Floats:
    """1 for what happened on a day that the query names in words, half for another stretch of time that it names."""
    near = np.zeros(len(visible.ids), np.float32)
    for span in sorted(plan.query.spans, key=plan.query.days.__contains__):
        inside = (visible.event_start >= span.start) & (visible.event_start <= span.end)
        near[inside] = 1.0 if span in plan.query.days else 0.5
    return near

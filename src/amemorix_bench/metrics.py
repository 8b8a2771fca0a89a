"""Figures of merit of a ranking, and of a list of timings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Interval", "Score", "bootstrap", "difference", "distinct", "intervals", "mean_score", "percentile",
    "score_ranking",
]  # fmt: skip

ROUNDS = 2000
BLOCK = 200
"""Bootstrap rounds drawn at a time, so that many questions need little memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Score:
    """How well one ranking found the evidence, or the mean over many; every figure lies in 0..1."""

    recall_1: float = 0.0
    recall_5: float = 0.0
    recall_10: float = 0.0
    recall_20: float = 0.0
    any_1: float = 0.0
    any_5: float = 0.0
    any_10: float = 0.0
    any_20: float = 0.0
    all_5: float = 0.0
    all_10: float = 0.0
    all_20: float = 0.0
    mrr: float = 0.0
    ndcg_10: float = 0.0
    session_1: float = 0.0
    session_3: float = 0.0
    session_5: float = 0.0
    session_any_5: float = 0.0
    session_all_5: float = 0.0


def score_ranking(
    turns: Sequence[str], evidence: Collection[str], sessions: Sequence[str], evidence_sessions: Collection[str]
) -> Score:
    """Score a ranking of turns and the ranking of sessions that follows from it; best first, nothing twice.

    `recall_k` is the share of the evidence in the first k, `any_k` is 1 if some of it is there and `all_k` if none is
    missing, `mrr` is one over the rank of the first, `ndcg_10` is discounted cumulative gain with binary gains over the
    ideal one (Järvelin and Kekäläinen 2002), `session_k` is recall of the evidence's sessions and `session_any_5` and
    `session_all_5` are the like of the above for them. Without evidence every figure is 0.
    """
    places = [rank for rank, turn in enumerate(turns, 1) if turn in evidence]
    recall = {k: _recall(turns, evidence, k) for k in (1, 5, 10, 20)}
    of_sessions = {k: _recall(sessions, evidence_sessions, k) for k in (1, 3, 5)}
    return Score(
        **{f"recall_{k}": share for k, share in recall.items()},
        **{f"any_{k}": float(share > 0) for k, share in recall.items()},
        **{f"all_{k}": float(share == 1) for k, share in recall.items() if k > 1},
        **{f"session_{k}": share for k, share in of_sessions.items()}, mrr=1 / places[0] if places else 0.0,
        ndcg_10=_ndcg(places, len(evidence), 10), session_any_5=float(of_sessions[5] > 0),
        session_all_5=float(of_sessions[5] == 1),
    )  # fmt: skip


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean of each figure; all 0 for no scores."""
    if not scores:
        return Score()
    return Score(**{f.name: sum(getattr(s, f.name) for s in scores) / len(scores) for f in fields(Score)})


def difference(one: Score, other: Score) -> Score:
    """The first less the second, figure by figure."""
    return Score(**{f.name: getattr(one, f.name) - getattr(other, f.name) for f in fields(Score)})


def intervals(scores: Sequence[Score], *, minus: Sequence[Score] | None = None) -> dict[str, Interval]:
    """Bootstrap interval of each figure's mean, over questions: it tells of other questions about the same chats.

    With `minus`, scores of the same questions in the same order, the interval of the mean difference of the pairs.
    """
    names = [f.name for f in fields(Score)]
    table = _table(scores) if minus is None else _table(scores) - _table(minus)
    return dict(zip(names, _bootstrap(table), strict=True))


def bootstrap(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Percentile bootstrap 95 % interval of the mean (Efron and Tibshirani 1993, chapter 13); repeatable."""
    return _bootstrap(np.asarray(values, np.float64).reshape(-1, 1), seed)[0]


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie, interpolated between neighbours; 0 for no values."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), percent)) if values else 0.0


def distinct(values: Iterable[str]) -> list[str]:
    """The values in their order, each where it is first seen."""
    return list(dict.fromkeys(values))


def _table(scores: Sequence[Score]) -> NDArray[np.float64]:
    """A row a score, a column a figure."""
    return np.asarray([astuple(s) for s in scores], np.float64).reshape(len(scores), len(fields(Score)))


def _bootstrap(table: NDArray[np.float64], seed: int = 0) -> list[Interval]:
    """An interval a column, all columns resampled alike."""
    count = len(table)
    if not count:
        return [Interval(0.0, 0.0)] * table.shape[1]
    generator, even = np.random.default_rng(seed), np.full(count, 1 / count)
    drawn = [generator.multinomial(count, even, BLOCK) @ table / count for _ in range(ROUNDS // BLOCK)]
    low, high = np.percentile(np.concatenate(drawn), [2.5, 97.5], axis=0)
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _recall(ranked: Sequence[str], wanted: Collection[str], k: int) -> float:
    return len(set(ranked[:k]) & set(wanted)) / len(wanted) if wanted else 0.0


def _ndcg(places: Sequence[int], relevant: int, k: int) -> float:
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    return sum(1 / math.log2(rank + 1) for rank in places if rank <= k) / ideal if ideal else 0.0

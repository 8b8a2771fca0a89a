"""What speaks for each candidate, every signal scaled to 0..1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language.text_flags import NAME, NUMBER, QUESTION, TIME
from ..ports import SparseScores
from ..store.rows.paragraphs import Visible
from .lanes import DenseScores
from .plan import SearchPlan

__all__ = ["Evidence", "Floats", "Ids", "fading", "gather"]

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
TRUSTED_COVERAGE = 0.5
"""Share of the query's weighted words in the best window from which its words are fully trusted."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the lanes found, and two questions about rows that only the store can answer."""

    sparse: SparseScores
    dense: DenseScores
    graph: Mapping[int, float]
    mentions: Callable[[Ids], Floats]
    """1 for those of the ids whose text speaks of the person named."""
    questions: Callable[[Ids], Collection[int]]
    """Those of the ids that are questions."""


def gather(plan: SearchPlan, visible: Visible, found: Evidence) -> dict[str, Floats]:
    """Every signal of every candidate.

    Lexical signals are scaled by the best candidate, cosines between the store's noise floor and the best one. Where
    there are vectors, lexical signals count less the less of the query any candidate holds: a paraphrase shares no more
    than chance words with its answer.
    """
    ids, sparse = visible.ids, found.sparse
    at = sparse.places(ids)
    coverage = _picked(sparse.window_coverage, at)
    trust = _trust(coverage) if len(found.dense.ids) else np.float32(1)
    return {
        "person": _person(plan, visible, found),
        "paragraph": trust * _scaled(_picked(sparse.paragraph, at)),
        "window": trust * _scaled(_picked(sparse.window, at)),
        "session": trust * _scaled(_picked(sparse.session, at)),
        "coverage": coverage,
        "dense": _between(found.dense.of(ids), found.dense),
        "topic": _between(_topic(found, ids, at), found.dense),
        "reply": _reply(found, visible, ids, at),
        "graph": _of_graph(found.graph, ids),
        "time": _in_time(plan, visible),
        "when": _holds(plan, visible, TIME),
        "answer": np.maximum(_holds(plan, visible, NAME), _holds(plan, visible, NUMBER)),
        "question": _flag(visible, QUESTION),
    }


def fading(left: Floats) -> dict[str, Floats]:
    """How much more each candidate has faded than the freshest one, in hundredths; no signal where all are as fresh."""
    lost = np.round(left.max() - left, 2) if len(left) else left
    return {"retention": lost.astype(np.float32)} if lost.any() else {}


def _trust(coverage: Floats) -> np.float32:
    return np.float32(min(1.0, float(coverage.max(initial=0.0)) / TRUSTED_COVERAGE))


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
    if dense.top <= dense.floor:
        return np.zeros(len(cosine), np.float32)
    share = np.clip((cosine - dense.floor) / (dense.top - dense.floor), 0.0, 1.0)
    return np.nan_to_num(share, nan=0.0).astype(np.float32)


def _topic(found: Evidence, ids: Ids, at: NDArray[np.intp]) -> Floats:
    """The highest cosine in each candidate's session."""
    own = found.dense.of(ids)
    if not len(found.sparse.ids) or not len(found.dense.ids):
        return own
    cosine = np.nan_to_num(found.dense.of(found.sparse.ids), nan=-1.0)
    starts = np.flatnonzero(found.sparse.previous < 0)
    run = np.cumsum(found.sparse.previous < 0) - 1
    best = np.maximum.reduceat(cosine, starts)[run]
    return np.where(at >= 0, best[at], own)


def _reply(found: Evidence, visible: Visible, ids: Ids, at: NDArray[np.intp]) -> Floats:
    """How well the paragraph before matches the query, if it is a question: then this one answers it."""
    out = np.zeros(len(ids), np.float32)
    sparse = found.sparse
    before = np.where(at >= 0, sparse.previous[at], -1) if len(sparse.ids) else np.full(len(ids), -1)
    has = np.flatnonzero(before >= 0)
    earlier = sparse.ids[before[has]]
    asked = _questions(found, visible, earlier)
    cosine = _between(found.dense.of(earlier), found.dense)
    worded = _scaled(sparse.paragraph)[before[has]]
    out[has] = np.where(np.isin(earlier, asked), cosine if len(found.dense.ids) else worded, 0)
    return out


def _questions(found: Evidence, visible: Visible, ids: Ids) -> Ids:
    """Those of the ids that are questions, whether they are candidates or not."""
    known = visible.ids[(visible.flags & QUESTION) > 0]
    unknown = np.setdiff1d(ids, visible.ids)
    more = found.questions(unknown) if len(unknown) else ()
    return np.concatenate([known, np.fromiter(more, np.int64, len(more))])


def _person(plan: SearchPlan, visible: Visible, found: Evidence) -> Floats:
    one = plan.query.one_person if plan.query else None
    if one is None:
        return np.zeros(len(visible.ids), np.float32)
    said = np.isin(visible.speaker, np.fromiter(one, np.int64, len(one))).astype(np.float32)
    unsaid = np.flatnonzero(visible.speaker == 0)
    if len(unsaid):
        said[unsaid] = found.mentions(visible.ids[unsaid])
    return said


def _in_time(plan: SearchPlan, visible: Visible) -> Floats:
    """1 for what happened in a stretch of time that the query names."""
    inside = np.zeros(len(visible.ids), np.bool_)
    for span in plan.query.spans if plan.query else ():
        inside |= (visible.event_start >= span.start) & (visible.event_start <= span.end)
    return inside.astype(np.float32)


def _of_graph(graph: Mapping[int, float], ids: Ids) -> Floats:
    if not graph:
        return np.zeros(len(ids), np.float32)
    return np.array([graph.get(id_, 0.0) for id_ in ids.tolist()], np.float32)


def _holds(plan: SearchPlan, visible: Visible, sign: int) -> Floats:
    """1 for what holds the kind of thing that the query asks for."""
    wanted = plan.query is not None and plan.query.wants & sign
    return _flag(visible, sign) if wanted else np.zeros(len(visible.ids), np.float32)


def _flag(visible: Visible, flag: int) -> Floats:
    return ((visible.flags & flag) > 0).astype(np.float32)

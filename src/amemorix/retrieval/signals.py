"""What speaks for each candidate, every signal scaled to 0..1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ports import SparseScores
from ..signs import NAME, NUMBER, QUESTION, TIME
from ..storage.paragraphs import Candidate
from .lanes import DenseScores
from .plan import SearchPlan

__all__ = ["Evidence", "Floats", "Ids", "gather", "places", "scaled"]

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
    mentions: Callable[[Sequence[Candidate]], Floats]
    """For candidates that nobody is known to have said: 1 for those that speak of the person named."""
    questions: Callable[[Ids], Collection[int]]
    """Those of the ids that are questions."""


def gather(plan: SearchPlan, visible: Sequence[Candidate], found: Evidence) -> dict[str, Floats]:
    """Every signal of every candidate.

    Lexical signals are scaled by the best candidate, cosines between the store's noise floor and the best one. Where
    there are vectors, lexical signals count less the less of the query any candidate holds: a paraphrase shares no more
    than chance words with its answer.
    """
    ids = np.array([c.id for c in visible], np.int64)
    sparse = found.sparse
    at = places(sparse.ids, ids)
    coverage = _picked(sparse.window_coverage, at)
    trust = _trust(coverage) if len(found.dense.ids) else np.float32(1)
    return {
        "person": _person(plan, visible, found),
        "paragraph": trust * scaled(_picked(sparse.paragraph, at)),
        "window": trust * scaled(_picked(sparse.window, at)),
        "session": trust * scaled(_picked(sparse.session, at)),
        "coverage": coverage,
        "dense": _between(found.dense.of(ids), found.dense),
        "topic": _between(_topic(found, ids, at), found.dense),
        "reply": _reply(found, visible, ids, at),
        "graph": np.array([found.graph.get(int(i), 0.0) for i in ids], np.float32),
        "time": _in_time(plan, visible),
        "when": _holds(plan, visible, TIME),
        "answer": np.maximum(_holds(plan, visible, NAME), _holds(plan, visible, NUMBER)),
        "question": _flag(visible, QUESTION),
    }


def _trust(coverage: Floats) -> np.float32:
    return np.float32(min(1.0, float(coverage.max(initial=0.0)) / TRUSTED_COVERAGE))


def places(ids: Ids, wanted: Ids) -> NDArray[np.intp]:
    """Where each wanted id stands in `ids` (any order), -1 if it does not."""
    if not len(ids):
        return np.full(len(wanted), -1, np.intp)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    found = order[at]
    return np.where(ids[found] == wanted, found, -1)


def scaled(values: Floats) -> Floats:
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


def _reply(found: Evidence, visible: Sequence[Candidate], ids: Ids, at: NDArray[np.intp]) -> Floats:
    """How well the paragraph before matches the query, if it is a question: then this one answers it."""
    out = np.zeros(len(ids), np.float32)
    sparse = found.sparse
    before = np.where(at >= 0, sparse.previous[at], -1) if len(sparse.ids) else np.full(len(ids), -1)
    has = np.flatnonzero(before >= 0)
    earlier = sparse.ids[before[has]]
    asked = _questions(found, visible, earlier)
    cosine = _between(found.dense.of(earlier), found.dense)
    worded = scaled(sparse.paragraph)[before[has]]
    out[has] = np.where(np.isin(earlier, asked), cosine if len(found.dense.ids) else worded, 0)
    return out


def _questions(found: Evidence, visible: Sequence[Candidate], ids: Ids) -> Ids:
    known = {c.id: bool(c.flags & QUESTION) for c in visible}
    unknown = np.array([i for i in ids.tolist() if i not in known], np.int64)
    asked = {i for i in ids.tolist() if known.get(i)} | set(found.questions(unknown) if len(unknown) else ())
    return np.array(sorted(asked), np.int64)


def _person(plan: SearchPlan, visible: Sequence[Candidate], found: Evidence) -> Floats:
    one = plan.query.one_person if plan.query else None
    if one is None:
        return np.zeros(len(visible), np.float32)
    said = np.array([c.speaker in one for c in visible], np.float32)
    unsaid = [i for i, c in enumerate(visible) if not c.speaker]
    if unsaid:
        said[unsaid] = found.mentions([visible[i] for i in unsaid])
    return said


def _in_time(plan: SearchPlan, visible: Sequence[Candidate]) -> Floats:
    """1 for what happened in a stretch of time that the query names."""
    spans = plan.query.spans if plan.query else ()
    times = np.array([np.nan if c.event_start is None else c.event_start for c in visible], np.float64)
    inside = np.zeros(len(visible), np.bool_)
    for span in spans:
        inside |= (times >= span.start) & (times <= span.end)
    return inside.astype(np.float32)


def _holds(plan: SearchPlan, visible: Sequence[Candidate], sign: int) -> Floats:
    """1 for what holds the kind of thing that the query asks for."""
    wanted = plan.query is not None and plan.query.wants & sign
    return _flag(visible, sign) if wanted else np.zeros(len(visible), np.float32)


def _flag(visible: Sequence[Candidate], flag: int) -> Floats:
    return np.array([bool(c.flags & flag) for c in visible], np.float32)

"""The course of events, as far as a ranking has to follow it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..indexes.projections import SearchIndexes
from ..language.normalise import query_terms, term_hashes
from ..language.times import Span
from ..store.rows.paragraphs import Visible
from .fusion import Fused
from .language.temporal_order import End, Ordering
from .query import SearchPlan

__all__ = ["anchor_span", "anchored", "in_order", "ordered"]

MOST_RIVALS = 5
"""How many of the first candidates may change places."""
LEAST_SCORE = 0.9
"""Share of the best score from which a candidate is about as relevant as the best one."""
LEAST_MATCH, LEAST_MATCH_SHARE = 0.5, 0.8
"""How well words or meaning must match: at least, and as a share of the best candidate's match."""
MATCHES = ("coverage", "dense", "tokens")
"""Signals of which one is enough to say that a candidate matches."""
NO_LESS = ("person", "time", "chronology")
"""What the best candidate meets, its rivals must meet too."""
OCCASION = 3600.0
"""Seconds within which events belong together, so that relevance decides between them."""


def in_order(indexes: SearchIndexes, plan: SearchPlan, fused: Fused, visible: Visible) -> Fused:
    """What the query says about the course of events: only some time, before or after another event, its first or last."""
    if plan.query.only_time:
        return fused.take(np.flatnonzero(fused.signals["time"] > 0))
    ordering = plan.query.ordering
    times = visible.event_start[np.searchsorted(visible.ids, fused.ids)]
    stretch = anchor_span(_time_of(indexes, plan, ordering.anchor), ordering)
    if stretch is not None and len(fused.ids):
        fused = anchored(fused, times, stretch, plan.settings.weights.chronology)
        times = visible.event_start[np.searchsorted(visible.ids, fused.ids)]
    return ordered(fused, ordering.end, times)


def _time_of(indexes: SearchIndexes, plan: SearchPlan, event: str) -> float:
    """When the event happened, as the paragraph tells that says it best; NaN if none does or it is undated."""
    hashes = np.unique(term_hashes(query_terms(event)))
    if not len(hashes):
        return float("nan")
    scores = indexes.sparse.search(hashes, scopes=plan.scopes, hidden=plan.hidden, limit=1)
    if not len(scores.ids) or not scores.paragraph.max() > 0:
        return float("nan")
    best = indexes.columns.visible(scores.ids[[int(scores.paragraph.argmax())]], plan.scopes, plan.now)
    return float(best.event_start[0]) if len(best.ids) else float("nan")


def ordered(fused: Fused, end: End, times: NDArray[np.float64]) -> Fused:
    """The ranking with the earliest (latest) of the most relevant candidates before those, if an end is asked for.

    `times` are the event times of `fused.ids` in epoch seconds, NaN where undated. Only candidates about as relevant as
    the best one change places; all others keep theirs, undated ones too. Scores stay where they are, and so descend.
    """
    rivals = _rivals(fused, times) if end else np.zeros(0, np.intp)
    if len(rivals) < 2:
        return fused
    sooner = times[rivals] if end == "first" else -times[rivals]
    chosen = int(np.argmax(sooner <= sooner.min() + OCCASION))
    if not chosen:
        return fused
    order = np.arange(len(fused.ids))
    order[rivals[: chosen + 1]] = np.roll(rivals[: chosen + 1], 1)
    return replace(fused.take(order), score=fused.score)


def _rivals(fused: Fused, times: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of the dated candidates that are about as relevant as the best one, ascending."""
    head = fused.top(MOST_RIVALS)
    if len(head.ids) < 2:
        return np.zeros(0, np.intp)
    signals = head.signals
    equal = (head.score >= LEAST_SCORE * head.score[0]) & ~np.isnan(times[: len(head.ids)])
    match = np.max([signals[name] for name in MATCHES if name in signals], axis=0, initial=0.0)
    equal &= match >= max(LEAST_MATCH, LEAST_MATCH_SHARE * float(match[0]))
    for name in NO_LESS:
        if name in signals:
            equal &= signals[name] >= signals[name][0]
    if "question" in signals:
        equal &= signals["question"] <= signals["question"][0]
    return np.flatnonzero(equal)


def anchor_span(anchor_time: float, ordering: Ordering) -> Span | None:
    """The stretch before or after an anchor that an ordering means; None if it means none or the anchor is undated.

    Before and after are open at their far end, and the anchor's own instant belongs to them: what tells of the event
    often tells of what came of it. An offset gives a stretch as wide as its span.
    """
    if not ordering.relation or not math.isfinite(anchor_time):
        return None
    before = ordering.relation == "before"
    if ordering.offset_seconds:
        middle = anchor_time + (-ordering.offset_seconds if before else ordering.offset_seconds)
        return Span(middle - ordering.offset_span / 2, middle + ordering.offset_span / 2)
    return Span(-math.inf, anchor_time) if before else Span(anchor_time, math.inf)


def anchored(fused: Fused, times: NDArray[np.float64], span: Span, weight: float) -> Fused:
    """The ranking with `weight` added to the score, at most to 1, of what happened in the span.

    `times` are the event times of `fused.ids` in epoch seconds, NaN where undated. The signal `chronology` is 1 for
    what lies inside, and 0 for the rest and the undated. Equal scores keep their order.
    """
    return fused.boosted("chronology", weight, ((times >= span.start) & (times <= span.end)).astype(np.float32))

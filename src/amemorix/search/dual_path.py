"""The search for paragraphs: lanes, gate, fusion, cut, a second look at the head."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..indexes.projections import Lanes
from ..language.normalise import fold, query_terms, term_hashes
from ..language.text_flags import CJK
from ..ports import SparseScores
from ..store import changes as change_log
from ..store.connection import time_limit
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import revisions as revision_rows
from ..store.rows.names import NameRepository
from ..store.rows.paragraphs import Visible
from ..tracing import span
from .chronology import anchor_span, anchored, ordered
from .fusion import Fused, candidates, fuse
from .lanes import DenseScores, dense_lane, empty_scores, graph_lane, nothing_dense, person_lane, sparse_lane, time_lane
from .language.temporal_order import Ordering
from .plan import SearchPlan
from .relation_lane import relation_lane
from .rerank import Held, Reranked, Reranker
from .retention import retained_all
from .signals import Evidence, Floats, fading, gather
from .threshold import cut
from .two_hop import linked

__all__ = ["DualPathRetriever", "Lexical", "Ranking"]

Ids = NDArray[np.int64]
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, and the lanes that did not answer."""

    fused: Fused
    degraded: tuple[str, ...]
    allow: Ids | None = None
    """Sorted ids that meet what else was asked; None if nothing restricts."""


@dataclass(frozen=True, slots=True)
class Lexical:
    """What is found without the query's vector, within the ids that the window and the person allow (None: all)."""

    allow: Ids | None
    scores: SparseScores
    graph: dict[int, float]
    others: tuple[Ids, ...]
    """What the lanes of persons and times put forward."""
    asked: Ids
    """Candidates that have been looked up already, ascending."""
    visible: Visible
    """Those of them that may be seen."""
    held: Held
    """Token vectors of the likeliest."""
    failed: tuple[str, ...]
    seen: int
    """The last change that was there."""


class _Lanes:
    """Runs lanes: one that fails is named and gives nothing, and so does one whose statements pass its budget."""

    def __init__(self, db: Connection, plan: SearchPlan, failed: Sequence[str] = ()) -> None:
        self._db = db
        self._seconds = plan.settings.lane_budget_ms / 1000
        self.failed = [*failed]

    def run(self, name: str, lane: Callable[[], T], otherwise: T) -> T:
        try:
            with time_limit(self._db, self._seconds), span(f"amemorix lane {name}"):
                return lane()
        except TimeoutError as exc:
            log.warning("the %s lane gave up: %s (retrieval.lane_budget_ms); the other lanes answer", name, exc)
        except Exception:
            log.exception("the %s lane failed", name)
        self.failed.append(name)
        return otherwise

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.failed))


class DualPathRetriever:
    """Finds by words, by meaning and over the graph at once; the row decides what may be seen."""

    def __init__(self, names: NameRepository) -> None:
        self._names = names
        self._reranker = Reranker()

    def lexical(self, db: Connection, lanes: Lanes, plan: SearchPlan) -> Lexical:
        """All that can be done while the query's vector is still being made."""
        allow, lane = self._allowed(db, plan), _Lanes(db, plan)
        nobody = np.zeros(0, np.int64)
        scores = empty_scores()
        if plan.settings.sparse.enabled:
            scores = lane.run("sparse", lambda: sparse_lane(db, lanes, plan, allow), scores)
        graph = lane.run("graph", lambda: graph_lane(db, lanes, self._names, plan), {})
        person = lane.run("person", lambda: person_lane(db, plan), nobody)
        time = lane.run("time", lambda: time_lane(db, plan), nobody)
        others = (np.fromiter(graph, np.int64, len(graph)), person, time)
        found = _within(candidates(scores, nothing_dense(), others, plan.settings.candidates), allow, plan.hidden)
        visible = paragraph_rows.gate(db, found, plan.scopes, plan.now)
        likely = visible.ids[_best_by_words(visible.ids, scores, plan.settings.rerank.depth)]
        held = lane.run("rerank", lambda: self._reranker.fetch(db, plan, likely, scores), Held(0, {}))
        return Lexical(allow, scores, graph, others, found, visible, held, lane.degraded, change_log.bounds(db)[1])

    def rank(self, db: Connection, lanes: Lanes, plan: SearchPlan, lexical: Lexical) -> Ranking:
        """Rank what may be seen; at most a few hundred candidates."""
        if self._changed(db, lexical):
            lexical = self.lexical(db, lanes, plan)
        lane = _Lanes(db, plan, [*plan.degraded, *lexical.failed])
        allow, sparse = lexical.allow, lexical.scores
        dense = lane.run("dense", lambda: dense_lane(db, lanes, plan, sparse, allow), nothing_dense())
        related = lane.run("relations", lambda: relation_lane(db, lanes, plan), {})
        others = (*lexical.others, np.fromiter(related, np.int64, len(related)))
        found = _within(candidates(sparse, dense, others, plan.settings.candidates), allow, plan.hidden)
        further = np.setdiff1d(found, lexical.asked, assume_unique=True)
        visible = lexical.visible.join(paragraph_rows.gate(db, further, plan.scopes, plan.now))
        fused = self._fused(db, plan, visible, sparse, dense, _highest(lexical.graph, related))
        fused = cut(fused, plan, _in_another_language(visible, plan))
        head = lane.run("rerank", lambda: self._reranker.rerank(db, plan, fused, sparse, lexical.held), Reranked(fused))
        if head.late:
            lane.failed.append("rerank")
        further = lane.run("linked", lambda: linked(db, plan, head.fused), head.fused)
        ranked = self._in_order(db, lanes, plan, further, visible)
        return Ranking(ranked, lane.degraded, allow)

    def _changed(self, db: Connection, lexical: Lexical) -> bool:
        """Whether a candidate was revised or deleted while the query was being embedded."""
        last = change_log.bounds(db)[1]
        if last == lexical.seen:
            return False
        changed = change_log.between(db, lexical.seen, last, ("paragraph",))
        return bool(np.isin(lexical.asked, np.array(changed, np.int64)).any())

    def _in_order(self, db: Connection, lanes: Lanes, plan: SearchPlan, fused: Fused, visible: Visible) -> Fused:
        """What the query says about the course of events: before or after another, the first or the last of them."""
        if plan.query is None:
            return fused
        if plan.query.only_time:
            return fused.take(np.flatnonzero(fused.signals["time"] > 0))
        if plan.query.ordering == Ordering():
            return fused
        times = visible.event_start[np.searchsorted(visible.ids, fused.ids)]
        span = anchor_span(self._time_of(db, lanes, plan, plan.query.ordering.anchor), plan.query.ordering)
        if span is not None and len(fused.ids):
            fused = anchored(fused, times, span, plan.settings.weights.chronology)
            times = visible.event_start[np.searchsorted(visible.ids, fused.ids)]
        return ordered(fused, plan.query, times)

    def _time_of(self, db: Connection, lanes: Lanes, plan: SearchPlan, event: str) -> float:
        """When the event happened, as the paragraph tells that says it best; NaN if none does or it is undated."""
        hashes = np.unique(term_hashes(query_terms(event)))
        if not len(hashes):
            return float("nan")
        scores = lanes.sparse.search(hashes, scopes=plan.scopes, hidden=plan.hidden, limit=1)
        if not len(scores.ids) or not scores.paragraph.max() > 0:
            return float("nan")
        best = paragraph_rows.gate(db, scores.ids[[int(scores.paragraph.argmax())]], plan.scopes, plan.now)
        return float(best.event_start[0]) if len(best.ids) else float("nan")

    def _allowed(self, db: Connection, plan: SearchPlan) -> Ids | None:
        """Sorted ids that meet the time window, the person, the source and the state of the memory asked for; None if nothing restricts."""
        sets: list[Ids] = []
        if plan.window is not None:
            sets.append(paragraph_rows.in_window(db, plan.window.start, plan.window.end, plan.scopes))
        if plan.persons is not None:
            sets.append(paragraph_rows.of_persons(db, plan.persons))
        if plan.sources is not None:
            sets.append(paragraph_rows.of_sources(db, plan.sources))
        if plan.as_of is not None:
            sets.append(revision_rows.current(db, plan.as_of, plan.scopes))
        if not sets:
            return None
        return reduce(partial(np.intersect1d, assume_unique=True), sets)

    def _fused(
        self,
        db: Connection,
        plan: SearchPlan,
        visible: Visible,
        sparse: SparseScores,
        dense: DenseScores,
        graph: dict[int, float],
    ) -> Fused:
        evidence = Evidence(
            sparse, dense, graph,
            mentions=lambda unsaid: self._mentions(db, plan, unsaid),
            questions=lambda ids: paragraph_rows.questions(db, ids),
        )  # fmt: skip
        signals = gather(plan, visible, evidence) | _fading(plan, visible)
        return fuse(visible.ids, signals, plan.settings.weights, sparse, dense)

    def _mentions(self, db: Connection, plan: SearchPlan, unsaid: Ids) -> NDArray[np.float32]:
        """1 for each paragraph whose text holds the name that the query holds."""
        names = [fold(name) for name in plan.query.names] if plan.query else []
        texts = paragraph_rows.contents(db, unsaid.tolist())
        return np.array(
            [any(name in fold(texts.get(id_, "")) for name in names) for id_ in unsaid.tolist()], np.float32
        )


def _fading(plan: SearchPlan, visible: Visible) -> dict[str, Floats]:
    """The signal of what has faded, if it counts for anything."""
    if not (plan.settings.weights.retention or plan.settings.rerank.weights.retention):
        return {}
    return fading(retained_all(visible.strength, visible.anchor_at, plan.now, plan.half_life))


def _highest(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    return one | {id_: max(score, one.get(id_, 0.0)) for id_, score in other.items()}


def _best_by_words(ids: Ids, scores: SparseScores, count: int) -> NDArray[np.intp]:
    """Places of the `count` ids whose windows score highest."""
    at = scores.places(ids)
    window = np.where(at >= 0, scores.window[at], 0) if len(scores.ids) else np.zeros(len(ids), np.float32)
    return np.argsort(-window, kind="stable")[:count]


def _within(found: Ids, allow: Ids | None, hidden: Ids | None) -> Ids:
    found = found if allow is None else np.intersect1d(found, allow, assume_unique=True)
    return found if hidden is None else np.setdiff1d(found, hidden, assume_unique=True)


def _in_another_language(visible: Visible, plan: SearchPlan) -> Ids:
    """Chinese, Japanese and Korean candidates for a query in words, and the others for one in those."""
    cjk = plan.query is not None and plan.query.cjk
    return visible.ids[((visible.flags & CJK) > 0) != cjk]

"""The search for paragraphs: lanes, gate, fusion, cut, a second look at the head."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TypeVar

import numpy as np

from ..audit_context import span
from ..indexes.projections import SearchIndexes
from ..indexes.sparse.levels import SparseScores
from ..sorted_arrays import common, contains
from ..store import changes as change_log
from ..store.ports import Connection
from ..store.queries import time_limit
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import retention as retention_rows
from ..store.rows.documents import NameRepository
from ..store.rows.paragraphs import Visible
from ..store.rows.retention import Retention
from .chronology import in_order
from .confidence import with_confidence
from .fusion import Fused, candidates, fuse
from .lanes import Ids, dense_lane, graph_lane, no_vectors, person_lane, relation_lane, sparse_lane, time_lane
from .language.temporal_order import Ordering
from .query import SearchPlan
from .rerank import linked, rerank

__all__ = ["DualPathRetriever", "LaneResults", "allowed"]

T = TypeVar("T")
log = logging.getLogger(__name__)
NOBODY = np.zeros(0, np.int64)


@dataclass(slots=True)
class LaneResults:
    """What one search has found without the query's vector, and the lanes that did not answer."""

    allow: Ids | None
    """Sorted ids that meet what else is asked; None if nothing restricts."""
    last_change: int
    """The last change that was there."""
    sparse: SparseScores = field(default_factory=SparseScores.none)
    graph: dict[int, float] = field(default_factory=dict[int, float])
    looked_up: Ids = field(default_factory=lambda: NOBODY)
    """Candidates that have been through the gate, ascending."""
    visible: Visible = field(default_factory=lambda: Visible.of([]))
    """Those of them that may be seen."""
    touched: dict[int, Retention] = field(default_factory=dict[int, Retention])
    """What is left of candidates that use or a hand has touched."""
    failed: list[str] = field(default_factory=list[str])

    def run(self, db: Connection, plan: SearchPlan, name: str, lane: Callable[[], T], otherwise: T) -> T:
        """What a lane gives; one that fails, or whose statements pass its budget, is named and gives nothing."""
        try:
            with time_limit(db, plan.settings.lane_budget_ms / 1000), span(f"amemorix lane {name}"):
                return lane()
        except TimeoutError as exc:
            log.warning("the %s lane gave up: %s (retrieval.lane_budget_ms); the other lanes answer", name, exc)
        except Exception:
            log.exception("the %s lane failed", name)
        self.failed.append(name)
        return otherwise

    def outdated(self, db: Connection, indexes: SearchIndexes) -> bool:
        """Whether a candidate was revised or deleted since."""
        if indexes.last_change == self.last_change:
            return False
        changed = change_log.between(db, self.last_change, indexes.last_change, ("paragraph",))
        return bool(np.isin(self.looked_up, np.array(changed, np.int64)).any())


class DualPathRetriever:
    """Finds by words, by meaning and over the graph at once; the row decides what may be seen."""

    def __init__(self, names: NameRepository) -> None:
        self._names = names

    def lexical(self, db: Connection, indexes: SearchIndexes, plan: SearchPlan) -> LaneResults:
        """All that can be done while the query's vector is still being made."""
        narrowed, seen = allowed(db, plan), None
        if narrowed is not None:  # what may be seen of it, so that no lane ends at what may not
            seen = indexes.columns.visible(narrowed, plan.scopes, plan.now)
        results = LaneResults(None if seen is None else seen.ids, indexes.last_change)
        run, allow, limit = partial(results.run, db, plan), results.allow, plan.settings.candidates
        if plan.settings.sparse.enabled:
            results.sparse = run("sparse", lambda: sparse_lane(indexes, plan, allow), results.sparse)
        results.graph = run("graph", lambda: graph_lane(db, indexes.graph, self._names, plan, allow), results.graph)
        person = run("person", lambda: person_lane(db, plan, allow), NOBODY)
        time = run("time", lambda: time_lane(db, plan, seen), NOBODY)
        others = (np.array([*results.graph], np.int64), person, time)
        found = candidates(results.sparse, no_vectors(), others, limit)
        results.looked_up = _within(found, allow, plan)
        results.visible = indexes.columns.visible(results.looked_up, plan.scopes, plan.now)
        return results

    def rank(self, db: Connection, indexes: SearchIndexes, plan: SearchPlan, results: LaneResults) -> Fused:
        """Rank what may be seen, at most a few hundred candidates; lanes that fail are added to the results."""
        run, sparse, limit = partial(results.run, db, plan), results.sparse, plan.settings.candidates
        dense = run("dense", lambda: dense_lane(db, indexes, plan, sparse, results.allow), no_vectors())
        related = run("relations", lambda: relation_lane(db, indexes, plan, results.allow), dict[int, float]())
        found = candidates(SparseScores.none(), dense, (results.looked_up, np.array([*related], np.int64)), limit)
        found = _within(found, results.allow, plan)
        further = found[~contains(results.looked_up, found)]
        visible = results.visible.join(indexes.columns.visible(further, plan.scopes, plan.now))
        results.touched = retention_rows.of(db, "paragraph", visible.ids.tolist())
        visible = visible.touched(results.touched)
        graph = results.graph | {id_: max(score, results.graph.get(id_, 0.0)) for id_, score in related.items()}
        fused = fuse(db, indexes, plan, visible, sparse, dense, graph)
        fused, late = run("rerank", lambda: rerank(db, plan, fused, sparse), (fused, False))
        results.failed += ["rerank"] * late
        fused = run("linked", lambda: linked(db, indexes, plan, fused), fused)
        if plan.query.only_time or plan.query.ordering != Ordering():
            fused = in_order(indexes, plan, fused, visible)
        return with_confidence(fused, visible, plan)


def allowed(db: Connection, plan: SearchPlan) -> Ids | None:
    """Sorted ids that meet the time window, the person, the source and the state of the memory asked for."""
    sets: list[Ids] = []
    if plan.window is not None:
        sets.append(paragraph_rows.in_window(db, plan.window.start, plan.window.end, plan.scopes))
    if plan.persons is not None:
        sets.append(paragraph_rows.of_persons(db, plan.persons))
    if plan.within is not None:
        sets.append(plan.within)
    if plan.as_of is not None:
        sets.append(paragraph_rows.current_at(db, plan.as_of, plan.scopes))
    return reduce(common, sets) if sets else None


def _within(found: Ids, allow: Ids | None, plan: SearchPlan) -> Ids:
    found = found if allow is None else common(found, allow)
    return found if plan.hidden is None else found[~contains(plan.hidden, found)]

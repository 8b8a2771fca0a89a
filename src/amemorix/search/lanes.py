"""The ways of finding candidates; each can put one forward alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..indexes.projections import Lanes
from ..language.normalise import query_terms, term_hashes
from ..ports import SparseScores
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.names import NameRepository
from .graph_lane import recall
from .plan import SearchPlan

__all__ = [
    "DenseScores",
    "dense_lane",
    "empty_scores",
    "graph_lane",
    "nothing_dense",
    "person_lane",
    "sparse_lane",
    "time_lane",
]

Ids = NDArray[np.int64]
NOISE_FLOOR_PERCENTILE = 1.0
HIGHEST_NOISE = 0.2


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Cosines by ascending id, and what counts as no likeness at all."""

    ids: Ids
    cosine: NDArray[np.float32]
    floor: float
    top: float = 0.0
    """The highest cosine."""

    def of(self, ids: Ids) -> NDArray[np.float32]:
        """Cosines of these ids, NaN where there is none."""
        if not len(self.ids):
            return np.full(len(ids), np.nan, np.float32)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, self.cosine[at], np.float32(np.nan))


def nothing_dense() -> DenseScores:
    """No vector at all."""
    return DenseScores(np.zeros(0, np.int64), np.zeros(0, np.float32), 0.0)


def empty_scores() -> SparseScores:
    """No document at all."""
    nothing = np.zeros(0, np.float32)
    ids = np.zeros(0, np.int64)
    return SparseScores(ids, nothing, nothing, nothing, nothing, nothing, ids)


def sparse_lane(db: Connection, lanes: Lanes, plan: SearchPlan, allow: Ids | None) -> SparseScores:
    """BM25 of paragraph, window and session; by the words of the other language too, where that is a scan of a chat."""
    limit = plan.settings.candidates
    hashes = plan.query.hashes if plan.query else np.zeros(0, np.uint32)
    own = lanes.sparse.search(hashes, scopes=plan.scopes, allow=allow, hidden=plan.hidden, limit=limit)
    abroad, share = _translated(db, plan) if own.complete else (np.zeros(0, np.uint32), 0.0)
    if not len(abroad):
        return own
    other = lanes.sparse.search(abroad, scopes=plan.scopes, allow=allow, hidden=plan.hidden, limit=limit)
    return _better(own, other, np.float32(share))


def _translated(db: Connection, plan: SearchPlan) -> tuple[NDArray[np.uint32], float]:
    """The query's terms in the other language, word by word, and the share of them that has a translation.

    None in Chinese where nothing is Chinese.
    """
    query, other, share = plan.query, "", 0.0
    if plan.glosses is not None and query is not None:
        if query.cjk:
            other, share = plan.glosses.english(query.bare), 1.0
        elif paragraph_rows.any_cjk(db, plan.scopes):
            other = plan.glosses.chinese(query.terms)
            share = len(other.split()) / max(len(query.terms), 1)
    return np.unique(term_hashes(query_terms(other))), share


def _better(one: SparseScores, other: SparseScores, share: np.float32) -> SparseScores:
    """Each document by the query that finds it better, of which the other covers a share at most; both have scored the
    same documents."""
    if not np.array_equal(one.ids, other.ids):
        return one
    return replace(
        one,
        paragraph=np.maximum(one.paragraph, other.paragraph),
        window=np.maximum(one.window, other.window),
        session=np.maximum(one.session, other.session),
        coverage=np.maximum(one.coverage, share * other.coverage),
        window_coverage=np.maximum(one.window_coverage, share * other.window_coverage),
    )


def dense_lane(
    db: Connection,
    lanes: Lanes,
    plan: SearchPlan,
    scored: SparseScores,
    allow: Ids | None,
) -> DenseScores:
    """Cosines of what the sparse lane scored, and of the nearest of all that may be seen."""
    vectors = lanes.vectors
    if vectors is None or plan.encoded is None:
        return nothing_dense()
    query = plan.encoded.vector
    ids = np.sort(scored.ids)
    cosine = vectors.scores(query, ids)
    if scored.complete:
        return DenseScores(ids, cosine, _noise(cosine[~np.isnan(cosine)]), _highest(cosine))
    if allow is None and plan.scopes is not None:
        allow = paragraph_rows.in_scopes(db, plan.scopes)
    near, near_cosine = _shown(*vectors.search(query, plan.settings.candidates, allow), plan.hidden)
    every, first = np.unique(np.concatenate([ids, near]), return_index=True)
    floor = _noise(vectors.background(query))
    cosine = np.concatenate([cosine, near_cosine])[first]
    return DenseScores(every, cosine, floor, _highest(cosine))


def _shown(ids: Ids, cosine: NDArray[np.float32], hidden: Ids | None) -> tuple[Ids, NDArray[np.float32]]:
    if hidden is None:
        return ids, cosine
    shown = ~np.isin(ids, hidden)
    return ids[shown], cosine[shown]


def _noise(cosine: NDArray[np.float32]) -> float:
    """What counts as no likeness at all: where a store is so small that everything is like the query, a fixed cosine."""
    return min(float(np.percentile(cosine, NOISE_FLOOR_PERCENTILE)), HIGHEST_NOISE) if len(cosine) else 0.0


def _highest(cosine: NDArray[np.float32]) -> float:
    known = cosine[~np.isnan(cosine)]
    return float(known.max()) if len(known) else 0.0


def graph_lane(db: Connection, lanes: Lanes, names: NameRepository, plan: SearchPlan) -> dict[int, float]:
    """Paragraphs that support what the query's entities are related to, scored 0..1."""
    if plan.query is None:
        return {}
    return recall(db, lanes.graph, names, plan)


def person_lane(db: Connection, plan: SearchPlan) -> Ids:
    """The newest paragraphs of the person named, when the query says nothing else."""
    if plan.query is None or plan.query.terms or not plan.query.persons:
        return np.zeros(0, np.int64)
    found = [
        paragraph_rows.recent_of(db, person, plan.scopes, plan.now, plan.settings.candidates)
        for person in set().union(*plan.query.persons)
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def time_lane(db: Connection, plan: SearchPlan) -> Ids:
    """The newest paragraphs of each stretch of time that the query names."""
    spans = plan.query.spans if plan.query else ()
    found = [
        paragraph_rows.newest_begun(db, span.start, span.end, plan.scopes, plan.settings.candidates // len(spans))
        for span in spans
    ]
    return np.unique(np.array([id_ for ids in found for id_ in ids], np.int64))

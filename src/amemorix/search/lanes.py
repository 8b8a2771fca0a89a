"""The ways of finding candidates; each can put one forward alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..indexes.projections import SearchIndexes
from ..indexes.sparse.levels import SparseScores
from ..language.normalise import query_terms, term_hashes
from ..store.ports import Connection, VectorIndex
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from .plan import SearchPlan

__all__ = [
    "DenseScores", "Floats", "Ids", "dense_lane", "no_vectors", "person_lane", "relation_lane", "sparse_lane", "time_lane",
]  # fmt: skip

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]
NOISE_FLOOR_PERCENTILE = 1.0
HIGHEST_NOISE = 0.2
MOST_RELATIONS = 20
"""Relations that may be seen, at most."""
MOST_SUPPORTING = 100
"""Supporting paragraphs, at most."""
UNLIKE = 0.2
"""Cosine up to which a relation has nothing to do with the query."""
NEAREST_RELATIONS = 1_000
"""Where too few of the nearest may be seen, so many are looked at, and only then all that are like the query."""
EVERY = 1 << 31


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Cosines by ascending id, and what counts as no likeness at all."""

    ids: Ids
    cosine: Floats
    floor: float
    top: float = 0.0
    """The highest cosine."""

    def of(self, ids: Ids) -> Floats:
        """Cosines of these ids, NaN where there is none."""
        if not len(self.ids):
            return np.full(len(ids), np.nan, np.float32)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, self.cosine[at], np.float32(np.nan))


def no_vectors() -> DenseScores:
    """No cosine at all."""
    return DenseScores(np.zeros(0, np.int64), np.zeros(0, np.float32), 0.0)


def sparse_lane(db: Connection, indexes: SearchIndexes, plan: SearchPlan, allow: Ids | None) -> SparseScores:
    """BM25 of paragraph, window and session; where that is a scan of a chat, by the words of the other language too.

    Each document counts by the query that finds it better, of which the translation covers no larger a share than the
    share of the query's words that it has.
    """

    def search(hashes: NDArray[np.uint32]) -> SparseScores:
        limit = plan.settings.candidates
        return indexes.sparse.search(hashes, scopes=plan.scopes, allow=allow, hidden=plan.hidden, limit=limit)

    own = search(plan.query.hashes if plan.query else np.zeros(0, np.uint32))
    if not own.complete or plan.glosses is None or plan.query is None:
        return own
    translation, share = "", np.float32(0)
    if plan.query.cjk:
        translation, share = plan.glosses.english(plan.query.bare), np.float32(1)
    elif paragraph_rows.any_cjk(db, plan.scopes):
        translation = plan.glosses.chinese(plan.query.terms)
        share = np.float32(len(translation.split()) / max(len(plan.query.terms), 1))
    hashes = np.unique(term_hashes(query_terms(translation)))
    other = search(hashes) if len(hashes) else own
    if other is own or not np.array_equal(own.ids, other.ids):
        return own
    return replace(
        own,
        paragraph=np.maximum(own.paragraph, other.paragraph),
        window=np.maximum(own.window, other.window),
        session=np.maximum(own.session, other.session),
        coverage=np.maximum(own.coverage, share * other.coverage),
        window_coverage=np.maximum(own.window_coverage, share * other.window_coverage),
    )


def dense_lane(
    db: Connection, indexes: SearchIndexes, plan: SearchPlan, sparse: SparseScores, allow: Ids | None
) -> DenseScores:
    """Cosines of what the sparse lane scored, and of the nearest of all that may be seen."""
    vectors = indexes.vectors
    if vectors is None or plan.encoded is None:
        return no_vectors()
    query, ids = plan.encoded.vector, np.sort(sparse.ids)
    cosine = vectors.scores(query, ids)
    if sparse.complete:
        return DenseScores(ids, cosine, _noise(cosine[~np.isnan(cosine)]), _highest(cosine))
    if allow is None and plan.scopes is not None:
        allow = paragraph_rows.in_scopes(db, plan.scopes)
    near, near_cosine = vectors.search(query, plan.settings.candidates, allow)
    if plan.hidden is not None:
        shown = ~np.isin(near, plan.hidden)
        near, near_cosine = near[shown], near_cosine[shown]
    every, first = np.unique(np.concatenate([ids, near]), return_index=True)
    cosine = np.concatenate([cosine, near_cosine])[first]
    return DenseScores(every, cosine, _noise(vectors.background(query)), _highest(cosine))


def _noise(cosine: Floats) -> float:
    """What counts as no likeness at all: where a store is so small that everything is like the query, a fixed cosine."""
    return min(float(np.percentile(cosine, NOISE_FLOOR_PERCENTILE)), HIGHEST_NOISE) if len(cosine) else 0.0


def _highest(cosine: Floats) -> float:
    known = cosine[~np.isnan(cosine)]
    return float(known.max()) if len(known) else 0.0


def relation_lane(db: Connection, indexes: SearchIndexes, plan: SearchPlan) -> dict[int, float]:
    """Paragraph -> score: the cosine of the nearest relation that it supports, scaled from 0.2..1 to 0..1.

    Only relations that rest on a paragraph which may be seen take part, and only such paragraphs are returned: what
    stands elsewhere neither shows nor crowds out. What rules have read has no vector: it is in the paragraph's own words.
    """
    if indexes.relations is None or plan.encoded is None:
        return {}
    nearest: dict[int, float] = {}
    for near in _nearer_relations(indexes.relations, plan.encoded.vector):
        seen = relation_rows.seen(db, near, plan.scopes, plan.now)
        nearest = {id_: cosine for id_, cosine in near.items() if id_ in seen}
        if len(nearest) >= MOST_RELATIONS:
            break
    nearest = dict(islice(nearest.items(), MOST_RELATIONS))
    support = relation_rows.support(db, nearest, plan.scopes, plan.now, MOST_SUPPORTING) if nearest else {}
    found: dict[int, float] = {}
    for relation, cosine in nearest.items():
        for paragraph in support.get(relation, ()):
            if len(found) < MOST_SUPPORTING:
                found.setdefault(paragraph, (cosine - UNLIKE) / (1 - UNLIKE))
    return found


def _nearer_relations(vectors: VectorIndex, query: Floats) -> Iterator[dict[int, float]]:
    """Relation -> cosine of the nearest, each time more of them while more are like the query."""
    for most in (NEAREST_RELATIONS, EVERY):
        ids, cosines = vectors.search(query, most)
        like = cosines > UNLIKE
        near = dict(zip(ids[like].tolist(), cosines[like].tolist(), strict=True))
        if near and most == NEAREST_RELATIONS:
            yield dict(islice(near.items(), MOST_RELATIONS))
        if len(near) > MOST_RELATIONS:
            yield near
        if len(near) < NEAREST_RELATIONS:
            return


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

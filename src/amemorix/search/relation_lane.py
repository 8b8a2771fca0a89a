"""From a query's meaning to the relations nearest to it, and on to the paragraphs that support them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..indexes.projections import Lanes
from ..indexes.vectors.store import VectorStore
from ..store.ports import Connection
from ..store.rows import relations as relation_rows
from .plan import SearchPlan

__all__ = ["relation_lane"]

RELATIONS = 20
"""Relations that may be seen, at most."""
PARAGRAPHS = 100
"""Supporting paragraphs, at most."""
UNLIKE = 0.2
"""Cosine up to which a relation has nothing to do with the query."""
NEAREST = 1_000
"""Where too few of the nearest may be seen, so many are looked at, and only then all that are like the query."""

Near = dict[int, float]
"""Relation -> cosine, the nearest first."""


def relation_lane(db: Connection, lanes: Lanes, plan: SearchPlan) -> dict[int, float]:
    """Paragraph -> score: the cosine of the nearest relation that it supports, scaled from 0.2..1 to 0..1.

    Only relations that rest on a paragraph which may be seen take part, and only such paragraphs are returned: what
    stands elsewhere neither shows nor crowds out. What rules have read has no vector: it is in the paragraph's own words.
    """
    nearest = _nearest(db, lanes, plan)
    if not nearest:
        return {}
    support = relation_rows.support(db, nearest, plan.scopes, plan.now, PARAGRAPHS)
    found: dict[int, float] = {}
    for relation, cosine in nearest.items():
        for paragraph in support.get(relation, ()):
            if len(found) < PARAGRAPHS:
                found.setdefault(paragraph, (cosine - UNLIKE) / (1 - UNLIKE))
    return found


def _nearest(db: Connection, lanes: Lanes, plan: SearchPlan) -> Near:
    """The nearest of those that rest on what may be seen."""
    if lanes.relations is None or plan.encoded is None or not len(lanes.relations):
        return {}
    found: Near = {}
    for near in _wider_and_wider(lanes.relations, plan.encoded.vector):
        seen = relation_rows.seen(db, near, plan.scopes, plan.now)
        found = {id_: cosine for id_, cosine in near.items() if id_ in seen}
        if len(found) >= RELATIONS:
            break
    return dict(islice(found.items(), RELATIONS))


def _wider_and_wider(store: VectorStore, query: NDArray[np.float32]) -> Iterator[Near]:
    """The nearest relations, each time more of them while there are more."""
    near = _like(store, query, NEAREST)
    if near:
        yield dict(islice(near.items(), RELATIONS))
    if len(near) > RELATIONS:
        yield near
    if len(near) == NEAREST:
        yield _like(store, query, len(store))


def _like(store: VectorStore, query: NDArray[np.float32], most: int) -> Near:
    ids, cosines = store.search(query, most)
    like = cosines > UNLIKE
    return dict(zip(ids[like].tolist(), cosines[like].tolist(), strict=True))

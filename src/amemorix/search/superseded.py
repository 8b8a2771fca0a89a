"""Wordings that have been replaced since the time a search looks back to: out of the indexes, found by their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..language.normalise import unpack_terms
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import revisions as revision_rows
from ..store.rows.revisions import Revision
from .hits import HitWriter
from .plan import SearchPlan
from .result import Hit

__all__ = ["PastWordings"]

MOST = 2_000
"""Replaced wordings that are looked at, the newest."""
LEAST_TOP = 1.0
"""What a wording that holds the whole query scores where nothing else is found."""


class PastWordings:
    """Finds replaced wordings and puts them where their words say, among the hits that are still current."""

    def __init__(self, store: MetadataStore, writer: HitWriter) -> None:
        self._store = store
        self._writer = writer

    def join(self, db: Connection, hits: Sequence[Hit], plan: SearchPlan) -> list[Hit]:
        """The hits with those of replaced wordings, best first."""
        if plan.as_of is None or plan.query is None or not len(plan.query.hashes):
            return list(hits)
        top = max([LEAST_TOP, *(hit.score for hit in hits)])
        noise = plan.settings.noise
        floor = noise.min_coverage * (0.5 if plan.query.persons else 1.0) if noise.enabled else 0.0
        scored = [(_coverage(one, plan), one) for one in self._found(db, plan)]
        kept = sorted((pair for pair in scored if pair[0] > 0 and pair[0] >= floor), key=lambda pair: -pair[0])
        why = {
            one.id: (top * share, {"revision": "replaced", "coverage": round(share, 3), "lanes": {"sparse": {}}})
            for share, one in kept[: plan.limit]
        }
        found = self._writer.revisions(db, revision_rows.full(db, why), why, plan)
        return sorted([*found, *hits], key=lambda hit: -hit.score)[: plan.limit]

    def newest(self, db: Connection, hits: Sequence[Hit], plan: SearchPlan) -> list[Hit]:
        """The hits of a stretch of time with the replaced wordings of it, the newest first."""
        dated = [one for one in self._found(db, plan) if one.event_start is not None]
        dated.sort(key=lambda one: -(one.event_start or 0.0))
        why: dict[int, tuple[float, dict[str, Any]]] = {
            one.id: (1.0, {"revision": "replaced", "order": "newest first", "lanes": {"time": {}}})
            for one in dated[: plan.limit]
        }
        found = self._writer.revisions(db, revision_rows.full(db, why), why, plan)
        return sorted([*found, *hits], key=lambda hit: -(hit.time.start or 0.0))[: plan.limit]

    def _found(self, db: Connection, plan: SearchPlan) -> Iterator[Revision]:
        """Those that the window and the person allow; none within a source, where the present alone is looked at."""
        if plan.as_of is None or plan.sources is not None:
            return
        mine = None if plan.persons is None else set(paragraph_rows.of_persons(db, plan.persons).tolist())
        for one in revision_rows.replaced(db, plan.as_of, plan.scopes, plan.now, MOST):
            if (mine is None or one.id in mine) and _in_window(one, plan):
                yield one


def _in_window(one: Revision, plan: SearchPlan) -> bool:
    if plan.window is None:
        return True
    return one.event_start is not None and plan.window.start <= one.event_start <= plan.window.end


def _coverage(one: Revision, plan: SearchPlan) -> float:
    """The share of the query's terms that the wording holds."""
    if plan.query is None:
        return 0.0
    held = np.isin(plan.query.hashes, unpack_terms(one.terms)[0], assume_unique=True)
    return float(held.mean())

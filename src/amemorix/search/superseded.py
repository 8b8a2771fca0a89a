"""Wordings that have been replaced since the time a search looks back to: out of the indexes, found by their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..language.normalise import unpack_terms
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.paragraphs import Revision
from .hits import Reasons, paragraph_hits
from .plan import SearchPlan
from .result import Hit

__all__ = ["with_replaced", "with_replaced_in_time"]

MOST = 2_000
"""Replaced wordings that are looked at, the newest."""
LEAST_TOP = 1.0
"""What a wording that holds the whole query scores where nothing else is found."""


def with_replaced(db: Connection, hits: Sequence[Hit], plan: SearchPlan) -> list[Hit]:
    """The hits with those of replaced wordings, best first; these score by the share of the query's terms they hold."""
    if plan.as_of is None or plan.query is None or not len(plan.query.hashes):
        return list(hits)
    top, noise, hashes = max([LEAST_TOP, *(hit.score for hit in hits)]), plan.settings.noise, plan.query.hashes
    floor = noise.min_coverage * (0.5 if plan.query.persons else 1.0) if noise.enabled else 0.0
    scored: list[tuple[float, int]] = []
    for one in _replaced(db, plan):
        share = float(np.isin(hashes, unpack_terms(one.terms)[0], assume_unique=True).mean())
        if share > 0 and share >= floor:
            scored.append((share, one.id))
    scored.sort(key=lambda pair: -pair[0])
    reasons: Reasons = {
        id_: (top * share, {"revision": "replaced", "coverage": round(share, 3), "lanes": {"sparse": {}}})
        for share, id_ in scored[: plan.limit]
    }
    found = paragraph_hits(db, paragraph_rows.full_revisions(db, reasons), reasons, plan)
    return sorted([*found, *hits], key=lambda hit: -hit.score)[: plan.limit]


def with_replaced_in_time(db: Connection, hits: Sequence[Hit], plan: SearchPlan) -> list[Hit]:
    """The hits of a stretch of time with the replaced wordings of it, the newest first."""
    dated = [(one.event_start, one.id) for one in _replaced(db, plan) if one.event_start is not None]
    dated.sort(key=lambda pair: -pair[0])
    reasons: Reasons = {
        id_: (1.0, {"revision": "replaced", "order": "newest first", "lanes": {"time": {}}})
        for _, id_ in dated[: plan.limit]
    }
    found = paragraph_hits(db, paragraph_rows.full_revisions(db, reasons), reasons, plan)
    return sorted([*found, *hits], key=lambda hit: -(hit.time.start or 0.0))[: plan.limit]


def _replaced(db: Connection, plan: SearchPlan) -> Iterator[Revision]:
    """Those that the window and the person allow; none within a source, where the present alone is looked at."""
    if plan.as_of is None or plan.sources is not None:
        return
    mine = None if plan.persons is None else set(paragraph_rows.of_persons(db, plan.persons).tolist())
    for one in paragraph_rows.replaced(db, plan.as_of, plan.scopes, plan.now, MOST):
        window, at = plan.window, one.event_start
        if (mine is None or one.id in mine) and (
            window is None or (at is not None and window.start <= at <= window.end)
        ):
            yield one

"""The cut: where nothing relevant is stored, nothing is returned."""

from __future__ import annotations

import numpy as np

from ..config.model import Noise
from .fusion import Fused
from .plan import SearchPlan

__all__ = ["cut"]

COVERAGE_WEIGHT = 0.6
NAMED_PERSON_EASE = 0.5
CJK_EASE = 0.7
"""Of a query in pairs of characters, those that straddle two words are in no text that words it otherwise."""


def cut(fused: Fused, plan: SearchPlan) -> Fused:
    """The candidates, or none of them if the first `limit` hold nothing relevant."""
    if plan.query is None:
        return fused
    noise = plan.settings.noise
    if noise.enabled and not _anything_relevant(fused.top(plan.limit), plan, noise):
        return fused.top(0)
    return fused


def _anything_relevant(head: Fused, plan: SearchPlan, noise: Noise) -> bool:
    """True if a candidate is near enough in meaning and words, or is what the query names."""
    if not len(head.ids) or plan.query is None:
        return False
    if not plan.query.terms and plan.query.persons:
        return True
    ease = NAMED_PERSON_EASE if plan.query.persons or plan.persons else 1.0
    ease *= CJK_EASE if plan.query.cjk else 1.0
    without = np.isnan(head.cosine)
    near = np.nan_to_num(head.cosine, nan=0.0) + COVERAGE_WEIGHT * head.coverage >= noise.min_relevance * ease
    worded = head.coverage >= noise.min_coverage * ease
    return bool(np.any(np.where(without, worded, near)) or np.any(head.signals["graph"] > 0))

"""The cut: noise is dropped when nothing relevant is stored, and when the caller asks."""

from __future__ import annotations

import numpy as np

from ..config.model import Noise
from .fusion import Fused
from .plan import SearchPlan

__all__ = ["cut"]


def cut(fused: Fused, plan: SearchPlan) -> Fused:
    """The candidates that may be returned: none if no one is relevant, else those of at least `min_score`."""
    if plan.query is None:
        return fused
    noise = plan.settings.noise
    if noise.enabled and not _anything_relevant(fused.top(plan.limit), plan, noise):
        return fused.top(0)
    return fused.take(np.flatnonzero(fused.score >= plan.min_score)) if plan.min_score > 0 else fused


def _anything_relevant(head: Fused, plan: SearchPlan, noise: Noise) -> bool:
    """True if a candidate is near in meaning, or holds enough of the query's words, or is what the query names."""
    if not len(head.ids):
        return False
    if plan.query and not plan.query.terms and plan.query.persons:
        return True
    near = bool(np.any(np.nan_to_num(head.cosine, nan=-1.0) >= noise.min_cosine))
    return near or bool(np.any(head.coverage >= noise.min_coverage)) or bool(np.any(head.signals["graph"] > 0))

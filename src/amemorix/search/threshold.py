"""The cut: where nothing relevant is stored, nothing is returned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..config.model import Noise
from .fusion import Fused
from .plan import SearchPlan
from .query import Query

__all__ = ["cut"]

HEAD = 20
"""Candidates of which one has to be relevant."""
COVERAGE_WEIGHT = 0.6
NAMED_PERSON_EASE = 0.5
QUESTION_EASE, CJK_QUESTION_EASE, FOREIGN_EASE = 0.75, 0.55, 0.55
"""A sentence may be answered in other words; in Chinese with no pair of characters in common, in another language with
no word at all."""
SURE = 0.5
"""From here on the graph alone is reason enough: an entity that the query names, or a relation with a cosine of 0.6."""
CJK_WORDS_EASE = 0.7
"""Of a query in pairs of characters, those that straddle two words are in no text that words it otherwise."""


def cut(fused: Fused, plan: SearchPlan, foreign: NDArray[np.int64]) -> Fused:
    """The candidates, or none of them if the first hold nothing relevant; `foreign` are in another language."""
    if plan.query is None:
        return fused
    noise = plan.settings.noise
    if noise.enabled and not _anything_relevant(fused.top(HEAD), plan, plan.query, noise, foreign):
        return fused.top(0)
    return fused


def _anything_relevant(head: Fused, plan: SearchPlan, query: Query, noise: Noise, foreign: NDArray[np.int64]) -> bool:
    """True if a candidate is near enough in meaning and words, or is what the query names."""
    if not len(head.ids):
        return False
    if (not query.terms and query.persons) or query.only_time:
        return True
    ease = _ease(head, query) * (NAMED_PERSON_EASE if query.persons or plan.persons else 1.0)
    abroad = np.isin(head.ids, foreign)
    without = np.isnan(head.cosine)
    near = np.nan_to_num(head.cosine, nan=0.0) + COVERAGE_WEIGHT * head.coverage
    if not any(map(str.isalnum, query.text)):
        near = head.coverage
    near_enough = near >= noise.min_relevance * np.where(abroad & (not query.keywords), FOREIGN_EASE, ease)
    worded = head.coverage >= noise.min_coverage * ease
    return bool(np.any(np.where(without, worded, near_enough)) or np.any(head.signals["graph"] >= SURE))


def _ease(head: Fused, query: Query) -> float:
    """What is enough of the full measure, for this kind of query."""
    if query.keywords:
        return CJK_WORDS_EASE if query.cjk and _without_vectors(head) else 1.0
    return CJK_QUESTION_EASE if query.cjk else QUESTION_EASE


def _without_vectors(head: Fused) -> bool:
    """Whether only words are compared, for want of vectors."""
    return bool(np.isnan(head.cosine).all())

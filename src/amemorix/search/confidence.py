"""How likely it is that a hit answers the query: a probability, calibrated on chats whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ..language.normalise import CJK
from ..sorted_arrays import filled
from ..store.rows.paragraphs import Visible
from .fusion import Fused
from .lanes import Floats
from .query import SearchPlan

__all__ = ["FEATURES", "LINKED", "WEAK", "Judge", "features", "judge", "with_confidence"]

FEATURES = (
    "tokens", "token_window", "cosine", "coverage", "score", "behind", "rank", "person", "few", "time", "graph", "foreign",
)  # fmt: skip
WEAK = 0.44
"""A best hit below this is shown, and called weak."""
SURE = 0.9
"""Of what is listed rather than matched: all that somebody said, all that happened on a day."""
NAMED, LINKED = 0.5, 0.3
"""From such a signal of the graph on (an entity that the query names, a relation with a cosine of 0.6) a hit is at least so
likely."""
SHARED = 0.1
"""A smaller share of the query's weighted words is one character, or a word that stands everywhere."""
WHOLE, WORDED = 0.9, 0.1
"""What holds the query's words, all of them, is at least so likely."""
A_ROW, A_WORD, LIKELY_WITHOUT = 4, 0.3, 0.2
"""A row of words of which no text holds one has to be likely otherwise, or it finds nothing."""
ENOUGH = 3
"""Terms of a query beyond which more say nothing."""
CONSIDERED = 200
"""Candidates that are judged; what stands further down is no hit."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A logistic model: features less their mean, over their spread, times weights."""

    mean: Floats
    spread: Floats
    weights: Floats
    bias: float

    @classmethod
    def of(cls, fitted: Mapping[str, Any]) -> Judge:
        """From what was fitted, as it stands in `confidence.json`."""
        mean, spread, weights = (np.array(fitted[name], np.float32) for name in ("mean", "spread", "weights"))
        return cls(mean, spread, weights, fitted["bias"])

    def probability(self, values: Floats) -> Floats:
        """Of each row of features, shape (hits, features), that it answers the query."""
        z = ((values - self.mean) / self.spread) @ self.weights + self.bias
        return (1 / (1 + np.exp(-np.clip(z, -30, 30)))).astype(np.float32)


@cache
def judge(kind: str) -> Judge:
    """The weights that were fitted: with vectors of a `model`, or by `words` alone."""
    return Judge.of(json.loads(files("amemorix.search").joinpath("confidence.json").read_text("utf-8"))[kind])


def features(fused: Fused, visible: Visible, plan: SearchPlan) -> Floats:
    """What speaks for and against each candidate, shape (candidates, features), in the order of `FEATURES`.

    What a memory without a model does not know is 0.
    """
    signals, flags = fused.signals, visible.flags[np.searchsorted(visible.ids, fused.ids)]

    top = fused.score.max() if len(fused.ids) else np.float32(0)
    columns = {
        "tokens": filled(fused.matched[:, 0], 0.0),
        "token_window": filled(fused.matched[:, 1], 0.0),
        "cosine": filled(fused.cosine, 0.0),
        "coverage": fused.coverage,
        "score": fused.score,
        "behind": top - fused.score,
        "rank": np.log1p(np.arange(len(fused.ids))),
        "person": signals["person"],
        "few": np.full(len(fused.ids), min(len(plan.query.terms), ENOUGH)),
        "time": signals["time"],
        "graph": signals["graph"],
        "foreign": ((flags & CJK) > 0) != plan.query.cjk,
    }
    return np.column_stack([columns[name] for name in FEATURES]).astype(np.float32)


def with_confidence(fused: Fused, visible: Visible, plan: SearchPlan) -> Fused:
    """The candidates with the probability of each that it answers.

    Where none reaches `retrieval.noise.min_confidence`, nothing is left. What is listed rather than matched,
    because the query names only a person or a time, is sure.
    """
    query, noise = plan.query, plan.settings.noise
    fused = fused.top(max(CONSIDERED, 2 * plan.stage1))
    if query.small_talk and noise.enabled:
        fused = fused.top(0)
    if not len(fused.ids):
        return replace(fused, confidence=np.zeros(0, np.float32))
    if query.only_time or (query.persons and not query.terms):
        return replace(fused, confidence=np.full(len(fused.ids), SURE, np.float32))
    known = bool(np.isfinite(fused.cosine).any())
    values = features(fused, visible, plan)
    linked = np.where(fused.signals["graph"] >= NAMED, LINKED, np.float32(0))
    linked = np.maximum(linked, np.where(fused.coverage >= WHOLE, WORDED, np.float32(0)))
    confidence = np.maximum(judge("model" if known else "words").probability(values), linked)
    if not known:  # words are all there is, and it shares none
        confidence[(fused.coverage < SHARED) & (linked <= 0) & (fused.signals["time"] <= 0)] = 0
    fused = replace(fused, confidence=confidence)
    least = noise.min_confidence
    if query.keywords and len(query.terms) >= A_ROW and plan.settings.sparse.enabled and fused.coverage.max() < A_WORD:
        least = max(least, LIKELY_WITHOUT)
    return fused.top(0) if noise.enabled and fused.confidence.max() < least else fused

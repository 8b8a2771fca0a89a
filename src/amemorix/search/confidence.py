"""How likely it is that a hit answers the query: a probability, calibrated on chats whose answers are known."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np

from ..language.normalise import CJK, QUESTION
from ..sorted_arrays import filled
from ..store.rows.paragraphs import Visible
from .fusion import Fused
from .lanes import Floats
from .query import SearchPlan

__all__ = ["FEATURES", "Judge", "WEAK", "features", "judge", "with_confidence"]

FEATURES = (
    "tokens", "token_window", "cosine", "dense", "coverage", "covered_by_best", "score", "behind", "rank", "best_tokens",
    "best_cosine", "spread", "person", "graph", "time", "is_question", "wanted", "terms", "short", "cjk", "foreign",
    "keywords", "named",
)  # fmt: skip
WEAK = 0.3
"""A best hit below this is shown, and called weak."""
SURE = 0.9
"""Of what is listed rather than matched: all that somebody said, all that happened on a day."""
CONSIDERED = 200
"""Candidates that are judged; what stands further down is no hit."""


@dataclass(frozen=True, slots=True)
class Judge:
    """A logistic model: features less their mean, over their spread, times weights."""

    mean: Floats
    spread: Floats
    weights: Floats
    bias: float

    def probability(self, values: Floats) -> Floats:
        """Of each row of features, shape (hits, features), that it answers the query."""
        z = ((values - self.mean) / self.spread) @ self.weights + self.bias
        return (1 / (1 + np.exp(-np.clip(z, -30, 30)))).astype(np.float32)


@cache
def judge(kind: str) -> Judge:
    """The weights that were fitted: with vectors of a `model`, or by `words` alone."""
    fitted = json.loads(files("amemorix.search").joinpath("confidence.json").read_text("utf-8"))[kind]
    mean, spread, weights = (np.array(fitted[name], np.float32) for name in ("mean", "spread", "weights"))
    return Judge(mean, spread, weights, fitted["bias"])


def features(fused: Fused, visible: Visible, plan: SearchPlan) -> Floats:
    """What speaks for and against each candidate, shape (candidates, features), in the order of `FEATURES`.

    What a memory without a model does not know is 0.
    """
    query, count = plan.query, len(fused.ids)
    signals, flags = fused.signals, visible.flags[np.searchsorted(visible.ids, fused.ids)]

    def every(value: float) -> Floats:
        return np.full(count, value, np.float32)

    def best(values: Floats) -> Floats:
        return every(float(values.max()) if count else 0.0)

    tokens, wide = filled(fused.matched, 0.0).T
    cosine = filled(fused.cosine, 0.0)
    wanted = (flags & query.wants) > 0 if query.wants else np.zeros(count, np.bool_)
    columns = {
        "tokens": tokens,
        "token_window": wide,
        "cosine": cosine,
        "dense": signals["dense"],
        "coverage": fused.coverage,
        "covered_by_best": best(fused.coverage),
        "score": fused.score,
        "behind": best(fused.score) - fused.score,
        "rank": np.log1p(np.arange(count)),
        "best_tokens": best(tokens),
        "best_cosine": best(cosine),
        "spread": every(float(cosine[:CONSIDERED].std()) if count else 0.0),
        "person": signals["person"],
        "graph": signals["graph"],
        "time": signals["time"],
        "is_question": (flags & QUESTION) > 0,
        "wanted": wanted,
        "terms": every(float(np.log1p(len(query.terms)))),
        "short": every(len(query.terms) <= 1),
        "cjk": every(query.cjk),
        "foreign": ((flags & CJK) > 0) != query.cjk,
        "keywords": every(query.keywords),
        "named": every(bool(query.persons)),
    }
    return np.column_stack([columns[name] for name in FEATURES]).astype(np.float32)


def with_confidence(fused: Fused, visible: Visible, plan: SearchPlan) -> Fused:
    """The candidates with the probability of each that it answers; those below `retrieval.noise.min_confidence` go.

    What is listed rather than matched, because the query names only a person or a time, is sure.
    """
    query, noise = plan.query, plan.settings.noise
    fused = fused.top(CONSIDERED)
    if not len(fused.ids):
        return replace(fused, confidence=np.zeros(0, np.float32))
    if query.only_time or (query.persons and not query.terms):
        return replace(fused, confidence=np.full(len(fused.ids), SURE, np.float32))
    known = bool(np.isfinite(fused.cosine).any())
    values = features(fused, visible, plan)
    fused = replace(fused, confidence=judge("model" if known else "words").probability(values))
    return fused.take(np.flatnonzero(fused.confidence >= noise.min_confidence)) if noise.enabled else fused

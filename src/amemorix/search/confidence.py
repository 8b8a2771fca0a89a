"""How likely it is that a hit answers the query: a probability, calibrated on chats whose answers are known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any

import numpy as np

from ..language.normalise import CJK
from ..lazy_regex import lazy_regex
from ..sorted_arrays import filled
from ..store.rows.paragraphs import Visible
from . import LIKELY
from .fusion import Fused
from .lanes import Floats
from .language.temporal_order import Ordering
from .query import SearchPlan

__all__ = ["FEATURES", "LINKED", "WEAK", "Judge", "features", "is_weak", "judge", "likely_first", "with_confidence"]

FEATURES = (
    "tokens", "token_window", "cosine", "coverage", "score", "behind", "rank", "time", "graph", "stands_out", "nearest",
    "best_tokens", "cosine_share", "token_share", "score_share", "terms", "session", "length", "when", "answer", "person",
    "person_lines", "foreign", "foreign_tokens", "foreign_size", "cjk", "cjk_tokens",
)  # fmt: skip
WEAK = LIKELY
"""Where it is less likely than this that any hit answers, the answer is called weak."""
FAR, FAR_FOREIGN = 0.5, 1.0
"""No hit stands above one of which its own confidence is a smaller share; where most lines are in another language than the
query, whose words say nothing about them, the likelier one always comes first."""
BACKGROUND = (0.05, 0.1)
"""Mean and standard deviation of the cosines of unrelated texts, which count as `BACKGROUND_LINES` lines beside those that
there are: a memory of a few lines has no background of its own."""
BACKGROUND_LINES = 5
COSINE_RANGE, TOKEN_RANGE, SCORE_RANGE = 0.08, 0.1, 0.05
"""By so much a rival has to stand further off to count e times less."""
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
"""A row of so many words of which no text holds one has to be so likely otherwise, or it finds nothing."""
A_CROWD = 40
"""Among so many candidates something is always near in meaning: a word that none of them holds finds nothing weak."""
TWO_CHARACTERS = lazy_regex(r"\s*[\u4e00-\u9fff]{2}\W*")
OF_ANOTHER_WORD, NEAR = 0.05, 0.35
"""What holds one character of a query that is a word of two (花 of 花生) is at most so likely, unless it is so near in meaning:
of what is unrelated, one in a hundred is."""
FIRST = 10
"""Hits by which an answer is called weak."""
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

    How well it matches, on its own and beside the others: something is always the nearest, and what is unrelated does not
    stand out. That a named person said it tells the less the more of the lines are theirs. What a memory without a model
    does not know is 0.
    """
    signals, flags = fused.signals, visible.flags[np.searchsorted(visible.ids, fused.ids)]
    count, terms = len(fused.ids), len(plan.query.terms)
    cosine, tokens = filled(fused.cosine, 0.0), filled(fused.matched[:, 0], 0.0)
    foreign = (((flags & CJK) > 0) != plan.query.cjk).astype(np.float32)
    said = float(signals["person"].mean()) if count else 0.0
    columns = {
        "tokens": tokens,
        "token_window": filled(fused.matched[:, 1], 0.0),
        "cosine": cosine,
        "coverage": fused.coverage,
        "score": fused.score,
        "behind": fused.score.max(initial=0.0) - fused.score,
        "rank": np.log1p(np.arange(count)),
        "time": signals["time"],
        "graph": signals["graph"],
        "stands_out": _standing_out(fused.cosine),
        "nearest": np.full(count, cosine.max(initial=0.0) if np.isfinite(fused.cosine).any() else 0.0),
        "best_tokens": np.full(count, tokens.max(initial=0.0)),
        "cosine_share": _share(cosine, COSINE_RANGE),
        "token_share": _share(tokens, TOKEN_RANGE),
        "score_share": _share(fused.score, SCORE_RANGE),
        "terms": np.full(count, np.log1p(terms)),
        "session": signals["session"],
        "length": signals.get("length", np.ones(count, np.float32)),
        "when": signals["when"],
        "answer": signals["answer"],
        "person": signals["person"] * (1 - said),
        "person_lines": np.full(count, said),
        "foreign": foreign,
        "foreign_tokens": foreign * tokens,
        "foreign_size": foreign * np.log1p(min(count, CONSIDERED)),
        "cjk": np.full(count, plan.query.cjk),
        "cjk_tokens": plan.query.cjk * tokens,
    }
    return np.column_stack([columns[name] for name in FEATURES]).astype(np.float32)


def _standing_out(cosine: Floats) -> Floats:
    """By how many standard deviations each cosine differs from the mean of the candidates; 0 where there is none."""
    known, (mean, deviation) = cosine[np.isfinite(cosine)], BACKGROUND
    if not len(known):
        return np.zeros(len(cosine), np.float32)
    lines = len(known) + BACKGROUND_LINES
    mean = (known.sum() + BACKGROUND_LINES * mean) / lines
    variance = (((known - mean) ** 2).sum() + BACKGROUND_LINES * deviation**2) / lines
    return (filled(cosine, 0.0) - mean) / np.sqrt(variance)


def _share(values: Floats, width: float) -> Floats:
    """The logarithm of each one's part in the sum of exp(value / width): low where many others match as well."""
    above = (values - values.max(initial=0.0)) / np.float32(width)
    return above - np.log(np.exp(above).sum())


def likely_first(fused: Fused, far: float) -> Fused:
    """The candidates in their order, but none above one that is far likelier: of which its confidence is less than `far`.

    What comes first because of that scores as much as what it passes, by the signal `likely`.
    """
    left, order = fused.confidence.copy(), np.arange(len(fused.ids))
    if (left >= far * np.maximum.accumulate(left[::-1])[::-1]).all():
        return fused
    for place in range(len(order)):
        order[place] = np.argmax(left >= far * left.max())
        left[order[place]] = -1
    moved = fused.take(order)
    score = np.maximum.accumulate(moved.score[::-1])[::-1]
    return replace(
        moved,
        score=score,
        names=(*moved.names, "likely"),
        values=np.column_stack([moved.values, score - moved.score]),
        weights=(*moved.weights, 1.0),
    )


def with_confidence(fused: Fused, visible: Visible, plan: SearchPlan) -> Fused:
    """The candidates with the probability of each that it answers, none above one that is far likelier.

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
    linked = np.maximum(linked, np.where((fused.coverage >= WHOLE) & (fused.bm25 > 0), WORDED, np.float32(0)))
    confidence = np.maximum(judge("model" if known else "words").probability(values), linked)
    if TWO_CHARACTERS.fullmatch(query.text):
        other = (fused.coverage > 0) & (fused.coverage < WHOLE) & (filled(fused.cosine, 0.0) < NEAR)
        confidence = np.where(other, np.minimum(confidence, np.float32(OF_ANOTHER_WORD)), confidence)
    if not known:  # words are all there is, and it shares none
        confidence[(fused.coverage < SHARED) & (linked <= 0) & (fused.signals["time"] <= 0)] = 0
    fused = replace(fused, confidence=confidence)
    least = noise.min_confidence
    if query.keywords and plan.settings.sparse.enabled and fused.coverage.max() < A_WORD:
        if len(query.terms) >= A_ROW:
            least = max(least, LIKELY_WITHOUT)
        elif known and len(fused.ids) >= A_CROWD:
            least = max(least, WEAK)
    if noise.enabled and fused.confidence.max() < least:
        return fused.top(0)
    if not known or query.ordering != Ordering():  # words alone do not tell it well enough to change their own order
        return fused
    foreign = values[:, FEATURES.index("foreign")].mean() > 0.5
    return likely_first(fused, FAR_FOREIGN if foreign else FAR)


def is_weak(confidences: Iterable[float]) -> bool:
    """Whether it is unlikely that any of the hits answers, taken as independent; False where there is none."""
    chances = [*confidences][:FIRST]
    return bool(chances) and 1 - prod(1 - chance for chance in chances) < WEAK

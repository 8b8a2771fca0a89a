"""What a sentence is: durable or of the moment, of which kind, about whom and how it is meant; linear, on vectors and words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ..language.normalise import fold
from ..lazy_regex import lazy_regex

__all__ = [
    "BELIEVED", "BUCKETS", "HEADS", "IMPORTANCE", "WEIGHTS_FILE", "Classifier",
    "Floats", "Judgement", "Weights", "best", "buckets", "classifier",
    "earnest",
]  # fmt: skip

WEIGHTS_FILE = "statements.npz"
BUCKETS = 4096
"""Word n-grams are counted in so many hash buckets."""
HEADS: dict[str, tuple[str, ...]] = {
    "durable": ("durable",),
    "kind": ("event", "habit", "health", "home", "identity", "none", "opinion", "plan", "possession", "preference",
             "relation", "skill", "work"),
    "about": ("none", "other", "self"),
    "mode": ("change", "greeting", "hearsay", "hypothetical", "joke", "question", "quote", "statement", "wish"),
}  # fmt: skip
"""Head -> its classes; a head of one class gives a probability of its own."""
_PLACES = {
    head: slice(start, start + len(HEADS[head]))
    for head, start in zip(HEADS, np.cumsum([0, *map(len, HEADS.values())]).tolist(), strict=False)
}
BELIEVED = frozenset({"statement", "change"})
"""The modes in which something is said to be so."""
IMPORTANCE = {
    "identity": 1.0, "relation": 0.95, "health": 0.95, "home": 0.95, "work": 0.95, "possession": 0.75, "skill": 0.7,
    "preference": 0.7, "habit": 0.65, "plan": 0.65, "event": 0.6, "opinion": 0.45,
}  # fmt: skip
"""Kind -> how much it counts in a profile."""
_WORD = lazy_regex(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:'[a-z]+)?|\d+|\S")
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the classifier makes of a sentence."""

    durable: float
    """The probability that it says of a person, as something that is so, what will be true for long."""
    least: float
    """From which probability on it is to be kept."""
    kind: str
    about: str
    """`self`, `other` or `none`."""
    mode: str
    kinds: tuple[float, ...] = ()
    """The probability of each kind."""
    change: float = 0.0
    """The probability that it says that something is no longer as it was."""

    @property
    def is_believed(self) -> bool:
        """Whether it says that something is so: no question, joke, wish, hearsay, supposition or quotation."""
        return self.mode in BELIEVED

    @property
    def is_kept(self) -> bool:
        """Whether it is to be kept as a statement."""
        return self.is_believed and self.durable >= self.least

    @property
    def importance(self) -> float:
        """How much it counts in a profile, 0 to 1."""
        return round(self.durable * IMPORTANCE.get(self.kind, 0.4), 3)


@dataclass(frozen=True, slots=True)
class Weights:
    """One set of weights: (dimension + BUCKETS, classes of all heads), the biases, and the threshold of `durable`."""

    weights: Floats
    bias: Floats
    least: float

    def scores(self, words: Sequence[NDArray[np.int64]], vectors: Floats | None) -> Floats:
        """Log-odds (sentences, classes); sentence by sentence its words' buckets, and its vector if these weights take one."""
        size = 0 if vectors is None else vectors.shape[1]
        found = np.tile(self.bias, (len(words), 1))
        if vectors is not None:
            found += vectors @ self.weights[:size]
        for row, ids in enumerate(words):
            if len(ids):
                found[row] += self.weights[size + ids].sum(axis=0) / np.sqrt(np.float32(len(ids)))
        return found


@dataclass(frozen=True, slots=True)
class Classifier:
    """Judges sentences by vector and words where there is a vector of `model`, else by words."""

    model: str
    with_vector: Weights
    words_only: Weights

    def read(self, sentences: Sequence[str], vectors: Sequence[Floats | None] | None = None) -> list[Judgement]:
        """One judgement for each sentence."""
        given = vectors or [None] * len(sentences)
        words = [buckets(sentence) for sentence in sentences]
        judged: dict[int, Judgement] = {}
        for weights, rows in (
            (self.with_vector, [i for i, one in enumerate(given) if one is not None]),
            (self.words_only, [i for i, one in enumerate(given) if one is None]),
        ):
            if rows:
                made = np.array([given[i] for i in rows], np.float32) if weights is self.with_vector else None
                scores = weights.scores([words[i] for i in rows], made)
                parts = (best(scores, head) for head in ("kind", "about", "mode"))
                kinds = map(tuple, _probabilities(scores, "kind").tolist())
                changes = _probabilities(scores, "mode")[:, HEADS["mode"].index("change")].tolist()
                for i, probability, *rest in zip(rows, earnest(scores).tolist(), *parts, kinds, changes, strict=True):
                    judged[i] = Judgement(probability, weights.least, *rest)
        return [judged[i] for i in range(len(sentences))]


def buckets(sentence: str) -> NDArray[np.int64]:
    """The hash buckets of a sentence's n-grams, each once: one to three words or characters, and how long words begin."""
    words = _WORD.findall(fold(sentence))
    words = ["^", *("0" * len(word) if word.isdigit() else word for word in words), "$"]
    grams = {" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)}
    grams |= {word[:4] + "~" for word in words if len(word) > 4 and word.isascii()}
    return np.array(sorted({zlib.crc32(gram.encode()) % BUCKETS for gram in grams}), np.int64)


def earnest(scores: Floats) -> Floats:
    """The probability that each sentence says of a person, as something that is so, what will be true for long."""
    kind, mode = _probabilities(scores, "kind"), _probabilities(scores, "mode")
    of_something = 1 - kind[:, HEADS["kind"].index("none")]
    said = mode[:, [HEADS["mode"].index(one) for one in sorted(BELIEVED)]].sum(axis=1)
    return (_probabilities(scores, "durable")[:, 0] * of_something * said).astype(np.float32)


def best(scores: Floats, head: str) -> list[str]:
    """The likeliest class of each sentence."""
    return [HEADS[head][at] for at in scores[:, _PLACES[head]].argmax(axis=1)]


def _probabilities(scores: Floats, head: str) -> Floats:
    mine = scores[:, _PLACES[head]]
    if len(HEADS[head]) == 1:
        return (1 / (1 + np.exp(-np.clip(mine, -30, 30)))).astype(np.float32)
    raised = np.exp(mine - mine.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@cache
def classifier() -> Classifier:
    """The weights that are shipped (`amemorix_bench.fit_statements` makes them)."""
    with files("amemorix.facts").joinpath("data", WEIGHTS_FILE).open("rb") as file, np.load(file) as data:
        sets = [
            Weights(
                np.concatenate([data[f"{name}_{part}"] * data[f"{name}_{part}_scale"] for part in ("dense", "words")]),
                data[f"{name}_bias"],
                float(data[f"{name}_least"]),
            )
            for name in ("vector", "words")
        ]
        return Classifier(str(data["model"]), *sets)

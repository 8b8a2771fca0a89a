"""The fitting of `facts/data/succession.json`: `python -m amemorix_bench.fit_succession [--write]`.

Pairs of an older and a later line of one person (`data/pairs.tsv`: label, language, their kinds, the lines) are the cases,
with pairs of lines that have nothing to do with each other, which is what most statements of a person are to a new one.
A multinomial logistic regression with a ridge (Hastie et al. 2009, section 4.4) is fitted by Adam (Kingma and Ba 2015) on
the vectors and words, and on the words alone; the figures and the thresholds are of folds.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import amemorix.facts
from amemorix.facts.classifier import BELIEVED
from amemorix.facts.succession import OUTCOMES, Said, features, said
from amemorix.language.normalise import tokens
from amemorix.models.local import catalog
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import installed

__all__ = ["Pair", "main", "read_pairs", "unrelated"]

RIDGE, STEPS, RATE = 0.003, 500, 0.05
FOLDS, SEEDS = 5, 3
UNRELATED, WEIGHT = 3_000, 0.2
"""Pairs of lines that have nothing to do with each other, and how much one counts."""
READ = 0.7
"""How often the kind of a line is what the classifier makes of it, and not the labelled one."""
MANY = frozenset({"possession", "preference", "habit", "skill", "plan", "health", "event", "opinion"})
"""Kinds of which two lines of different persons rarely speak of one matter."""
AMONG = 20
"""Of so many lines the one that shares most words with a line is put beside it: a person says much about few matters."""
OVER, DOUBT, REPEATS = 0.06, 0.3, 0.01
"""Share of the lines that stand beside each other that may be superseded, or doubted; of others taken for repetitions."""
OF_STRANGERS = (0.005, 0.02)
"""Share of unrelated chat lines that may be superseded, or doubted: a new line meets some hundred statements."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines of one person, the older first."""

    label: str
    kinds: tuple[str, str]
    old: str
    new: str


def read_pairs() -> list[Pair]:
    """The labelled pairs."""
    lines = files("amemorix_bench").joinpath("data", "pairs.tsv").read_text("utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [Pair(label, (before, after), old, new) for label, _, before, after, old, new in rows]


def unrelated(pairs: Sequence[Pair], rng: np.random.Generator) -> list[Pair]:
    """Lines of different pairs, put together: of other kinds, or of a kind of which a person has many matters."""
    found: list[Pair] = []
    for kind in (True, False):
        while len(found) < (UNRELATED / 3 if kind else UNRELATED):
            one, other = (pairs[i] for i in rng.integers(0, len(pairs), 2))
            same = one.kinds[0] == other.kinds[1]
            fits = one is not other and one.old.isascii() == other.new.isascii() and same == kind
            if fits and (not same or one.kinds[0] in MANY):
                found.append(Pair("apart", (one.kinds[0], other.kinds[1]), one.old, other.new))
    return found


def strangers(rng: np.random.Generator) -> list[Pair]:
    """Lines of chats that share words, of kinds of which a person has many matters, and have nothing to do with each other."""
    found: list[Pair] = []
    for language in ("zh", "en"):
        file = files("amemorix_bench").joinpath("data", "lines", f"{language}.tsv")
        rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
        lines = [(row[0], row[4], set(tokens(row[4]))) for row in rows if row[3] in BELIEVED and row[0] in MANY]
        for _ in range(UNRELATED // 2):
            kind, text, words = lines[rng.integers(len(lines))]
            others = (lines[i] for i in rng.integers(0, len(lines), AMONG))
            other = max((one for one in others if one[1] != text), key=lambda one: len(one[2] & words))
            found.append(Pair("apart", (kind, other[0]), text, other[1]))
    return found


def _table(pairs: Sequence[Pair], known: dict[str, Said], rng: np.random.Generator) -> tuple[list[str], Floats]:
    """(names, values) of the features of each pair."""
    rows: list[dict[str, float]] = []
    for pair in pairs:
        before, after = (kind if rng.random() >= READ else "" for kind in pair.kinds)
        rows.append(features(known[pair.old], known[pair.new], (before, after)))
    names = list(rows[0])
    return names, np.array([[float(row[name]) for name in names] for row in rows])


def _fitted(values: Floats, labels: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(weights, bias) for values as they are."""
    mean, scale = values.mean(0), values.std(0) + 1e-6
    rows = np.c_[(values - mean) / scale, np.ones(len(values))]
    ridge = np.full((rows.shape[1], 1), RIDGE)
    ridge[-1] = 0
    share = (weight / weight.sum())[:, None]
    found = np.zeros((rows.shape[1], labels.shape[1]))
    first = second = np.zeros_like(found)
    for step in range(1, STEPS + 1):
        slope = rows.T @ ((_softmax(rows @ found) - labels) * share) + ridge * found
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        found -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    weights = found[:-1] / scale[:, None]
    return weights, found[-1] - mean @ weights


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def _held_out(values: Floats, labels: Floats, weight: Floats) -> Floats:
    """The probabilities that folds give the cases that they leave out, on the average of several cuts into folds."""
    found = np.zeros_like(labels)
    for seed in range(SEEDS):
        fold = np.random.default_rng(seed).integers(0, FOLDS, len(values))
        for one in range(FOLDS):
            weights, bias = _fitted(values[fold != one], labels[fold != one], weight[fold != one])
            found[fold == one] += _softmax(values[fold == one] @ weights + bias) / SEEDS
    return found


def _least(chances: Floats, share: float) -> float:
    """The lowest threshold that at most this share of the chances reaches."""
    return math.ceil(100 * float(np.quantile(chances, 1 - share))) / 100


def _fit(name: str, known: dict[str, Said], model: str) -> dict[str, Any]:
    """One set of weights as the file holds it; prints how well folds do."""
    rng = np.random.default_rng(7)
    pairs = read_pairs()
    every = [*pairs, *unrelated(pairs, rng), *strangers(np.random.default_rng(7))]
    names, values = _table(every, known, rng)
    labels = np.eye(len(OUTCOMES))[[OUTCOMES.index(pair.label) for pair in every]]
    weight = np.r_[np.ones(len(pairs)), np.full(len(every) - len(pairs), WEIGHT)]
    chances = _held_out(values, labels, weight)
    label = np.array([pair.label for pair in every], object)
    label[len(pairs) :] = "unrelated"
    label[-UNRELATED:] = "stranger"
    concerned = np.array([pair.kinds[0] == pair.kinds[1] for pair in every]) | (values[:, names.index("shares")] > 0)
    over = chances[:, 2] + chances[:, 3]
    changed, apart = np.isin(label, ("replaces", "ends")), label == "apart"
    others = (label == "unrelated") & concerned
    limits = {
        name: max(_least(over[apart], share), _least(over[label == "stranger"], of_strangers))
        for name, share, of_strangers in zip(("over", "doubt"), (OVER, DOUBT), OF_STRANGERS, strict=True)
    } | {
        "repeats": max(0.5, _least(chances[label != "repeats", 1], REPEATS)),
    }  # fmt: skip
    right = (chances[: len(pairs)].argmax(1) == labels[: len(pairs)].argmax(1)).mean()
    print(f"{name} ({model}): {len(pairs)} pairs, {others.sum()} unrelated ones compared; outcome right {right:.2f}")
    for what in ("over", "doubt"):
        least = limits[what]
        shares = [
            (over[rows] >= least).mean() for rows in (changed, apart, label == "repeats", others, label == "stranger")
        ]
        print(f"  {what} from {least:.2f}: changed {shares[0]:.2f}, apart {shares[1]:.2f}, repeated {shares[2]:.2f}, "
              f"unrelated {shares[3]:.3f}, of chats {shares[4]:.3f}")  # fmt: skip
    found = chances[:, 1] >= limits["repeats"]
    shares = [found[rows].mean() for rows in (label == "repeats", changed | apart, others)]
    print(f"  repeats from {limits['repeats']:.2f}: repeated {shares[0]:.2f}, others {shares[1]:.3f}, unrelated {shares[2]:.3f}")  # fmt: skip
    weights, bias = _fitted(values, labels, weight)
    rounded = {key: [round(float(x), 4) for x in row] for key, row in zip(names, weights, strict=True)}
    return {**limits, "bias": [round(float(x), 4) for x in bias], "weights": rounded}


def main(argv: Iterable[str] | None = None) -> int:
    """Fit and print; with --write, into the package."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    asked = parser.parse_args(None if argv is None else list(argv))
    pairs = [*read_pairs(), *strangers(np.random.default_rng(7))]
    texts = sorted({text for pair in pairs for text in (pair.old, pair.new)})
    folder = installed(catalog.DEFAULT_MODEL)
    if folder is None:
        raise SystemExit(f"{catalog.DEFAULT_MODEL} is not installed.")
    embedder = LocalEmbedder(folder)
    vectors = embedder.embed(texts)
    model = embedder.info.model
    fitted = {
        "model": model,
        "vector": _fit("vector", {t: said(t, v) for t, v in zip(texts, vectors, strict=True)}, model),
        "words": _fit("words", {text: said(text) for text in texts}, "words alone"),
    }
    if asked.write:
        path = Path(amemorix.facts.__path__[0]) / "data" / "succession.json"
        path.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

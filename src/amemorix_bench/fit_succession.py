"""The fitting of `facts/data/succession.json`: `python -m amemorix_bench.fit_succession [--write]`.

Pairs of an older and a later line of one person (`data/pairs.tsv`: label, language, their kinds, the lines) are the cases,
with pairs of lines that have nothing to do with each other, which is what most statements of a person are to a new one, and
every two lines of persons who tell a lot in which nothing comes to an end (`data/talks.tsv`).
A multinomial logistic regression with a ridge (Hastie et al. 2009, section 4.4) is fitted by Adam (Kingma and Ba 2015) on
the vectors and words, and on the words alone; the figures and the thresholds are of folds.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import amemorix.facts
from amemorix.facts.classifier import BELIEVED
from amemorix.facts.language.slots import STATEMENT
from amemorix.facts.succession import OUTCOMES, Said, Statement, dense, features, may_concern, said
from amemorix.language.normalise import tokens
from amemorix.models.local import catalog
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import installed

__all__ = ["Pair", "main", "read_pairs", "unrelated"]

RIDGE, DENSE_RIDGE, STEPS, RATE = 0.01, 0.2, 300, 0.05
FOLDS, SEEDS = 5, 2
UNRELATED, WEIGHT = 3_000, 0.2
"""Pairs of lines that have nothing to do with each other, and how much one counts."""
READ = 0.7
"""How often the kind of a line is what the classifier makes of it, and not the labelled one."""
MANY = frozenset({"possession", "preference", "habit", "skill", "plan", "health", "event", "opinion"})
"""Kinds of which two lines of different persons rarely speak of one matter."""
AMONG = 20
"""Of so many lines the one that shares most words with a line is put beside it: a person says much about few matters."""
SHARES = {
    "over": {"apart": 0.06, "stranger": 0.005, "talk": 0.001},
    "doubt": {"apart": 0.3, "stranger": 0.02, "talk": 0.004},
    "found": {"apart": 0.55, "talk": 0.05},
}
BY_WORDS = {
    "over": {"apart": 0.06, "stranger": 0.005},
    "doubt": {"apart": 0.3, "stranger": 0.05},
    "found": {"apart": 0.5, "stranger": 0.1},
}
"""Share of the lines that stand beside each other, of unrelated chat lines, and of one person's talk in which nothing ends,
that may be superseded, doubted, or doubted where both are found for one question: a new line meets some hundred statements. Talk is for the vectors: by
words alone too little of a change is noticed."""
REPEATS = 0.01
"""Share of others that may be taken for repetitions."""
Floats = NDArray[np.float32]


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
    of_pairs = {line for pair in read_pairs() for line in (pair.old, pair.new)}
    for language in ("zh", "en"):
        file = files("amemorix_bench").joinpath("data", "lines", f"{language}.tsv")
        rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
        rows = [row for row in rows if row[4] not in of_pairs]
        lines = [(row[0], row[4], set(tokens(row[4]))) for row in rows if row[3] in BELIEVED and row[0] in MANY]
        for _ in range(UNRELATED // 2):
            kind, text, words = lines[rng.integers(len(lines))]
            others = (lines[i] for i in rng.integers(0, len(lines), AMONG))
            other = max((one for one in others if one[1] != text), key=lambda one: len(one[2] & words))
            found.append(Pair("apart", (kind, other[0]), text, other[1]))
    return found


def talks() -> list[tuple[Pair, str]]:
    """Every two lines of one person who tells a lot, and of nothing that has come to an end (`data/talks.tsv`), with who it is."""
    lines: dict[str, list[str]] = {}
    for row in files("amemorix_bench").joinpath("data", "talks.tsv").read_text("utf-8").splitlines():
        person, line = row.split("\t")
        lines.setdefault(person, []).append(line)
    return [
        (Pair("apart", ("", ""), old, new), person)
        for person, mine in lines.items()
        for old, new in permutations(mine, 2)
    ]


def _table(pairs: Sequence[Pair], known: dict[str, Said], rng: np.random.Generator) -> tuple[list[str], Floats, Floats]:
    """(names, named values, values of the vectors) of each pair."""
    asked: list[tuple[Said, Said, tuple[str, str]]] = []
    for pair in pairs:
        before, after = (kind if rng.random() >= READ else "" for kind in pair.kinds)
        asked.append((known[pair.old], known[pair.new], (before, after)))
    rows = [features(*one) for one in asked]
    names = list(rows[0])
    named = np.array([[float(row[name]) for name in names] for row in rows], np.float32)
    has_vectors = asked[0][0].vector is not None
    return names, named, dense(asked) if has_vectors else np.zeros((len(rows), 0), np.float32)


def _fitted(values: Floats, ridge: Floats, labels: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(weights, bias) for values as they are."""
    mean, scale = values.mean(0), values.std(0) + 1e-6
    rows = np.c_[(values - mean) / scale, np.ones(len(values), np.float32)]
    held = np.append(ridge, 0).astype(np.float32)[:, None]
    share = (weight / weight.sum()).astype(np.float32)[:, None]
    found = np.zeros((rows.shape[1], labels.shape[1]), np.float32)
    first = second = np.zeros_like(found)
    for step in range(1, STEPS + 1):
        slope = rows.T @ ((_softmax(rows @ found) - labels) * share) + held * found
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        found = found - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    weights = found[:-1] / scale[:, None]
    return weights, found[-1] - mean @ weights


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def _held_out(values: Floats, ridge: Floats, labels: Floats, weight: Floats, group: NDArray[np.int64]) -> Floats:
    """The probabilities that folds give the cases that they leave out, on the average of several cuts into folds; a group
    is left out as a whole."""
    found = np.zeros_like(labels)
    for seed in range(SEEDS):
        fold = np.random.default_rng(seed).integers(0, FOLDS, group.max() + 1)[group]
        for one in range(FOLDS):
            learnt = fold != one
            weights, bias = _fitted(values[learnt], ridge, labels[learnt], weight[learnt])
            found[~learnt] += _softmax(values[~learnt] @ weights + bias) / SEEDS
    return found


def _least(chances: Floats, share: float) -> float:
    """The lowest threshold that at most this share of the chances reaches."""
    return math.ceil(100 * float(np.quantile(chances, 1 - share))) / 100


def _fit(name: str, known: dict[str, Said], model: str) -> dict[str, Any]:
    """One set of weights as the file holds it; prints how well folds do."""
    rng = np.random.default_rng(7)
    pairs, shares = read_pairs(), SHARES
    if any(one.vector is None for one in known.values()):  # words alone cannot learn what no word tells
        pairs, shares = [pair for pair in pairs if pair.label in ("apart", "repeats") or _tells(pair, known)], BY_WORDS
    of_chats = [*unrelated(pairs, rng), *strangers(np.random.default_rng(7))]
    told = [(one, person) for one, person in talks() if shares is SHARES and _is_compared(one, known)]
    every = [*pairs, *of_chats, *(one for one, _ in told)]
    persons = {person: len(every) + place for place, person in enumerate(sorted({person for _, person in told}))}
    group = np.array([*range(len(every) - len(told)), *(persons[person] for _, person in told)])
    names, named, vectors = _table(every, known, rng)
    values, ridge = np.c_[named, vectors], np.r_[np.full(len(names), RIDGE), np.full(vectors.shape[1], DENSE_RIDGE)]
    labels = np.eye(len(OUTCOMES), dtype=np.float32)[[OUTCOMES.index(pair.label) for pair in every]]
    weight = np.r_[np.ones(len(pairs)), np.full(len(every) - len(pairs), WEIGHT)]
    chances = _held_out(values, ridge, labels, weight, group)
    label = np.array([pair.label for pair in every], object)
    label[len(pairs) :] = "unrelated"
    label[len(pairs) + len(of_chats) - UNRELATED // 2 * 2 :] = "stranger"
    label[len(every) - len(told) :] = "talk"
    concerned = np.array([pair.kinds[0] == pair.kinds[1] for pair in every]) | (named[:, names.index("shares")] > 0)
    over = chances[:, 2] + chances[:, 3]
    changed, apart = np.isin(label, ("replaces", "ends")), label == "apart"
    others = (label == "unrelated") & concerned
    limits = {
        what: max(_least(over[label == of], share) for of, share in least.items()) for what, least in shares.items()
    } | {"repeats": max(0.5, _least(chances[label != "repeats", 1], REPEATS))}
    right = (chances[: len(pairs)].argmax(1) == labels[: len(pairs)].argmax(1)).mean()
    print(f"{name} ({model}): {len(pairs)} pairs, {others.sum()} unrelated ones compared; outcome right {right:.2f}")
    for what in SHARES:
        least = limits[what]
        found = [
            (over[rows] >= least).mean()
            for rows in (changed, apart, label == "repeats", others, label == "stranger", label == "talk")
            if rows.any()
        ]
        print(f"  {what} from {least:.2f}: changed {found[0]:.2f}, apart {found[1]:.2f}, repeated {found[2]:.2f}, "
              f"unrelated {found[3]:.3f}, of chats {found[4]:.3f}{', of talk ' * bool(told)}{'/'.join(f'{one:.4f}' for one in found[5:])}")  # fmt: skip
    again = chances[:, 1] >= limits["repeats"]
    found = [again[rows].mean() for rows in (label == "repeats", changed | apart, others)]
    print(f"  repeats from {limits['repeats']:.2f}: repeated {found[0]:.2f}, others {found[1]:.3f}, unrelated {found[2]:.3f}")  # fmt: skip
    weights, bias = _fitted(values, ridge, labels, weight)
    rounded = {key: [round(float(x), 4) for x in row] for key, row in zip(names, weights, strict=False)}
    fitted = {**limits, "bias": [round(float(x), 4) for x in bias], "weights": rounded}
    if vectors.shape[1]:
        scale = float(np.abs(weights[len(names) :]).max()) / 127
        fitted |= {"scale": scale, "dense": np.rint(weights[len(names) :] / scale).astype(int).tolist()}
    return fitted


def _tells(pair: Pair, known: dict[str, Said]) -> bool:
    """Whether a word or a number of the later line tells of the change."""
    found = features(known[pair.old], known[pair.new], pair.kinds)
    return not found["no_cue"] or bool(found["is_change"] or found["numbers_differ"])


def _is_compared(pair: Pair, known: dict[str, Said]) -> bool:
    old, new = (Statement((STATEMENT, text, 1), text) for text in (pair.old, pair.new))
    return may_concern(new, known[pair.new], old, known[pair.old])


def _worded(fitted: dict[str, Any]) -> str:
    """The file, one line for each row of weights."""
    text = json.dumps(fitted, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda row: " ".join(row[0].split()), text) + "\n"


def main(argv: Iterable[str] | None = None) -> int:
    """Fit and print; with --write, into the package."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    asked = parser.parse_args(None if argv is None else list(argv))
    pairs = [*read_pairs(), *strangers(np.random.default_rng(7)), *(pair for pair, _ in talks())]
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
        path.write_text(_worded(fitted), "utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The fitting of `facts/data/statements.npz`: `python -m amemorix_bench.fit_statements [--write]`.

Lines that people type (`data/lines`), labelled by hand, are judged by logistic regressions (one for `durable`, multinomial
ones for kind, about and mode), on the sentence vector of the default local model with hashed words, and on words alone. The
figures are of five folds; the thresholds are the least that reach the precision aimed at there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from amemorix.facts.classifier import BELIEVED, BUCKETS, HEADS, WEIGHTS_FILE, best, buckets, earnest
from amemorix.models.cache import cache_dir
from amemorix.models.local import catalog
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import installed

__all__ = ["Line", "Lines", "fit", "main", "read_lines"]

FOLDS = 5
STEPS, RATE = 150, 0.08
SETTINGS = {"vector": (8.0, 4.0, 2e-4, 0.93), "words": (0.0, 4.0, 1e-3, 0.905)}
"""Set -> (scale of the vector, scale of the words, ridge, precision aimed at)."""
NOT_SO = 2.0
"""A joke, a wish or hearsay counts for so many lines: none of them should be believed."""
LEVELS = 15
"""Weights are kept as whole numbers from -LEVELS to LEVELS, so that the file is small."""
Floats = NDArray[np.float32]
_NOT_SO = np.array([one in ("joke", "wish", "hearsay", "hypothetical") for one in HEADS["mode"]], np.float32)


@dataclass(frozen=True, slots=True)
class Line:
    """A labelled line."""

    language: str
    kind: str
    durable: str
    about: str
    mode: str
    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines with their labels as (lines, classes) of all heads."""

    rows: list[Line]
    labels: Floats

    @property
    def durable(self) -> NDArray[np.bool_]:
        """Which of them are."""
        return self.labels[:, 0] > 0


def read_lines() -> Lines:
    """Every labelled line."""
    rows: list[Line] = []
    for language in ("zh", "en", "other"):
        text = files("amemorix_bench").joinpath("data", "lines", f"{language}.tsv").read_text("utf-8")
        rows += [Line(language, *line.split("\t")) for line in text.splitlines() if line]
    labels = [
        [float(row.durable == "1"), *(float(getattr(row, head) == one) for head in list(HEADS)[1:] for one in HEADS[head])]
        for row in rows
    ]  # fmt: skip
    return Lines(rows, np.array(labels, np.float32))


def features(rows: list[Line], vectors: Floats, vector_scale: float, word_scale: float) -> Floats:
    """(lines, dimension + BUCKETS), or of words alone where the vector has no scale."""
    words = np.zeros((len(rows), BUCKETS), np.float32)
    for at, row in enumerate(rows):
        ids = buckets(row.text)
        words[at, ids] = word_scale / np.sqrt(len(ids))
    return np.hstack([vectors * vector_scale, words]) if vector_scale else words


def fit(values: Floats, labels: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Weights and biases of all heads at once (Adam on all lines; Kingma & Ba 2015)."""
    counted = np.where(labels[:, -len(HEADS["mode"]) :] @ _NOT_SO > 0, np.float32(NOT_SO), np.float32(1.0))[:, None]
    counted *= np.float32(1 / len(values))
    weights, bias = np.zeros((values.shape[1], labels.shape[1]), np.float32), np.zeros(labels.shape[1], np.float32)
    moments = [np.zeros_like(part) for part in (weights, weights, bias, bias)]
    for step in range(1, STEPS + 1):
        error = (_probabilities(values @ weights + bias) - labels) * counted
        rate = RATE * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
        for part, slope, m, v in (
            (weights, values.T @ error + np.float32(ridge) * weights, *moments[:2]),
            (bias, error.sum(axis=0), *moments[2:]),
        ):
            m += np.float32(0.1) * (slope - m)
            v += np.float32(0.001) * (slope**2 - v)
            part -= np.float32(rate) * m / (np.sqrt(v) + np.float32(1e-8))
    return weights, bias


def _probabilities(scores: Floats) -> Floats:
    found = np.empty_like(scores)
    start = 0
    for classes in HEADS.values():
        mine = scores[:, start : start + len(classes)]
        if len(classes) == 1:
            found[:, start : start + 1] = 1 / (1 + np.exp(-np.clip(mine, -30, 30)))
        else:
            raised = np.exp(mine - mine.max(axis=1, keepdims=True))
            found[:, start : start + len(classes)] = raised / raised.sum(axis=1, keepdims=True)
        start += len(classes)
    return found


def cross_validated(values: Floats, labels: Floats, ridge: float) -> Floats:
    """The scores (log-odds) that folds without a line give it."""
    fold = np.random.default_rng(0).integers(0, FOLDS, len(values))
    found = np.zeros_like(labels)
    for one in range(FOLDS):
        weights, bias = fit(values[fold != one], labels[fold != one], ridge)
        weights = np.concatenate([whole * scale for whole, scale in quantised(weights)])
        found[fold == one] = values[fold == one] @ weights + bias
    return found


def quantised(weights: Floats) -> list[tuple[NDArray[np.int8], Floats]]:
    """Whole numbers and the scale of each class: of the vector's weights, which may be none, and of the words'."""
    parts: list[tuple[NDArray[np.int8], Floats]] = []
    for part in (weights[:-BUCKETS], weights[-BUCKETS:]):
        scale = np.maximum(np.abs(part).max(axis=0, initial=0), 1e-9) / LEVELS
        parts.append((np.rint(part / scale).astype(np.int8), scale.astype(np.float32)))
    return parts


def threshold(found: Floats, lines: Lines, aim: float) -> float:
    """The least probability from which on the kept lines are durable with this precision."""
    probability = np.where(believed(found), earnest(found), 0)
    order = np.argsort(-probability)
    precise = np.cumsum(lines.durable[order]) / np.arange(1, len(order) + 1)
    return float(probability[order[np.flatnonzero(precise >= aim)[-1]]])


def believed(found: Floats) -> NDArray[np.bool_]:
    """The lines whose likeliest mode says that something is so."""
    return np.isin(best(found, "mode"), list(BELIEVED))


def report(found: Floats, lines: Lines, least: float) -> Iterator[str]:
    """Lines about what the folds found."""
    kept = believed(found) & (earnest(found) >= least)
    languages = np.array([row.language for row in lines.rows])
    for language in ("all", "zh", "en", "other"):
        mine = np.ones(len(kept), bool) if language == "all" else languages == language
        right = (kept & lines.durable & mine).sum()
        yield f"  {language}: recall {right / (lines.durable & mine).sum():.3f}, precision {right / (kept & mine).sum():.3f}"
    for head in list(HEADS)[1:]:
        same = np.array(best(found, head)) == [getattr(row, head) for row in lines.rows]
        yield f"  {head}: {same.mean():.3f} right, of durable lines {same[lines.durable].mean():.3f}"
    for mode in HEADS["mode"]:
        mine = np.array([row.mode == mode for row in lines.rows])
        yield f"  kept of {mode}: {(kept & mine).sum()} of {mine.sum()}"


def main() -> None:
    """Fit both sets, print the figures, and with `--write` put the weights into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = installed(catalog.DEFAULT_MODEL, cache_dir())
    if folder is None:
        raise SystemExit("The default local model is not installed: amemorix models install")
    lines, embedder = read_lines(), LocalEmbedder(folder)
    vectors = embedder.embed([row.text for row in lines.rows])
    print(f"{len(lines.rows)} lines, {int(lines.durable.sum())} durable")
    kept: dict[str, NDArray[np.generic]] = {"model": np.array(catalog.DEFAULT_MODEL.name)}
    for name, (vector_scale, word_scale, ridge, aim) in SETTINGS.items():
        values = features(lines.rows, vectors, vector_scale, word_scale)
        found = cross_validated(values, lines.labels, ridge)
        least = threshold(found, lines, aim)
        print(f"{name}: threshold {least:.3f}")
        print("\n".join(report(found, lines, least)))
        weights, bias = fit(values, lines.labels, ridge)
        kept |= {f"{name}_bias": bias, f"{name}_least": np.array(least, np.float32)}
        for part, size, (whole, scale) in zip(
            ("dense", "words"), (vector_scale, word_scale), quantised(weights), strict=True
        ):
            kept |= {f"{name}_{part}": whole, f"{name}_{part}_scale": scale * np.float32(size)}
    if options.write:
        path = Path(str(files("amemorix.facts").joinpath("data", WEIGHTS_FILE)))
        np.savez_compressed(path, **kept)  # pyright: ignore[reportArgumentType]
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

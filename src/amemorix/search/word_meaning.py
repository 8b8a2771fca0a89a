"""Likeness of Chinese texts by the vectors of their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models.glosses.table import GlossTable
from ..ports import CODE_SCALE

__all__ = ["Likeness", "likeness"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Per text, each a cosine; NaN for a text without Chinese words."""

    mean: Floats
    """Of the two weighted means."""
    found: Floats
    """Weighted mean over the query's words of the nearest word in the text."""
    told: Floats
    """Weighted mean over the text's words of the nearest word in the query."""


def likeness(glosses: GlossTable, query: str, texts: Sequence[str]) -> Likeness:
    """How near each text is to the query, which has at least one Chinese word with a vector."""
    asked = glosses.content(query)
    words = [glosses.content(text) for text in texts]
    lengths = np.array([len(ids) for ids in words])
    some = np.flatnonzero(lengths)
    mean, found, told = (np.full(len(texts), np.nan, np.float32) for _ in range(3))
    if len(some):
        flat = np.concatenate(words)
        starts = (np.cumsum(lengths) - lengths)[some]
        weights, vectors = glosses.weights[flat], _unit(glosses, flat)
        near = _unit(glosses, asked) @ vectors.T
        mine = glosses.weights[asked] / glosses.weights[asked].sum()
        found[some] = mine @ np.maximum.reduceat(near, starts, axis=1)
        total = np.add.reduceat(weights, starts)
        told[some] = np.add.reduceat(near.max(axis=0) * weights, starts) / total
        sums = np.add.reduceat(vectors * weights[:, None], starts)
        mean[some] = sums @ glosses.mean(asked) / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)
    return Likeness(mean, found, told)


def _unit(glosses: GlossTable, ids: NDArray[np.int32]) -> Floats:
    return glosses.vectors[ids].astype(np.float32) / np.float32(CODE_SCALE)

"""Late interaction: each word of the query finds its nearest word in a text (Khattab and Zaharia 2020, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..indexes.vectors.codec import SMALL_PRODUCT
from ..ports import CODE_SCALE, Encoded

__all__ = ["best_matches"]


def best_matches(query: Encoded, texts: Sequence[int], codes: Mapping[int, bytes]) -> NDArray[np.float32]:
    """The cosine of each query token with its nearest token in each text, shape (texts, query tokens), in 0..1.

    `codes` holds token vectors by text, one byte a number; a text without any matches nothing.
    """
    width = query.tokens.shape[1]
    held = [codes.get(text, b"") for text in texts]
    lengths = np.array([len(tokens) for tokens in held]) // width
    matches = np.zeros((len(texts), len(query.tokens)), np.float32)
    some = np.flatnonzero(lengths)
    if len(some):
        tokens = np.frombuffer(b"".join(held), np.int8).reshape(-1, width)
        words = _products(tokens, query.tokens.T.astype(np.float32))
        starts = (np.cumsum(lengths) - lengths)[some]
        matches[some] = np.maximum.reduceat(words, starts, axis=0) / CODE_SCALE**2
    return np.clip(matches, 0.0, 1.0)


def _products(tokens: NDArray[np.int8], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """`tokens @ query`, a few rows at a time."""
    rows = max(1, SMALL_PRODUCT // query.size)
    parts = [tokens[at : at + rows].astype(np.float32) @ query for at in range(0, len(tokens), rows)]
    return np.concatenate(parts)

"""Which tokens of a text late interaction compares, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...language.normalise import STOP_WORDS
from ...ports import CODE_SCALE

__all__ = ["TokenChoice", "to_codes"]

_COMMONEST = 900
"""Word pieces up to here are marks, letters and placeholders; beyond, the vocabulary goes from common to rare."""


class TokenChoice:
    """Content tokens of a WordPiece vocabulary: words and numbers, but no stop-words.

    A token's weight grows with the logarithm of its place in the vocabulary, which is ordered by frequency.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        size = max(vocabulary.values(), default=0) + 1
        self._content = np.zeros(size, np.bool_)
        for piece, token in vocabulary.items():
            self._content[token] = piece.removeprefix("##").isalnum() and piece not in STOP_WORDS
        self._weights = np.log(np.maximum(np.arange(size) - _COMMONEST, 2)).astype(np.float32)

    def places(self, tokens: Sequence[int]) -> NDArray[np.intp]:
        """Where the content tokens stand; those between the first and the last mark if there are none."""
        found = np.flatnonzero(self._content[np.asarray(tokens, np.intp)])
        return found if len(found) else np.arange(1, max(len(tokens) - 1, 1))

    def weights(self, tokens: NDArray[np.intp]) -> NDArray[np.float32]:
        """The tokens' weights, with the sum 1."""
        weights = self._weights[tokens]
        return weights / max(float(weights.sum()), 1e-9)


def to_codes(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Unit vectors as bytes, shape unchanged."""
    return np.rint(vectors * CODE_SCALE).astype(np.int8)

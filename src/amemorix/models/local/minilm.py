"""all-MiniLM-L6-v2: word pieces in, a sentence vector and token vectors out of one graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language.normalise import STOP_WORDS, is_mostly_cjk
from .bert_onnx import WORDS, int8_graph, last_hidden, sample
from .catalog import LocalModel

__all__ = ["MiniLM", "convert"]

TOKEN_DIMENSION = 64
"""Numbers kept of each token vector: late interaction loses nothing that can be measured (PCA, from 384)."""
_SHORT_TEXTS, _SHORT_TOKENS = 600, 10
_COMMONEST = 900
"""Word pieces up to here are marks, letters and placeholders; beyond, the vocabulary goes from common to rare."""


def convert(weights: Path, graph: Path, model: LocalModel) -> None:
    """Write `weights` (safetensors) as an int8 graph, whose `tokens` lie along the principal directions of token vectors.

    Those are measured on short texts of tokens from all over the vocabulary: directions of real sentences do no better.
    """
    import onnx
    from safetensors.numpy import load_file

    full = load_file(weights)
    table = full[WORDS]
    layers = {name: weight for name, weight in full.items() if name != WORDS}
    states = last_hidden(layers, table[sample(len(table), _SHORT_TEXTS, _SHORT_TOKENS)], heads=model.heads)
    states = states.reshape(-1, states.shape[-1])
    states = states / np.linalg.norm(states, axis=1, keepdims=True)
    directions = np.linalg.svd(states, full_matrices=False)[2][:TOKEN_DIMENSION].T.copy()
    made = int8_graph(full, table[sample(len(table))], heads=model.heads, directions=directions)
    onnx.save(made, graph)


class MiniLM:
    """The tokens of a text and their weights.

    A weight grows with the logarithm of the token's place in the vocabulary, which is ordered by frequency.
    """

    states = "tokens"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        vocabulary = self._tokenizer.get_vocab()
        ranks = np.arange(max(vocabulary.values(), default=0) + 1)
        self.weights: NDArray[np.float32] = np.log(np.maximum(ranks - _COMMONEST, 2)).astype(np.float32)
        for piece, token in vocabulary.items():
            if not piece.removeprefix("##").isalnum() or piece in STOP_WORDS:
                self.weights[token] *= -1

    def reads(self, text: str) -> bool:
        """English and what else is written in words; no Chinese, Japanese or Korean."""
        return not is_mostly_cjk(text)

    def cut(self, text: str, *, query: bool) -> list[int]:  # noqa: ARG002
        return self._tokenizer.encode(text).ids

    def before(self, *, query: bool) -> int:  # noqa: ARG002
        return 1

    def feed(self, ids: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        return {"input_ids": ids}

    def finished(
        self,
        vectors: NDArray[np.float32],
        *,
        query: bool,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        return vectors

    def token_vectors(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        return states

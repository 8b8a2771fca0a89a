"""Embedding in which one bad text does not take its batch with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ..errors import ModelUnavailable
from ..ports import Embedder, Encoded, TokenEmbedder

__all__ = ["Outcome", "embed_each", "encode"]

Outcome = Encoded | ModelUnavailable


def encode(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> list[Encoded]:
    """Each text encoded, as a query or as what queries find, without token vectors if the model gives none. Raises
    ModelUnavailable."""
    if embedder.info.token_dimension:
        return cast(TokenEmbedder, embedder).encode(texts, query=query)
    none, nothing = np.zeros((0, 0), np.int8), np.zeros(0, np.float32)
    return [Encoded(vector, none, nothing) for vector in embedder.embed(texts)]


def embed_each(embedder: Embedder, texts: Sequence[str]) -> list[Outcome]:
    """Each text encoded, or the error that it alone met.

    A failed batch is tried again without the texts that the error names in `details["failed"]`, or else in halves
    down to single texts. An error with `details["endpoint_down"]` is raised at once: no text is to blame for it.
    """
    if not texts:
        return []
    try:
        return list(encode(embedder, texts))
    except ModelUnavailable as exc:
        if exc.details.get("endpoint_down"):
            raise
        if len(texts) == 1:
            return [exc]
        error = exc
    failed = {row for row in error.details.get("failed", []) if 0 <= row < len(texts)}
    if not failed:
        half = len(texts) // 2
        return embed_each(embedder, texts[:half]) + embed_each(embedder, texts[half:])
    rest = iter(embed_each(embedder, [text for row, text in enumerate(texts) if row not in failed]))
    return [error if row in failed else next(rest) for row in range(len(texts))]

"""Embedding in which one bad text does not take its batch with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelUnavailable
from ..ports import Embedder

__all__ = ["Outcome", "embed_each"]

Outcome = NDArray[np.float32] | ModelUnavailable


def embed_each(embedder: Embedder, texts: Sequence[str]) -> list[Outcome]:
    """For each text its unit vector, shape (dimension,), or the error that it alone met.

    A failed batch is tried again without the texts that the error names in `details["failed"]`, or else in halves
    down to single texts. An error with `details["endpoint_down"]` is raised at once: no text is to blame for it.
    """
    if not texts:
        return []
    try:
        return list(embedder.embed(texts))
    except ModelUnavailable as exc:
        if exc.details.get("endpoint_down"):
            raise
        if len(texts) == 1:
            return [exc]
        return _without_failed(embedder, texts, exc)


def _without_failed(embedder: Embedder, texts: Sequence[str], error: ModelUnavailable) -> list[Outcome]:
    failed = {row for row in error.details.get("failed", []) if 0 <= row < len(texts)}
    if not failed:
        half = len(texts) // 2
        return embed_each(embedder, texts[:half]) + embed_each(embedder, texts[half:])
    rest = iter(embed_each(embedder, [text for row, text in enumerate(texts) if row not in failed]))
    return [error if row in failed else next(rest) for row in range(len(texts))]

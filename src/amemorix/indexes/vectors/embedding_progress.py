"""The filling of a generation of vectors, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass

from ...ports import Embedder
from ...store.rows.embeddings import Generation

__all__ = ["EmbeddingProgress", "Filling"]


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How far the vectors are."""

    state: str = "off"
    """`off`, `idle`, `embedding` or `rebuilding`."""
    provider: str = ""
    model: str = ""
    dimension: int = 0
    generation: int = 0
    serving_generation: int = 0
    done: int = 0
    pending: int = 0
    failed: int = 0
    """It counts paragraphs, as `done` and `pending` do; relations show in `state` alone."""
    rate: float = 0.0
    """Texts per second over the last batches."""
    error: str = ""


@dataclass(slots=True)
class Filling:
    """The generation being filled, and below which id nothing is missing."""

    embedder: Embedder
    generation: Generation
    watermark: int = 0
    noted: int = 0
    retry_from: float = 0.0
    pause: float = 0.0
    done: int = 0
    rate: float = 0.0
    error: str = ""
    claimed: bool = False
    reopened: int = 0
    """How often paragraphs below the watermark have come back."""

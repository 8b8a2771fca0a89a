"""One search, resolved: nothing in it has to be looked up or checked again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, tzinfo

import numpy as np
from numpy.typing import NDArray

from ..config.model import Retrieval
from ..models.glosses.table import GlossTable
from ..ports import Encoded
from .query import Query

__all__ = ["SearchPlan", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, both ends included, in epoch seconds."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What to look for, and where."""

    query: Query | None
    limit: int
    settings: Retrieval
    now: float
    scopes: tuple[int, ...] | None = None
    """Scope rows that may be seen; None means all of them, empty means none."""
    window: Window | None = None
    persons: tuple[int, ...] | None = None
    """Only what is bound to one of these persons; empty means nobody matched."""
    sources: tuple[int, ...] | None = None
    """Only what these sources hold; empty means that there is none of that name."""
    encoded: Encoded | None = None
    """The query's vectors, None if there is no model or it did not answer in time."""
    generation: int = 0
    """The generation whose token vectors the query compares to."""
    min_score: float = 0.0
    half_life: float = math.inf
    """Seconds after which half of a paragraph is left."""
    glosses: GlossTable | None = None
    """Vectors of Chinese words, None if there are none or the model does not need them."""
    as_of: float | None = None
    """Only what the memory held at that time, and what had happened by then."""
    zone: tzinfo = UTC
    """In which times are shown."""
    hidden: NDArray[np.int64] | None = None
    """Sorted ids of paragraphs that count as not stored."""

"""What the memory held at another time: paragraphs that are still current, and wordings that no longer are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ports import Connection
from ..queries import array, optional_array
from .paragraphs import ParagraphRow

__all__ = ["Revision"]


@dataclass(frozen=True, slots=True)
class Revision:
    """A wording that was current then; `terms` is its term blob."""

    id: int
    event_start: float | None
    terms: bytes


def current(db: Connection, as_of: float, scopes: Sequence[int] | None) -> NDArray[np.int64]:
    """Sorted ids of the current paragraphs that were recorded by then and had happened by then."""
    name = "paragraphs_as_of" if scopes is None else "paragraphs_as_of_scoped"
    found = db.run(name, as_of=as_of, scopes=optional_array(scopes)).fetchone()[0]
    return np.sort(np.array([int(id_) for id_ in found.split(",")] if found else [], np.int64))


def replaced(db: Connection, as_of: float, scopes: Sequence[int] | None, now: float, limit: int) -> list[Revision]:
    """Wordings that were current then and have been replaced since, the newest first."""
    values = {"as_of": as_of, "scopes": optional_array(scopes), "now": now, "limit": limit}
    return [Revision(*row) for row in db.run("revisions_as_of", **values)]


def full(db: Connection, ids: Iterable[int]) -> dict[int, ParagraphRow]:
    """Paragraph -> row, of replaced wordings too."""
    return {row[0]: ParagraphRow(*row) for row in db.run("revisions_full", ids=array(ids))}

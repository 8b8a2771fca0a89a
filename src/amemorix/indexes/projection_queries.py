"""Which rows each index is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..store import changes as change_log
from ..store.ports import Connection
from .graph.store import EdgeRow
from .name_directory import PersonRow
from .sparse.bm25 import TermRow
from .vectors.store import VectorRow

__all__ = ["Feed", "edges", "persons", "relation_vectors", "terms", "vectors"]


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows of one index: their kinds in the change log, and how to read all of them or some."""

    kinds: tuple[str, ...]
    query: str
    make: Callable[..., Any]
    values: tuple[tuple[str, Any], ...] = ()
    usable: Callable[[Any], bool] | None = None
    """Rows that are not are passed over, so that one that was damaged takes no others with it; a check tells of them."""

    def rows(self, db: Connection) -> Iterator[Any]:
        """Every row that the index should hold."""
        made = (self.make(*row) for row in change_log.rows(db, self.query, **dict(self.values)))
        return filter(self.usable, made) if self.usable else made

    def rows_of(self, db: Connection, ids: Iterable[int]) -> Sequence[Any]:
        """Those of the ids that the index should hold."""
        made = [self.make(*row) for row in change_log.rows_of(db, f"{self.query}_of", ids, **dict(self.values))]
        return [*filter(self.usable, made)] if self.usable else made


def terms() -> Feed:
    """Term blobs of live paragraphs."""
    return Feed(("paragraph",), "term_rows", TermRow)


def vectors(generation: int, dimension: int) -> Feed:
    """Vectors of live paragraphs, of one generation."""
    values = (("generation", generation),)
    return Feed(("paragraph", "embedding"), "vector_rows", VectorRow, values, partial(_is_vector, dimension))


def relation_vectors(generation: int, dimension: int) -> Feed:
    """Vectors of live relations, of one generation."""
    values, usable = (("generation", generation),), partial(_is_vector, dimension)
    return Feed(("relation", "relation_embedding"), "relation_vector_rows", VectorRow, values, usable)


def edges() -> Feed:
    """Relations that a live paragraph supports."""
    return Feed(("relation",), "edge_rows", EdgeRow)


def persons() -> Feed:
    """Persons with their names and the chats they were met in."""
    return Feed(("person",), "person_rows", _person)


def _is_vector(dimension: int, row: VectorRow) -> bool:
    return len(row.vector) == 2 * dimension and bool(np.isfinite(np.frombuffer(row.vector, "<f2")).all())


def _person(row: int, person_id: str, name: str, names: str) -> PersonRow:
    met: dict[str, set[int]] = {}
    for chat, called in json.loads(names):
        met.setdefault(called, set()).add(chat)
    return PersonRow(row, person_id, name, tuple((called, frozenset(chats)) for called, chats in met.items()))

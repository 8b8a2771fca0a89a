"""Vectors that callers bring: stored as rows, compared exactly with a query by cosine."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRequest, NotFound
from ..ingest.documents import has_values
from ..store.ports import Connection
from ..store.queries import array

__all__ = ["NewVector", "Space", "VectorSpaces", "given_back", "refuse_other_dimension", "unit_of"]

PAGE = 500
"""Rows that are looked at for what is asked of them; eight times as many each time that is not enough."""
CACHE_BYTES = 256 << 20
"""Vectors kept in memory, four bytes a number; those of the space that was searched last are always."""
Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Space:
    """A space; the dimension is None until it has a vector."""

    row: int
    name: str
    dimension: int | None


@dataclass(frozen=True, slots=True)
class NewVector:
    """A vector to store, of a document or of none."""

    id: str
    vector: bytes
    magnitude: float
    attributes: str = "{}"
    expires_at: float | None = None
    ref: int | None = None


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The vectors of a space in the order of their rows, also of those that are gone since.

    They are in blocks, each more than twice as large as the next: one that is added does not copy all of them.
    """

    blocks: tuple[tuple[Rows, Floats], ...] = ()

    @property
    def last(self) -> int:
        """The highest row."""
        return int(self.blocks[-1][0][-1]) if self.blocks else 0

    @property
    def bytes(self) -> int:
        return sum(vectors.nbytes for _, vectors in self.blocks)

    def with_more(self, found: Sequence[tuple[int, bytes]], dimension: int) -> _Matrix:
        """With further rows, all of them higher. What has another length was damaged, and is left out."""
        whole = [(row, vector) for row, vector in found if len(vector) == 2 * dimension]
        if not whole:
            return self
        vectors = np.frombuffer(b"".join(vector for _, vector in whole), "<f2").reshape(-1, dimension)
        blocks = [*self.blocks, (np.array([row for row, _ in whole], np.int64), vectors.astype(np.float32))]
        while len(blocks) > 1 and len(blocks[-2][0]) <= 2 * len(blocks[-1][0]):
            (rows, vectors), (more_rows, more_vectors) = blocks[-2:]
            blocks[-2:] = [(np.concatenate([rows, more_rows]), np.concatenate([vectors, more_vectors]))]
        return _Matrix(tuple(blocks))

    def cosines(self, query: Floats) -> tuple[Rows, Floats]:
        """Every row with its cosine; the query has length 1 or is zero."""
        if not self.blocks:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores = np.concatenate([vectors @ query for _, vectors in self.blocks])
        return np.concatenate([rows for rows, _ in self.blocks]), np.clip(scores, -1.0, 1.0)


class VectorSpaces:
    """The spaces of a memory. Rows decide what is shown: the vectors kept in memory only name candidates."""

    def __init__(self) -> None:
        self._matrices: dict[int, _Matrix] = {}
        """By the row of their space, the one that was searched last at the end."""
        self._lock = threading.Lock()

    def named(self, db: Connection, name: str) -> Space:
        """Raises NotFound."""
        row = db.run("space_named", name=name).fetchone()
        if row is None:
            raise NotFound(f"space: there is no space {name!r}.", field="space")
        return Space(row[0], name, row[1])

    def get_or_create(
        self, db: Connection, name: str, dimension: int | None, now: float, *, replace_empty: bool = False
    ) -> tuple[Space, bool]:
        """The space of a name, and whether it is new.

        One without a dimension gets this one; with `replace_empty` so does one that shows no vector, and what is hidden
        in it is deleted.
        """
        row = db.run("space_named", name=name).fetchone()
        if row is not None:
            space = Space(row[0], name, row[1])
            fixed = space.dimension is not None and not replace_empty
            if dimension in (None, space.dimension) or fixed or any(True for _ in self.listed(db, space, {}, now)):
                return space, False
            self.drop(db, space)
        id_ = db.run("space_insert", name=name, dimension=dimension, now=now).fetchone()[0]
        return Space(id_, name, dimension), row is None

    def add(self, db: Connection, space: Space, vectors: Sequence[NewVector], now: float) -> int:
        """Store vectors in the place of those with their ids; returns how many these were."""
        db.run("space_vectors_expired", now=now)
        held = db.run("space_vectors_held", space=space.row, ids=array(one.id for one in vectors)).fetchall()
        self.remove(db, [row for _, row in held])
        db.run_many("space_vectors_insert", [
            {"space": space.row, "external_id": one.id, "ref": one.ref, "expires_at": one.expires_at,
             "magnitude": one.magnitude, "attributes": one.attributes, "vector": one.vector}
            for one in vectors
        ])  # fmt: skip
        return len(held)

    def remove(self, db: Connection, rows: Sequence[int]) -> None:
        db.run("space_vectors_remove", ids=array(rows))

    def drop(self, db: Connection, space: Space) -> int:
        """Remove a space with all that it holds; returns how many vectors these were."""
        count = self.count(db, space)
        db.run("space_remove", id=space.row)
        return count

    def search(
        self,
        db: Connection,
        space: Space,
        query: bytes,
        *,
        limit: int,
        filters: Mapping[str, Any],
        min_score: float,
        now: float,
    ) -> list[tuple[int, float]]:
        """(row, cosine) of the nearest that are shown and have these attributes, the best first; the query as of `unit_of`."""
        if space.dimension is None:
            return []
        rows, scores = self._matrix(db, space).cosines(np.frombuffer(query, "<f2").astype(np.float32))
        found: list[tuple[int, float]] = []
        at, size = 0, max(PAGE, 2 * limit)
        best = _best(scores, size)
        while at < len(best) and len(found) < limit and scores[best[at]] >= min_score:
            ranked = best[at : at + size]
            ids = rows[ranked].tolist()
            seen = db.run("space_vectors_of", ids=array(ids), now=now)
            fitting = {row for row, attributes in seen if has_values(attributes, filters)}
            pairs = zip(ids, scores[ranked].tolist(), strict=True)
            found += [(row, score) for row, score in pairs if row in fitting and score >= min_score]
            at, size = at + len(ranked), 8 * size
            best = _best(scores, at + size)
        return found[:limit]

    def listed(
        self, db: Connection, space: Space, filters: Mapping[str, Any], now: float, *, after: int = 0
    ) -> Iterator[int]:
        """The rows that are shown and have these attributes, in the order in which they were stored."""
        size = PAGE
        while page := db.run("space_vectors_after", space=space.row, after=after, now=now, limit=size).fetchall():
            yield from (row for row, attributes in page if has_values(attributes, filters))
            after, size = page[-1][0], 8 * size

    def _matrix(self, db: Connection, space: Space) -> _Matrix:
        """Every vector that the connection sees, and maybe some that are gone."""
        with self._lock:
            held = self._matrices.pop(space.row, _Matrix())
            if sum(len(rows) for rows, _ in held.blocks) > 2 * self.count(db, space) + PAGE:
                held = _Matrix()
            found = db.run("space_vectors_since", space=space.row, after=held.last).fetchall()
            matrix = self._matrices[space.row] = held.with_more(found, space.dimension or 0)
            while len(self._matrices) > 1 and sum(one.bytes for one in self._matrices.values()) > CACHE_BYTES:
                del self._matrices[next(iter(self._matrices))]
            return matrix

    def count(self, db: Connection, space: Space) -> int:
        """How many vectors it holds, shown or not."""
        return db.run("space_vectors_count", space=space.row).fetchone()[0]


def _best(scores: Floats, count: int) -> Rows:
    """The places of at least so many of the highest scores, the highest first, of equal ones the first."""
    least = np.partition(scores, len(scores) - count)[len(scores) - count] if len(scores) > count else -1.0
    places = np.flatnonzero(scores >= least)
    return places[np.argsort(-scores[places], kind="stable")]


def unit_of(vector: Sequence[float]) -> tuple[bytes, float]:
    """The vector at length 1 in float16, and its length. Raises OverflowError for one longer than any number."""
    given = np.array(vector, np.float64)
    largest = float(np.abs(given).max())
    if not largest:
        return np.zeros(len(given), "<f2").tobytes(), 0.0
    scaled = given / largest  # so that no square is too large or too small
    length = float(np.linalg.norm(scaled))
    if math.isinf(length * largest):
        raise OverflowError
    return (scaled / length).astype("<f2").tobytes(), length * largest


def given_back(vector: bytes, magnitude: float) -> list[float]:
    """The vector as it was given, within float16."""
    return (np.frombuffer(vector, "<f2").astype(np.float64) * magnitude).tolist()


def refuse_other_dimension(field: str, vector: Sequence[float], dimension: int | None) -> None:
    """Raises InvalidRequest for a vector that is not as long as those of the space."""
    if dimension is not None and len(vector) != dimension:
        told = f"{field}: has {len(vector)} numbers, those of the space have {dimension}."
        raise InvalidRequest(told, field=field, dimension=dimension)

"""Vectors in order of arrival, with tombstones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from .codec import Scores, VectorCodec, VectorQuery, parts

__all__ = ["Ids", "Order", "Rows", "VectorBlock"]

_ALLOW_LIMIT = 50_000
_SHORTLIST = 2_000
_SHORTLIST_SHARE = 190
"""One row in so many is on a large block's shortlist: 98.5 % of the 100 nearest among 1M vectors like those of MiniLM."""

Ids = NDArray[np.int64]
Rows = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """Rows by ascending id; the arrays may be longer than `size`, and what lies below `size` never changes."""

    size: int
    ids: Ids
    rows: Rows

    def find(self, ids: Ids) -> Rows:
        """The row of each id, or -1."""
        if not self.size:
            return np.full(len(ids), -1, np.int32)
        at = np.minimum(np.searchsorted(self.ids[: self.size], ids), self.size - 1)
        return np.where(self.ids[at] == ids, self.rows[at], np.int32(-1))

    def put(self, ids: Ids, rows: Rows) -> Order:
        """The order with ascending ids set to rows: in spare room if all are new and larger, else as a copy."""
        if not self.size or ids[0] > self.ids[self.size - 1]:
            end = self.size + len(ids)
            grown = Order(end, _reserve(self.ids, self.size, end), _reserve(self.rows, self.size, end))
            grown.ids[self.size : end], grown.rows[self.size : end] = ids, rows
            return grown
        known, known_rows = self.ids[: self.size], self.rows[: self.size].copy()
        at = np.searchsorted(known, ids)
        held = known[np.minimum(at, self.size - 1)] == ids
        known_rows[at[held]] = rows[held]
        at, ids, rows = at[~held], ids[~held], rows[~held]
        return Order(self.size + len(ids), np.insert(known, at, ids), np.insert(known_rows, at, rows))


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Vectors in order of arrival; the arrays may be longer than `size`, and rows below `size` never change.

    A changed block is a new object. Only the newest version of a block may be appended to, because versions share the
    arrays' spare room.
    """

    size: int
    ids: Ids
    codes: NDArray[Any]
    bits: NDArray[np.uint8]
    dead: NDArray[np.bool_]
    dead_count: int
    order: Order

    @classmethod
    def empty(cls, codec: VectorCodec) -> VectorBlock:
        """A block without rows."""
        codes, bits = np.empty((0, codec.dimension), codec.dtype), np.empty((0, codec.bytes), np.uint8)
        return cls.sealed(np.empty(0, np.int64), codes, bits)

    @classmethod
    def sealed(cls, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> VectorBlock:
        """A block over whole arrays, ids ascending."""
        size = len(ids)
        order = Order(size, ids, np.arange(size, dtype=np.int32))
        return cls(size, ids, codes, bits, np.zeros(size + 1, np.bool_), 0, order)  # row -1 can be looked up too

    @property
    def live(self) -> Rows:
        """Rows that are not tombstones."""
        return np.flatnonzero(~self.dead[: self.size])

    def find(self, ids: Ids) -> Rows:
        """The live row of each id, or -1."""
        rows = self.order.find(ids)
        return np.where(self.dead[rows], -1, rows)

    def append(self, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> VectorBlock:
        """The block with more rows, ids ascending."""
        end = self.size + len(ids)
        grown = replace(
            self, size=end,
            ids=_reserve(self.ids, self.size, end), codes=_reserve(self.codes, self.size, end),
            bits=_reserve(self.bits, self.size, end), dead=_reserve(self.dead, self.size, end),
            order=self.order.put(ids, np.arange(self.size, end, dtype=np.int32)),
        )  # fmt: skip
        new = slice(self.size, end)
        grown.ids[new], grown.codes[new], grown.bits[new], grown.dead[new] = ids, codes, bits, False
        return grown

    def without(self, ids: Ids) -> VectorBlock:
        """The block with these distinct ids turned into tombstones."""
        rows = self.find(ids)
        rows = rows[rows >= 0]
        if not len(rows):
            return self
        dead = self.dead.copy()
        dead[rows] = True
        return replace(self, dead=dead, dead_count=self.dead_count + len(rows))

    def candidates(self, query: VectorQuery, allow: Ids | None, want: int, exact_limit: int) -> tuple[Ids, Scores]:
        """Ids with their cosines, among which the `want` best of the block (of its shortlist, if it is large) are."""
        if allow is None and self.size <= exact_limit:
            live = self.live
            return self.ids[live], query.cosines(self.codes[: self.size])[live]
        rows = self._near(query, want) if allow is None else self._allowed(query, allow, want)
        return self.ids[rows], self.cosines(query, rows)

    def cosines(self, query: VectorQuery, rows: Rows) -> Scores:
        """Cosines of some rows."""
        found = [query.cosines(self.codes[part]) for part in parts(rows)]
        return np.concatenate(found) if found else np.empty(0, np.float32)

    def _near(self, query: VectorQuery, want: int) -> Rows:
        wanted = _shortlist(self.size - self.dead_count, want)
        rows = _hamming(query, self.bits[: self.size], wanted + self.dead_count)
        return rows[~self.dead[rows]][:wanted]

    def _allowed(self, query: VectorQuery, allow: Ids, want: int) -> Rows:
        rows = self.find(allow)
        rows = rows[rows >= 0]
        if len(rows) <= _ALLOW_LIMIT:
            return rows
        return rows[_hamming(query, self.bits[rows], _shortlist(len(rows), want))]


def _shortlist(rows: int, want: int) -> int:
    return max(_SHORTLIST, rows // _SHORTLIST_SHARE, 2 * want)


def _hamming(query: VectorQuery, bits: NDArray[np.uint8], count: int) -> Rows:
    """The rows whose signatures differ in the fewest bits, nearest first."""
    faiss.omp_set_num_threads(1)  # it holds for the calling thread, and a second thread makes one query slower
    return faiss.knn_hamming(query.bits, bits, min(count, len(bits)), variant="mc")[1][0]


def _reserve(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """The array, or a copy of its used part with half as much room again; untouched room takes no memory."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, used + used // 2, 1_024), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger

"""Unit vectors in memory, found by cosine."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from ...store.sealed_files import Folder, create, load_bytes
from .codec import BATCH, QuantizationType, Scores, VectorCodec, VectorQuery, VectorRow, parts

__all__ = ["QuantizationType", "VectorRow", "VectorStore"]

EXACT_LIMIT = 20_000
"""Up to this many vectors, an unrestricted search compares every code; beyond, signatures make a shortlist first."""

_FORMAT = "vectors/2"
_NPY_HEADER = 128
_ALLOW_LIMIT = 50_000
_SHORTLIST = 2_000
_SHORTLIST_SHARE = 190
"""One row in so many is on a large block's shortlist: 98.5 % of the 100 nearest among 1M vectors like those of MiniLM."""

Ids = NDArray[np.int64]
Rows = NDArray[np.signedinteger[Any]]


class VectorStore:
    """An index of unit vectors: `search` finds the nearest, `scores` compares with given ones.

    Memory per vector is the code (dimension × 1, 2 or 4 bytes), its signature (dimension / 8 bytes) and 21 bytes. The
    codes, and so `scores`, depend on the rows alone, not on the order they came in. A search is exact over the codes, but
    for one over more than `exact_limit` vectors without `allow`, or with more than 50,000 allowed ids: there the codes of
    the shortlist nearest by Hamming distance of the signatures are compared.
    """

    def __init__(
        self,
        dimension: int,
        quantization: QuantizationType = QuantizationType.INT8,
        fingerprint_suffix: str = "",
        *,
        exact_limit: int = EXACT_LIMIT,
        name: str = "vectors",
    ) -> None:
        self.name = name
        self._codec = VectorCodec(dimension, quantization)
        self._fingerprint = f"{_FORMAT}:{dimension}:{quantization.value}:{fingerprint_suffix}"
        self._exact_limit = exact_limit
        self._changing = Lock()
        self._state = _State.empty(self._codec)

    @property
    def fingerprint(self) -> str:
        """Format, dimension, precision and the suffix given."""
        return self._fingerprint

    def __len__(self) -> int:
        return len(self._state)

    def search(self, query: Scores, k: int, allow: Ids | None = None) -> tuple[Ids, Scores]:
        """The k nearest vectors as (ids, cosines), best first; equal ones by id.

        `query` has shape (dimension,) and any length, else ValueError. `allow` restricts to these ids, ascending and
        distinct; an empty one allows nothing.
        """
        state, prepared = self._state, self._codec.query(query)
        found = [block.candidates(prepared, allow, k, self._exact_limit) for block in state.blocks]
        ids, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        if 0 < k < len(scores):
            edge = np.partition(scores, len(scores) - k)[len(scores) - k]
            ids, scores = ids[scores >= edge], scores[scores >= edge]
        order = np.lexsort((ids, -scores))[: max(k, 0)]
        return ids[order], np.clip(scores[order], -1, 1)

    def scores(self, query: Scores, ids: Ids) -> Scores:
        """Cosine of each id's vector with the query, NaN where there is none; in the order of `ids`."""
        state, prepared = self._state, self._codec.query(query)
        found = np.full(len(ids), np.nan, np.float32)
        for block in state.blocks:
            rows = block.find(ids)
            here = rows >= 0
            found[here] = np.clip(block.cosines(prepared, rows[here]), -1, 1)
        return found

    def background(self, query: Scores, size: int = 2_048) -> Scores:
        """Cosines with about `size` vectors spread evenly over the store: what the query has in common with anything."""
        state, prepared = self._state, self._codec.query(query)
        step = max(1, math.ceil((state.base.size + state.recent.size) / max(size, 1)))
        found: list[Scores] = []
        for block in state.blocks:
            rows = np.arange(0, block.size, step, dtype=np.int32)
            found.append(block.cosines(prepared, rows[~block.dead[rows]]))
        return np.clip(np.concatenate(found), -1, 1)

    def dump(self) -> dict[int, bytes]:
        """Every id with the bytes of its code."""
        live = _LiveRows(self._state)
        codes = (code.tobytes() for part in live.codes() for code in part)
        return dict(zip(live.ids.tolist(), codes, strict=True))

    def build(self, rows: Iterator[VectorRow]) -> None:
        """Replace the whole content; of rows with the same id the last counts. ValueError leaves the store as it was."""
        state = _State.empty(self._codec)
        while batch := list(islice(rows, 4 * BATCH)):
            state = self._with(state, batch)
        ascending = not state.dead and bool(np.all(np.diff(state.recent.ids[: state.recent.size]) > 0))
        built = _State(state.recent, state.base) if ascending else state.sealed(self._codec)
        with self._changing:
            self._state = built

    def apply(self, rows: Sequence[VectorRow], removed: Sequence[int]) -> None:
        """Remove ids, then insert or replace rows. ValueError (see `build`) leaves the store as it was."""
        with self._changing:
            state = self._state.without(np.unique(np.array(removed, np.int64)))
            self._state = self._with(state, rows) if rows else state

    def compact(self) -> bool:
        """Drop tombstones beyond 2,000 and 5 %, and merge recent rows beyond 20,000 and 25 %; True if it did."""
        with self._changing:
            state = self._state
            many_dead = state.dead > max(2_000, len(state) // 20)
            many_recent = state.recent.size > max(20_000, state.base.size // 4)
            if many_dead or many_recent:
                self._state = state.sealed(self._codec)
        return many_dead or many_recent

    def save(self, folder: Folder) -> None:
        """Write `ids.npy`, `codes.npy` and `bits.npy`: the live rows by ascending id."""
        live = _LiveRows(self._state)
        _write_rows(folder, "ids.npy", np.dtype(np.int64), (len(live.ids),), parts(live.ids, 16 * BATCH))
        _write_rows(folder, "codes.npy", self._codec.dtype, (len(live.ids), self._codec.dimension), live.codes())
        _write_rows(folder, "bits.npy", np.dtype(np.uint8), (len(live.ids), self._codec.bytes), live.bits())

    def load(self, folder: Folder) -> None:
        """Map what `save` wrote into memory, read-only; ValueError or OSError if it does not fit."""
        ids = _map_rows(folder, "ids.npy", np.dtype(np.int64), ())
        codes = _map_rows(folder, "codes.npy", self._codec.dtype, (self._codec.dimension,))
        bits = _map_rows(folder, "bits.npy", np.dtype(np.uint8), (self._codec.bytes,))
        if not len(ids) == len(codes) == len(bits):
            raise ValueError(f"{folder} holds {len(ids)} ids, {len(codes)} codes and {len(bits)} signatures")
        if np.any(ids[1:] <= ids[:-1]):
            raise ValueError(f"the ids in {folder} do not ascend")
        sample = slice(None, None, max(1, len(ids) // 256))
        if not np.array_equal(self._codec.sign(codes[sample]), bits[sample]):
            raise ValueError(f"codes and signatures in {folder} do not belong together")
        with self._changing:
            self._state = _State(_Block.sealed(ids, codes, bits), _Block.empty(self._codec))

    def _with(self, state: _State, rows: Sequence[VectorRow]) -> _State:
        """The state with rows inserted or replaced."""
        last = {row.id: row for row in rows}
        ordered = [last[number] for number in sorted(last)]
        ids = np.array([row.id for row in ordered], np.int64)
        codes = np.concatenate([self._codec.encode(part) for part in parts(ordered)])
        return state.put(ids, codes, self._codec.sign(codes))


@dataclass(frozen=True, slots=True)
class _Order:
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

    def put(self, ids: Ids, rows: Rows) -> _Order:
        """The order with ascending ids set to rows: in spare room if all are new and larger, else as a copy."""
        if not self.size or ids[0] > self.ids[self.size - 1]:
            end = self.size + len(ids)
            grown = _Order(end, _reserve(self.ids, self.size, end), _reserve(self.rows, self.size, end))
            grown.ids[self.size : end], grown.rows[self.size : end] = ids, rows
            return grown
        known, known_rows = self.ids[: self.size], self.rows[: self.size].copy()
        at = np.searchsorted(known, ids)
        held = known[np.minimum(at, self.size - 1)] == ids
        known_rows[at[held]] = rows[held]
        at, ids, rows = at[~held], ids[~held], rows[~held]
        return _Order(self.size + len(ids), np.insert(known, at, ids), np.insert(known_rows, at, rows))


@dataclass(frozen=True, slots=True)
class _Block:
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
    order: _Order

    @classmethod
    def empty(cls, codec: VectorCodec) -> _Block:
        """A block without rows."""
        codes, bits = np.empty((0, codec.dimension), codec.dtype), np.empty((0, codec.bytes), np.uint8)
        return cls.sealed(np.empty(0, np.int64), codes, bits)

    @classmethod
    def sealed(cls, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> _Block:
        """A block over whole arrays, ids ascending."""
        size = len(ids)
        order = _Order(size, ids, np.arange(size, dtype=np.int32))
        return cls(size, ids, codes, bits, np.zeros(size + 1, np.bool_), 0, order)  # row -1 can be looked up too

    @property
    def live(self) -> Rows:
        """Rows that are not tombstones."""
        return np.flatnonzero(~self.dead[: self.size])

    def find(self, ids: Ids) -> Rows:
        """The live row of each id, or -1."""
        rows = self.order.find(ids)
        return np.where(self.dead[rows], -1, rows)

    def append(self, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> _Block:
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

    def without(self, ids: Ids) -> _Block:
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
        if allow is None:
            wanted = _shortlist(self.size - self.dead_count, want)
            rows = _hamming(query, self.bits[: self.size], wanted + self.dead_count)
            rows = rows[~self.dead[rows]][:wanted]
        else:
            rows = self.find(allow)
            rows = rows[rows >= 0]
            if len(rows) > _ALLOW_LIMIT:
                rows = rows[_hamming(query, self.bits[rows], _shortlist(len(rows), want))]
        return self.ids[rows], self.cosines(query, rows)

    def cosines(self, query: VectorQuery, rows: Rows) -> Scores:
        """Cosines of some rows."""
        found = [query.cosines(self.codes[part]) for part in parts(rows)]
        return np.concatenate(found) if found else np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class _State:
    """A base (built, loaded or compacted) and the rows added since."""

    base: _Block
    recent: _Block

    @classmethod
    def empty(cls, codec: VectorCodec) -> _State:
        """A state without rows."""
        return cls(_Block.empty(codec), _Block.empty(codec))

    @property
    def blocks(self) -> tuple[_Block, _Block]:
        """Both blocks; an id is alive in one of them at most."""
        return self.base, self.recent

    @property
    def dead(self) -> int:
        """Tombstones."""
        return self.base.dead_count + self.recent.dead_count

    def __len__(self) -> int:
        return self.base.size + self.recent.size - self.dead

    def without(self, ids: Ids) -> _State:
        """The state with these distinct ids turned into tombstones."""
        return _State(self.base.without(ids), self.recent.without(ids))

    def put(self, ids: Ids, codes: NDArray[Any], bits: NDArray[np.uint8]) -> _State:
        """The state with rows inserted or replaced, ids ascending and distinct."""
        kept = self.without(ids)
        return replace(kept, recent=kept.recent.append(ids, codes, bits))

    def sealed(self, codec: VectorCodec) -> _State:
        """The same content as one block without tombstones."""
        live = _LiveRows(self)
        codes = np.empty((len(live.ids), codec.dimension), codec.dtype)
        bits = np.empty((len(live.ids), codec.bytes), np.uint8)
        _fill(codes, live.codes())
        _fill(bits, live.bits())
        return _State(_Block.sealed(live.ids, codes, bits), _Block.empty(codec))


class _LiveRows:
    """The live rows of a state by ascending id, to be copied in parts."""

    def __init__(self, state: _State) -> None:
        rows = [block.live for block in state.blocks]
        ids = np.concatenate([block.ids[live] for block, live in zip(state.blocks, rows, strict=True)])
        order = np.argsort(ids, kind="stable")
        self.ids: Ids = ids[order]
        self._rows = np.concatenate(rows)[order]
        self._recent = order >= len(rows[0])
        self._blocks = state.blocks

    def codes(self) -> Iterator[NDArray[Any]]:
        """All codes, in parts."""
        return self._copy(self._blocks[0].codes, self._blocks[1].codes)

    def bits(self) -> Iterator[NDArray[np.uint8]]:
        """All signatures, in parts."""
        return self._copy(self._blocks[0].bits, self._blocks[1].bits)

    def _copy(self, base: NDArray[Any], recent: NDArray[Any]) -> Iterator[NDArray[Any]]:
        for rows, newer in zip(parts(self._rows, 4 * BATCH), parts(self._recent, 4 * BATCH), strict=True):
            part = np.empty((len(rows), *base.shape[1:]), base.dtype)
            part[~newer], part[newer] = base[rows[~newer]], recent[rows[newer]]
            yield part


def _fill(array: NDArray[Any], slices: Iterable[NDArray[Any]]) -> None:
    end = 0
    for part in slices:
        array[end : end + len(part)] = part
        end += len(part)


def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    header = io.BytesIO()
    fields: dict[str, Any] = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def _write_rows(
    folder: Folder, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
) -> None:
    """Write the rows, which come in parts, as an npy file of that type and shape."""
    with create(folder, name) as file:
        file.write(_npy_header(dtype, shape))
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def _map_rows(folder: Folder, name: str, dtype: np.dtype[Any], row: tuple[int, ...]) -> NDArray[Any]:
    """The file as an array of rows of that shape; ValueError unless it is just what `_write_rows` writes."""
    raw, width = load_bytes(folder, name), dtype.itemsize * math.prod(row)
    shape = (max(0, len(raw) - _NPY_HEADER) // width, *row)
    if raw[:_NPY_HEADER].tobytes() != _npy_header(dtype, shape) or len(raw) != _NPY_HEADER + shape[0] * width:
        raise ValueError(f"{name} is damaged, or of another format")
    return raw[_NPY_HEADER:].view(dtype).reshape(shape)


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

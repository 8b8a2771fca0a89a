"""Unit vectors in memory, found by cosine."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import faiss
import numpy as np
from numpy.typing import NDArray

__all__ = ["EXACT_LIMIT", "QuantizationType", "VectorRow", "VectorStore"]

EXACT_LIMIT = 20_000
"""Up to this many vectors, an unrestricted search compares every code; beyond, signatures make a shortlist first."""

_ALLOW_LIMIT = 50_000
_SHORTLIST = 2_000
_SHORTLIST_SHARE = 250
_BATCH = 1_024
_HEADER = 128
_FORMAT = "vectors/1"

Ids = NDArray[np.int64]
Rows = NDArray[np.signedinteger[Any]]
Scores = NDArray[np.float32]
Cut = TypeVar("Cut", NDArray[Any], list[Any])


class QuantizationType(StrEnum):
    """Precision of a vector's components in memory."""

    INT8 = "int8"
    FLOAT16 = "float16"
    FLOAT32 = "float32"


@dataclass(frozen=True, slots=True)
class VectorRow:
    """What the store eats: an id and a unit vector as float16, little-endian."""

    id: int
    vector: bytes


@dataclass(frozen=True, slots=True)
class _Query:
    """A query made ready: `codes @ weights / unit` are cosines; `bits` is its signature, shape (1, bytes).

    With int8 codes the weights are whole numbers, so large that every partial sum of a product still fits the 24 bits of
    a float32: cosines are then exact, and the same wherever in an array a vector stands.
    """

    weights: Scores
    unit: np.float32
    bits: NDArray[np.uint8]


class _Codec:
    """Vectors to codes and signatures, by fixed arithmetic: nothing is trained, so a code depends on its row alone.

    A vector is first mixed: components permuted, some negated, and each run of 64 (or of the largest power of two that
    divides the dimension) replaced by its Walsh–Hadamard transform. That is a rotation, so cosines stay as they are,
    while a component that is large in every text of a model is spread out instead of clipped, and each sign bit comes to
    carry about the same share of the vector. Sums of 64 float16 numbers are exact in float64; therefore a code does not
    depend on the batch it was computed in.

    An int8 code is `clip(rint(v * s), -127, 127)` with `s = 127 * sqrt(dimension) / 6`: six standard deviations of
    a component of a random unit vector. A signature holds one bit for each component: whether its code is positive.
    """

    def __init__(self, dimension: int, quantization: QuantizationType) -> None:
        if dimension < 1:
            raise ValueError(f"a vector cannot have {dimension} dimensions")
        self.dimension = dimension
        self.dtype: np.dtype[Any] = np.dtype(quantization.value)
        self.bytes = (dimension + 7) // 8
        self.scale = 127 * math.sqrt(dimension) / 6 if quantization is QuantizationType.INT8 else 1.0
        frozen = np.random.RandomState(20060)  # the legacy generator: its stream never changes between numpy versions
        self._unit = 2.0**23 if quantization is QuantizationType.INT8 else 1.0
        self._order = frozen.permutation(dimension)
        self._signs = 1.0 - 2.0 * frozen.randint(0, 2, dimension)
        self._hadamard = _hadamard(math.gcd(dimension, 64))

    def encode(self, rows: Sequence[VectorRow]) -> NDArray[Any]:
        """Codes, shape (len(rows), dimension). ValueError for another dimension, or a component that is not finite."""
        for row in rows:
            if len(row.vector) != 2 * self.dimension:
                raise ValueError(f"vector {row.id} has {len(row.vector)} bytes, not {2 * self.dimension}")
        vectors = np.frombuffer(b"".join(row.vector for row in rows), "<f2").reshape(len(rows), self.dimension)
        if not np.isfinite(vectors).all():
            raise ValueError("a vector has a component that is not a finite number")
        mixed = self._mix(vectors.astype(np.float64)) * self.scale
        if self.dtype == np.int8:
            mixed = np.clip(np.rint(mixed), -127, 127)
        return mixed.astype(self.dtype)

    def sign(self, codes: NDArray[Any]) -> NDArray[np.uint8]:
        """Signatures of codes, shape (len(codes), ceil(dimension / 8))."""
        return np.packbits(codes > 0, axis=1)

    def query(self, vector: Scores) -> _Query:
        """Prepare a query of any length; ValueError for another dimension, or a component that is not finite."""
        plain = np.asarray(vector, np.float64)
        if plain.shape != (self.dimension,) or not np.isfinite(plain).all():
            raise ValueError(f"a query is {self.dimension} finite numbers, not an array of shape {plain.shape}")
        mixed = self._mix(plain[None]) / (float(np.linalg.norm(plain)) or 1.0)
        weights = mixed[0] * (self._unit / self.scale)
        if self.dtype == np.int8:
            weights = np.rint(weights)
        return _Query(weights.astype(np.float32), np.float32(self._unit), np.packbits(mixed > 0, axis=1))

    def _mix(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        runs = (vectors[:, self._order] * self._signs).reshape(-1, len(self._hadamard))
        return (runs @ self._hadamard).reshape(vectors.shape) / math.sqrt(len(self._hadamard))


def _hadamard(size: int) -> NDArray[np.float64]:
    """Sylvester's matrix of ±1 for a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


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
    def empty(cls, codec: _Codec) -> _Block:
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

    def candidates(self, query: _Query, allow: Ids | None, want: int, exact_limit: int) -> tuple[Ids, Scores]:
        """Ids with their cosines, among which the `want` best of the block (of its shortlist, if it is large) are."""
        if allow is None and self.size <= exact_limit:
            live = self.live
            return self.ids[live], _cosines(self.codes[: self.size], query)[live]
        rows = self._near(query, want) if allow is None else self._allowed(query, allow, want)
        return self.ids[rows], self.cosines(query, rows)

    def cosines(self, query: _Query, rows: Rows) -> Scores:
        """Cosines of some rows."""
        parts = [_cosines(self.codes[part], query) for part in _parts(rows)]
        return np.concatenate(parts) if parts else np.empty(0, np.float32)

    def _near(self, query: _Query, want: int) -> Rows:
        wanted = _shortlist(self.size - self.dead_count, want)
        rows = _hamming(query, self.bits[: self.size], wanted + self.dead_count)
        return rows[~self.dead[rows]][:wanted]

    def _allowed(self, query: _Query, allow: Ids, want: int) -> Rows:
        rows = self.find(allow)
        rows = rows[rows >= 0]
        if len(rows) <= _ALLOW_LIMIT:
            return rows
        return rows[_hamming(query, self.bits[rows], _shortlist(len(rows), want))]


def _shortlist(rows: int, want: int) -> int:
    return max(_SHORTLIST, rows // _SHORTLIST_SHARE, 2 * want)


def _hamming(query: _Query, bits: NDArray[np.uint8], count: int) -> Rows:
    """The rows whose signatures differ in the fewest bits, nearest first."""
    faiss.omp_set_num_threads(1)  # it holds for the calling thread, and a second thread makes one query slower
    return faiss.knn_hamming(query.bits, bits, min(count, len(bits)), variant="mc")[1][0]


def _cosines(codes: NDArray[Any], query: _Query) -> Scores:
    found = np.empty(len(codes), np.float32)
    for start in range(0, len(codes), _BATCH):
        found[start : start + _BATCH] = codes[start : start + _BATCH].astype(np.float32) @ query.weights
    found /= query.unit
    return found


def _best(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    """The k highest scores, best first, equal ones by id."""
    if 0 < k < len(scores):
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        ids, scores = ids[scores >= edge], scores[scores >= edge]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order], np.clip(scores[order], -1, 1)


def _reserve(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """The array, or a copy of its used part with half as much room again; untouched room takes no memory."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, used + used // 2, 1_024), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def _parts(whole: Cut, size: int = _BATCH) -> Iterator[Cut]:
    return (whole[start : start + size] for start in range(0, len(whole), size))


@dataclass(frozen=True, slots=True)
class _State:
    """What a search sees: a base (built, loaded or compacted) and the rows added since."""

    base: _Block
    recent: _Block

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


class _Live:
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
        for rows, newer in zip(_parts(self._rows, 4 * _BATCH), _parts(self._recent, 4 * _BATCH), strict=True):
            part = np.empty((len(rows), *base.shape[1:]), base.dtype)
            part[~newer], part[newer] = base[rows[~newer]], recent[rows[newer]]
            yield part


class VectorStore:
    """An index of unit vectors: `search` finds the nearest, `scores` compares with given ones.

    Memory per vector is the code (dimension × 1, 2 or 4 bytes), its signature (dimension / 8 bytes) and 21 bytes. The
    codes, and so `scores`, depend on the rows alone, not on the order they came in. A search is exact over the codes, but
    for one over more than `exact_limit` vectors without `allow`, or with more than 50,000 allowed ids: there the codes of
    the shortlist nearest by Hamming distance of the signatures are compared.
    """

    name = "vectors"

    def __init__(
        self,
        dimension: int,
        quantization: QuantizationType = QuantizationType.INT8,
        fingerprint_suffix: str = "",
        *,
        exact_limit: int = EXACT_LIMIT,
    ) -> None:
        self._codec = _Codec(dimension, quantization)
        self._fingerprint = f"{_FORMAT}:{dimension}:{quantization.value}:{fingerprint_suffix}"
        self._exact_limit = exact_limit
        self._changing = Lock()
        self._state = _State(_Block.empty(self._codec), _Block.empty(self._codec))

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
        ids = np.concatenate([ids for ids, _ in found])
        return _best(ids, np.concatenate([scores for _, scores in found]), max(k, 0))

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
        live = _Live(self._state)
        codes = (code.tobytes() for part in live.codes() for code in part)
        return dict(zip(live.ids.tolist(), codes, strict=True))

    def build(self, rows: Iterator[VectorRow]) -> None:
        """Replace the whole content; of rows with the same id the last counts. ValueError leaves the store as it was."""
        state = _State(_Block.empty(self._codec), _Block.empty(self._codec))
        while batch := list(islice(rows, 4 * _BATCH)):
            state = self._with(state, batch)
        ascending = not state.dead and bool(np.all(np.diff(state.recent.ids[: state.recent.size]) > 0))
        built = _State(state.recent, state.base) if ascending else self._sealed(state)
        with self._changing:
            self._state = built

    def apply(self, rows: Sequence[VectorRow], removed: Sequence[int]) -> None:
        """Remove ids, then insert or replace rows. ValueError (see `build`) leaves the store as it was."""
        with self._changing:
            state = _without(self._state, np.unique(np.array(removed, np.int64)))
            self._state = self._with(state, rows) if rows else state

    def compact(self) -> bool:
        """Drop tombstones beyond 2,000 and 5 %, and merge recent rows beyond 20,000 and 25 %; True if it did."""
        with self._changing:
            state = self._state
            many_dead = state.dead > max(2_000, len(state) // 20)
            many_recent = state.recent.size > max(20_000, state.base.size // 4)
            if many_dead or many_recent:
                self._state = self._sealed(state)
        return many_dead or many_recent

    def save(self, folder: Path) -> None:
        """Write `ids.npy`, `codes.npy` and `bits.npy`: the live rows by ascending id."""
        live = _Live(self._state)
        _write(folder / "ids.npy", np.dtype(np.int64), (len(live.ids),), _parts(live.ids, 16 * _BATCH))
        _write(folder / "codes.npy", self._codec.dtype, (len(live.ids), self._codec.dimension), live.codes())
        _write(folder / "bits.npy", np.dtype(np.uint8), (len(live.ids), self._codec.bytes), live.bits())

    def load(self, folder: Path) -> None:
        """Map what `save` wrote into memory, read-only; ValueError or OSError if it does not fit."""
        ids = _open(folder / "ids.npy", np.dtype(np.int64), ())
        codes = _open(folder / "codes.npy", self._codec.dtype, (self._codec.dimension,))
        bits = _open(folder / "bits.npy", np.dtype(np.uint8), (self._codec.bytes,))
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
        codes = np.concatenate([self._codec.encode(part) for part in _parts(ordered)])
        state = _without(state, ids)
        return replace(state, recent=state.recent.append(ids, codes, self._codec.sign(codes)))

    def _sealed(self, state: _State) -> _State:
        """The same content as one block without tombstones."""
        live = _Live(state)
        codes = np.empty((len(live.ids), self._codec.dimension), self._codec.dtype)
        bits = np.empty((len(live.ids), self._codec.bytes), np.uint8)
        _fill(codes, live.codes())
        _fill(bits, live.bits())
        return _State(_Block.sealed(live.ids, codes, bits), _Block.empty(self._codec))


def _without(state: _State, ids: Ids) -> _State:
    return _State(state.base.without(ids), state.recent.without(ids))


def _fill(array: NDArray[Any], parts: Iterable[NDArray[Any]]) -> None:
    end = 0
    for part in parts:
        array[end : end + len(part)] = part
        end += len(part)


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    header = io.BytesIO()
    fields: dict[str, Any] = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def _write(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]) -> None:
    with path.open("wb") as file:
        file.write(_header(dtype, shape))
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def _open(path: Path, dtype: np.dtype[Any], row: tuple[int, ...]) -> NDArray[Any]:
    """The file as an array of rows of that shape; ValueError unless it is just what `_write` writes."""
    size, width = path.stat().st_size, dtype.itemsize * math.prod(row)
    shape = (max(0, size - _HEADER) // width, *row)
    with path.open("rb") as file:
        if file.read(_HEADER) != _header(dtype, shape) or size != _HEADER + shape[0] * width:
            raise ValueError(f"{path} is damaged, or of another format")
    return np.asarray(np.memmap(path, dtype, "r", _HEADER, shape))

"""Unit vectors in memory, found by cosine."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block import Ids, VectorBlock
from .codec import BATCH, QuantizationType, Scores, VectorCodec, VectorRow, parts

__all__ = ["EXACT_LIMIT", "QuantizationType", "VectorRow", "VectorStore"]

EXACT_LIMIT = 20_000
"""Up to this many vectors, an unrestricted search compares every code; beyond, signatures make a shortlist first."""

_FORMAT = "vectors/2"
_NPY_HEADER = 128


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

    def save(self, folder: Path) -> None:
        """Write `ids.npy`, `codes.npy` and `bits.npy`: the live rows by ascending id."""
        live = _LiveRows(self._state)
        _write_rows(folder / "ids.npy", np.dtype(np.int64), (len(live.ids),), parts(live.ids, 16 * BATCH))
        _write_rows(folder / "codes.npy", self._codec.dtype, (len(live.ids), self._codec.dimension), live.codes())
        _write_rows(folder / "bits.npy", np.dtype(np.uint8), (len(live.ids), self._codec.bytes), live.bits())

    def load(self, folder: Path) -> None:
        """Map what `save` wrote into memory, read-only; ValueError or OSError if it does not fit."""
        ids = _map_rows(folder / "ids.npy", np.dtype(np.int64), ())
        codes = _map_rows(folder / "codes.npy", self._codec.dtype, (self._codec.dimension,))
        bits = _map_rows(folder / "bits.npy", np.dtype(np.uint8), (self._codec.bytes,))
        if not len(ids) == len(codes) == len(bits):
            raise ValueError(f"{folder} holds {len(ids)} ids, {len(codes)} codes and {len(bits)} signatures")
        if np.any(ids[1:] <= ids[:-1]):
            raise ValueError(f"the ids in {folder} do not ascend")
        sample = slice(None, None, max(1, len(ids) // 256))
        if not np.array_equal(self._codec.sign(codes[sample]), bits[sample]):
            raise ValueError(f"codes and signatures in {folder} do not belong together")
        with self._changing:
            self._state = _State(VectorBlock.sealed(ids, codes, bits), VectorBlock.empty(self._codec))

    def _with(self, state: _State, rows: Sequence[VectorRow]) -> _State:
        """The state with rows inserted or replaced."""
        last = {row.id: row for row in rows}
        ordered = [last[number] for number in sorted(last)]
        ids = np.array([row.id for row in ordered], np.int64)
        codes = np.concatenate([self._codec.encode(part) for part in parts(ordered)])
        return state.put(ids, codes, self._codec.sign(codes))


def _best(ids: Ids, scores: Scores, k: int) -> tuple[Ids, Scores]:
    """The k highest scores, best first, equal ones by id."""
    if 0 < k < len(scores):
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        ids, scores = ids[scores >= edge], scores[scores >= edge]
    order = np.lexsort((ids, -scores))[:k]
    return ids[order], np.clip(scores[order], -1, 1)


@dataclass(frozen=True, slots=True)
class _State:
    """A base (built, loaded or compacted) and the rows added since."""

    base: VectorBlock
    recent: VectorBlock

    @classmethod
    def empty(cls, codec: VectorCodec) -> _State:
        """A state without rows."""
        return cls(VectorBlock.empty(codec), VectorBlock.empty(codec))

    @property
    def blocks(self) -> tuple[VectorBlock, VectorBlock]:
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
        return _State(VectorBlock.sealed(live.ids, codes, bits), VectorBlock.empty(codec))


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


def _write_rows(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]) -> None:
    """Write the rows, which come in parts, as an npy file of that type and shape."""
    with path.open("wb") as file:
        file.write(_npy_header(dtype, shape))
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def _map_rows(path: Path, dtype: np.dtype[Any], row: tuple[int, ...]) -> NDArray[Any]:
    """The file as an array of rows of that shape; ValueError unless it is just what `_write_rows` writes."""
    size, width = path.stat().st_size, dtype.itemsize * math.prod(row)
    shape = (max(0, size - _NPY_HEADER) // width, *row)
    with path.open("rb") as file:
        if file.read(_NPY_HEADER) != _npy_header(dtype, shape) or size != _NPY_HEADER + shape[0] * width:
            raise ValueError(f"{path} is damaged, or of another format")
    return np.asarray(np.memmap(path, dtype, "r", _NPY_HEADER, shape))

"""Unit vectors as codes, by fixed arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "SMALL_PRODUCT", "QuantizationType", "Scores", "VectorCodec", "VectorQuery", "VectorRow", "parts"]

BATCH = 1_024
"""Vectors that are worked on at a time."""

Scores = NDArray[np.float32]
Cut = TypeVar("Cut", NDArray[Any], list[Any])


class QuantizationType(StrEnum):
    """Precision of a vector's components in memory."""

    INT8 = "int8"
    FLOAT16 = "float16"
    FLOAT32 = "float32"


SMALL_PRODUCT = 98_304
"""Multiplications up to which the linear algebra library keeps to one thread, and the numbers stay in the cache: six times
as fast as one large product on two cores."""
FAST_WIDTHS = (4, 8, 16, 20, 32, 64)
"""Bytes of the signatures that FAISS has its own code for: a scan takes half the time of one between."""


@dataclass(frozen=True, slots=True)
class VectorRow:
    """What the store eats: an id and a unit vector as float16, little-endian."""

    id: int
    vector: bytes


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A query made ready: `codes @ weights / unit` are cosines; `bits` is its signature, shape (1, bytes).

    With int8 codes the weights are whole numbers, so large that every partial sum of a product still fits the 24 bits of
    a float32: cosines are then exact, and the same wherever in an array a vector stands.
    """

    weights: Scores
    unit: np.float32
    bits: NDArray[np.uint8]

    def cosines(self, codes: NDArray[Any]) -> Scores:
        """Cosine of each code's vector with the query."""
        found = np.empty(len(codes), np.float32)
        rows = max(1, SMALL_PRODUCT // len(self.weights))
        for start in range(0, len(codes), rows):
            found[start : start + rows] = codes[start : start + rows].astype(np.float32) @ self.weights
        found /= self.unit
        return found


class VectorCodec:
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
        needed = (dimension + 7) // 8
        self.bytes = next((width for width in FAST_WIDTHS if width >= needed), needed)
        self.scale = 127 * math.sqrt(dimension) / 6 if quantization is QuantizationType.INT8 else 1.0
        frozen = np.random.RandomState(20060)  # the legacy generator: its stream never changes between numpy versions
        self._unit = 2.0**23 if quantization is QuantizationType.INT8 else 1.0
        self._order = frozen.permutation(dimension)
        self._signs = 1.0 - 2.0 * frozen.randint(0, 2, dimension)
        self._hadamard = _hadamard(math.gcd(dimension, 64))
        self._last: tuple[Scores | None, VectorQuery | None] = None, None

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
        """Signatures of codes, shape (len(codes), self.bytes)."""
        return self._packed(codes > 0)

    def query(self, vector: Scores) -> VectorQuery:
        """Prepare a query of any length; ValueError for another dimension, or a component that is not finite.

        The last one is remembered: a search asks several times. The array must not change.
        """
        known, prepared = self._last
        if vector is known and prepared is not None:
            return prepared
        plain = np.asarray(vector, np.float64)
        if plain.shape != (self.dimension,) or not np.isfinite(plain).all():
            raise ValueError(f"a query is {self.dimension} finite numbers, not an array of shape {plain.shape}")
        mixed = self._mix(plain[None]) / (float(np.linalg.norm(plain)) or 1.0)
        weights = mixed[0] * (self._unit / self.scale)
        if self.dtype == np.int8:
            weights = np.rint(weights)
        prepared = VectorQuery(weights.astype(np.float32), np.float32(self._unit), self._packed(mixed > 0))
        self._last = vector, prepared
        return prepared

    def _packed(self, positive: NDArray[np.bool_]) -> NDArray[np.uint8]:
        bits = np.packbits(positive, axis=1)
        if bits.shape[1] == self.bytes:
            return bits
        padded = np.zeros((len(bits), self.bytes), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded

    def _mix(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        runs = (vectors[:, self._order] * self._signs).reshape(-1, len(self._hadamard))
        return (runs @ self._hadamard).reshape(vectors.shape) / math.sqrt(len(self._hadamard))


def _hadamard(size: int) -> NDArray[np.float64]:
    """Sylvester's matrix of ±1 for a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def parts(whole: Cut, size: int = BATCH) -> Iterator[Cut]:
    """An array or a list, cut into slices of a size; the last may be shorter."""
    return (whole[start : start + size] for start in range(0, len(whole), size))

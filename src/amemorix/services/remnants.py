"""Fragments of texts, and where bytes hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Needles", "Remnants"]

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Size:
    """Fragments for texts of at least so many bytes; `every`: kept at eight bytes in a row, looked for at each eighth."""

    least: int
    width: int
    every: int


SIZES = (_Size(23, 16, 8), _Size(15, 8, 8), _Size(8, 8, 1), _Size(6, 6, 1))
"""Fragments as wide as the text allows. Shorter texts would be met everywhere by chance."""
CLOSEST, MOST = 16, 16
"""Bytes between two places of a text that are kept, and about how many there are of a long one."""
_WORD = 8
_OVERLAP = 24
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIX_NEXT = np.uint64(0xC2B2_AE3D_27D4_EB4F)
_SIX = np.uint64((1 << 48) - 1)
_NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Remnants:
    """What a search of bytes found: how many bytes were read, and the fragments met, by size."""

    bytes: int
    met: Mapping[_Size, Keys]

    def with_bytes(self, more: int) -> Remnants:
        """The same of so many bytes more."""
        return Remnants(self.bytes + more, self.met)

    @property
    def count(self) -> int:
        """How many different fragments were met."""
        return sum(len(keys) for keys in self.met.values())


class Needles:
    """Fragments of texts, several of each and none longer than 23 bytes, so that no border of a page hides them all.

    A fragment is kept as a 64-bit hash: nothing of the text can be read out of it. The time of a search hardly depends
    on how many there are.
    """

    def __init__(self, keys: Mapping[_Size, Keys], too_short: int = 0) -> None:
        self._keys = {size: keys[size] for size in SIZES if size in keys and len(keys[size])}
        self._tables = {size: _table(held) for size, held in self._keys.items()}
        self.too_short = too_short
        """Texts of fewer than 6 bytes, which are not looked for."""

    @classmethod
    def of(cls, texts: Iterable[str | bytes]) -> Needles:
        """Fragments of each text as it stands and as JSON writes it, and of bytes as they stand."""
        found: dict[_Size, list[Keys]] = {}
        short = 0
        for raw in {form for text in texts for form in _forms(text)}:
            size = next((size for size in SIZES if len(raw) >= size.least), None)
            if size is None:
                short += 1
            else:
                found.setdefault(size, []).append(_hashes(raw, size.width)[_places(len(raw), size)])
        return cls({size: np.unique(np.concatenate(keys)) for size, keys in found.items()}, short)

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._keys.values())

    def without(self, other: Mapping[_Size, Keys]) -> Needles:
        """The fragments that are not among the others."""
        kept = {size: np.setdiff1d(keys, other.get(size, _NONE)) for size, keys in self._keys.items()}
        return Needles(kept, self.too_short)

    def only(self, met: Mapping[_Size, Keys]) -> Needles:
        """Those of the fragments that were met."""
        return Needles(met, self.too_short)

    def met(self, text: str) -> bool:
        """Whether a text holds a fragment."""
        return bool(self.search(iter([text.encode()])).count)

    def search(self, chunks: Iterator[bytes], *, all_of_them: bool = False) -> Remnants:
        """Look through bytes that come a chunk at a time.

        Every stretch of a text is noticed by one fragment at least, or by all that it holds if `all_of_them` are asked for.
        """
        read, rest = 0, b""
        met: dict[_Size, list[Keys]] = {}
        for chunk in chunks:
            read += len(chunk)
            data = rest + chunk
            for size, keys in self._in(data, all_of_them):
                met.setdefault(size, []).append(keys)
            rest = data[-_OVERLAP:]
        return Remnants(read, {size: np.unique(np.concatenate(keys)) for size, keys in met.items()})

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """(where it begins, how many bytes) of every fragment in the bytes."""
        found: list[tuple[int, int]] = []
        for size, keys in self._keys.items():
            if len(data) >= size.width:
                at = np.flatnonzero(np.isin(_hashes(data, size.width), keys))
                found += [(place, size.width) for place in at.tolist()]
        return found

    def _in(self, data: bytes, all_of_them: bool) -> Iterator[tuple[_Size, Keys]]:
        for size, (table, shift) in self._tables.items():
            held = self._keys[size]
            for hashes in _residues(data, size.width, 1 if size.every > 1 and not all_of_them else _WORD):
                likely = hashes[table[(hashes >> shift).view(np.int64)]]
                exact = likely[held[np.minimum(np.searchsorted(held, likely), len(held) - 1)] == likely]
                if len(exact):
                    yield size, np.unique(exact)


def _forms(text: str | bytes) -> set[bytes]:
    if isinstance(text, bytes):
        return {text}
    raw = text.encode()
    return {raw, json.dumps(text)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}


def _places(length: int, size: _Size) -> NDArray[np.intp]:
    """Where fragments are taken: spread over the text, its end included."""
    last = length - size.width - size.every + 1
    step = max(CLOSEST, last // MOST)
    starts = np.append(np.arange(0, last + 1, step), last)
    return np.unique((starts[:, None] + np.arange(size.every)).ravel())


def _table(keys: Keys) -> tuple[NDArray[np.bool_], np.uint64]:
    """Whether a hash that begins like this may be among the keys: nearly every byte is passed over here."""
    bits = min(max((len(keys) * 64).bit_length(), 16), 22)
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, np.bool_)
    table[(keys >> shift).view(np.int64)] = True
    return table, shift


def _hashes(data: bytes, width: int) -> Keys:
    """The hash of the fragment at each byte."""
    found = np.zeros(len(data) - width + 1, np.uint64)
    for start, hashes in enumerate(_residues(data, width, _WORD)):
        found[start::_WORD] = hashes
    return found


def _residues(data: bytes, width: int, residues: int) -> Iterator[Keys]:
    """The hashes at bytes 0, 8, 16 …, then at 1, 9, 17 …, and so on, for the first so many beginnings."""
    padded = data + bytes(2 * _WORD)
    for start in range(max(0, min(residues, len(data) - width + 1))):
        count = (len(data) - width - start) // _WORD + 1
        words = np.frombuffer(padded, "<u8", count + 1, start)
        if width == 16:
            yield words[:-1] * _MIX + words[1:] * _MIX_NEXT
        else:
            yield (words[:-1] & _SIX if width == 6 else words[:-1]) * _MIX

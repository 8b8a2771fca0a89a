"""Fragments of texts, and where bytes hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Gathering", "Needles", "Remnants"]

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Size:
    """Fragments for texts of at least so many bytes; `every`: kept at eight bytes in a row, looked for at each eighth."""

    least: int
    width: int
    every: int


SIZES = (_Size(23, 16, 8), _Size(15, 8, 8), _Size(8, 8, 1), _Size(6, 6, 1))
"""Fragments as wide as the text allows. Shorter texts would be met everywhere by chance."""
WORD_SIZES = (_Size(16, 16, 1), _Size(8, 8, 1), _Size(6, 6, 1))
"""Of a name, an id or a short text the first and the last bytes are kept: it is met where both are."""
SHORT = SIZES[0].least
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
    """What a search of bytes found: how many bytes were read, the fragments met, by size, and how many count."""

    bytes: int
    met: Mapping[_Size, Keys]
    count: int
    """Fragments of texts, and words that were met as a whole."""

    def with_bytes(self, more: int) -> Remnants:
        """The same of so many bytes more."""
        return Remnants(self.bytes + more, self.met, self.count)


class Needles:
    """Fragments of texts, several of each and none longer than 23 bytes, so that no border of a page hides them all.

    Of names, ids and texts that are shorter, the beginning and the end together: many share the one or the other. A
    fragment is kept as a 64-bit hash: nothing of the text can be read out of it. The time of a search hardly depends on
    how many there are.
    """

    def __init__(
        self, keys: Mapping[_Size, Keys], too_short: int = 0, words: Mapping[_Size, Keys] | None = None,
        ids: Mapping[_Size, Keys] | None = None,
    ) -> None:  # fmt: skip
        self._keys = {size: keys[size] for size in SIZES if size in keys and len(keys[size])}
        self._words, self._ids = _not_empty(words or {}), _not_empty(ids or {})
        self.too_short = too_short
        """Texts of fewer than 6 bytes, which are not looked for."""

    @cached_property
    def _all(self) -> dict[_Size, Keys]:
        found = dict(self._keys)
        for size, pairs in (*self._words.items(), *self._ids.items()):
            found[size] = np.union1d(found.get(size, _NONE), pairs.ravel())
        return found

    @cached_property
    def _tables(self) -> dict[_Size, tuple[NDArray[np.bool_], np.uint64]]:
        return {size: _table(held) for size, held in self._all.items()}

    @classmethod
    def of(cls, texts: Iterable[str | bytes], names: Iterable[str] = (), ids: Iterable[str] = ()) -> Needles:
        """Fragments of each text as it stands and as JSON writes it, and of bytes as they stand."""
        found: dict[_Size, list[bytes]] = {}
        forms = {form: isinstance(text, bytes) for text in texts for form in _forms(text)}
        long = [raw for raw, blob in forms.items() if blob or len(raw) >= SHORT]
        short = 0
        for raw in long:
            size = next((size for size in SIZES if len(raw) >= size.least), None)
            if size is None:
                short += 1
            else:
                found.setdefault(size, []).append(raw)
        words, less = _pairs({*forms} - {*long} | {form for name in names for form in _forms(name)})
        marks, least = _pairs({form for id_ in ids for form in _forms(id_)})
        keys = {size: _fragments(raws, size) for size, raws in found.items()}
        return cls(keys, short + less + least, words, marks)

    def __len__(self) -> int:
        return sum(len(keys) for held in (self._keys, self._words, self._ids) for keys in held.values())

    def without(self, other: Mapping[_Size, Keys]) -> Needles:
        """The fragments that are not among the others, and the words that they do not make up."""
        kept = {size: keys[~_among(keys, other.get(size, _NONE))] for size, keys in self._keys.items()}
        return Needles(kept, self.too_short, _split(self._words, other)[1], _split(self._ids, other)[1])

    def with_ids(self, other: Needles) -> Needles:
        """The same with the ids of the other."""
        return Needles(self._keys, self.too_short, self._words, other._ids)

    @property
    def of_ids(self) -> Needles:
        """The ids alone."""
        return Needles({}, self.too_short, ids=self._ids)

    def only(self, met: Mapping[_Size, Keys]) -> Needles:
        """Those of the fragments that were met, and the words that were met as a whole."""
        keys = {size: keys[_among(keys, met.get(size, _NONE))] for size, keys in self._keys.items()}
        return Needles(keys, self.too_short, _split(self._words, met)[0], _split(self._ids, met)[0])

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
        found = {size: _distinct(np.concatenate(keys)) for size, keys in met.items()}
        return Remnants(read, found, len(self.only(found)) if found else 0)

    def places(self, data: bytes) -> list[tuple[int, int]]:
        """(where it begins, how many bytes) of every fragment in the bytes."""
        found: list[tuple[int, int]] = []
        for size, keys in self._all.items():
            if len(data) >= size.width:
                at = np.flatnonzero(np.isin(_hashes(data, size.width), keys))
                found += [(place, size.width) for place in at.tolist()]
        return found

    def _in(self, data: bytes, all_of_them: bool) -> Iterator[tuple[_Size, Keys]]:
        for size, (table, shift) in self._tables.items():
            held = self._all[size]
            for hashes in _residues(data, size.width, 1 if size.every > 1 and not all_of_them else _WORD):
                likely = hashes[table[(hashes >> shift).view(np.int64)]]
                exact = likely[held[np.minimum(np.searchsorted(held, likely), len(held) - 1)] == likely]
                if len(exact):
                    yield size, exact


class Gathering:
    """Which needles texts hold that come a portion at a time: the ends of a word may be met in different portions."""

    def __init__(self, needles: Needles) -> None:
        self._needles = needles
        self._met: dict[_Size, list[Keys]] = {}

    def add(self, texts: Iterable[bytes]) -> None:
        """Note what a portion holds; of the texts themselves nothing is kept."""
        portion = iter([b"\n".join(texts)])
        for size, keys in self._needles.search(portion, all_of_them=True).met.items():
            self._met.setdefault(size, []).append(keys)

    @property
    def missing(self) -> Needles:
        """The needles that no portion holds, nor all of them together."""
        return self._needles.without({size: np.concatenate(keys) for size, keys in self._met.items()})

    @property
    def held(self) -> Needles:
        """The needles that the portions hold."""
        return self._needles.only({size: np.concatenate(keys) for size, keys in self._met.items()})


def _distinct(keys: Keys) -> Keys:
    """Each key once, ascending; several times as fast as `numpy.unique`, which hashes."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


def _among(keys: Keys, met: Keys) -> NDArray[np.bool_]:
    """Which of the keys, which are sorted, were met; made for many keys of which few were."""
    at = np.searchsorted(keys, met)
    found = at[keys[np.minimum(at, len(keys) - 1)] == met]
    mask = np.zeros(len(keys), np.bool_)
    mask[found] = True
    return mask


def _not_empty(words: Mapping[_Size, Keys]) -> dict[_Size, Keys]:
    return {size: pairs for size, pairs in words.items() if len(pairs)}


def _split(words: Mapping[_Size, Keys], met: Mapping[_Size, Keys]) -> tuple[dict[_Size, Keys], dict[_Size, Keys]]:
    """(words of which both ends were met, the others)."""
    whole = {
        size: np.isin(pairs, met[size]).all(axis=1) if size in met else np.zeros(len(pairs), np.bool_)
        for size, pairs in words.items()
    }
    return {size: words[size][held] for size, held in whole.items()}, {
        size: words[size][~held] for size, held in whole.items()
    }


def _pairs(words: Iterable[bytes]) -> tuple[dict[_Size, Keys], int]:
    """The hashes of the first and the last bytes of each word, and how many words are too short."""
    found: dict[_Size, list[Keys]] = {}
    short = 0
    for raw in words:
        size = next((size for size in WORD_SIZES if len(raw) >= size.least), None)
        if size is None:
            short += 1
        else:
            found.setdefault(size, []).append(_hashes(raw, size.width)[[0, -1]])
    return {size: np.unique(np.stack(pairs), axis=0) for size, pairs in found.items()}, short


def _forms(text: str | bytes) -> set[bytes]:
    if isinstance(text, bytes):
        return {text}
    raw = text.encode()
    return {raw, json.dumps(text)[1:-1].encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}


def _fragments(raws: Sequence[bytes], size: _Size) -> Keys:
    """The fragments that are kept of texts, ascending."""
    begins = np.cumsum([0, *map(len, raws)])
    places = [_places(len(raw), size) + begin for raw, begin in zip(raws, begins, strict=False)]
    return _distinct(_hashes(b"".join(raws), size.width)[np.concatenate(places)])


@lru_cache(maxsize=4_096)
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

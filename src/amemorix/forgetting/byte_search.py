"""Many byte strings at once, looked for in files and in rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Patterns"]

PIECE, PIECE_OTHER = 16, 8
"""Characters of the pieces into which a text is cut: one of ASCII, and any other."""
LONGEST_WORD = 64
LEAST_BYTES = 6
"""Less would be met everywhere by chance."""
WORD = 8
WIDTHS = (16, 8, LEAST_BYTES)
"""First bytes by which a pattern is found, as many as it has."""
Hashes = NDArray[np.uint64]
_MIX, _MIX_NEXT = np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F)
_INNER = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz:@#-")
"""Bytes that make a word go on: an id is not met within a longer one."""


class Patterns:
    """Pieces of texts, found anywhere, and words, found whole.

    A text is cut into pieces as long that any stretch of two of them less a character holds one. What is looked for is
    the UTF-8 of each, and its spellings in JSON.
    """

    def __init__(self, pieces: Iterable[bytes] = (), words: Iterable[bytes] = (), too_short: int = 0) -> None:
        self._pieces, self._words = frozenset(pieces), frozenset(words)
        self.too_short = too_short
        """Texts of fewer than 6 bytes, which are not looked for."""

    @classmethod
    def of(
        cls, texts: Iterable[str], words: Iterable[str] = (), notes: Iterable[str] = (), blobs: Iterable[bytes] = ()
    ) -> Patterns:
        """The patterns of texts, and of words: names, ids. A text that is too short to be cut is a word.

        `notes` are JSON, whose short pieces may be no more than keys that other records have too: the texts within are
        given beside. Of a blob its beginning, middle and end are looked for, where they are not a few bytes repeated.
        """
        pieces, whole = set[str](), set[str]()
        sized = ((text, PIECE if text.isascii() else PIECE_OTHER) for text in texts)
        for text, size in chain(sized, ((note, PIECE) for note in notes)):
            if len(text) < size:
                whole.add(text)
            else:
                pieces.update(text[at : at + size] for at in (*range(0, len(text) - size, size), len(text) - size))
        for word in words:
            whole.update([word] if len(word) <= LONGEST_WORD else [word[:LONGEST_WORD], word[-LONGEST_WORD:]])
        long = {word for word in whole if len(word.encode()) >= LEAST_BYTES}
        cut = (blob[at : at + PIECE] for blob in blobs for at in (0, len(blob) // 2, max(0, len(blob) - PIECE)))
        raw = {piece for piece in cut if len(piece) == PIECE and len(set(piece)) >= WORD}
        return cls(chain(_spelled(pieces), raw), _spelled(long), len(whole) - len(long))

    def to_json(self) -> dict[str, Any]:
        """The patterns as values of JSON, which `from_json` reads: a letter for each byte."""
        pieces, words = ([one.decode("latin-1") for one in some] for some in (self._pieces, self._words))
        return {"pieces": pieces, "words": words, "too_short": self.too_short}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Patterns:
        """The patterns that `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        pieces, words = ([one.encode("latin-1") for one in told[kind]] for kind in ("pieces", "words"))
        return cls(pieces, words, int(told["too_short"]))

    def __len__(self) -> int:
        return len(self._pieces) + len(self._words)

    def only(self, found: Set[bytes]) -> Patterns:
        """Those of them that were found."""
        return Patterns(self._pieces & found, self._words & found, self.too_short)

    def without(self, found: Set[bytes]) -> Patterns:
        """Those of them that were not found."""
        return Patterns(self._pieces - found, self._words - found, self.too_short)

    def search(self, chunks: Iterable[bytes]) -> set[bytes]:
        """The patterns that these bytes hold, which come a chunk at a time."""
        found, rest = set[bytes](), b"\n"
        open_heads = [np.ones(len(table.heads), np.bool_) for table in self._tables]
        for chunk in chain(chunks, (b"\n",)) if len(self) else ():
            data = rest + chunk
            for table, still_open in zip(self._tables, open_heads, strict=True):
                for at, number in table.places(data, still_open):
                    for pattern in table.patterns[number]:
                        end = at + len(pattern)
                        if pattern in found or not (at > 0 and end < len(data) and data.startswith(pattern, at)):
                            continue  # one that ends with the chunk is seen with the next
                        if pattern in self._pieces or _is_whole(data, at, end):
                            found.add(pattern)
                            still_open[number] = not found.issuperset(table.patterns[number])
            rest = data[-self._overlap :]
        return found

    @cached_property
    def _overlap(self) -> int:
        return max(map(len, (*self._pieces, *self._words))) + 1

    @cached_property
    def _tables(self) -> list[_Table]:
        by_width: dict[int, list[bytes]] = {}
        for pattern in (*self._pieces, *self._words):
            width = next(width for width in WIDTHS if len(pattern) >= width)
            by_width.setdefault(width, []).append(pattern)
        return [_Table(width, patterns) for width, patterns in by_width.items()]


class _Table:
    """Where patterns may begin: by the hash of their first bytes."""

    def __init__(self, width: int, patterns: Iterable[bytes]) -> None:
        self._width = width
        by_head: dict[int, list[bytes]] = {}
        for pattern in patterns:
            by_head.setdefault(int(_hashes(pattern[:width], width, 0)[0]), []).append(pattern)
        self.heads: Hashes = np.array(sorted(by_head), np.uint64)
        self.patterns = [by_head[head] for head in self.heads.tolist()]
        bits = min(max((64 * len(self.heads)).bit_length(), 16), 22)
        self._shift, self._likely = np.uint64(64 - bits), np.zeros(1 << bits, np.bool_)
        self._likely[(self.heads >> self._shift).view(np.int64)] = True

    def places(self, data: bytes, still_open: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """(place, number of the head) wherever the bytes are those of a head that is still open."""
        for start in range(max(0, min(WORD, len(data) - self._width + 1))):
            hashes = _hashes(data, self._width, start)
            likely = np.flatnonzero(self._likely[(hashes >> self._shift).view(np.int64)])
            some = hashes[likely]
            number = np.minimum(np.searchsorted(self.heads, some), len(self.heads) - 1)
            exact = (self.heads[number] == some) & still_open[number]
            yield from zip((start + WORD * likely[exact]).tolist(), number[exact].tolist(), strict=True)


def _hashes(data: bytes, width: int, start: int) -> Hashes:
    """The hashes of so many bytes at every eighth place."""
    count = (len(data) - width - start) // WORD + 1
    words = np.frombuffer(data + bytes(2 * WORD), "<u8", count + 1, start)
    if width == 2 * WORD:
        return words[:-1] * _MIX + words[1:] * _MIX_NEXT
    return (words[:-1] & np.uint64((1 << 8 * width) - 1)) * _MIX


def _spelled(texts: Iterable[str]) -> Iterator[bytes]:
    for text in texts:
        yield text.encode()
        if not text.isascii() or not text.isalnum():
            yield json.dumps(text)[1:-1].encode()
            yield json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _is_whole(data: bytes, start: int, end: int) -> bool:
    return not (
        (data[start - 1] in _INNER and data[start] in _INNER) or (data[end - 1] in _INNER and data[end] in _INNER)
    )

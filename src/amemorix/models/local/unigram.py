"""Text cut into the pieces of a unigram language model."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["Unigram", "hashed"]

LONGEST = 16
"""Characters of the longest piece."""
_SPACE = "▁"
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MARKS: dict[int, str] = {
    **dict.fromkeys([*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F], ""),
    **dict.fromkeys([9, 0xA, 0xC, 0xD, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD], " "),
}
"""What SentencePiece's `nmt_nfkc` does before NFKC."""


def hashed(pieces: Sequence[str]) -> NDArray[np.uint64]:
    """A number of 64 bits for each piece (FNV-1a over its characters)."""
    hashes = np.full(len(pieces), _BASIS)
    lengths = np.array([len(piece) for piece in pieces])
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        characters = np.array([ord(pieces[row][place]) for row in rows.tolist()], np.uint64)
        hashes[rows] = (hashes[rows] ^ characters) * _PRIME
    return hashes


class Unigram:
    """The most probable way to cut a text (Kudo 2018, section 3.1), out of arrays instead of a trie.

    `hashes` of the pieces ascend; `ids` and `scores` (log-probabilities) belong to them. The library `tokenizers` takes
    280 MB for 250,000 pieces, these arrays 4.
    """

    def __init__(
        self, hashes: NDArray[np.uint64], ids: NDArray[np.int32], scores: NDArray[np.float32], *, unknown: int
    ) -> None:
        self._hashes = hashes
        self._ids = ids
        self._scores = scores
        self._unknown = unknown
        self._least = float(scores.min(initial=0)) - 10

    def cut(self, text: str) -> list[int]:
        """The ids of the pieces; each run of characters that are in none is one unknown."""
        words = unicodedata.normalize("NFKC", text.translate(_MARKS)).split()
        if not words:
            return []
        joined = _SPACE + _SPACE.join(words)
        size = len(joined)
        best, piece, start_of = [0.0] + [-inf] * size, [-1] * (size + 1), [0] * (size + 1)
        for start, pieces in enumerate(self._pieces(joined)):
            here = best[start]
            for end, id_, score in pieces:
                if here + score > best[end]:
                    best[end], piece[end], start_of[end] = here + score, id_, start
            if here + self._least > best[start + 1]:
                best[start + 1], piece[start + 1], start_of[start + 1] = here + self._least, self._unknown, start
        found: list[int] = []
        while size:
            if piece[size] != self._unknown or found[-1:] != [self._unknown]:
                found.append(piece[size])
            size = start_of[size]
        found.reverse()
        return found

    def _pieces(self, joined: str) -> list[list[tuple[int, int, float]]]:
        """For each place the pieces that begin there, none of which reaches into the next word: end, id, score."""
        characters = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.uint64)
        size = len(characters)
        bounds = np.append(np.flatnonzero(characters == ord(_SPACE)), size)
        starts = np.arange(size)
        room = bounds[np.searchsorted(bounds, starts, side="right")] - starts
        hashes = np.full(size, _BASIS)
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        for length in range(1, LONGEST + 1):
            has = room[starts] >= length
            starts, hashes = starts[has], hashes[has]
            if not len(starts):
                break
            hashes = (hashes ^ characters[starts + length - 1]) * _PRIME
            at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            hit = np.flatnonzero(self._hashes[at] == hashes)
            found.append((starts[hit], starts[hit] + length, at[hit]))
        begins, ends, at = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(begins, kind="stable")
        at = at[order]
        cuts = np.searchsorted(begins[order], np.arange(size + 1)).tolist()
        flat = list(zip(ends[order].tolist(), self._ids[at].tolist(), self._scores[at].tolist(), strict=True))
        return [flat[low:high] for low, high in pairwise(cuts)]

"""The lexical index as inverted lists in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...language.normalise import ANALYSER_VERSION
from ...ports import SparseScores
from .levels import Ints
from .search import SCAN_LIMIT, Part, View
from .segment import Segment, TermRow, assemble, read_rows

__all__ = ["FORMAT", "SparseBM25Index", "TermRow"]

FORMAT = "1"
"""Changes with the files that `save` writes."""
_BLOCK_ROWS = 1_000
_COMPACT_ROWS = 8_000
_COMPACT_SHARE = 1 / 16
_DEAD_SHARE = 0.2


class SparseBM25Index:
    """Exact BM25 over segments: one large one, and a few small ones with what came since the last compaction.

    Searches read one immutable tuple of parts, which every change replaces by one assignment. A removed document stays
    in its segment behind a mask until the segment is merged. Compacting and saving may go on while rows are applied.
    """

    name = "sparse"

    def __init__(self, *, scan_limit: int = SCAN_LIMIT, compact_rows: int = _COMPACT_ROWS) -> None:
        self._scan_limit = scan_limit
        self._compact_rows = compact_rows
        self._parts: tuple[Part, ...] = ()
        self._changing = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """The file format and the analyser version."""
        return f"bm25:{FORMAT}:{ANALYSER_VERSION}"

    def __len__(self) -> int:
        """Living documents."""
        return sum(part.live for part in self._parts)

    def build(self, rows: Iterator[TermRow]) -> None:
        """Replace the whole content. Of several rows with one id the last counts."""
        parts = _parts([assemble([*read_rows(rows)])])
        with self._changing:
            self._parts = parts

    def apply(self, rows: Sequence[TermRow], removed: Sequence[int]) -> None:
        """Insert or replace rows by id, and remove ids; an id in both is kept."""
        gone = np.unique(np.array([*(row.id for row in rows), *removed], np.int64))
        new = _parts([assemble([*read_rows(rows)])])
        with self._changing:
            parts = [part.without(gone) for part in self._parts]
            self._parts = self._tidied([*(part for part in parts if part.live), *new])

    def compact(self) -> bool:
        """Merge everything into one segment once many rows stand outside the largest or a fifth is removed."""
        parts = self._parts
        rows = sum(len(part.segment) for part in parts)
        outside = rows - max((len(part.segment) for part in parts), default=0)
        dead = rows - sum(part.live for part in parts)
        if outside < max(self._compact_rows, rows * _COMPACT_SHARE) and dead <= rows * _DEAD_SHARE:
            return False
        self._merge(parts)
        return True

    def save(self, folder: Path) -> None:
        """Write one segment with everything, merging first if there are several."""
        parts = self._parts
        whole = len(parts) == 1 and parts[0].alive is None
        (parts[0].segment if whole else self._merge(parts)).save(folder)

    def load(self, folder: Path) -> None:
        """Map the files that `save` wrote. Raises OSError or ValueError if they cannot be used."""
        parts = _parts([Segment.load(folder)])
        with self._changing:
            self._parts = parts

    def search(
        self,
        terms: NDArray[np.uint32],
        *,
        scopes: Sequence[int] | None = None,
        allow: NDArray[np.int64] | None = None,
        hidden: NDArray[np.int64] | None = None,
        limit: int = 100,
    ) -> SparseScores:
        """Score documents for the query's term hashes; the contract is `SparseIndex.search`.

        All documents of a small set of scopes, or of the allow list, are returned, those that score nothing too.
        """
        view = View(self._parts, scopes, hidden)
        return view.search(terms, allow=allow, limit=limit, scan_limit=self._scan_limit)

    def document_frequency(self, terms: NDArray[np.uint32]) -> tuple[Ints, int]:
        """In how many documents each term occurs, and how many documents there are."""
        view = View(self._parts, None)
        return view.frequencies(terms), view.documents

    def dump(self) -> dict[int, tuple[int, int, int, bytes]]:
        """Every living document: id to scope, session, position and term blob. Slow; for comparing indexes."""
        segment = _merged(self._parts)
        source = segment.source()
        order = np.argsort(segment.docs, kind="stable")
        terms = np.repeat(segment.terms, np.diff(segment.term_start))[order].astype("<u4")
        counts = segment.counts[order]
        borders = np.searchsorted(segment.docs[order], np.arange(len(segment) + 1)).tolist()
        blobs = [terms[a:b].tobytes() + counts[a:b].tobytes() for a, b in pairwise(borders)]
        columns = (source.scope.tolist(), source.session.tolist(), source.position.tolist(), blobs)
        return dict(zip(segment.ids.tolist(), zip(*columns, strict=True), strict=True))

    def _merge(self, parts: Sequence[Part]) -> Segment:
        """Put one segment in the place of those parts, without what was changed while it was made."""
        segment = _merged(parts)
        with self._changing:
            now = {id(part.segment): part for part in self._parts}
            lost = [part.ids_lost(now.get(id(part.segment))) for part in parts]
            gone = np.unique(np.concatenate([np.zeros(0, np.int64), *lost]))
            merged = [part.without(gone) for part in _parts([segment])]
            old = {id(part.segment) for part in parts}
            new = [part for part in self._parts if id(part.segment) not in old]
            self._parts = tuple(part for part in (*merged, *new) if part.live)
        return segment

    def _tidied(self, parts: list[Part]) -> tuple[Part, ...]:
        """Merge the newest parts while they are small or as small as what follows them: few parts, little work."""
        while len(parts) > 1:
            older, newer = len(parts[-2].segment), len(parts[-1].segment)
            alike = older <= newer and older + newer <= self._compact_rows
            if not alike and older + newer > min(_BLOCK_ROWS, self._compact_rows):
                break
            parts[-2:] = _parts([_merged(parts[-2:])])
        return tuple(parts)


def _parts(segments: Sequence[Segment]) -> tuple[Part, ...]:
    return tuple(
        Part(segment, None, len(segment), float(segment.length.sum(dtype=np.float64)))
        for segment in segments
        if len(segment)
    )


def _merged(parts: Sequence[Part]) -> Segment:
    return assemble([part.segment.source(part.alive) for part in parts])

"""BM25 of three levels: the paragraph, the paragraph with its neighbours, and its session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Floats", "Hashes", "Ints", "Matches", "SparseScores", "bm25", "inverse_frequency", "run_starts", "score_levels",
]  # fmt: skip

K1, B = 0.9, 0.4
"""Saturation and length normalisation of paragraphs and sessions."""
WINDOW_K1, WINDOW_B = 0.9, 0.75
"""The same for windows, which differ more in length."""
LEAST_TELLING = np.float32(1)
"""What a word counts towards coverage even if every document has it: a small store says little about how common it is."""
WINDOW_REACH = 2
"""Neighbours on either side that count as the paragraph's window."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Hashes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Matches:
    """Documents in reading order with how often each holds each query term."""

    ids: Ints
    scope: Ints
    session: Ints
    position: Ints
    length: Floats
    counts: Floats
    """Shape (terms, documents)."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> Matches:
        """The documents that a mask or an array of places selects, in its order."""
        return Matches(*(getattr(self, column.name)[..., which] for column in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Matches], terms: int) -> Matches:
        """Several sets of documents as one in reading order."""
        parts = [part for part in parts if len(part)]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            none = np.zeros(0, np.int64)
            return cls(none, none, none, none, np.zeros(0, np.float32), np.zeros((terms, 0), np.float32))
        columns = [column.name for column in fields(cls)]
        whole = cls(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in columns))
        return whole.take(np.lexsort((whole.ids, whole.position, whole.session, whole.scope)))


@dataclass(slots=True)
class SparseScores:
    """BM25 of three levels for every scored document, in reading order (scope, session, position, id)."""

    ids: Ints
    paragraph: Floats
    window: Floats
    session: Floats
    coverage: Floats
    """Share (0..1) of the query's idf mass that the paragraph itself contains."""
    window_coverage: Floats
    """The same for the paragraph with its neighbours."""
    previous: Ints
    """Index into `ids` of the paragraph before it in its session, or -1."""
    complete: bool = False
    """True if `ids` are all the documents of the scopes (those allowed), whether they match or not."""
    _order: NDArray[np.intp] | None = None

    @classmethod
    def none(cls) -> SparseScores:
        """Of no document."""
        ids, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
        return cls(ids, scores, scores, scores, scores, scores, ids)

    def places(self, wanted: Ints) -> NDArray[np.intp]:
        """Where each wanted id stands in `ids`, -1 if it does not."""
        if not len(self.ids):
            return np.full(len(wanted), -1, np.intp)
        if self._order is None:
            self._order = np.argsort(self.ids, kind="stable")
        at = np.minimum(np.searchsorted(self.ids, wanted, sorter=self._order), len(self.ids) - 1)
        found = self._order[at]
        return np.where(self.ids[found] == wanted, found, -1)


def inverse_frequency(frequencies: Ints, documents: int) -> Floats:
    """log(1 + (N - df + 0.5) / (df + 0.5)): Robertson and Zaragoza 2009, section 3.1, kept positive as in Lucene."""
    return np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)


def bm25(counts: Floats, length: Floats, average: float, weights: Floats, k1: float = K1, b: float = B) -> Floats:
    """Okapi BM25 of each column of `counts`, shape (terms, documents); Robertson and Zaragoza 2009, equation 3.15."""
    norm = np.float32(k1) * (np.float32(1 - b) + length * np.float32(b / max(average, 1e-9)))
    share = counts / (counts + norm)
    share *= (weights * np.float32(k1 + 1))[:, None]
    return share.sum(axis=0, dtype=np.float32)


def score_levels(matches: Matches, weights: Floats | None = None) -> SparseScores:
    """Score every document at three levels.

    `weights` are the terms' inverse document frequencies; without them each level counts its own from `matches`.
    """
    total = len(matches)
    if not total:
        return SparseScores.none()
    starts = run_starts(matches.scope, matches.session)
    run = np.repeat(np.arange(len(starts)), np.diff(starts, append=total))
    own = _weights(matches.counts, weights)
    tellings = np.maximum(own, LEAST_TELLING)
    mass = max(float(tellings.sum()), 1e-9)
    present = np.flatnonzero(matches.counts.any(axis=1))
    own, tellings, given = own[present], tellings[present], None if weights is None else weights[present]
    counts, length = matches.counts[present], matches.length
    wide_counts, wide_length = _windows(counts, length, run)
    all_counts = np.add.reduceat(counts, starts, axis=1)
    all_length = np.add.reduceat(length, starts)
    previous = np.arange(-1, total - 1, dtype=np.int64)
    previous[starts] = -1
    return SparseScores(
        ids=matches.ids,
        paragraph=bm25(counts, length, _mean(length), own),
        window=bm25(wide_counts, wide_length, _mean(wide_length), _weights(wide_counts, given), WINDOW_K1, WINDOW_B),
        session=bm25(all_counts, all_length, _mean(all_length), _weights(all_counts, given))[run],
        coverage=_coverage(counts, tellings, mass),
        window_coverage=_coverage(wide_counts, tellings, mass),
        previous=previous,
    )


def run_starts(scope: Ints, session: Ints) -> Ints:
    """The first place of each stretch with the same scope and session."""
    new = np.ones(len(scope), np.bool_)
    new[1:] = (session[1:] != session[:-1]) | (scope[1:] != scope[:-1])
    return np.flatnonzero(new)


def _windows(counts: Floats, length: Floats, run: Ints) -> tuple[Floats, Floats]:
    """Counts and lengths summed over each document and its neighbours of the same session."""
    wide_counts, wide_length = counts.copy(), length.copy()
    for reach in range(1, min(WINDOW_REACH, len(length) - 1) + 1):
        same = (run[reach:] == run[:-reach]).astype(np.float32)
        wide_counts[:, reach:] += counts[:, :-reach] * same
        wide_counts[:, :-reach] += counts[:, reach:] * same
        wide_length[reach:] += length[:-reach] * same
        wide_length[:-reach] += length[reach:] * same
    return wide_counts, wide_length


def _weights(counts: Floats, given: Floats | None) -> Floats:
    if given is not None:
        return given
    return inverse_frequency(np.count_nonzero(counts, axis=1), counts.shape[1])


def _coverage(counts: Floats, weights: Floats, mass: float) -> Floats:
    return np.minimum(weights @ (counts > 0).astype(np.float32) / np.float32(mass), np.float32(1))


def _mean(length: Floats) -> float:
    return float(length.mean(dtype=np.float64))

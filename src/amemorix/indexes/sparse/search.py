"""How a lexical query is answered over the documents that it may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ports import SparseScores
from .levels import Floats, Hashes, Ints, Matches, bm25, inverse_frequency, score_levels
from .segment import Segment, spans

__all__ = ["SCAN_LIMIT", "Part", "View"]

POSTING_SHARE, POSTING_FLOOR, COMMON_SHARE = 0.10, 20_000, 0.20
"""How many postings may be read to find candidates, and from which share of the documents on a term is too common."""
SCAN_LIMIT = 20_000
"""Documents of a set of scopes, or ids of an allow list, up to which all of them are scored."""
_GROUP = 32


@dataclass(frozen=True, slots=True)
class Part:
    """A segment and which of its documents are still alive: all if the mask is None."""

    segment: Segment
    alive: NDArray[np.bool_] | None
    live: int
    length: float
    """Sum of the lengths of the living documents."""

    def without(self, ids: Ints) -> Part:
        """The same part after the removal of those ids that it holds."""
        rows = self.segment.rows_of(ids)
        if self.alive is not None:
            rows = rows[self.alive[rows]]
        if not len(rows):
            return self
        alive = np.ones(len(self.segment), np.bool_) if self.alive is None else self.alive.copy()
        alive[rows] = False
        lost = float(self.segment.length[rows].sum(dtype=np.float64))
        return replace(self, alive=alive, live=self.live - len(rows), length=self.length - lost)

    def ids_lost(self, later: Part | None) -> Ints:
        """The ids alive here that are not alive in a later state of the same segment; all if that is gone."""
        if later is not None and later.alive is self.alive:
            return np.zeros(0, np.int64)
        lost = np.ones(len(self.segment), np.bool_) if self.alive is None else self.alive.copy()
        if later is not None and later.alive is not None:
            lost &= ~later.alive
        return self.segment.ids[lost]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents found through their rarer query terms, in any order."""

    ids: Ints
    session: Ints
    score: Floats

    def best(self, limit: int) -> Candidates:
        """The `limit` highest scores; of equal ones the smaller ids."""
        if len(self.ids) <= limit:
            return self
        last = score_floor(self.score, limit)
        above = np.flatnonzero(self.score > last)
        equal = np.flatnonzero(self.score == last)
        equal = equal[np.argsort(self.ids[equal])][: limit - len(above)]
        chosen = np.concatenate((above, equal))
        return Candidates(self.ids[chosen], self.session[chosen], self.score[chosen])


class View:
    """The live documents that one search may see: those of some scopes or all, less the hidden ones.

    What is counted over all of them, such as document frequencies, counts the hidden ones too.
    """

    def __init__(self, parts: Sequence[Part], scopes: Sequence[int] | None, hidden: Ints | None = None) -> None:
        wanted = None if scopes is None else np.unique(np.array(scopes, np.int64))
        self._scoped, self._hidden = wanted is not None, hidden
        self._slices = [_Slice(part, wanted) for part in parts]
        self.documents = sum(piece.documents() for piece in self._slices)

    def search(self, terms: Hashes, *, allow: Ints | None, limit: int, scan_limit: int = SCAN_LIMIT) -> SparseScores:
        """Score the documents; the contract is `SparseIndex.search`.

        A small set of scopes is scored whole with its own document frequencies at each level. A short allow list is
        scored by its sessions, and everything else by the sessions of the best candidates, both with the view's document
        frequencies. Average lengths are those of the documents scored.
        """
        terms = np.unique(terms)
        if self._scoped and self.documents <= scan_limit:
            parts = [piece.matches(piece.starts, piece.ends, terms) for piece in self._slices]
            return _only(score_levels(self._joined(parts, terms)), allow, complete=True)
        frequencies = self.frequencies(terms)
        weights = inverse_frequency(frequencies, self.documents)
        if allow is not None and len(allow) <= scan_limit:
            shown = allow if self._hidden is None else allow[~is_in(allow, self._hidden)]
            found = [piece.sessions_of(shown) for piece in self._slices]
            sessions = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
        else:
            rare = rare_terms(frequencies, self.documents)
            sessions = np.unique(self._candidates(terms[rare], weights[rare], allow, limit).session)
        parts = [piece.matches(*piece.session_ranges(sessions), terms) for piece in self._slices]
        complete = allow is not None and len(allow) <= scan_limit
        return _only(score_levels(self._joined(parts, terms), weights), allow, complete=complete)

    def frequencies(self, terms: Hashes) -> Ints:
        """In how many documents each term occurs."""
        return sum((piece.frequencies(terms) for piece in self._slices), np.zeros(len(terms), np.int64))

    def _joined(self, parts: Sequence[Matches], terms: Hashes) -> Matches:
        matches = Matches.join(parts, len(terms))
        return matches if self._hidden is None else matches.take(~is_in(matches.ids, self._hidden))

    def _candidates(self, terms: Hashes, weights: Floats, allow: Ints | None, limit: int) -> Candidates:
        """The `limit` best documents by BM25 of the paragraph with these terms and inverse frequencies."""
        most = limit if self._hidden is None else limit + len(self._hidden)
        average = sum(piece.length() for piece in self._slices) / max(self.documents, 1)
        found = [piece.candidates(terms, weights, average, allow, most) for piece in self._slices]
        ids, session = (
            np.concatenate([np.zeros(0, np.int64), *columns])
            for columns in ([part.ids for part in found], [part.session for part in found])
        )
        score = np.concatenate([np.zeros(0, np.float32), *(part.score for part in found)])
        shown = slice(None) if self._hidden is None else ~is_in(ids, self._hidden)
        return Candidates(ids[shown], session[shown], score[shown]).best(limit)


class _Slice:
    """The rows of one part that lie in the scopes, as ascending ranges."""

    def __init__(self, part: Part, scopes: Ints | None) -> None:
        self._segment, self._alive, self._part = part.segment, part.alive, part
        self._whole = scopes is None
        if scopes is None:
            self.starts, self.ends = np.zeros(1, np.int32), np.array([len(part.segment)], np.int32)
        else:
            self.starts, self.ends = part.segment.scope_ranges(scopes)

    def documents(self) -> int:
        if self._whole:
            return self._part.live
        if self._alive is None:
            return int((self.ends - self.starts).sum())
        return sum(int(np.count_nonzero(self._alive[start:end])) for start, end in self._ranges())

    def length(self) -> float:
        if self._whole:
            return self._part.length
        return sum(self._range_length(start, end) for start, end in self._ranges())

    def frequencies(self, terms: Hashes) -> Ints:
        postings = self._segment.postings(terms)
        if self._whole and self._alive is None:
            return np.array([end - first for first, end in postings], np.int64)
        return np.array([len(self._postings(*border)[0]) for border in postings], np.int64)

    def matches(self, starts: NDArray[np.int32], ends: NDArray[np.int32], terms: Hashes) -> Matches:
        if not len(starts):
            return Matches.join([], len(terms))
        found = self._segment.matches(starts, ends, terms)
        if self._alive is None:
            return found
        alive = self._alive[spans(starts, ends)]
        return found if alive.all() else found.take(alive)

    def session_ranges(self, sessions: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        segment = self._segment
        runs = segment.session_runs(sessions)
        starts, ends = segment.run_start[runs].astype(np.int32), segment.run_start[runs + 1].astype(np.int32)
        inside = self._inside(starts)
        return starts[inside], ends[inside]

    def sessions_of(self, ids: Ints) -> Ints:
        rows = self._segment.rows_of(ids)
        rows = rows[self._inside(rows)]
        rows = rows if self._alive is None else rows[self._alive[rows]]
        return self._segment.run_session[self._segment.runs_of(rows)]

    def candidates(self, terms: Hashes, weights: Floats, average: float, allow: Ints | None, limit: int) -> Candidates:
        """The `limit` best living documents by BM25 of these terms."""
        segment = self._segment
        scores = np.zeros(len(segment), np.float32)
        lists: list[NDArray[np.int32]] = []
        for border, weight in zip(segment.postings(terms), weights, strict=True):
            docs, counts = self._postings(*border)
            scores[docs] += bm25(counts.astype(np.float32)[None], segment.length[docs], average, weight[None])
            lists.append(docs)
        rows, values = _collect(scores, lists)
        if allow is not None:
            allowed = is_in(segment.ids[rows], allow)
            rows, values = rows[allowed], values[allowed]
        high = values >= score_floor(values, limit)
        rows, values = rows[high], values[high]
        return Candidates(segment.ids[rows], segment.run_session[segment.runs_of(rows)], values).best(limit)

    def _postings(self, first: int, end: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Living rows of the scopes in a list of postings, and their counts."""
        docs, counts = self._segment.docs[first:end], self._segment.counts[first:end]
        if not self._whole:
            inside = spans(np.searchsorted(docs, self.starts), np.searchsorted(docs, self.ends))
            docs, counts = docs[inside], counts[inside]
        if self._alive is not None:
            alive = self._alive[docs]
            docs, counts = docs[alive], counts[alive]
        return docs, counts

    def _inside(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        if not len(self.starts):
            return np.zeros(len(rows), np.bool_)
        place = np.searchsorted(self.starts, rows, "right") - 1
        return (place >= 0) & (rows < self.ends[place])

    def _ranges(self) -> list[tuple[int, int]]:
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def _range_length(self, start: int, end: int) -> float:
        length = self._segment.length[start:end]
        length = length if self._alive is None else length[self._alive[start:end]]
        return float(length.sum(dtype=np.float64))


def _collect(scores: Floats, lists: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int32], Floats]:
    """The rows of all lists, each once, and their scores; `scores` is used up."""
    rows, values = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for docs in lists:
        score = scores[docs]
        scores[docs] = 0
        seen_first = score > 0
        rows.append(docs[seen_first])
        values.append(score[seen_first])
    return np.concatenate(rows), np.concatenate(values)


def rare_terms(frequencies: Ints, documents: int) -> Ints:
    """Places of the terms to find candidates by, rarest first.

    The rarest always counts, the next unless it is common, further ones while the postings stay within the budget.
    """
    order = np.argsort(frequencies, kind="stable")
    order = order[frequencies[order] > 0]
    budget = max(POSTING_SHARE * documents, POSTING_FLOOR)
    common = max(COMMON_SHARE * documents, POSTING_FLOOR)
    sizes = frequencies[order]
    within = (sizes <= common) & ((np.cumsum(sizes) <= budget) | (np.arange(len(sizes)) < 2))
    within[:1] = True
    return order[within]


def score_floor(scores: Floats, limit: int) -> float:
    """The lowest score that can be among the `limit` highest."""
    if len(scores) <= limit:
        return -np.inf
    groups = len(scores) // _GROUP
    if groups > 4 * limit:
        # The best of each of many groups: the limit-th of those is a lower bound, found much faster than the floor.
        highest = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
        scores = scores[scores >= np.partition(highest, groups - limit)[groups - limit]]
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])


def is_in(values: Ints, ascending: Ints) -> NDArray[np.bool_]:
    """Which values occur in an ascending array."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    place = np.searchsorted(ascending, values)
    place[place == len(ascending)] = 0
    return ascending[place] == values


def _only(scores: SparseScores, allow: Ints | None, *, complete: bool = False) -> SparseScores:
    """The allowed documents; one whose neighbour is not allowed has no `previous`."""
    scores.complete = complete
    if allow is None:
        return scores
    kept = is_in(scores.ids, allow)
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return SparseScores(
        scores.ids[kept],
        scores.paragraph[kept],
        scores.window[kept],
        scores.session[kept],
        scores.coverage[kept],
        scores.window_coverage[kept],
        place[scores.previous[kept]],
        complete,
    )

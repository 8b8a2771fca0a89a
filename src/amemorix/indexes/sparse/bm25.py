"""The lexical index as inverted lists in memory, and how a query is answered over the documents that it may see."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...language.normalise import ANALYSER_VERSION
from ...sorted_arrays import distinct
from ...store.sealed_files import Folder
from .levels import Floats, Hashes, Ints, Matches, SparseScores, bm25, inverse_frequency, score_levels
from .segment import Segment, TermRow, assemble, find, read_rows, spans

__all__ = ["SparseBM25Index", "TermRow"]

FORMAT = "1"
"""Changes with the files that `save` writes."""
_BLOCK_ROWS = 1_000
_COMPACT_ROWS = 8_000
_COMPACT_SHARE = 1 / 16
_DEAD_SHARE = 0.2
POSTING_SHARE, POSTING_FLOOR, COMMON_SHARE = 0.10, 20_000, 0.20
"""How many postings may be read to find candidates, and from which share of the documents on a term is too common."""
SCAN_LIMIT = 20_000
"""Documents of a set of scopes, or ids of an allow list, up to which all of them are scored."""
_GROUP = 32


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
            parts = [*(kept for part in self._parts if (kept := part.without(gone)).live), *new]
            # The newest are merged while they are small or as small as what follows them: few parts, little work.
            while len(parts) > 1:
                older, newer = len(parts[-2].segment), len(parts[-1].segment)
                alike = older <= newer and older + newer <= self._compact_rows
                if not alike and older + newer > min(_BLOCK_ROWS, self._compact_rows):
                    break
                parts[-2:] = _parts([_merged(parts[-2:])])
            self._parts = tuple(parts)

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

    def save(self, folder: Folder) -> None:
        """Write one segment with everything, merging first if there are several."""
        parts = self._parts
        whole = len(parts) == 1 and parts[0].alive is None
        (parts[0].segment if whole else self._merge(parts)).save(folder)

    def load(self, folder: Folder) -> None:
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
        """Score documents for the query's distinct term hashes.

        `scopes` restricts to those scope ids (an empty sequence allows nothing), `allow` to sorted paragraph ids (an
        empty array allows nothing). A set of scopes that is small enough is scanned whole with its own document
        frequencies, so that nothing outside it can influence a score; otherwise the whole sessions of the `limit` best
        paragraphs are scored. All documents of a small set of scopes, or of the allow list, are returned, those that
        score nothing too. Sorted ids in `hidden` count as not stored: they are in no window and in no session.
        """
        view = View(self._parts, scopes, hidden)
        return view.search(terms, allow=allow, limit=limit, scan_limit=self._scan_limit)

    def document_frequency(self, terms: NDArray[np.uint32], scopes: Sequence[int] | None = None) -> tuple[Ints, int]:
        """In how many documents of these scopes (None: of all) each term occurs, and how many documents there are."""
        view = View(self._parts, scopes)
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
        wanted = None if scopes is None else distinct(np.array(scopes, np.int64))
        self._scoped, self._hidden = wanted is not None, hidden
        self._slices = [_Slice(part, wanted) for part in parts]
        self.documents = sum(piece.documents() for piece in self._slices)

    def search(self, terms: Hashes, *, allow: Ints | None, limit: int, scan_limit: int = SCAN_LIMIT) -> SparseScores:
        """Score the documents; see `SparseBM25Index.search`.

        A small set of scopes is scored whole with its own document frequencies at each level. A short allow list is
        scored by its sessions, and everything else by the sessions of the best candidates, both with the view's document
        frequencies. Average lengths are those of the documents scored.
        """
        terms = distinct(terms.copy())
        if self._scoped and self.documents <= scan_limit:
            parts = [piece.matches(piece.starts, piece.ends, terms) for piece in self._slices]
            return _only(score_levels(self._joined(parts, terms)), allow, complete=True)
        frequencies = self.frequencies(terms)
        weights = inverse_frequency(frequencies, self.documents)
        if allow is not None and len(allow) <= scan_limit:
            shown = allow if self._hidden is None else allow[~find(self._hidden, allow)[1]]
            found = [piece.sessions_of(shown) for piece in self._slices]
            sessions = distinct(np.concatenate([np.zeros(0, np.int64), *found]))
        else:
            rare = rare_terms(frequencies, self.documents)
            sessions = distinct(self._candidates(terms[rare], weights[rare], allow, limit).session)
        parts = [piece.matches(*piece.session_ranges(sessions), terms) for piece in self._slices]
        complete = allow is not None and len(allow) <= scan_limit
        return _only(score_levels(self._joined(parts, terms), weights), allow, complete=complete)

    def frequencies(self, terms: Hashes) -> Ints:
        """In how many documents each term occurs."""
        return sum((piece.frequencies(terms) for piece in self._slices), np.zeros(len(terms), np.int64))

    def _joined(self, parts: Sequence[Matches], terms: Hashes) -> Matches:
        matches = Matches.join(parts, len(terms))
        return matches if self._hidden is None else matches.take(~find(self._hidden, matches.ids)[1])

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
        shown = slice(None) if self._hidden is None else ~find(self._hidden, ids)[1]
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
        total = 0.0
        for start, end in self._ranges():
            length = self._segment.length[start:end]
            length = length if self._alive is None else length[self._alive[start:end]]
            total += float(length.sum(dtype=np.float64))
        return total

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
        lists = [np.zeros(0, np.int32)]
        for border, weight in zip(segment.postings(terms), weights, strict=True):
            docs, counts = self._postings(*border)
            scores[docs] += bm25(counts.astype(np.float32)[None], segment.length[docs], average, weight[None])
            lists.append(docs)
        found, reached = lists[:1], [np.zeros(0, np.float32)]
        for docs in lists:  # each row once
            score = scores[docs]
            scores[docs] = 0
            seen_first = score > 0
            found.append(docs[seen_first])
            reached.append(score[seen_first])
        rows, values = np.concatenate(found), np.concatenate(reached)
        if allow is not None:
            allowed = find(allow, segment.ids[rows])[1]
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


def _only(scores: SparseScores, allow: Ints | None, *, complete: bool = False) -> SparseScores:
    """The allowed documents; one whose neighbour is not allowed has no `previous`."""
    scores.complete = complete
    if allow is None:
        return scores
    kept = find(allow, scores.ids)[1]
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


def _parts(segments: Sequence[Segment]) -> tuple[Part, ...]:
    return tuple(
        Part(segment, None, len(segment), float(segment.length.sum(dtype=np.float64)))
        for segment in segments
        if len(segment)
    )


def _merged(parts: Sequence[Part]) -> Segment:
    return assemble([part.segment.source(part.alive) for part in parts])

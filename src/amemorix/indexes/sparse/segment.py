"""Immutable blocks of documents with inverted lists of their terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...store.sealed_files import Folder, load_array, save_array
from .levels import Floats, Hashes, Ints, Matches, run_starts

__all__ = ["Segment", "TermRow", "assemble", "find", "read_rows", "spans"]

Rows = NDArray[np.int32]
Counts = NDArray[np.uint8]
Pieces = Iterator[tuple[Hashes, NDArray[np.integer], Counts]]

MAX_ROWS = 1 << 24
"""Documents that fit into one segment: a row number has 24 bits in the sort key of a posting."""
_CHUNK_ROWS = 4_000
_CHUNK_POSTINGS = 262_144
"""What is worked on in one numpy call, so that none holds the interpreter lock for long."""
_BYTES_PER_TERM = 5


@dataclass(frozen=True, slots=True)
class TermRow:
    """One document: its term blob and where it stands. `position` orders a session, in milliseconds."""

    id: int
    scope: int
    session: int
    position: int
    terms: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """Documents in any order, to be assembled into a segment."""

    ids: Ints
    scope: Ints
    session: Ints
    position: Ints
    length: Floats
    alive: NDArray[np.bool_]
    postings: int
    pieces: Callable[[], Pieces]
    """Their postings in chunks: term hash, place of the document in this source, count."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents sorted by (scope, session, position, id), so that a scope and a session are ranges of rows.

    A run is a stretch of rows with the same scope and session. The postings of a term are ascending rows.
    """

    ids: Ints
    position: Ints
    length: Floats
    by_id: Ints
    """Rows in the order of their ids."""
    run_scope: Ints
    run_session: Ints
    run_start: Ints
    """Runs + 1 rows; run i is the rows run_start[i] to run_start[i + 1]."""
    by_session: Ints
    """Runs in the order of their sessions."""
    terms: Hashes
    """Distinct, ascending."""
    term_start: Ints
    """Terms + 1 places in `docs` and `counts`."""
    docs: Rows
    counts: Counts

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: Ints) -> Ints:
        """The rows of those ids that are here."""
        places, found = find(self.ids, ids, self.by_id)
        return self.by_id[places[found]]

    def scope_ranges(self, scopes: Ints) -> tuple[Rows, Rows]:
        """First and end rows of each of these ascending scopes that is here."""
        first = self.run_start[np.searchsorted(self.run_scope, scopes)]
        end = self.run_start[np.searchsorted(self.run_scope, scopes, "right")]
        kept = first < end
        return first[kept].astype(np.int32), end[kept].astype(np.int32)

    def session_runs(self, sessions: Ints) -> Ints:
        """The runs of these sessions, ascending."""
        first = np.searchsorted(self.run_session, sessions, sorter=self.by_session)
        end = np.searchsorted(self.run_session, sessions, "right", sorter=self.by_session)
        return np.sort(self.by_session[spans(first, end)])

    def runs_of(self, rows: NDArray[np.integer]) -> Ints:
        """The run in which each row stands."""
        return np.searchsorted(self.run_start, rows, "right") - 1

    def postings(self, terms: Hashes) -> list[tuple[int, int]]:
        """First and end place in `docs` for each term; equal if no document has it."""
        places, found = find(self.terms, terms)
        first = np.where(found, self.term_start[places], 0).tolist()
        end = np.where(found, self.term_start[places + 1], 0).tolist() if len(self.terms) else first
        return list(zip(first, end, strict=True))

    def matches(self, starts: Rows, ends: Rows, terms: Hashes) -> Matches:
        """The documents in these ascending ranges of rows, with their counts of the terms."""
        rows = spans(starts, ends)
        runs = self.runs_of(rows)
        counts = np.zeros((len(terms), len(rows)), np.float32)
        before = np.cumsum(ends - starts) - (ends - starts) - starts
        for term, (first, end) in enumerate(self.postings(terms)):
            docs = self.docs[first:end]
            low, high = np.searchsorted(docs, starts), np.searchsorted(docs, ends)
            chosen = spans(low, high)
            counts[term, docs[chosen] + np.repeat(before, high - low)] = self.counts[first:end][chosen]
        return Matches(
            self.ids[rows], self.run_scope[runs], self.run_session[runs], self.position[rows], self.length[rows], counts
        )

    def source(self, alive: NDArray[np.bool_] | None = None) -> Source:
        """The same documents, those outside the mask `alive` marked as gone."""
        rows = len(self)
        return Source(
            self.ids,
            _spread(self.run_scope, self.run_start, rows),
            _spread(self.run_session, self.run_start, rows),
            self.position,
            self.length,
            np.ones(rows, np.bool_) if alive is None else alive,
            len(self.docs),
            self._pieces,
        )

    def _pieces(self) -> Pieces:
        for start in range(0, len(self.docs), _CHUNK_POSTINGS):
            end = min(start + _CHUNK_POSTINGS, len(self.docs))
            yield _spread_part(self.terms, self.term_start, start, end), self.docs[start:end], self.counts[start:end]

    def save(self, folder: Folder) -> None:
        """Write one `.npy` file for each array."""
        for field in fields(self):
            save_array(folder, f"{field.name}.npy", getattr(self, field.name))

    @classmethod
    def load(cls, folder: Folder) -> Segment:
        """Map the files that `save` wrote. Raises OSError or ValueError if one is missing or does not fit the others."""
        names = [field.name for field in fields(cls)]
        segment = cls(*(load_array(folder, f"{name}.npy") for name in names))
        _check(segment)
        return segment


def read_rows(rows: Iterable[TermRow]) -> Iterator[Source]:
    """The rows in chunks. Raises ValueError for a term blob of the wrong length."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK_ROWS)):
        yield _read_chunk(chunk)


def assemble(sources: Sequence[Source]) -> Segment:
    """One segment of all living documents; of several with one id the last. Raises ValueError beyond MAX_ROWS."""
    ids = _joined([source.ids for source in sources], np.int64)
    scope = _joined([source.scope for source in sources], np.int64)
    session = _joined([source.session for source in sources], np.int64)
    position = _joined([source.position for source in sources], np.int64)
    last, by_id = np.ones(len(ids), np.bool_), np.argsort(ids, kind="stable")
    last[by_id[:-1][ids[by_id[1:]] == ids[by_id[:-1]]]] = False
    kept = np.flatnonzero(_joined([source.alive for source in sources], np.bool_) & last)
    if len(kept) > MAX_ROWS:
        raise ValueError(f"a sparse segment holds at most {MAX_ROWS} documents, not {len(kept)}")
    order = kept[np.lexsort((ids[kept], position[kept], session[kept], scope[kept]))]
    row_of = np.full(len(ids), -1, np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    keys = _posting_keys(sources, row_of)
    keys.sort()
    terms, term_start, docs, counts = _decode(keys)
    scope, session = scope[order], session[order]
    run_start = np.append(run_starts(scope, session), len(scope))
    first = run_start[:-1]
    return Segment(
        ids=ids[order],
        position=position[order],
        length=_joined([source.length for source in sources], np.float32)[order],
        by_id=np.argsort(ids[order]),
        run_scope=scope[first],
        run_session=session[first],
        run_start=run_start,
        by_session=np.argsort(session[first], kind="stable"),
        terms=terms,
        term_start=term_start,
        docs=docs,
        counts=counts,
    )


def spans(starts: NDArray[np.integer], ends: NDArray[np.integer]) -> Ints:
    """All places of the ranges, one range after the other."""
    if len(starts) == 1:
        return np.arange(starts[0], ends[0], dtype=np.int64)
    sizes = (ends - starts).astype(np.int64)
    after = np.cumsum(sizes)
    return np.arange(after[-1] if len(after) else 0) + np.repeat(starts - (after - sizes), sizes)


def _read_chunk(rows: Sequence[TermRow]) -> Source:
    blobs = [row.terms for row in rows]
    sizes, rest = np.divmod(np.fromiter(map(len, blobs), np.int64, len(blobs)), _BYTES_PER_TERM)
    if rest.any():
        raise ValueError(f"a term blob has {_BYTES_PER_TERM} bytes a term")
    raw = np.frombuffer(b"".join(blobs), np.uint8)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    places = np.arange(ends[-1])
    first = np.repeat(starts, sizes)
    bytes_at = (4 * places + first)[:, None] + np.arange(4)
    hashes = raw[bytes_at].view("<u4").ravel().astype(np.uint32, copy=False)
    counts = raw[np.repeat(4 * ends, sizes) + places]
    sums = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    docs = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
    return Source(
        np.array([row.id for row in rows], np.int64),
        np.array([row.scope for row in rows], np.int64),
        np.array([row.session for row in rows], np.int64),
        np.array([row.position for row in rows], np.int64),
        (sums[ends] - sums[starts]).astype(np.float32),
        np.ones(len(rows), np.bool_),
        len(hashes),
        lambda: iter([(hashes, docs, counts)]),
    )


def _posting_keys(sources: Sequence[Source], row_of: Rows) -> NDArray[np.uint64]:
    """Every posting of a kept document as hash (32 bits), row (24) and count (8)."""
    keys = np.empty(sum(source.postings for source in sources), np.uint64)
    filled = before = 0
    for source in sources:
        for hashes, docs, counts in source.pieces():
            rows = row_of[before:][docs]
            kept = rows >= 0
            if not kept.all():
                hashes, rows, counts = hashes[kept], rows[kept], counts[kept]
            piece = keys[filled : filled + len(rows)]
            np.left_shift(hashes, np.uint64(32), out=piece, dtype=np.uint64)
            piece |= rows.astype(np.uint64) << np.uint64(8)
            piece |= counts
            filled += len(rows)
        before += len(source.ids)
    return keys[:filled]


def _decode(keys: NDArray[np.uint64]) -> tuple[Hashes, Ints, Rows, Counts]:
    """Terms, their starts, rows and counts of the sorted keys."""
    docs, counts = np.empty(len(keys), np.int32), np.empty(len(keys), np.uint8)
    terms: list[Hashes] = [np.zeros(0, np.uint32)]
    starts: list[Ints] = [np.zeros(0, np.int64)]
    for start in range(0, len(keys), _CHUNK_POSTINGS):
        piece = keys[start : start + _CHUNK_POSTINGS]
        docs[start : start + len(piece)] = (piece >> np.uint64(8)) & np.uint64(MAX_ROWS - 1)
        counts[start : start + len(piece)] = piece & np.uint64(255)
        hashes = (piece >> np.uint64(32)).astype(np.uint32)
        new = np.ones(len(piece), np.bool_)
        new[1:] = hashes[1:] != hashes[:-1]
        new[0] = not start or int(keys[start - 1]) >> 32 != int(hashes[0])
        terms.append(hashes[new])
        starts.append(np.flatnonzero(new) + start)
    return np.concatenate(terms), np.append(np.concatenate(starts), len(keys)), docs, counts


def _joined(arrays: Sequence[NDArray], dtype: type[np.generic]) -> NDArray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def find(ascending: NDArray, wanted: NDArray, order: Ints | None = None) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each wanted value stands in a sorted array, and whether it does."""
    if not len(ascending):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(ascending, wanted, sorter=order), len(ascending) - 1)
    return places, (ascending[places] if order is None else ascending[order[places]]) == wanted


def _spread(values: NDArray, starts: Ints, size: int) -> NDArray:
    """Each value as often as its range is long, worked out in chunks."""
    whole = np.empty(size, values.dtype)
    for start in range(0, size, _CHUNK_POSTINGS):
        end = min(start + _CHUNK_POSTINGS, size)
        whole[start:end] = _spread_part(values, starts, start, end)
    return whole


def _spread_part(values: NDArray, starts: Ints, start: int, end: int) -> NDArray:
    first = np.searchsorted(starts, start, "right") - 1
    last = np.searchsorted(starts, end)
    return np.repeat(values[first:last], np.diff(np.clip(starts[first : last + 1], start, end)))


_NARROW = {"length": np.float32, "docs": np.int32, "terms": np.uint32, "counts": np.uint8}


def _check(segment: Segment) -> None:
    """Raise ValueError unless types, lengths and range borders fit together; posting values are not read."""
    for field in fields(segment):
        array, dtype = getattr(segment, field.name), np.dtype(_NARROW.get(field.name, np.int64))
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{field.name}.npy does not hold a row of {dtype.name}")
    rows, runs, terms = len(segment.ids), len(segment.run_scope), len(segment.terms)
    same_length = (
        rows == len(segment.position) == len(segment.length) == len(segment.by_id)
        and runs == len(segment.run_session) == len(segment.by_session)
        and len(segment.docs) == len(segment.counts)
    )
    if not same_length:
        raise ValueError("the arrays of the sparse index differ in length")
    _check_borders("run_start", segment.run_start, runs, rows)
    _check_borders("term_start", segment.term_start, terms, len(segment.docs))
    for name, places in (("by_id", segment.by_id), ("by_session", segment.by_session)):
        if len(places) and (places.min() < 0 or places.max() >= len(places)):
            raise ValueError(f"{name}.npy points outside its array")


def _check_borders(name: str, starts: Ints, ranges: int, end: int) -> None:
    if len(starts) != ranges + 1 or starts[0] != 0 or starts[-1] != end or (starts[1:] <= starts[:-1]).any():
        raise ValueError(f"{name}.npy does not divide its array into ranges")

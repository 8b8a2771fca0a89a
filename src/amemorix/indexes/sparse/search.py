"""How a lexical query is answered over the documents that it may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...ports import SparseScores
from .levels import Floats, Hashes, Ints, Matches, inverse_frequency, score_levels

__all__ = ["SCAN_LIMIT", "Candidates", "View", "is_in", "rare_terms", "score_floor", "search_view"]

POSTING_SHARE, POSTING_FLOOR, COMMON_SHARE = 0.10, 20_000, 0.20
"""How many postings may be read to find candidates, and from which share of the documents on a term is too common."""
SCAN_LIMIT = 20_000
"""Documents of a set of scopes, or ids of an allow list, up to which all of them are scored."""

_GROUP = 32


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


class View(Protocol):
    """The live documents that one search may see: those of some scopes, or all of them."""

    @property
    def scoped(self) -> bool:
        """Whether it is narrower than the store."""
        ...

    @property
    def documents(self) -> int:
        """How many there are."""
        ...

    def average_length(self) -> float:
        """Mean number of terms of a document."""
        ...

    def frequencies(self, terms: Hashes) -> Ints:
        """In how many documents each term occurs."""
        ...

    def everything(self, terms: Hashes) -> Matches:
        """All documents."""
        ...

    def sessions(self, sessions: Ints, terms: Hashes) -> Matches:
        """All documents of these sessions."""
        ...

    def sessions_of(self, ids: Ints) -> Ints:
        """The distinct sessions in which these documents stand."""
        ...

    def candidates(self, terms: Hashes, weights: Floats, average: float, allow: Ints | None, limit: int) -> Candidates:
        """At least the `limit` best documents by BM25 of the paragraph with these terms and inverse frequencies."""
        ...


class _Without:
    """What a view shows, less some documents; what is counted over all of them is left as it is."""

    def __init__(self, view: View, hidden: Ints) -> None:
        self._view, self._hidden = view, hidden
        self.scoped, self.documents = view.scoped, view.documents

    def average_length(self) -> float:
        return self._view.average_length()

    def frequencies(self, terms: Hashes) -> Ints:
        return self._view.frequencies(terms)

    def everything(self, terms: Hashes) -> Matches:
        return self._shown(self._view.everything(terms))

    def sessions(self, sessions: Ints, terms: Hashes) -> Matches:
        return self._shown(self._view.sessions(sessions, terms))

    def sessions_of(self, ids: Ints) -> Ints:
        return self._view.sessions_of(ids[~is_in(ids, self._hidden)])

    def candidates(self, terms: Hashes, weights: Floats, average: float, allow: Ints | None, limit: int) -> Candidates:
        found = self._view.candidates(terms, weights, average, allow, limit + len(self._hidden))
        shown = ~is_in(found.ids, self._hidden)
        return Candidates(found.ids[shown], found.session[shown], found.score[shown])

    def _shown(self, matches: Matches) -> Matches:
        return matches.take(~is_in(matches.ids, self._hidden))


def search_view(
    view: View,
    terms: Hashes,
    *,
    allow: Ints | None,
    limit: int,
    hidden: Ints | None = None,
    scan_limit: int = SCAN_LIMIT,
) -> SparseScores:
    """Search what the view shows; the contract is `SparseIndex.search`.

    A small set of scopes is scored whole with its own document frequencies at each level. A short allow list is scored
    by its sessions, and everything else by the sessions of the best candidates, both with the view's document
    frequencies. Average lengths are those of the documents scored.
    """
    terms = np.unique(terms)
    view = view if hidden is None else _Without(view, hidden)
    if view.scoped and view.documents <= scan_limit:
        return _only(score_levels(view.everything(terms)), allow, complete=True)
    if allow is not None and len(allow) <= scan_limit:
        sessions = view.sessions_of(allow)
        weights = inverse_frequency(view.frequencies(terms), view.documents)
        return _only(score_levels(view.sessions(sessions, terms), weights), allow, complete=True)
    frequencies = view.frequencies(terms)
    weights = inverse_frequency(frequencies, view.documents)
    rare = rare_terms(frequencies, view.documents)
    found = view.candidates(terms[rare], weights[rare], view.average_length(), allow, limit).best(limit)
    return _only(score_levels(view.sessions(np.unique(found.session), terms), weights), allow)


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

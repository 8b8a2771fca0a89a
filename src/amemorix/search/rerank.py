"""The second look at the head of a ranking, word by word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..models.glosses.table import GlossTable
from ..ports import Encoded, SparseScores
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from .fusion import Fused, weighted
from .late_interaction import best_matches
from .plan import SearchPlan
from .signals import Floats, Ids
from .word_meaning import likeness

__all__ = ["Held", "Reranked", "Reranker"]

BEFORE, AFTER = 0.8, 0.7
"""What a match in the paragraph before or after counts, of one in the paragraph itself."""
STRIDE = 64
"""Candidates looked at between two looks at the clock."""
HEAD_SIGNALS = ("tokens", "token_window", "words")
"""Signals that only the head of a ranking has."""
LOWEST_MATCH = 0.4
"""A cosine of words that means nothing: where everything is above it, everything matches."""
LEAST_RANGE = 0.3
"""Cosines that differ by less are not stretched to the full scale."""
Look = Callable[[Ids], dict[str, Floats]]
"""Candidates -> values by name."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """The ranking with a new head; `late` if the time ran out before the whole head was done."""

    fused: Fused
    late: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Token vectors of a generation that have been read already, empty for paragraphs without any."""

    generation: int
    tokens: dict[int, bytes]


class Reranker:
    """Orders the first candidates anew by what the words of the query find in them.

    A word of the query may find its partner in the paragraph before or after. The rest keeps its order below the head.
    """

    def fetch(self, db: Connection, plan: SearchPlan, likely: Ids, sparse: SparseScores) -> Held:
        """What `rerank` will want of these paragraphs, read while the query is still being embedded."""
        if not plan.settings.rerank.enabled or not plan.generation or not len(likely):
            return Held(0, {})
        ids = _with_neighbours(likely, sparse)[0].tolist()
        return Held(plan.generation, dict.fromkeys(ids, b"") | embedding_rows.tokens(db, plan.generation, ids))

    def rerank(self, db: Connection, plan: SearchPlan, fused: Fused, sparse: SparseScores, held: Held) -> Reranked:
        """The ranking with its first `rerank.depth` candidates in their new order."""
        settings = plan.settings.rerank
        looks = self._looks(db, plan, sparse, held) if settings.enabled and len(fused.ids) else []
        if not looks:
            return Reranked(fused)
        until = time.perf_counter() + settings.budget_ms / 1000
        head = fused.ids[: settings.depth]
        parts: list[dict[str, Floats]] = []
        while STRIDE * len(parts) < len(head) and (not parts or time.perf_counter() < until):
            part = head[STRIDE * len(parts) :][:STRIDE]
            parts.append({name: values for look in looks for name, values in look(part).items()})
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return Reranked(_reordered(fused, plan, found), late=STRIDE * len(parts) < len(head))

    def _looks(self, db: Connection, plan: SearchPlan, sparse: SparseScores, held: Held) -> list[Look]:
        """The comparisons that the query and the model allow."""
        looks: list[Look] = []
        if plan.encoded is not None and plan.encoded.tokens.size:
            encoded = plan.encoded
            known = held if held.generation == plan.generation else Held(plan.generation, {})
            looks.append(lambda head: self._by_tokens(db, known, encoded, head, sparse))
        if plan.glosses is not None and plan.query is not None and len(plan.glosses.content(plan.query.text)):
            glosses, text = plan.glosses, plan.query.text
            looks.append(lambda head: self._by_words(db, glosses, text, head))
        return looks

    def _by_words(self, db: Connection, glosses: GlossTable, query: str, head: Ids) -> dict[str, Floats]:
        """How near the Chinese words of each paragraph are to the query's."""
        texts = paragraph_rows.contents(db, head.tolist())
        near = likeness(glosses, query, [texts.get(id_, "") for id_ in head.tolist()])
        return {"word_mean": near.mean, "word_found": near.found, "word_told": near.told}

    def _by_tokens(
        self, db: Connection, held: Held, query: Encoded, head: Ids, sparse: SparseScores
    ) -> dict[str, Floats]:
        """How well the query's words are met by each paragraph, alone and with its neighbours."""
        ids, before, after = _with_neighbours(head, sparse)
        further = [id_ for id_ in ids.tolist() if id_ not in held.tokens]
        more = embedding_rows.tokens(db, held.generation, further) if further else {}
        matches = best_matches(query, ids.tolist(), held.tokens | more)
        matches = np.concatenate([matches, np.zeros((1, matches.shape[1]), np.float32)])

        def of(which: Ids) -> NDArray[np.float32]:
            return matches[np.where(which >= 0, np.searchsorted(ids, which), len(ids))]

        mine = of(head)
        wide = np.maximum(mine, np.maximum(BEFORE * of(before), AFTER * of(after)))
        has = np.array([bool(held.tokens.get(id_) or more.get(id_)) for id_ in head.tolist()])
        return {
            "tokens": np.where(has, mine @ query.weights, np.float32(np.nan)),
            "token_window": np.where(has, wide @ query.weights, np.float32(np.nan)),
        }


def _with_neighbours(head: Ids, sparse: SparseScores) -> tuple[Ids, Ids, Ids]:
    """(all distinct ids ascending, before, after): -1 where a paragraph has no neighbour."""
    before, after = _neighbours(head, sparse)
    return np.unique(np.concatenate([head, before[before >= 0], after[after >= 0]])), before, after


def _neighbours(head: Ids, sparse: SparseScores) -> tuple[Ids, Ids]:
    """The ids of the paragraphs before and after each in its session, -1 where there is none."""
    at = sparse.places(head)
    size = len(sparse.ids)
    if not size:
        return np.full(len(head), -1, np.int64), np.full(len(head), -1, np.int64)
    following = np.full(size, -1, np.int64)
    has = np.flatnonzero(sparse.previous >= 0)
    following[sparse.previous[has]] = has

    def ids_at(places_: NDArray[np.int64]) -> Ids:
        return np.where((at >= 0) & (places_ >= 0), sparse.ids[places_], -1)

    return ids_at(sparse.previous[at]), ids_at(following[at])


def _reordered(fused: Fused, plan: SearchPlan, found: dict[str, Floats]) -> Fused:
    """The head by all signals, those that only it has included; as it was if it has none of them."""
    count = len(next(iter(found.values())))
    if all(np.isnan(values).all() for values in found.values()):
        return fused
    none, signals = np.zeros(count, np.float32), fused.signals
    seen = [
        _stretched(found[name], signals[instead][:count]) if name in found else none
        for name, instead in (("tokens", "paragraph"), ("token_window", "window"))
    ]
    words = [_stretched(values, seen[0]) for name, values in found.items() if name.startswith("word_")]
    seen.append(np.stack(words).mean(axis=0) if words else none)
    values = np.column_stack([fused.values[:count], *seen])
    head = replace(fused.top(count), names=(*fused.names, *HEAD_SIGNALS), values=values)
    return _above(weighted(head, plan.settings.rerank.weights), fused.take(slice(count, None)))


def _stretched(values: Floats, instead: Floats) -> Floats:
    """From 0 for the lowest to 1 for the highest, or to less where they hardly differ.

    What has no value yet, because its vectors are still to be made, is taken at what the words of the index say.
    """
    if np.isnan(values).all():
        return instead
    low, high = min(float(np.nanmin(values)), LOWEST_MATCH), float(np.nanmax(values))
    return np.where(np.isnan(values), instead, (values - low) / max(high - low, LEAST_RANGE)).astype(np.float32)


def _above(head: Fused, rest: Fused) -> Fused:
    """The new head before the rest, whose scores are pressed below it."""
    if not len(rest.ids):
        return head
    pressed = rest.score * np.float32(min(1.0, float(head.score.min()) / max(float(rest.score.max()), 1e-9)))
    unseen = np.zeros((len(rest.ids), len(HEAD_SIGNALS)), np.float32)
    return replace(
        head,
        ids=np.concatenate([head.ids, rest.ids]),
        score=np.concatenate([head.score, pressed]),
        values=np.concatenate([head.values, np.column_stack([rest.values, unseen])]),
        cosine=np.concatenate([head.cosine, rest.cosine]),
        coverage=np.concatenate([head.coverage, rest.coverage]),
        bm25=np.concatenate([head.bm25, rest.bm25]),
    )

"""The second look at the head of a ranking: word by word, and by what the first hits are linked to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..indexes.projections import SearchIndexes
from ..indexes.sparse.levels import SparseScores
from ..indexes.vectors.codec import SMALL_PRODUCT
from ..ports import CODE_SCALE, Encoded
from ..sorted_arrays import contains, distinct
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from .fusion import Fused, weighted
from .lanes import HUB, RELATIONS, Floats, Ids
from .query import SearchPlan

__all__ = ["best_matches", "linked", "rerank"]

BEFORE, AFTER = 0.8, 0.7
"""What a match in the paragraph before or after counts, of one in the paragraph itself."""
STRIDE = 64
"""Candidates looked at between two looks at the clock."""
HEAD_SIGNALS = {"tokens": "paragraph", "token_window": "window"}
"""Matches that only the head of a ranking has, with the signal that stands in where a paragraph has no vectors yet."""
ENOUGH = 10
"""Content tokens from which a paragraph is long enough to say something of its own."""
LOWEST_MATCH = 0.4
"""A cosine of words that means nothing: where everything is above it, everything matches."""
LEAST_RANGE = 0.3
"""Cosines that differ by less are not stretched to the full scale."""
FIRST = 5
"""Hits that the second hop starts from; they keep their scores."""
LINKS = 4_000
"""Links that the second hop looks at."""
COMMON_LINKS = 4.0
"""Links with which an entity tells half as much in the second hop as none would."""
MOST_LINKS = 40
"""An entity of more links than this in what may be seen is no link between two."""
BEYOND = 0.5
"""What an entity counts for that is only related to one of a first hit."""


def rerank(db: Connection, plan: SearchPlan, fused: Fused, sparse: SparseScores) -> tuple[Fused, bool]:
    """The ranking with its first `rerank.depth` candidates in their new order, and whether the time ran out before.

    They are ordered by what the words of the query find in them; a word may find its partner in the paragraph before or
    after. The rest keeps its order below them.
    """
    settings, query = plan.settings.rerank, plan.encoded
    if not settings.enabled or not len(fused.ids) or query is None or not query.tokens.size:
        return fused, False
    until = time.perf_counter() + settings.budget_ms / 1000
    head = fused.ids[: settings.depth]
    done: list[dict[str, Floats]] = []
    while STRIDE * len(done) < len(head) and (not done or time.perf_counter() < until):
        part = head[STRIDE * len(done) :][:STRIDE]
        done.append(_by_tokens(db, plan.generation, query, part, sparse))
    values = {name: np.concatenate([part[name] for part in done]) for name in done[0]}
    return _reordered(fused, plan, values), STRIDE * len(done) < len(head)


def best_matches(query: Encoded, texts: Sequence[int], codes: Mapping[int, bytes]) -> Floats:
    """The cosine of each query token with its nearest token in each text, shape (texts, query tokens), in 0..1.

    Late interaction: Khattab and Zaharia 2020, section 3.3. `codes` holds token vectors by text, one byte a number; a
    text without any matches nothing.
    """
    width = query.tokens.shape[1]
    held = [codes.get(text, b"") for text in texts]
    lengths = np.array([len(tokens) for tokens in held]) // width
    matches = np.zeros((len(texts), len(query.tokens)), np.float32)
    some = np.flatnonzero(lengths)
    if len(some):
        tokens, wanted = np.frombuffer(b"".join(held), np.int8).reshape(-1, width), query.tokens.T.astype(np.float32)
        rows = max(1, SMALL_PRODUCT // wanted.size)
        words = [tokens[at : at + rows].astype(np.float32) @ wanted for at in range(0, len(tokens), rows)]
        starts = (np.cumsum(lengths) - lengths)[some]
        matches[some] = np.maximum.reduceat(np.concatenate(words), starts, axis=0) / CODE_SCALE**2
    return np.clip(matches, 0.0, 1.0)


def _by_tokens(db: Connection, generation: int, query: Encoded, head: Ids, sparse: SparseScores) -> dict[str, Floats]:
    """How well the query's words are met by each paragraph, alone and with its neighbours; and how long it is, 1 from
    `ENOUGH` or where it has no vectors yet."""
    ids, before, after = _with_neighbours(head, sparse)
    wanted = ids.tolist()
    held = embedding_rows.tokens(db, generation, wanted)
    matches = best_matches(query, wanted, held)
    matches = np.concatenate([matches, np.zeros((1, matches.shape[1]), np.float32)])

    def of(which: Ids) -> Floats:
        return matches[np.where(which >= 0, np.searchsorted(ids, which), len(ids))]

    mine = of(head)
    wide = np.maximum(mine, np.maximum(BEFORE * of(before), AFTER * of(after)))
    length = np.array([len(held.get(id_, b"")) for id_ in head.tolist()], np.float32) / query.tokens.shape[1]
    has = length > 0
    return {
        "tokens": np.where(has, mine @ query.weights, np.float32(np.nan)),
        "token_window": np.where(has, wide @ query.weights, np.float32(np.nan)),
        "length": np.where(has, np.minimum(length / np.float32(ENOUGH), np.float32(1)), np.float32(1)),
    }


def _with_neighbours(head: Ids, sparse: SparseScores) -> tuple[Ids, Ids, Ids]:
    """(all distinct ids ascending, those before, those after in the session): -1 where a paragraph has no neighbour."""
    at, size = sparse.places(head), len(sparse.ids)
    if not size:
        nobody = np.full(len(head), -1, np.int64)
        return np.unique(head), nobody, nobody
    following = np.full(size, -1, np.int64)
    has = np.flatnonzero(sparse.previous >= 0)
    following[sparse.previous[has]] = has
    before, after = (
        np.where((at >= 0) & (places >= 0), sparse.ids[places], -1) for places in (sparse.previous[at], following[at])
    )
    return distinct(np.concatenate([head, before[before >= 0], after[after >= 0]])), before, after


def _reordered(fused: Fused, plan: SearchPlan, found: Mapping[str, Floats]) -> Fused:
    """The head by all signals, those that only it has included, before the rest, whose scores are pressed below it.

    As it was if the head has none of those signals. A line of few words hardly ever answers alone (a length prior: Kraaij
    et al. 2002), except one that follows a question like the query.
    """
    matched = np.column_stack([found[name] for name in HEAD_SIGNALS])
    if np.isnan(matched).all():
        return fused
    count, signals = len(matched), fused.signals
    seen = [_stretched(found[name], signals[instead][:count]) for name, instead in HEAD_SIGNALS.items()]
    length = np.maximum(found["length"], signals["reply"][:count])
    values = np.column_stack([fused.values[:count], *seen, length])
    head = replace(fused.top(count), names=(*fused.names, *HEAD_SIGNALS, "length"), values=values, matched=matched)
    head, rest = weighted(head, plan.settings.rerank.weights), fused.take(slice(count, None))
    if not len(rest.ids):
        return head
    pressed = rest.score * np.float32(min(1.0, float(head.score.min()) / max(float(rest.score.max()), 1e-9)))
    unseen = np.zeros((len(rest.ids), len(head.names) - len(rest.names)), np.float32)
    return replace(
        head,
        ids=np.concatenate([head.ids, rest.ids]),
        score=np.concatenate([head.score, pressed]),
        values=np.concatenate([head.values, np.column_stack([rest.values, unseen])]),
        cosine=np.concatenate([head.cosine, rest.cosine]),
        coverage=np.concatenate([head.coverage, rest.coverage]),
        bm25=np.concatenate([head.bm25, rest.bm25]),
        matched=np.concatenate([head.matched, rest.matched]),
        confidence=np.concatenate([head.confidence, rest.confidence]),
    )


def _stretched(values: Floats, instead: Floats) -> Floats:
    """From 0 for the lowest to 1 for the highest, or to less where they hardly differ.

    What has no value yet, because its vectors are still to be made, is taken at what the words of the index say.
    """
    if np.isnan(values).all():
        return instead
    low, high = min(float(np.nanmin(values)), LOWEST_MATCH), float(np.nanmax(values))
    return np.where(np.isnan(values), instead, (values - low) / max(high - low, LEAST_RANGE)).astype(np.float32)


def linked(db: Connection, indexes: SearchIndexes, plan: SearchPlan, fused: Fused) -> Fused:
    """The ranking with `weights.linked` times the signal `linked` added to the score, at most to 1.

    It is what a paragraph shares with the first hits: entities that few paragraphs speak of, or others related to them.
    """
    weight = plan.settings.weights.linked
    if weight <= 0 or len(fused.ids) <= 1:
        return fused
    first, top = fused.ids[:FIRST].tolist(), float(fused.score[0]) or 1.0
    worth = {id_: float(score) / top for id_, score in zip(first, fused.score[:FIRST], strict=True)}
    met: dict[int, float] = {}
    for paragraph, entity in paragraph_rows.entities_of(db, first):
        met[entity] = max(met.get(entity, 0.0), worth[paragraph])
    met = {entity: met[entity] for entity in paragraph_rows.rarely_linked(db, met, HUB)}
    further: dict[int, float] = {}
    related = paragraph_rows.relations_of(db, met, plan.scopes, plan.now, RELATIONS)
    for _, one, other, _ in related:
        for known, new in ((one, other), (other, one)):
            if known in met and new not in met:
                further[new] = max(further.get(new, 0.0), BEYOND * met[known])
    bridges = met | further
    links = paragraph_rows.links(db, bridges, HUB)
    if not links:
        return fused
    entity = np.repeat(np.arange(len(links)), [len(paragraphs) for paragraphs in links.values()])
    paragraph = np.concatenate([*links.values()])
    seen = contains(indexes.columns.visible(distinct(paragraph.copy()), plan.scopes, plan.now).ids, paragraph)
    entity, paragraph = entity[seen], paragraph[seen]
    if len(paragraph) > LINKS:
        newest = np.argsort(-paragraph, kind="stable")[:LINKS]
        entity, paragraph = entity[newest], paragraph[newest]
    count = np.bincount(entity, minlength=len(links))
    tells = np.array([bridges[one] for one in links]) / (1 + count / COMMON_LINKS) * (count <= MOST_LINKS)
    order = np.argsort(fused.ids)
    place = order[np.minimum(np.searchsorted(fused.ids, paragraph, sorter=order), len(order) - 1)]
    here = fused.ids[place] == paragraph
    bonus = np.bincount(place[here], weights=tells[entity[here]], minlength=len(fused.ids))
    signal = np.minimum(bonus, 1.0).astype(np.float32)
    signal[:FIRST] = 0
    return fused.boosted("linked", weight, signal) if signal.any() else fused

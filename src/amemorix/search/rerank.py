"""The second look at the head of a ranking: word by word, and by what the first hits are linked to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..indexes.sparse.levels import SparseScores
from ..indexes.vectors.codec import SMALL_PRODUCT
from ..ports import CODE_SCALE, Encoded
from ..sorted_arrays import distinct
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from .fusion import Fused, weighted
from .lanes import HUB, RELATIONS, Floats, Ids
from .query import SearchPlan

__all__ = ["best_matches", "linked", "rerank", "token_vectors"]

BEFORE, AFTER = 0.8, 0.7
"""What a match in the paragraph before or after counts, of one in the paragraph itself."""
STRIDE = 64
"""Candidates looked at between two looks at the clock."""
HEAD_SIGNALS = {"tokens": "paragraph", "token_window": "window"}
"""Signals that only the head of a ranking has, with the one that stands in where a paragraph has no vectors yet."""
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


def token_vectors(db: Connection, plan: SearchPlan, head: Ids, sparse: SparseScores) -> dict[int, bytes]:
    """What `rerank` will want of these paragraphs, read while the query is still being embedded; empty for one without."""
    if not plan.settings.rerank.enabled or not plan.generation or not len(head):
        return {}
    ids = _with_neighbours(head, sparse)[0].tolist()
    return dict.fromkeys(ids, b"") | embedding_rows.tokens(db, plan.generation, ids)


def rerank(
    db: Connection, plan: SearchPlan, fused: Fused, sparse: SparseScores, tokens: Mapping[int, bytes]
) -> tuple[Fused, bool]:
    """The ranking with its first `rerank.depth` candidates in their new order, and whether the time ran out before.

    They are ordered by what the words of the query find in them; a word may find its partner in the paragraph before or
    after. The rest keeps its order below them. `tokens` are token vectors that have been read already.
    """
    settings, query = plan.settings.rerank, plan.encoded
    if not settings.enabled or not len(fused.ids) or query is None or not query.tokens.size:
        return fused, False
    until = time.perf_counter() + settings.budget_ms / 1000
    head = fused.ids[: settings.depth]
    done: list[dict[str, Floats]] = []
    while STRIDE * len(done) < len(head) and (not done or time.perf_counter() < until):
        part = head[STRIDE * len(done) :][:STRIDE]
        done.append(_by_tokens(db, plan.generation, tokens, query, part, sparse))
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


def _by_tokens(
    db: Connection, generation: int, tokens: Mapping[int, bytes], query: Encoded, head: Ids, sparse: SparseScores
) -> dict[str, Floats]:
    """How well the query's words are met by each paragraph, alone and with its neighbours."""
    ids, before, after = _with_neighbours(head, sparse)
    further = [id_ for id_ in ids.tolist() if id_ not in tokens]
    held = {**tokens, **embedding_rows.tokens(db, generation, further)} if further else tokens
    matches = best_matches(query, ids.tolist(), held)
    matches = np.concatenate([matches, np.zeros((1, matches.shape[1]), np.float32)])

    def of(which: Ids) -> Floats:
        return matches[np.where(which >= 0, np.searchsorted(ids, which), len(ids))]

    mine = of(head)
    wide = np.maximum(mine, np.maximum(BEFORE * of(before), AFTER * of(after)))
    has = np.array([bool(held.get(id_)) for id_ in head.tolist()])
    return {
        "tokens": np.where(has, mine @ query.weights, np.float32(np.nan)),
        "token_window": np.where(has, wide @ query.weights, np.float32(np.nan)),
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

    As it was if the head has none of those signals.
    """
    matched = np.column_stack([found[name] for name in HEAD_SIGNALS])
    if np.isnan(matched).all():
        return fused
    count, signals = len(matched), fused.signals
    seen = [_stretched(found[name], signals[instead][:count]) for name, instead in HEAD_SIGNALS.items()]
    values = np.column_stack([fused.values[:count], *seen])
    head = replace(fused.top(count), names=(*fused.names, *HEAD_SIGNALS), values=values, matched=matched)
    head, rest = weighted(head, plan.settings.rerank.weights), fused.take(slice(count, None))
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


def linked(db: Connection, plan: SearchPlan, fused: Fused) -> Fused:
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
    bridges = met | {entity: further[entity] for entity in paragraph_rows.rarely_linked(db, further, HUB)}
    if not bridges:
        return fused
    evidence = paragraph_rows.evidence(db, bridges, plan.scopes, plan.now, LINKS)
    links = Counter(entity for entity, _, _ in evidence)
    bonus: dict[int, float] = {}
    for entity, paragraph, _ in evidence:
        if links[entity] <= MOST_LINKS:
            bonus[paragraph] = bonus.get(paragraph, 0.0) + bridges[entity] / (1 + links[entity] / COMMON_LINKS)
    signal = np.array([min(1.0, bonus.get(id_, 0.0)) for id_ in fused.ids.tolist()], np.float32)
    signal[:FIRST] = 0
    return fused.boosted("linked", weight, signal) if signal.any() else fused

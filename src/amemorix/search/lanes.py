"""The ways of finding candidates; each can put one forward alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..indexes.graph.store import GraphStore
from ..indexes.projections import SearchIndexes
from ..indexes.sparse.levels import SparseScores
from ..language.normalise import STOP_WORDS, fold, is_mostly_cjk, normalise_name
from ..sorted_arrays import common, distinct
from ..store.ports import Connection, VectorIndex
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.documents import NameRepository
from ..store.rows.paragraphs import Visible
from .query import SearchPlan

__all__ = [
    "HUB", "RELATIONS", "DenseScores", "Floats", "Ids", "dense_lane", "graph_lane", "no_vectors", "person_lane",
    "relation_lane", "sparse_lane", "time_lane",
]  # fmt: skip

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]
NOISE_FLOOR_PERCENTILE = 1.0
HIGHEST_NOISE = 0.2
MOST_RELATIONS = 20
"""Relations that may be seen, at most."""
MOST_SUPPORTING = 100
"""Supporting paragraphs, at most."""
UNLIKE = 0.2
"""Cosine up to which a relation has nothing to do with the query."""
NEAREST_RELATIONS = 1_000
"""Where too few of the nearest may be seen, so many are looked at, and only then all that are like the query."""
EVERY = 1 << 31
LONGEST_WORDS, LONGEST_CJK = 4, 8
SPREAD = 64
"""Entities that the walk may reach."""
HOPS, ROUNDS, RESTART = 2, 12, 0.15
"""Of a walk in a chat: steps away from the query's entities, iterations, and restarts."""
RELATIONS = 400
"""Relations looked at in one step."""
SUPPORTING = 400
"""Supporting paragraphs looked at."""
HUB = 2_000
"""An entity of more links than this leads nowhere in particular."""
COMMON = 3.0
"""Further links with which an entity tells half as much as with one."""
RULED = 0.0
"""What a link counts for that words show as well, or that no relation bears out: there the words are the better judge."""
_PRONOUNS = frozenset(["我们", "你们", "他们", "她们", "它们", "咱们", "自己", "大家", "别人", "人家"])


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Cosines by ascending id, and what counts as no likeness at all."""

    ids: Ids
    cosine: Floats
    floor: float
    top: float = 0.0
    """The highest cosine."""

    def of(self, ids: Ids) -> Floats:
        """Cosines of these ids, NaN where there is none."""
        if not len(self.ids):
            return np.full(len(ids), np.nan, np.float32)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, self.cosine[at], np.float32(np.nan))


def no_vectors() -> DenseScores:
    """No cosine at all."""
    return DenseScores(np.zeros(0, np.int64), np.zeros(0, np.float32), 0.0)


def sparse_lane(indexes: SearchIndexes, plan: SearchPlan, allow: Ids | None) -> SparseScores:
    """BM25 of paragraph, window and session."""
    limit = plan.settings.candidates
    return indexes.sparse.search(plan.query.hashes, scopes=plan.scopes, allow=allow, hidden=plan.hidden, limit=limit)


def dense_lane(
    db: Connection, indexes: SearchIndexes, plan: SearchPlan, sparse: SparseScores, allow: Ids | None
) -> DenseScores:
    """Cosines of what the sparse lane scored, and of the nearest of all that may be seen."""
    vectors = indexes.vectors
    if vectors is None or plan.encoded is None:
        return no_vectors()
    query, ids = plan.encoded.vector, np.sort(sparse.ids)
    cosine = vectors.scores(query, ids)
    if sparse.complete:
        return DenseScores(ids, cosine, _noise(cosine[~np.isnan(cosine)]), _highest(cosine))
    if allow is None and plan.scopes is not None:
        allow = paragraph_rows.in_scopes(db, plan.scopes)
    near, near_cosine = vectors.search(query, plan.settings.candidates, allow)
    if plan.hidden is not None:
        shown = ~np.isin(near, plan.hidden)
        near, near_cosine = near[shown], near_cosine[shown]
    every, first = np.unique(np.concatenate([ids, near]), return_index=True)
    cosine = np.concatenate([cosine, near_cosine])[first]
    return DenseScores(every, cosine, _noise(vectors.background(query)), _highest(cosine))


def _noise(cosine: Floats) -> float:
    """What counts as no likeness at all: where a store is so small that everything is like the query, a fixed cosine."""
    return min(float(np.percentile(cosine, NOISE_FLOOR_PERCENTILE)), HIGHEST_NOISE) if len(cosine) else 0.0


def _highest(cosine: Floats) -> float:
    known = cosine[~np.isnan(cosine)]
    return float(known.max()) if len(known) else 0.0


def relation_lane(db: Connection, indexes: SearchIndexes, plan: SearchPlan, allow: Ids | None) -> dict[int, float]:
    """Paragraph -> score: the cosine of the nearest relation that it supports, scaled from 0.2..1 to 0..1.

    Only relations that rest on a paragraph which may be seen take part, and only such paragraphs are returned: what
    stands elsewhere neither shows nor crowds out. What rules have read has no vector: it is in the paragraph's own words.
    """
    if indexes.relations is None or plan.encoded is None:
        return {}
    nearest: dict[int, float] = {}
    for near in _nearer_relations(indexes.relations, plan.encoded.vector):
        among = None if allow is None else common(relation_rows.paragraphs_of(db, near), allow).tolist()
        seen = relation_rows.seen(db, near, plan.scopes, plan.now, among)
        nearest = {id_: cosine for id_, cosine in near.items() if id_ in seen}
        if len(nearest) >= MOST_RELATIONS:
            break
    nearest = dict(islice(nearest.items(), MOST_RELATIONS))
    among = None if allow is None else common(relation_rows.paragraphs_of(db, nearest), allow).tolist()
    support = relation_rows.support(db, nearest, plan.scopes, plan.now, MOST_SUPPORTING, among) if nearest else {}
    found: dict[int, float] = {}
    for relation, cosine in nearest.items():
        for paragraph in support.get(relation, ()):
            if len(found) < MOST_SUPPORTING:
                found.setdefault(paragraph, (cosine - UNLIKE) / (1 - UNLIKE))
    return found


def _nearer_relations(vectors: VectorIndex, query: Floats) -> Iterator[dict[int, float]]:
    """Relation -> cosine of the nearest, each time more of them while more are like the query."""
    for most in (NEAREST_RELATIONS, EVERY):
        ids, cosines = vectors.search(query, most)
        like = cosines > UNLIKE
        near = dict(zip(ids[like].tolist(), cosines[like].tolist(), strict=True))
        if near and most == NEAREST_RELATIONS:
            yield dict(islice(near.items(), MOST_RELATIONS))
        if len(near) > MOST_RELATIONS:
            yield near
        if len(near) < NEAREST_RELATIONS:
            return


def person_lane(db: Connection, plan: SearchPlan, allow: Ids | None) -> Ids:
    """The newest paragraphs of the person named, when the query says nothing else."""
    persons = () if plan.query.terms else set().union(*plan.query.persons)
    if allow is not None:
        held = (common(paragraph_rows.of_persons(db, [one]), allow) for one in persons)
        found = [ids[-plan.settings.candidates :] for ids in held]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
    found = [
        paragraph_rows.recent_of(db, person, plan.scopes, plan.now, plan.settings.candidates) for person in persons
    ]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def time_lane(db: Connection, plan: SearchPlan, seen: Visible | None) -> Ids:
    """The newest paragraphs of each stretch of time that the query names, of what is `seen` if the search is narrowed."""
    spans = plan.query.spans
    if not spans:
        return np.zeros(0, np.int64)
    if seen is not None:
        begun = [(seen.event_start >= span.start) & (seen.event_start <= span.end) for span in spans]
        newest = np.argsort(-seen.event_start, kind="stable")
        most = plan.settings.candidates // len(spans)
        return np.unique(np.concatenate([seen.ids[newest[held[newest]][:most]] for held in begun]))
    found = [
        paragraph_rows.newest_begun(db, span.start, span.end, plan.scopes, plan.settings.candidates // len(spans))
        for span in spans
    ]
    return np.unique(np.array([id_ for ids in found for id_ in ids], np.int64))


def graph_lane(
    db: Connection, graph: GraphStore, names: NameRepository, plan: SearchPlan, allow: Ids | None
) -> dict[int, float]:
    """Paragraph -> score in 0..1, by personalised PageRank from the query's entities.

    An entity tells the less the more paragraphs are linked to it, and the best paragraph scores what its surest entity
    tells. What the words show already, and a link that no relation bears out, counts little.
    """
    found = names.entities(db, set(_possible_names(plan.query.text)))
    seeds = paragraph_rows.rarely_linked(db, dict.fromkeys(row[0] for row in found), HUB)
    if not seeds:
        return {}
    persons = {normalise_name(name) for name in plan.query.names}
    named = {row[0] for row in found if row[1] in persons}
    neighbours = _around(db, seeds, plan)
    start = dict.fromkeys(seeds, 1.0 / len(seeds))
    if not neighbours:
        weight = start
    elif plan.scopes is not None:
        weight = _walk(start, neighbours)
    else:
        nodes, ranks = graph.pagerank(start, limit=SPREAD)
        weight = {int(node): float(rank) for node, rank in zip(nodes, ranks, strict=True)} or dict.fromkeys(seeds, 1.0)
    kept = seeds if weight is start else paragraph_rows.rarely_linked(db, weight, HUB)
    if not neighbours and named.issuperset(kept):  # of nothing that may be trusted
        return {}
    among = None
    if allow is not None:
        linked = paragraph_rows.links(db, kept, HUB).values()
        among = common(distinct(np.concatenate([np.zeros(0, np.int64), *linked])), allow).tolist()
    evidence = paragraph_rows.evidence(db, kept, plan.scopes, plan.now, SUPPORTING, among)
    links = Counter(entity for entity, _, _ in evidence)
    total: dict[int, float] = {}
    surest = 0.0
    for entity, paragraph, worded in evidence:
        seed = entity in start
        trusted = not (worded and seed) and (entity in neighbours or (seed and entity not in named))
        sure = (1.0 if trusted else RULED) / (1 + (links[entity] - 1) / COMMON)
        surest = max(surest, sure)
        total[paragraph] = total.get(paragraph, 0.0) + weight.get(entity, 0.0) * sure
    top = max(total.values(), default=0.0)
    return {paragraph: surest * score / top for paragraph, score in total.items()} if top > 0 else {}


def _around(db: Connection, seeds: Sequence[int], plan: SearchPlan) -> dict[int, dict[int, float]]:
    """The nodes beside the seeds and beside those, each with the summed weights of the relations between that rest on
    what may be seen."""
    neighbours: dict[int, dict[int, float]] = {}
    edge, walked = set(seeds), set[int]()
    for _ in range(HOPS):
        for relation, one, other, weight in paragraph_rows.relations_of(db, edge, plan.scopes, plan.now, RELATIONS):
            for here, there in () if relation in walked else ((one, other), (other, one)):
                beside = neighbours.setdefault(here, {})
                beside[there] = beside.get(there, 0.0) + weight
            walked.add(relation)
        edge = set(neighbours) - edge
        if not edge or len(neighbours) > SPREAD:
            break
    return neighbours


def _walk(start: dict[int, float], neighbours: dict[int, dict[int, float]]) -> dict[int, float]:
    """Personalised PageRank by power iteration (Page et al. 1999, section 2.6): the ranks of the highest nodes."""
    rank = dict(start)
    for _ in range(ROUNDS):
        following = {seed: RESTART * share for seed, share in start.items()}
        for node, held in rank.items():
            around = neighbours.get(node, start)
            leaving = sum(around.values())
            if leaving <= 0:
                around, leaving = start, 1.0
            for other, weight in around.items():
                following[other] = following.get(other, 0.0) + (1 - RESTART) * held * weight / leaving
        rank = following
    return dict(sorted(rank.items(), key=lambda item: (-item[1], item[0]))[:SPREAD])


def _possible_names(text: str) -> Iterator[str]:
    """Every stretch of the query that could be an entity's name, and is more than a word that joins or points."""

    def stretches() -> Iterator[str]:
        words = normalise_name(text).replace("?", " ").replace("？", " ").split()
        for i in range(len(words)):
            for j in range(i + 1, min(len(words), i + LONGEST_WORDS) + 1):
                stretch = " ".join(words[i:j])
                yield stretch
                yield stretch.strip(".,!:;'\"()，。！：；").removesuffix("'s")
        if is_mostly_cjk(text):
            folded = fold(text)
            for i in range(len(folded)):
                for j in range(i + 1, min(len(folded), i + LONGEST_CJK) + 1):
                    yield folded[i:j]

    return (name for name in stretches() if len(name) > 1 and name not in STOP_WORDS and name not in _PRONOUNS)

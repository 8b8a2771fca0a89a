"""From entities over the graph to paragraphs: those that the query names, and those of the first hits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from ..indexes.graph.store import GraphStore
from ..language.normalise import STOP_WORDS, fold, is_mostly_cjk, normalise_name
from ..lazy_regex import lazy_regex
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.documents import NameRepository
from .fusion import Fused
from .plan import SearchPlan

__all__ = ["graph_lane", "linked"]

LONGEST_WORDS, LONGEST_CJK = 4, 8
SPREAD = 64
"""Entities that the walk may reach."""
HOPS, ROUNDS, RESTART = 2, 12, 0.15
"""Of a walk in a chat: steps away from the query's entities, iterations, and restarts."""
RELATIONS = 400
"""Relations looked at in one step."""
SUPPORTING, LINKS = 400, 4_000
"""Supporting paragraphs looked at by the lane, and links by the second hop."""
HUB = 2_000
"""An entity of more links than this leads nowhere in particular."""
COMMON = 3.0
"""Further links with which an entity tells half as much as with one."""
RULED = 0.0
"""What a link counts for that words show as well, or that only rules know of: there the words are the better judge."""
FIRST = 5
"""Hits that the second hop starts from; they keep their scores."""
COMMON_LINKS = 4.0
"""Links with which an entity tells half as much in the second hop as none would."""
MOST_LINKS = 40
"""An entity of more links than this in what may be seen is no link between two."""
BEYOND = 0.5
"""What an entity counts for that is only related to one of a first hit."""
_PRONOUNS = frozenset(["我们", "你们", "他们", "她们", "它们", "咱们", "自己", "大家", "别人", "人家"])
_PAST = lazy_regex(
    r"以前|之前|曾经?|从前|过去|原来|当年|当时|什么时候|何时|那时"
    r"|\b(?:used to|before|previous(?:ly)?|former(?:ly)?|earlier|once|ago|last|past|did|was|were|had|when|ever)\b",
    re.I,
)
"""What asks of the past."""


def graph_lane(db: Connection, graph: GraphStore, names: NameRepository, plan: SearchPlan) -> dict[int, float]:
    """Paragraph -> score in 0..1, by personalised PageRank from the query's entities.

    An entity tells the less the more paragraphs are linked to it, and the best paragraph scores what its surest entity
    tells. What the words show already, and what is known by rules alone, counts little.
    """
    if plan.query is None:
        return {}
    found = names.entities(db, set(_possible_names(plan.query.text)))
    seeds = paragraph_rows.rarely_linked(db, dict.fromkeys(row[0] for row in found), HUB)
    if not seeds:
        return {}
    persons = {normalise_name(name) for name in plan.query.names}
    named = {row[0] for row in found if row[1] in persons}
    neighbours, told, over = _around(db, seeds, named, plan) if paragraph_rows.any_told(db) else ({}, set[int](), False)
    start = dict.fromkeys(seeds, 1.0 / len(seeds))
    if not told:  # nothing that a step would lead to counts
        weight = start
    elif over or plan.scopes is not None:
        weight = _walk(start, neighbours)
    else:
        nodes, ranks = graph.pagerank(start, limit=SPREAD)
        weight = {int(node): float(rank) for node, rank in zip(nodes, ranks, strict=True)} or dict.fromkeys(seeds, 1.0)
    kept = dict.fromkeys(paragraph_rows.rarely_linked(db, weight, HUB))
    evidence = paragraph_rows.evidence(db, kept, plan.scopes, plan.now, SUPPORTING)
    links = Counter(entity for entity, _, _ in evidence)
    total: dict[int, float] = {}
    surest = 0.0
    for entity, paragraph, worded in evidence:
        seed = entity in start
        trusted = not (worded and seed) and (entity in told or (seed and entity not in named))
        sure = (1.0 if trusted else RULED) / (1 + (links[entity] - 1) / COMMON)
        surest = max(surest, sure)
        total[paragraph] = total.get(paragraph, 0.0) + weight.get(entity, 0.0) * sure
    top = max(total.values(), default=0.0)
    return {paragraph: surest * score / top for paragraph, score in total.items()} if top > 0 else {}


def linked(db: Connection, plan: SearchPlan, fused: Fused) -> Fused:
    """The ranking with `weights.linked` times the signal `linked` added to the score, at most to 1.

    It is what a paragraph shares with the first hits: entities that few paragraphs speak of, or others related to them.
    """
    weight = plan.settings.weights.linked
    if plan.query is None or weight <= 0 or len(fused.ids) <= 1:
        return fused
    first, top = fused.ids[:FIRST].tolist(), float(fused.score[0]) or 1.0
    worth = {id_: float(score) / top for id_, score in zip(first, fused.score[:FIRST], strict=True)}
    met: dict[int, float] = {}
    for paragraph, entity in paragraph_rows.entities_of(db, first):
        met[entity] = max(met.get(entity, 0.0), worth[paragraph])
    met = {entity: met[entity] for entity in paragraph_rows.rarely_linked(db, met, HUB)}
    further: dict[int, float] = {}
    related = paragraph_rows.relations_of(db, met, plan.scopes, plan.now, RELATIONS)
    over = _ended(db, (row[0] for row in related), plan)
    for _, one, other, _, _ in (row for row in related if row[0] not in over):
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


def _around(
    db: Connection, seeds: Sequence[int], persons: set[int], plan: SearchPlan
) -> tuple[dict[int, dict[int, float]], set[int], bool]:
    """(the nodes beside the seeds and beside those, each with the summed weights of the relations between; entities
    that somebody has told a relation of; whether any relation is over).

    Only relations count that rest on what may be seen; from a person whom the query names only those that were told,
    because everything that a person ever said of himself would follow. A question of the present is not led over
    relations that are over.
    """
    neighbours: dict[int, dict[int, float]] = {}
    told: set[int] = set()
    left_out = False
    edge, walked = set(seeds), set[int]()
    for _ in range(HOPS):
        found = paragraph_rows.relations_of(db, edge, plan.scopes, plan.now, RELATIONS)
        over = _ended(db, (row[0] for row in found), plan)
        left_out = left_out or bool(over)
        for relation, one, other, weight, origin in found:
            if relation in over:
                continue
            if origin != "rule":
                told |= {one, other}
            elif one in persons or other in persons:
                continue
            for here, there in () if relation in walked else ((one, other), (other, one)):
                beside = neighbours.setdefault(here, {})
                beside[there] = beside.get(there, 0.0) + weight
            walked.add(relation)
        edge = set(neighbours) - edge
        if not edge or len(neighbours) > SPREAD:
            break
    return neighbours, told, left_out


def _ended(db: Connection, relations: Iterable[int], plan: SearchPlan) -> Collection[int]:
    """Those of the relations that tell nothing of the time that is asked for; of the past all may tell."""
    past = plan.as_of is not None or plan.window is not None or (plan.query and _PAST.search(plan.query.text))
    return () if past else relation_rows.ended(db, relations, plan.scopes, plan.now).keys()


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

"""From the entities a query names, over the graph, to the paragraphs that support what is found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from ..indexes.graph.store import GraphStore
from ..language.normalise import STOP_WORDS, fold, is_mostly_cjk, normalise_name
from ..lazy_regex import lazy_regex
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.names import NameRepository
from .plan import SearchPlan

__all__ = ["HUB", "is_over", "recall"]

LONGEST_WORDS, LONGEST_CJK = 4, 8
SPREAD = 64
"""Entities that the walk may reach."""
HOPS, RELATIONS, ROUNDS, RESTART = 2, 400, 12, 0.15
"""Of a walk in a chat: steps away from the query's entities, relations looked at in each, iterations, and restarts."""
Neighbours = dict[int, dict[int, float]]
"""Node -> the nodes beside it, with the summed weights of the relations between."""
_PRONOUNS = frozenset(["我们", "你们", "他们", "她们", "它们", "咱们", "自己", "大家", "别人", "人家"])
_PAST = lazy_regex(
    r"以前|之前|曾经?|从前|过去|原来|当年|当时|什么时候|何时|那时"
    r"|\b(?:used to|before|previous(?:ly)?|former(?:ly)?|earlier|once|ago|last|past|did|was|were|had|when|ever)\b",
    re.I,
)
"""What asks of the past."""
EVIDENCE = 400
"""Supporting paragraphs looked at."""
HUB = 2_000
"""An entity of more links than this leads nowhere in particular."""
COMMON = 3.0
"""Further links with which an entity tells half as much as with one."""
RULED = 0.0
"""What a link counts for that words show as well, or that only rules know of: there the words are the better judge."""


def recall(
    db: Connection,
    graph: GraphStore,
    names: NameRepository,
    plan: SearchPlan,
) -> dict[int, float]:
    """Paragraph -> score in 0..1, by personalised PageRank from the query's entities.

    An entity tells the less the more paragraphs are linked to it. What the words show already, and what is known by
    rules alone, counts little.
    """
    if plan.query is None:
        return {}
    found = names.entities(db, {name for name in _possible_names(plan.query.text) if _tells(name)})
    seeds = paragraph_rows.rarely_linked(db, dict.fromkeys(row[0] for row in found), HUB)
    if not seeds:
        return {}
    persons = {normalise_name(name) for name in plan.query.names}
    named = {row[0] for row in found if row[1] in persons}
    around = _around(db, seeds, named, plan) if paragraph_rows.any_told(db) else ({}, set[int](), False)
    neighbours, told, over = around
    if not told:  # nothing that a step would lead to counts
        weight = dict.fromkeys(seeds, 1.0 / len(seeds))
    else:
        weight = _walk(seeds, neighbours) if over or plan.scopes is not None else _everywhere(graph, seeds)
    kept = dict.fromkeys(paragraph_rows.rarely_linked(db, weight, HUB))
    evidence = paragraph_rows.evidence(db, kept, plan.scopes, plan.now, EVIDENCE)
    trust = {entity: 1.0 if entity in told or (entity in seeds and entity not in named) else RULED for entity in kept}
    return _supported(evidence, weight, trust, set(seeds))


def _tells(name: str) -> bool:
    """Whether a name is more than a word that stands for whoever speaks, or joins others."""
    return len(name) > 1 and name not in STOP_WORDS and name not in _PRONOUNS


def _around(
    db: Connection, seeds: Sequence[int], persons: set[int], plan: SearchPlan
) -> tuple[Neighbours, set[int], bool]:
    """(neighbours of the seeds and of those, entities that somebody has told a relation of, whether any is over).

    Only relations count that rest on what may be seen; from a person whom the query names only those that were told,
    because everything that a person ever said of himself would follow. A question of the present is not led over
    relations that are over.
    """
    neighbours: Neighbours = {}
    told: set[int] = set()
    left_out = False
    edge, walked = set(seeds), set[int]()
    for _ in range(HOPS):
        found = paragraph_rows.relations_of(db, edge, plan.scopes, plan.now, RELATIONS)
        over = is_over(db, (row[0] for row in found), plan)
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


def is_over(db: Connection, relations: Iterable[int], plan: SearchPlan) -> Collection[int]:
    """Those of the relations that tell nothing of the time that is asked for; of the past all may tell."""
    past = plan.as_of is not None or plan.window is not None or (plan.query and _PAST.search(plan.query.text))
    return () if past else paragraph_rows.relations_ended(db, relations, plan.scopes, plan.now).keys()


def _everywhere(graph: GraphStore, seeds: Sequence[int]) -> dict[int, float]:
    nodes, ranks = graph.pagerank(dict.fromkeys(seeds, 1.0 / len(seeds)), limit=SPREAD)
    return {int(node): float(rank) for node, rank in zip(nodes, ranks, strict=True)} or dict.fromkeys(seeds, 1.0)


def _walk(seeds: Sequence[int], neighbours: Neighbours) -> dict[int, float]:
    """Personalised PageRank by power iteration (Page et al. 1999, section 2.6): the ranks of the highest nodes."""
    start = dict.fromkeys(seeds, 1.0 / len(seeds))
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


def _supported(
    evidence: Sequence[tuple[int, int, bool]], weight: dict[int, float], trust: dict[int, float], seeds: set[int]
) -> dict[int, float]:
    """The paragraphs by the rank of their entities; the best of them scores what its surest entity tells."""
    links = Counter(entity for entity, _, _ in evidence)
    total: dict[int, float] = {}
    surest = 0.0
    for entity, paragraph, worded in evidence:
        sure = (RULED if worded and entity in seeds else trust[entity]) / (1 + (links[entity] - 1) / COMMON)
        surest = max(surest, sure)
        total[paragraph] = total.get(paragraph, 0.0) + weight.get(entity, 0.0) * sure
    top = max(total.values(), default=0.0)
    return {paragraph: surest * score / top for paragraph, score in total.items()} if top > 0 else {}


def _possible_names(text: str) -> Iterator[str]:
    """Every stretch of the query that could be an entity's name."""
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

"""From the entities a query names, over the graph, to the paragraphs that support what is found."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from ..indexes.graph_store import GraphStore
from ..storage.names import NameRepository
from ..storage.paragraphs import ParagraphRepository
from ..text import fold, is_mostly_cjk, normalise_name
from .plan import SearchPlan

__all__ = ["recall"]

LONGEST_WORDS, LONGEST_CJK = 4, 8
SPREAD = 64
"""Entities that the walk may reach."""
EVIDENCE = 400
"""Supporting paragraphs looked at."""


def recall(
    db: sqlite3.Connection,
    graph: GraphStore,
    names: NameRepository,
    paragraphs: ParagraphRepository,
    plan: SearchPlan,
) -> dict[int, float]:
    """Paragraph -> score in 0..1, by personalised PageRank from the query's entities."""
    if plan.query is None:
        return {}
    seeds = [row[0] for row in names.entities(db, set(_possible_names(plan.query.text)))]
    if not seeds:
        return {}
    nodes, ranks = graph.pagerank(dict.fromkeys(seeds, 1.0 / len(seeds)), limit=SPREAD)
    weight = {int(node): float(rank) for node, rank in zip(nodes, ranks, strict=True)} or dict.fromkeys(seeds, 1.0)
    if plan.scopes is not None:
        near = _reached(seeds, paragraphs.relations_among(db, weight, plan.scopes))
        weight = {node: rank for node, rank in weight.items() if node in near}
    return _supported(paragraphs.evidence(db, weight, plan.scopes, EVIDENCE), weight)


def _reached(seeds: Iterable[int], links: Iterable[tuple[int, int]]) -> set[int]:
    """The seeds, and what relations lead to from them: none that rests on what may not be seen."""
    neighbours: dict[int, set[int]] = {}
    for one, other in links:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    reached = set(seeds)
    edge = list(reached)
    while edge:
        new = neighbours.get(edge.pop(), set()) - reached
        reached |= new
        edge.extend(new)
    return reached


def _supported(evidence: Sequence[tuple[int, int]], weight: dict[int, float]) -> dict[int, float]:
    total: dict[int, float] = {}
    for entity, paragraph in evidence:
        total[paragraph] = total.get(paragraph, 0.0) + weight.get(entity, 0.0)
    top = max(total.values(), default=0.0)
    return {paragraph: score / top for paragraph, score in total.items()} if top > 0 else {}


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

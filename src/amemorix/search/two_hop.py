"""The second hop: what is linked to the first hits by an entity that few paragraphs speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from .fusion import Fused
from .graph_lane import HUB, is_over
from .plan import SearchPlan

__all__ = ["linked"]

FIRST = 5
"""Hits that the hop starts from; they keep their scores."""
COMMON = 4.0
"""Links with which an entity tells half as much as none would."""
MOST_LINKS = 40
"""An entity of more links than this in what may be seen is no link between two."""
BEYOND = 0.5
"""What an entity counts for that is only related to one of a first hit."""
RELATIONS, EVIDENCE = 400, 4_000
"""Relations and links looked at."""


def linked(db: Connection, plan: SearchPlan, fused: Fused) -> Fused:
    """The ranking with `weights.linked` times the signal `linked` added to the score, at most to 1."""
    weight = plan.settings.weights.linked
    if plan.query is None or weight <= 0 or len(fused.ids) <= 1:
        return fused
    bridges = _bridges(db, plan, fused)
    if not bridges:
        return fused
    bonus = _reached(paragraph_rows.evidence(db, bridges, plan.scopes, plan.now, EVIDENCE), bridges)
    signal = np.array([min(1.0, bonus.get(id_, 0.0)) for id_ in fused.ids.tolist()], np.float32)
    signal[:FIRST] = 0
    if not signal.any():
        return fused
    total = fused.score + np.float32(weight) * signal
    marked = replace(
        fused,
        score=np.minimum(total, np.float32(1)),
        names=(*fused.names, "linked"),
        values=np.column_stack([fused.values, signal]),
        weights=(*fused.weights, weight),
    )
    return marked.take(np.argsort(-total, kind="stable"))


def _bridges(db: Connection, plan: SearchPlan, fused: Fused) -> dict[int, float]:
    """Entity -> share of the best score: those of the first hits, and those related to them."""
    first = fused.ids[:FIRST].tolist()
    top = float(fused.score[0]) or 1.0
    worth = {id_: float(score) / top for id_, score in zip(first, fused.score[:FIRST], strict=True)}
    met: dict[int, float] = {}
    for paragraph, entity in paragraph_rows.entities_of(db, first):
        met[entity] = max(met.get(entity, 0.0), worth[paragraph])
    met = {entity: met[entity] for entity in paragraph_rows.rarely_linked(db, met, HUB)}
    further: dict[int, float] = {}
    related = paragraph_rows.relations_of(db, met, plan.scopes, plan.now, RELATIONS)
    over = is_over(db, (row[0] for row in related), plan)
    for _, one, other, _, _ in (row for row in related if row[0] not in over):
        for known, new in ((one, other), (other, one)):
            if known in met and new not in met:
                further[new] = max(further.get(new, 0.0), BEYOND * met[known])
    return met | {entity: further[entity] for entity in paragraph_rows.rarely_linked(db, further, HUB)}


def _reached(evidence: list[tuple[int, int, bool]], bridges: Mapping[int, float]) -> dict[int, float]:
    """Paragraph -> what its entities tell, the rarer the more."""
    links = Counter(entity for entity, _, _ in evidence)
    found: dict[int, float] = {}
    for entity, paragraph, _ in evidence:
        if links[entity] <= MOST_LINKS:
            found[paragraph] = found.get(paragraph, 0.0) + bridges[entity] / (1 + links[entity] / COMMON)
    return found

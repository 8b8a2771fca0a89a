"""The search for episodes: through the paragraphs they are made of, and by the words of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..episodes import rows as episode_rows
from ..language.normalise import term_hashes
from ..store.ports import Connection
from .fusion import Fused
from .hits import Reasons
from .lanes import Ids
from .plan import SearchPlan

__all__ = ["rank_episodes"]

SUPPORT = 0.3
"""What further paragraphs of an episode add, halved for each."""
OWN_WORDS = 0.2
"""How far a query that an episode's own words hold in full lifts it towards 1."""
OWN_ALONE, ENOUGH = 0.5, 0.6
"""What own words are worth if no paragraph answers, and the share of the query that they have to hold then."""
MOST_ALONE = 20
"""Episodes without an answering paragraph that are looked at."""
Own = tuple[float, list[str]]
"""What an episode's title, keywords and summary hold of the query: its weighted share, and the words."""


def rank_episodes(db: Connection, fused: Fused, plan: SearchPlan, allow: Ids | None) -> Reasons:
    """Episodes with a score in 0..1 and an explanation, best first.

    An episode scores as its best paragraph does, a little more for each further one that answers, and more if its own
    words do. One that only its own words find has to hold most of the query.
    """
    episode_of = episode_rows.of_paragraphs(db, fused.ids.tolist(), plan.now)
    answering: dict[int, list[tuple[float, int]]] = {}
    for paragraph, score in zip(fused.ids.tolist(), fused.score.tolist(), strict=True):
        if paragraph in episode_of:
            answering.setdefault(episode_of[paragraph], []).append((score, paragraph))
    own = _own_words(db, plan)
    scores: dict[int, float] = {}
    for id_, found in answering.items():
        first, *rest = (score for score, _ in found)
        bonus = sum(score * SUPPORT / 2**i for i, score in enumerate(rest[:4], 1))
        score = min(1.0, (first + bonus) / (1.0 + SUPPORT))
        scores[id_] = score + (1.0 - score) * OWN_WORDS * own[id_][0] if id_ in own else score
    for id_ in _found_alone(db, plan, {id_: one[0] for id_, one in own.items() if id_ not in answering}, allow):
        scores[id_] = OWN_ALONE * own[id_][0]
    reasons: Reasons = {}
    for rank, id_ in enumerate(sorted(scores, key=lambda id_: (-scores[id_], id_))[: plan.limit], 1):
        paragraphs = [f"p{paragraph}" for _, paragraph in answering.get(id_, [])[:3]]
        why: dict[str, Any] = {"lanes": {"episode": {"rank": rank}}, "paragraphs": paragraphs}
        if id_ in own:
            why |= {"own_words": round(own[id_][0], 3), "matched_terms": own[id_][1]}
        reasons[id_] = scores[id_], why
    return reasons


def _own_words(db: Connection, plan: SearchPlan) -> dict[int, Own]:
    """Episodes with words of the query among their own; a rare word weighs more."""
    terms = list(dict.fromkeys(plan.query.terms)) if plan.query else []
    if not terms:
        return {}
    hashes = [int(term_hashes([term])[0]) for term in terms]
    places = episode_rows.by_terms(db, hashes, plan.scopes)
    if not places:
        return {}
    count = episode_rows.count(db, plan.scopes)
    weight = {h: math.log(1 + (count + 1) / (1 + len(places.get(h, ())))) for h in hashes}
    held: dict[int, list[tuple[str, float]]] = {}
    for term, hash_ in zip(terms, hashes, strict=True):
        for episode in places.get(hash_, ()):
            held.setdefault(episode, []).append((term, weight[hash_]))
    total = sum(weight[h] for h in hashes)
    return {id_: (sum(w for _, w in words) / total, [term for term, _ in words]) for id_, words in held.items()}


def _found_alone(db: Connection, plan: SearchPlan, shares: dict[int, float], allow: Ids | None) -> list[int]:
    """Those that hold enough of the query, may be seen whole, and meet what else is asked."""
    likely = sorted((id_ for id_, share in shares.items() if share >= ENOUGH), key=lambda id_: (-shares[id_], id_))
    members = episode_rows.members(db, likely[:MOST_ALONE])
    return [
        id_
        for id_, paragraphs in members.items()
        if episode_rows.live_members(db, id_, plan.scopes, plan.now) == paragraphs
        and (allow is None or np.isin(list(paragraphs), allow).any())
    ]

"""The search for episodes: through the paragraphs they are made of, and by the words of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..episodes import rows as episode_rows
from ..language.normalise import term_hashes
from ..store.ports import Connection
from .dual_path import Ranking
from .fusion import Fused
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


@dataclass(frozen=True, slots=True)
class _Own:
    """What an episode's title, keywords and summary hold of the query: its weighted share, and the words."""

    share: float
    words: tuple[str, ...]


def rank_episodes(db: Connection, ranking: Ranking, plan: SearchPlan) -> dict[int, tuple[float, dict[str, Any]]]:
    """Episode -> (score in 0..1, explanation), best first.

    An episode scores as its best paragraph does, a little more for each further one that answers, and more if its own
    words do. One that only its own words find has to hold most of the query.
    """
    found = _paragraphs(db, ranking.fused, plan.now)
    own = _own_words(db, plan)
    alone = _alone(db, ranking, plan, {id_: one for id_, one in own.items() if id_ not in found})
    scores = {id_: _lifted(_score(of), own.get(id_)) for id_, of in found.items()}
    scores |= {id_: OWN_ALONE * one.share for id_, one in alone.items()}
    ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))[: plan.limit]
    return {
        id_: (scores[id_], _explained(rank, found.get(id_, []), own.get(id_))) for rank, id_ in enumerate(ranked, 1)
    }


def _paragraphs(db: Connection, fused: Fused, now: float) -> dict[int, list[tuple[float, int]]]:
    """Episode -> (score, paragraph) of those that answer, best first."""
    of = episode_rows.of_paragraphs(db, fused.ids.tolist(), now)
    found: dict[int, list[tuple[float, int]]] = {}
    for paragraph, score in zip(fused.ids.tolist(), fused.score.tolist(), strict=True):
        if paragraph in of:
            found.setdefault(of[paragraph], []).append((score, paragraph))
    return found


def _own_words(db: Connection, plan: SearchPlan) -> dict[int, _Own]:
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
    return {id_: _Own(sum(w for _, w in words) / total, tuple(t for t, _ in words)) for id_, words in held.items()}


def _alone(db: Connection, ranking: Ranking, plan: SearchPlan, own: Mapping[int, _Own]) -> dict[int, _Own]:
    """Those that hold enough of the query, may be seen whole, and meet what else is asked."""
    likely = sorted((id_ for id_, one in own.items() if one.share >= ENOUGH), key=lambda id_: (-own[id_].share, id_))
    members = episode_rows.members(db, likely[:MOST_ALONE])
    whole = {
        id_: paragraphs
        for id_, paragraphs in members.items()
        if episode_rows.live_members(db, id_, plan.scopes, plan.now) == paragraphs
    }
    return {id_: own[id_] for id_, paragraphs in whole.items() if _is_allowed(paragraphs, ranking)}


def _is_allowed(paragraphs: Iterable[int], ranking: Ranking) -> bool:
    return ranking.allow is None or bool(np.isin(list(paragraphs), ranking.allow).any())


def _score(found: list[tuple[float, int]]) -> float:
    first, *rest = (score for score, _ in found)
    bonus = sum(score * SUPPORT / 2**i for i, score in enumerate(rest[:4], 1))
    return min(1.0, (first + bonus) / (1.0 + SUPPORT))


def _lifted(score: float, own: _Own | None) -> float:
    return score if own is None else score + (1.0 - score) * OWN_WORDS * own.share


def _explained(rank: int, found: list[tuple[float, int]], own: _Own | None) -> dict[str, Any]:
    why: dict[str, Any] = {"lanes": {"episode": {"rank": rank}}, "paragraphs": [f"p{p}" for _, p in found[:3]]}
    if own is not None:
        why |= {"own_words": round(own.share, 3), "matched_terms": list(own.words)}
    return why

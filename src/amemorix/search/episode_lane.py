"""The search for episodes: through the paragraphs they are made of, and by the words of their own."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..episodes import rows as episode_rows
from ..ids import episode_key, paragraph_key
from ..language.normalise import content_hash, term_hashes
from ..sorted_arrays import contains
from ..store.ports import Connection
from .fusion import Fused
from .hits import Reasons, hit_time
from .lanes import Ids
from .operations import Hit
from .query import SearchPlan

__all__ = ["episode_hits"]

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


def episode_hits(db: Connection, fused: Fused, plan: SearchPlan, allow: Ids | None) -> list[Hit]:
    """Episodes with a score in 0..1 and an explanation, best first.

    An episode scores as its best paragraph does, a little more for each further one that answers, and more if its own
    words do. One that only its own words find has to hold most of the query.
    """
    reasons = _ranked(db, fused, plan, allow)
    rows = episode_rows.full(db, reasons)
    return [
        Hit(
            id=episode_key(row.id),
            hash=content_hash(f"{row.source}\n{row.title}\n{row.summary}"),
            type="episode",
            content=row.summary,
            title=row.title,
            score=round(score, 6),
            confidence=explain.pop("confidence"),
            chat_id=row.chat_id,
            source=row.source,
            person_ids=json.loads(row.participants),
            time=hit_time(row.event_start, row.event_end, row.derived_at, plan),
            metadata={"keywords": json.loads(row.keywords), "paragraph_count": row.paragraph_count},
            explain=explain,
        )
        for row, score, explain in ((rows[id_], *reasons[id_]) for id_ in reasons if id_ in rows)
    ]


def _ranked(db: Connection, fused: Fused, plan: SearchPlan, allow: Ids | None) -> Reasons:
    episode_of = episode_rows.of_paragraphs(db, fused.ids.tolist(), plan.now)
    if plan.within is not None:
        told = episode_rows.members(db, set(episode_of.values()))
        episode_of = {row: id_ for row, id_ in episode_of.items() if _holds(plan, told[id_])}
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
    alone = [id_ for id_, (share, _) in own.items() if id_ not in answering and share >= ENOUGH]
    likely = sorted(alone, key=lambda id_: (-own[id_][0], id_))[: MOST_ALONE if allow is None else None]
    for id_, paragraphs in episode_rows.members(db, likely).items():
        seen_whole = episode_rows.live_members(db, id_, plan.scopes, plan.now) == paragraphs
        if seen_whole and (allow is None or np.isin(paragraphs, allow).any()) and _holds(plan, paragraphs):
            scores[id_] = OWN_ALONE * own[id_][0]
    likely_to_answer = dict(zip(fused.ids.tolist(), fused.confidence.tolist(), strict=True))
    reasons: Reasons = {}
    for rank, id_ in enumerate(sorted(scores, key=lambda id_: (-scores[id_], id_))[: plan.limit], 1):
        paragraphs = [paragraph_key(paragraph) for _, paragraph in answering.get(id_, [])[:3]]
        why: dict[str, Any] = {"lanes": {"episode": {"rank": rank}}, "paragraphs": paragraphs}
        sure = max((likely_to_answer[paragraph] for _, paragraph in answering.get(id_, [])), default=scores[id_])
        why["confidence"] = round(sure, 4)
        if id_ in own:
            why |= {"own_words": round(own[id_][0], 3), "matched_terms": own[id_][1]}
        reasons[id_] = scores[id_], why
    return reasons


def _holds(plan: SearchPlan, paragraphs: Sequence[int]) -> bool:
    """Whether what the search is narrowed to has all of them: an episode tells of each of its paragraphs."""
    return plan.within is None or bool(contains(plan.within, np.array(paragraphs)).all())


def _own_words(db: Connection, plan: SearchPlan) -> dict[int, Own]:
    """Episodes with words of the query among their own; a rare word weighs more."""
    terms = list(dict.fromkeys(plan.query.terms))
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

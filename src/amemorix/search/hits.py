"""From ranked rows to hits that say why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..episodes import rows as episode_rows
from ..ids import episode_key, paragraph_key
from ..language.normalise import content_hash, normalise_name, tokens
from ..language.times import format_time
from ..store.ports import Connection
from ..store.rows import entity_names
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows import retention as retention_rows
from ..store.rows.paragraphs import ParagraphRow
from ..store.rows.retention import Retention
from .fusion import Fused
from .plan import SearchPlan
from .result import Hit, HitTime
from .retention import retained

__all__ = ["Reasons", "episode_hits", "hits_in_time", "paragraph_hits", "ranked_hits", "summary"]

SUMMARY_HITS, SUMMARY_CHARS = 5, 120
SPEAKER = 1
OWN_LANES = ("graph", "person", "time")
"""Lanes whose score is a signal."""
OF_SESSION = ("session", "topic")
"""Signals that a paragraph owes to the session it stands in."""
Reasons = dict[int, tuple[float, dict[str, Any]]]
"""Row -> score, and the explanation of it."""


def summary(hits: Sequence[Hit]) -> str:
    """The first hits as numbered lines."""
    lines: list[str] = []
    for i, hit in enumerate(hits[:SUMMARY_HITS], 1):
        text = " ".join(hit.content.split())
        short = text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"
        lines.append(f"{i}. {hit.speaker}: {short}" if hit.speaker else f"{i}. {short}")
    return "\n".join(lines)


def ranked_hits(db: Connection, fused: Fused, plan: SearchPlan) -> list[Hit]:
    """The first `limit` paragraphs of a ranking, each with what put it where it is: every lane's rank and score, and what
    every signal added."""
    signals = fused.signals
    lanes = {"sparse": fused.bm25, "dense": fused.cosine, **{name: signals[name] for name in OWN_LANES}}
    ascending = {name: np.sort(np.nan_to_num(score, nan=-2.0)) for name, score in lanes.items()}
    reasons: Reasons = {}
    for place, id_ in enumerate(fused.ids[: plan.limit].tolist()):
        ranks: dict[str, dict[str, float]] = {}
        for name, score in lanes.items():
            if (value := float(score[place])) > 0:
                better = len(score) - int(np.searchsorted(ascending[name], score[place], side="right"))
                ranks[name] = {"rank": 1 + better, "score": round(value, 4)}
        added = zip(fused.names, (fused.values[place] * fused.weights).tolist(), strict=True)
        counted = {name: round(value, 4) for name, value in added if value}
        reasons[id_] = (
            float(fused.score[place]),
            {
                "lanes": ranks,
                "signals": counted,
                "session": round(sum(counted.get(name, 0.0) for name in OF_SESSION), 4),
                "coverage": round(float(fused.coverage[place]), 3),
                "persons": list(plan.query.names) if plan.query else [],
            },
        )
    return paragraph_hits(db, paragraph_rows.full(db, reasons), reasons, plan)


def hits_in_time(db: Connection, ids: Sequence[int], plan: SearchPlan) -> list[Hit]:
    """Paragraphs in the order given, each with the score 1."""
    reasons: Reasons = {id_: (1.0, {"order": "newest first", "lanes": {"time": {}}}) for id_ in ids}
    return paragraph_hits(db, paragraph_rows.full(db, ids), reasons, plan)


def paragraph_hits(db: Connection, rows: Mapping[int, ParagraphRow], reasons: Reasons, plan: SearchPlan) -> list[Hit]:
    """The rows in the order of the reasons."""
    ids, query = list(reasons), plan.query
    persons = paragraph_rows.persons(db, ids)
    entities = paragraph_rows.entity_norms(db, ids)
    relations = paragraph_rows.relations(db, entities)
    said = [one for found in relations.values() for one in found.values()]
    ends = {entity for subject, _, object_ in said for entity in (subject, object_)}
    names = entity_names.shown(db, ends | {e for found in entities.values() for e, _ in found}, plan.scopes)
    over: dict[int, float] = {}
    if query is not None:
        then = plan.now if plan.as_of is None else plan.as_of
        of_hits = {relation for found in relations.values() for relation in found}
        ended = relation_rows.ended(db, of_hits, plan.scopes, plan.now)
        over = {relation: at for relation, at in ended.items() if at <= then}
    touched = retention_rows.of(db, "paragraph", ids)
    hits: list[Hit] = []
    for id_, (score, explain) in reasons.items():
        if id_ not in rows:
            continue
        row, those = rows[id_], persons.get(id_, [])
        kept = touched.get(id_) or Retention(1.0, row.recorded_at)
        explain["retention"] = round(retained(kept, plan.now, plan.half_life), 4)
        if query is not None:
            if found := relations.get(id_):
                explain["relations"] = _sentences(found.values(), names)
                past = {said: over[key] for key in found if key in over for said in _sentences([found[key]], names)}
                explain |= {"ended_relations": past} if past else {}
            asked = normalise_name(query.text)
            matched = [names[e] for e, norm in entities.get(id_, ()) if norm in asked and e in names]
            explain["matched_entities"] = list(dict.fromkeys(matched))
            if query.terms:
                held = set(tokens(row.content))
                explain["matched_terms"] = [term for term in query.terms if term in held]
        if row.knowledge:
            explain["knowledge"] = row.knowledge
        explain["time_basis"] = "event" if row.event_start is not None else "undated"
        hits.append(
            Hit(
                id=paragraph_key(id_),
                hash=row.content_hash.hex(),
                type="paragraph",
                content=row.content,
                score=round(score, 6),
                external_id=row.external_id,
                chat_id=row.chat_id,
                source=row.source,
                speaker=next((p.name for p in those if p.role == SPEAKER), ""),
                person_ids=[p.person_id for p in those],
                tags=json.loads(row.tags),
                time=_time(row.event_start, row.event_end, row.recorded_at, plan),
                metadata=json.loads(row.metadata),
                explain=explain,
            )
        )
    return hits


def episode_hits(db: Connection, reasons: Reasons, plan: SearchPlan) -> list[Hit]:
    """Episodes in the order of the reasons."""
    rows = episode_rows.full(db, reasons)
    return [
        Hit(
            id=episode_key(row.id),
            hash=content_hash(f"{row.source}\n{row.title}\n{row.summary}"),
            type="episode",
            content=row.summary,
            title=row.title,
            score=round(score, 6),
            chat_id=row.chat_id,
            source=row.source,
            person_ids=json.loads(row.participants),
            time=_time(row.event_start, row.event_end, row.derived_at, plan),
            metadata={"keywords": json.loads(row.keywords), "paragraph_count": row.paragraph_count},
            explain=explain,
        )
        for row, score, explain in ((rows[id_], *reasons[id_]) for id_ in reasons if id_ in rows)
    ]


def _time(start: float | None, end: float | None, recorded_at: float, plan: SearchPlan) -> HitTime:
    text = "" if start is None else format_time(start, plan.zone)
    return HitTime(start=start, end=end, recorded_at=recorded_at, text=text)


def _sentences(relations: Iterable[tuple[int, str, int]], names: Mapping[int, str]) -> list[str]:
    """Relations in words; without those of which an end has no name to show."""
    told = (f"{names[s]} {said} {names[o]}" for s, said, o in relations if s in names and o in names)
    return list(dict.fromkeys(told))

"""From ranked rows to hits that say why."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ids import paragraph_key, row_number
from ..language.normalise import normalise_name, tokens, unpack_terms
from ..language.times import format_time
from ..sorted_arrays import filled
from ..store.ports import Connection, VectorIndex
from ..store.queries import shown_json
from ..store.rows import entity_names
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import retention as retention_rows
from ..store.rows.paragraphs import ParagraphRow
from ..store.rows.retention import Retention
from .fusion import RANKED, Fused
from .lanes import Floats
from .operations import Hit, HitTime
from .query import SearchPlan
from .retention import retained

__all__ = [
    "AggregateQueryService", "Reasons", "compare_hits", "confidences", "hit_time", "hits_in_time", "paragraph_hits",
    "ranked_hits", "similarity_of", "summary", "with_replaced",
]  # fmt: skip

SUMMARY_HITS, SUMMARY_CHARS = 5, 120
OWN_LANES = ("graph", "person", "time")
"""Lanes whose score is a signal."""
OF_SESSION = ("session", "topic")
"""Signals that a paragraph owes to the session it stands in."""
MOST_REPLACED = 2_000
"""Replaced wordings that are looked at, the newest."""
LEAST_TOP = 1.0
"""What a wording that holds the whole query scores where nothing else is found."""
RRF_K = 60
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


def ranked_hits(db: Connection, fused: Fused, plan: SearchPlan, touched: Mapping[int, Retention]) -> list[Hit]:
    """The first `limit` paragraphs of a ranking that may be seen, each with what put it where it is: every lane's rank and
    score, and what every signal added."""
    while True:
        first = fused.ids[: plan.limit]
        rows = paragraph_rows.shown(db, first.tolist(), plan.scopes, plan.now)
        if len(rows) == len(first):
            break
        fused = fused.take(np.flatnonzero(~np.isin(fused.ids, [id_ for id_ in first.tolist() if id_ not in rows])))
    signals = fused.signals
    lanes = {"sparse": fused.bm25, "dense": fused.cosine}
    lanes |= {name: signals[name] for name in OWN_LANES if name in signals}
    shown = slice(plan.limit)
    found: dict[str, list[tuple[float, int]]] = {}
    for name, score in lanes.items():
        if plan.rrf_k:  # the score was made of the ranks
            part = signals[RANKED[name]][shown]
            ranks = np.where(part > 0, np.rint(1 / np.maximum(part, 1e-9)).astype(np.int64) - plan.rrf_k, 0)
        elif (score[shown] > 0).any():
            no_better = np.searchsorted(np.sort(filled(score, -2.0)), score[shown], side="right")
            ranks = np.where(score[shown] > 0, 1 + len(score) - no_better, 0)
        else:
            continue
        found[name] = list(zip(score[shown].tolist(), ranks.tolist(), strict=True))
    added = (fused.values[shown] * fused.weights).tolist()
    reasons: Reasons = {}
    for place, id_ in enumerate(fused.ids[shown].tolist()):
        reached = ((name, *of_lane[place]) for name, of_lane in found.items())
        ranks = {name: {"rank": rank, "score": round(score, 4)} for name, score, rank in reached if rank}
        signals_added = zip(fused.names, added[place], strict=True)
        counted = {name: round(value, 4) for name, value in signals_added if value}
        reasons[id_] = (
            float(fused.score[place]),
            {
                "confidence": round(float(fused.confidence[place]), 4),
                "lanes": ranks,
                "signals": counted,
                "session": round(sum(counted.get(name, 0.0) for name in OF_SESSION), 4),
                "coverage": round(float(fused.coverage[place]), 3),
                "persons": list(plan.query.names),
            },
        )
    return paragraph_hits(db, rows, reasons, plan, touched)


def hits_in_time(db: Connection, ids: Sequence[int], plan: SearchPlan) -> list[Hit]:
    """Paragraphs in the order given, each with the score 1."""
    reasons: Reasons = {id_: (1.0, {"order": "newest first", "lanes": {"time": {}}}) for id_ in ids}
    return paragraph_hits(db, paragraph_rows.full(db, ids), reasons, plan)


def paragraph_hits(
    db: Connection,
    rows: Mapping[int, ParagraphRow],
    reasons: Reasons,
    plan: SearchPlan,
    touched: Mapping[int, Retention] | None = None,
) -> list[Hit]:
    """The rows in the order of the reasons; `touched` is what is known already of what is left of them."""
    ids, query = list(reasons), plan.query
    persons = paragraph_rows.persons(db, ids)
    entities = paragraph_rows.entity_norms(db, ids) if query.text else {}
    relations = paragraph_rows.relations(db, entities)
    said = [one for found in relations.values() for one in found.values()]
    ends = {entity for subject, _, object_ in said for entity in (subject, object_)}
    names = entity_names.shown(db, ends | {e for found in entities.values() for e, _ in found}, plan.scopes)
    touched = retention_rows.of(db, "paragraph", ids) if touched is None else touched
    asked = normalise_name(query.text)
    hits: list[Hit] = []
    for id_, (score, explain) in reasons.items():
        if id_ not in rows:
            continue
        row, those = rows[id_], persons.get(id_, [])
        kept = touched.get(id_) or Retention(1.0, row.recorded_at)
        explain["retention"] = round(retained(kept, plan.now, plan.half_life), 4)
        if query.text:
            if found := relations.get(id_):
                explain["relations"] = _sentences(found.values(), names)
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
                confidence=explain.pop("confidence", 1.0),
                external_id=row.external_id,
                chat_id=row.chat_id,
                source=row.source,
                source_type=row.source_type,
                speaker=paragraph_rows.speaker_of(those),
                person_ids=[p.person_id for p in those],
                tags=json.loads(row.tags) if row.tags != "[]" else [],
                time=hit_time(row.event_start, row.event_end, row.recorded_at, plan),
                metadata=shown_json(row.metadata) if row.metadata != "{}" else {},
                explain=explain,
            )
        )
    return hits


def hit_time(start: float | None, end: float | None, recorded_at: float, plan: SearchPlan) -> HitTime:
    """The times of a hit, and when it began in words."""
    text = "" if start is None else format_time(start, plan.zone)
    return HitTime(start=start, end=end, recorded_at=recorded_at, text=text)


def _sentences(relations: Iterable[tuple[int, str, int]], names: Mapping[int, str]) -> list[str]:
    """Relations in words; without those of which an end has no name to show."""
    told = (f"{names[s]} {said} {names[o]}" for s, said, o in relations if s in names and o in names)
    return list(dict.fromkeys(told))


def with_replaced(db: Connection, hits: Sequence[Hit], plan: SearchPlan) -> list[Hit]:
    """The hits with those of wordings that have been replaced since the time that the search looks back to.

    They are out of the indexes. They score by the share of the query's terms that they hold, best first; without a query
    what happened last comes first.
    """
    query, noise, window = plan.query, plan.settings.noise, plan.window
    if plan.as_of is None or (query.text and not len(query.hashes)):
        return list(hits)
    top = max([LEAST_TOP, *(hit.score for hit in hits)])
    floor = noise.min_coverage * (0.5 if query.persons else 1.0) if noise.enabled else 0.0
    within = None if plan.within is None else set(plan.within.tolist())
    mine = None if plan.persons is None else set(paragraph_rows.of_persons(db, plan.persons).tolist())
    found: list[tuple[float, int]] = []
    for one in paragraph_rows.replaced(db, plan.as_of, plan.scopes, plan.now, MOST_REPLACED):
        at = one.event_start
        if (mine is not None and one.id not in mine) or (within is not None and one.id not in within):
            continue
        if window is not None and not (at is not None and window.start <= at <= window.end):
            continue
        if query.text:
            share = float(np.isin(query.hashes, unpack_terms(one.terms)[0], assume_unique=True).mean())
            found += [(share, one.id)] if share > 0 and share >= floor else []
        elif at is not None:
            found.append((at, one.id))
    found.sort(key=lambda pair: -pair[0])
    reasons: Reasons = {
        id_: (top * value, {"revision": "replaced", "coverage": round(value, 3), "lanes": {"sparse": {}}})
        if query.text
        else (1.0, {"revision": "replaced", "order": "newest first", "lanes": {"time": {}}})
        for value, id_ in found[: plan.limit]
    }
    every = [*paragraph_hits(db, paragraph_rows.full(db, reasons, replaced=True), reasons, plan), *hits]
    return sorted(every, key=lambda hit: -hit.score if query.text else -(hit.time.start or 0.0))[: plan.limit]


class AggregateQueryService:
    """Merges the branches' hits by reciprocal rank fusion."""

    def __init__(self, k: int = RRF_K) -> None:
        self._k = k

    def merge(self, branches: Mapping[str, Sequence[Hit]], limit: int) -> list[Hit]:
        """Hits of all branches, best first; each says which branches found it and at which rank.

        The score is the sum of 1 / (k + rank) over the branches (Cormack, Clarke, Büttcher 2009), ranks begin at 1, as
        a share of what a hit reaches that is the first of all of them.
        """
        first: dict[str, Hit] = {}
        found: dict[str, dict[str, int]] = {}
        for name, hits in branches.items():
            for rank, hit in enumerate(hits, 1):
                first.setdefault(hit.id, hit)
                found.setdefault(hit.id, {})[name] = rank
        fused = {key: sum(1.0 / (self._k + rank) for rank in ranks.values()) for key, ranks in found.items()}
        reachable = sum(1 for hits in branches.values() if hits) / (self._k + 1)
        order = sorted(fused, key=lambda key: (-fused[key], -first[key].score, key))[:limit]
        return [
            first[key].model_copy(
                update={
                    "score": round(min(1.0, fused[key] / reachable), 6),
                    "explain": {**first[key].explain, "branches": found[key], "branch_score": first[key].score},
                }
            )
            for key in order
        ]


def compare_hits(hits: Iterable[Hit], vectors: VectorIndex, query: Floats) -> None:
    """Give each hit its similarity to the query: a paragraph that of its vector, if it has one, an episode that of its
    nearest answering paragraph."""
    rows = {
        hit.id: [row for id_ in hit.explain.get("paragraphs", [hit.id]) if (row := row_number(id_, "p")) is not None]
        for hit in hits
    }
    ids = np.unique(np.array([row for found in rows.values() for row in found], np.int64))
    near = dict(zip(ids.tolist(), vectors.scores(query, ids).tolist(), strict=True))
    for hit in hits:
        known = [near[row] for row in rows[hit.id] if not math.isnan(near[row])]
        hit.similarity = similarity_of(max(known)) if known else None


def similarity_of(cosine: float) -> float:
    """A cosine as hits tell it."""
    return round(min(max(cosine, 0.0), 1.0), 4)


def confidences(hits: Iterable[Hit]) -> dict[int, float]:
    """Paragraph row -> how likely it answers."""
    return {row: hit.confidence for hit in hits if (row := row_number(hit.id, "p"))}

"""From ranked rows to hits that say why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..episodes import rows as episode_rows
from ..episodes.rows import EpisodeRow
from ..ids import episode_key, paragraph_key
from ..language.normalise import content_hash, normalise_name, tokens
from ..language.times import format_time
from ..store.ports import Connection
from ..store.rows import entity_names
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import retention as retention_rows
from ..store.rows.paragraphs import ParagraphRow, PersonOf
from ..store.rows.retention import Retention
from .dual_path import Ranking
from .fusion import Fused
from .plan import SearchPlan
from .result import Hit, HitTime
from .retention import retained

__all__ = ["HitWriter", "summary"]

SUMMARY_HITS, SUMMARY_CHARS = 5, 120
SPEAKER = 1
OWN_LANES = ("graph", "person", "time")
"""Lanes whose score is a signal."""
OF_SESSION = ("session", "topic")
"""Signals that a paragraph owes to the session it stands in."""


def summary(hits: Sequence[Hit]) -> str:
    """The first hits as numbered lines."""
    lines = [f"{i}. {_line(hit)}" for i, hit in enumerate(hits[:SUMMARY_HITS], 1)]
    return "\n".join(lines)


def _line(hit: Hit) -> str:
    text = " ".join(hit.content.split())
    short = text if len(text) <= SUMMARY_CHARS else text[: SUMMARY_CHARS - 1] + "…"
    return f"{hit.speaker}: {short}" if hit.speaker else short


class HitWriter:
    """Reads the rows of the winners and explains them."""

    def __init__(
        self,
    ) -> None:
        pass

    def paragraphs(self, db: Connection, ranking: Ranking, plan: SearchPlan) -> list[Hit]:
        """The first `limit` paragraphs of a ranking."""
        fused = ranking.fused
        why = _Explainer(fused, plan)
        explained = {int(id_): (float(fused.score[i]), why.explain(i)) for i, id_ in enumerate(fused.ids[: plan.limit])}
        return self._hits(db, list(explained), explained, plan)

    def by_time(self, db: Connection, ids: Sequence[int], plan: SearchPlan) -> list[Hit]:
        """Paragraphs in the order given, each with the score 1."""
        reason = {"order": "newest first", "lanes": {"time": {}}}
        return self._hits(db, ids, {id_: (1.0, {**reason}) for id_ in ids}, plan)

    def revisions(
        self,
        db: Connection,
        rows: Mapping[int, ParagraphRow],
        why: Mapping[int, tuple[float, dict[str, Any]]],
        plan: SearchPlan,
    ) -> list[Hit]:
        """Wordings that have been replaced, in the order given."""
        return self._hits(db, list(why), why, plan, rows)

    def episodes(
        self, db: Connection, scores: Mapping[int, tuple[float, dict[str, Any]]], plan: SearchPlan
    ) -> list[Hit]:
        """Episodes in the order given."""
        rows = episode_rows.full(db, scores)
        return [self._episode(rows[id_], *scores[id_], plan) for id_ in list(scores)[: plan.limit] if id_ in rows]

    def _hits(
        self,
        db: Connection,
        ids: Sequence[int],
        why: Mapping[int, tuple[float, dict[str, Any]]],
        plan: SearchPlan,
        rows: Mapping[int, ParagraphRow] | None = None,
    ) -> list[Hit]:
        rows = paragraph_rows.full(db, ids) if rows is None else rows
        persons = paragraph_rows.persons(db, ids)
        known = paragraph_rows.entity_norms(db, ids)
        relations = paragraph_rows.relations(db, known)
        called = self._called(db, known, relations, plan)
        over = self._over(db, relations, plan)
        touched = retention_rows.of(db, "paragraph", ids)
        hits: list[Hit] = []
        for id_ in ids:
            if id_ in rows:
                score, explain = why[id_]
                kept = touched.get(id_) or Retention(1.0, rows[id_].recorded_at)
                explain["retention"] = round(retained(kept, plan.now, plan.half_life), 4)
                if plan.query is not None:
                    asked = normalise_name(plan.query.text)
                    if id_ in relations:
                        explain["relations"] = _sentences(relations[id_].values(), called)
                        told = {row: _sentences([one], called) for row, one in relations[id_].items() if row in over}
                        if ended := {said: over[row] for row, words in told.items() for said in words}:
                            explain["ended_relations"] = ended
                    matched = [called[e] for e, norm in known.get(id_, ()) if norm in asked and e in called]
                    explain["matched_entities"] = list(dict.fromkeys(matched))
                hits.append(self._paragraph(rows[id_], persons.get(id_, []), score, explain, plan))
        return hits

    def _called(
        self,
        db: Connection,
        known: Mapping[int, Sequence[tuple[int, str]]],
        relations: Mapping[int, Mapping[int, tuple[int, str, int]]],
        plan: SearchPlan,
    ) -> dict[int, str]:
        """Entity -> the name by which whoever asks knows it."""
        ends = {
            end for found in relations.values() for subject, _, object_ in found.values() for end in (subject, object_)
        }
        return entity_names.shown(db, ends | {e for found in known.values() for e, _ in found}, plan.scopes)

    def _over(
        self, db: Connection, relations: Mapping[int, Mapping[int, tuple[int, str, int]]], plan: SearchPlan
    ) -> dict[int, float]:
        """Relation -> when what it says was over, of those that were over at the time that is asked for."""
        if plan.query is None:
            return {}
        ids = {row for those in relations.values() for row in those}
        then = plan.now if plan.as_of is None else plan.as_of
        ends = paragraph_rows.relations_ended(db, ids, plan.scopes, plan.now)
        return {row: at for row, at in ends.items() if at <= then}

    def _paragraph(
        self, row: ParagraphRow, persons: Sequence[PersonOf], score: float, explain: dict[str, Any], plan: SearchPlan
    ) -> Hit:
        if plan.query and plan.query.terms:
            held = set(tokens(row.content))
            explain["matched_terms"] = [term for term in plan.query.terms if term in held]
        if row.knowledge:
            explain["knowledge"] = row.knowledge
        explain["time_basis"] = "event" if row.event_start is not None else "undated"
        return Hit(
            id=paragraph_key(row.id),
            hash=row.content_hash.hex(),
            type="paragraph",
            content=row.content,
            score=round(score, 6),
            external_id=row.external_id,
            chat_id=row.chat_id,
            source=row.source,
            speaker=next((p.name for p in persons if p.role == SPEAKER), ""),
            person_ids=[p.person_id for p in persons],
            tags=json.loads(row.tags),
            time=_time(row.event_start, row.event_end, row.recorded_at, plan),
            metadata=json.loads(row.metadata),
            explain=explain,
        )

    def _episode(self, row: EpisodeRow, score: float, explain: dict[str, Any], plan: SearchPlan) -> Hit:
        return Hit(
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


def _time(start: float | None, end: float | None, recorded_at: float, plan: SearchPlan) -> HitTime:
    text = "" if start is None else format_time(start, plan.zone)
    return HitTime(start=start, end=end, recorded_at=recorded_at, text=text)


def _sentences(relations: Iterable[tuple[int, str, int]], called: Mapping[int, str]) -> list[str]:
    """Relations in words; without those of which an end has no name to show."""
    told = (f"{called[s]} {said} {called[o]}" for s, said, o in relations if s in called and o in called)
    return list(dict.fromkeys(told))


class _Explainer:
    """Says of each candidate what put it where it is: each lane's rank and score, and what every signal added."""

    def __init__(self, fused: Fused, plan: SearchPlan) -> None:
        signals = fused.signals
        self._scores = {"sparse": fused.bm25, "dense": fused.cosine, **{name: signals[name] for name in OWN_LANES}}
        self._ascending = {name: np.sort(np.nan_to_num(score, nan=-2.0)) for name, score in self._scores.items()}
        self._fused = fused
        self._persons = list(plan.query.names) if plan.query else []

    def explain(self, place: int) -> dict[str, Any]:
        """The explanation of the candidate at this place."""
        fused = self._fused
        added = zip(fused.names, (fused.values[place] * fused.weights).tolist(), strict=True)
        counted = {name: round(value, 4) for name, value in added if value}
        return {
            "lanes": self._lanes(place),
            "signals": counted,
            "session": round(sum(counted.get(name, 0.0) for name in OF_SESSION), 4),
            "coverage": round(float(fused.coverage[place]), 3),
            "persons": self._persons,
        }

    def _lanes(self, place: int) -> dict[str, dict[str, float]]:
        lanes: dict[str, dict[str, float]] = {}
        for name, score in self._scores.items():
            value = float(score[place])
            if value > 0:
                better = len(score) - int(np.searchsorted(self._ascending[name], score[place], side="right"))
                lanes[name] = {"rank": 1 + better, "score": round(value, 4)}
        return lanes

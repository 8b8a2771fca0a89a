"""What episodes are made of, what of it has changed, and the storing of what was made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..store.ports import Connection
from ..store.queries import array
from . import rows as episode_rows

__all__ = ["BEGINNING", "EpisodeDraft", "Material", "News", "Place", "Regrouping", "Touched"]

Place = tuple[float, int]
"""Where a paragraph stands in its source: its time, then its row."""
BEGINNING: Place = (-math.inf, 0)


@dataclass(frozen=True, slots=True)
class Material:
    """A paragraph as the segmentation sees it; `at` orders it, `event_*` are None if it is undated."""

    id: int
    scope: int
    at: float
    event_start: float | None
    event_end: float | None
    content: str
    speaker: int
    terms: bytes

    @property
    def place(self) -> Place:
        """Where it stands in its source."""
        return self.at, self.id


@dataclass(frozen=True, slots=True)
class EpisodeDraft:
    """What an episode says, stored or about to be; equal if no reader could tell one from the other.

    `terms` are the hashes of the words of its own; of a stored one they are not read.
    """

    scope: int
    stretch: int
    title: str
    summary: str
    event_start: float | None
    event_end: float | None
    participants: tuple[str, ...]
    keywords: tuple[str, ...]
    paragraphs: tuple[int, ...]
    segmented_by: str = "rules"
    terms: tuple[int, ...] = field(default=(), compare=False)
    model_due: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class News:
    """A stretch of time in which a source has changed; `anew`: its episodes are to be made again in any case."""

    id: int
    since: float
    upto: float
    anew: bool


@dataclass(slots=True)
class Touched:
    """What changes come to: how far they read, the times touched by source, and the episodes touched."""

    upto: int
    times: dict[int, set[float]] = field(default_factory=dict[int, set[float]])
    episodes: set[int] = field(default_factory=set[int])

    def add(self, rows: Iterable[tuple[int, float, int | None]]) -> Touched:
        for source, at, episode in rows:
            self.times.setdefault(source, set()).add(at)
            if episode is not None:
                self.episodes.add(episode)
        return self


@dataclass(frozen=True, slots=True)
class Regrouping:
    """What is to be stored: (row, episode) in the place of the row, new episodes, rows to drop, rows to ask about."""

    updates: tuple[tuple[int, EpisodeDraft], ...] = ()
    inserts: tuple[EpisodeDraft, ...] = ()
    removed: tuple[int, ...] = ()
    ask_again: tuple[int, ...] = ()


def touched(db: Connection, cursor: int, limit: int) -> Touched:
    """What the changes after `cursor` touch."""
    rows = db.run("episode_touched", cursor=cursor, limit=limit).fetchall()
    return Touched(rows[-1][0] if rows else cursor).add(row[1:] for row in rows if row[1] is not None)


def spans(db: Connection, episodes: Iterable[int]) -> list[tuple[int, float, float]]:
    """(source, since, upto) of each of these episodes."""
    return db.run("episode_spans", ids=array(episodes)).fetchall()


def add_news(db: Connection, source: int, spans: Iterable[tuple[float, float]], *, anew: bool = False) -> bool:
    """Note that a source has changed in these stretches of time; False if it is gone by now."""
    rows = [{"source": source, "since": since, "upto": upto, "anew": int(anew)} for since, upto in spans]
    return db.run_many("episode_news_insert", rows).rowcount > 0


def news(db: Connection, source: int) -> list[News]:
    """What has changed in a source, the earliest first."""
    rows = db.run("episode_news_of", source=source)
    return [News(id_, since, upto, bool(anew)) for id_, since, upto, anew in rows]


def sources(db: Connection, after: int, limit: int) -> list[int]:
    """The next sources by row."""
    return [row[0] for row in db.run("all_sources", after=after, limit=limit)]


def place_before(db: Connection, source: int, since: float, count: int, now: float) -> Place:
    """The start of the stretch that holds the live paragraph `count` places before a time; the stretch is whole."""
    rows = db.run("episode_before", source=source, since=since, count=count, now=now).fetchall()
    if len(rows) < count:
        return BEGINNING
    id_, at, episode = rows[-1]
    if episode is None:
        return at, id_
    start = db.run("stretch_start", source=source, episode=episode).fetchone()
    return min(start, (at, id_))


def material(db: Connection, source: int, begin: Place, limit: int, now: float) -> list[Material]:
    """The source's live paragraphs from a place on, in order."""
    rows = db.run("episode_material", source=source, at=begin[0], id=begin[1], limit=limit, now=now)
    return [Material(*row) for row in rows]


def held(db: Connection, source: int, begin: Place, end: Place | None) -> dict[int, EpisodeDraft]:
    """Row -> what is stored, of the episodes that hold anything of the source from a place up to, and without, another."""
    end_at, end_id = end or (None, None)
    between = db.run("episodes_between", source=source, at=begin[0], id=begin[1], end_at=end_at, end_id=end_id)
    ids = [row[0] for row in between]
    paragraphs = episode_rows.members(db, ids)
    return {
        id_: EpisodeDraft(
            scope, stretch, title, summary, start, end, tuple(json.loads(participants)), tuple(json.loads(keywords)),
            tuple(paragraphs.get(id_, ())), segmented_by,
        )
        for id_, scope, stretch, start, end, segmented_by, title, summary, participants, keywords in db.run(
            "episodes_held", ids=array(ids)
        )
    }  # fmt: skip


def store(db: Connection, source: int, work: Regrouping, now: float) -> None:
    """Put a regrouping in the place of what was there; an episode that goes on keeps its row."""
    db.run("episodes_remove", ids=array(work.removed))
    for drop in ("episode_members_drop", "episode_terms_drop"):
        db.run(drop, ids=array(id_ for id_, _ in work.updates))
    for id_, draft in work.updates:
        row = db.run("episode_update", **_values(draft), id=id_, now=now).fetchone()
        _fill(db, _insert(db, source, draft, now) if row is None else id_, draft)
    for draft in work.inserts:
        _fill(db, _insert(db, source, draft, now), draft)
    if work.ask_again:
        db.run("episode_ask_again", ids=array(work.ask_again), due=now)


def _insert(db: Connection, source: int, draft: EpisodeDraft, now: float) -> int:
    return db.run("episode_insert", **_values(draft), source=source, now=now).fetchone()[0]


def _fill(db: Connection, episode: int, draft: EpisodeDraft) -> None:
    members = [{"paragraph": id_, "episode": episode, "position": i} for i, id_ in enumerate(draft.paragraphs)]
    db.run_many("episode_member_insert", members)
    terms = [{"term": term, "scope": draft.scope, "episode": episode} for term in draft.terms]
    db.run_many("episode_term_insert", terms)


def waiting_for_model(db: Connection, now: float) -> tuple[int, int]:
    """(episodes that the model is to be asked about, those of them that are due)."""
    return db.run("episode_model_counts", now=now).fetchone()


def _values(draft: EpisodeDraft) -> dict[str, Any]:
    return {
        "scope": draft.scope, "stretch": draft.stretch, "title": draft.title, "summary": draft.summary,
        "event_start": draft.event_start, "event_end": draft.event_end, "paragraph_count": len(draft.paragraphs),
        "participants": json.dumps(draft.participants, ensure_ascii=False),
        "keywords": json.dumps(draft.keywords, ensure_ascii=False),
        "segmented_by": draft.segmented_by, "model_due": draft.model_due,
    }  # fmt: skip

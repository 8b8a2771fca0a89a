"""Episodes as rows: read as they are shown, and stored as they are made out of what has changed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = [
    "BEGINNING", "EpisodeDraft", "EpisodeFailure", "EpisodeRow", "Material", "News", "Place", "Regrouping",
]  # fmt: skip

Scopes = Sequence[int] | None
MOST_TERM_ROWS = 20_000
"""Places of a query's words in episodes that are looked at."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A whole episode; times in epoch seconds."""

    id: int
    title: str
    summary: str
    event_start: float | None
    event_end: float | None
    paragraph_count: int
    participants: str
    keywords: str
    derived_at: float
    source: str
    source_type: str
    chat_id: str
    scope: int
    revision: int
    segmented_by: str
    prompt: str


@dataclass(frozen=True, slots=True)
class EpisodeFailure:
    """A source whose episodes could not be made; times in epoch seconds."""

    source: str
    chat_id: str
    attempts: int
    error: str
    next_at: float
    failed_at: float


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
    prompt: str = field(default="", compare=False)
    """Of what the chat model has read: the language and version of the words in which it was asked."""


@dataclass(frozen=True, slots=True)
class News:
    """A stretch of time in which a source has changed; `anew`: its episodes are to be made again in any case."""

    id: int
    since: float
    upto: float
    anew: bool


@dataclass(frozen=True, slots=True)
class Regrouping:
    """What is to be stored: (row, episode) in the place of the row, new episodes, rows to drop, rows to ask about."""

    updates: tuple[tuple[int, EpisodeDraft], ...] = ()
    inserts: tuple[EpisodeDraft, ...] = ()
    removed: tuple[int, ...] = ()
    ask_again: tuple[int, ...] = ()


def of_paragraphs(db: Connection, ids: Iterable[int], now: float) -> dict[int, int]:
    """Paragraph -> episode, for episodes whose paragraphs all live."""
    return dict(db.run("episodes_of_paragraphs", ids=array(ids), now=now).fetchall())


def full(db: Connection, ids: Iterable[int]) -> dict[int, EpisodeRow]:
    """Episode -> row."""
    rows = db.run("episodes_full", ids=array(ids))
    return {row[0]: EpisodeRow(*row) for row in rows}


def members(db: Connection, ids: Iterable[int]) -> dict[int, list[int]]:
    """Episode -> its paragraphs in order."""
    found: dict[int, list[int]] = {}
    for episode, paragraph in db.run("episode_members", ids=array(ids)):
        found.setdefault(episode, []).append(paragraph)
    return found


def live_members(db: Connection, episode: int, scopes: Scopes, now: float) -> list[int]:
    """Those of its paragraphs that may be seen, in order."""
    values = {"episode": episode, "scopes": optional_array(scopes), "now": now}
    return [row[0] for row in db.run("episode_live_members", **values)]


def by_terms(db: Connection, terms: Iterable[int], scopes: Scopes) -> dict[int, list[int]]:
    """Word -> episodes in scope that have it as their own; it reads a bounded number of them."""
    values = {"terms": array(terms), "scopes": optional_array(scopes), "limit": MOST_TERM_ROWS}
    found: dict[int, list[int]] = {}
    for term, episode in db.run("episodes_by_terms", **values):
        found.setdefault(term, []).append(episode)
    return found


def count(db: Connection, scopes: Scopes) -> int:
    """Episodes in scope."""
    return db.run("episodes_in_scope", scopes=optional_array(scopes)).fetchone()[0]


def listed(
    db: Connection, *, scopes: Scopes, sources: Sequence[int] | None, persons: Sequence[int] | None,
    start: float | None, end: float | None, now: float, limit: int, offset: int,
) -> list[int]:  # fmt: skip
    """Episodes that may be seen whole, the newest first; None restricts nothing, an empty sequence allows nothing."""
    rows = db.run(
        "episodes_listed", scopes=optional_array(scopes), sources=optional_array(sources),
        persons=optional_array(persons), start=start, end=end, now=now, limit=limit, offset=offset,
    )  # fmt: skip
    return [row[0] for row in rows]


def failures(db: Connection, limit: int) -> list[EpisodeFailure]:
    """Sources whose episodes could not be made, the last that failed first."""
    return [EpisodeFailure(*row) for row in db.run("episode_failures", limit=limit)]


def add_news(db: Connection, source: int, spans: Iterable[tuple[float, float]], *, anew: bool = False) -> bool:
    """Note that a source has changed in these stretches of time; False if it is gone by now."""
    rows = [{"source": source, "since": since, "upto": upto, "anew": int(anew)} for since, upto in spans]
    return db.run_many("episode_news_insert", rows).rowcount > 0


def news(db: Connection, source: int) -> list[News]:
    """What has changed in a source, the earliest first."""
    rows = db.run("episode_news_of", source=source)
    return [News(id_, since, upto, bool(anew)) for id_, since, upto, anew in rows]


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
    paragraphs = members(db, ids)
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
    for old, draft in [*work.updates, *((0, draft) for draft in work.inserts)]:
        values: dict[str, Any] = {
            "scope": draft.scope, "stretch": draft.stretch, "title": draft.title, "summary": draft.summary,
            "event_start": draft.event_start, "event_end": draft.event_end, "paragraph_count": len(draft.paragraphs),
            "participants": json.dumps(draft.participants, ensure_ascii=False),
            "keywords": json.dumps(draft.keywords, ensure_ascii=False),
            "segmented_by": draft.segmented_by, "model_due": draft.model_due, "prompt": draft.prompt, "now": now,
        }  # fmt: skip
        kept = db.run("episode_update", **values, id=old).fetchone() if old else None
        episode = old if kept else db.run("episode_insert", **values, source=source).fetchone()[0]
        members = [{"paragraph": id_, "episode": episode, "position": i} for i, id_ in enumerate(draft.paragraphs)]
        db.run_many("episode_member_insert", members)
        terms = [{"term": term, "scope": draft.scope, "episode": episode} for term in draft.terms]
        db.run_many("episode_term_insert", terms)
    if work.ask_again:
        db.run("episode_ask_again", ids=array(work.ask_again), due=now)


def waiting_for_model(db: Connection, now: float) -> tuple[int, int]:
    """(episodes that the model is to be asked about, those of them that are due)."""
    return db.run("episode_model_counts", now=now).fetchone()

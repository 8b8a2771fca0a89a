"""What episodes are made of, what of it has changed, and the storing of what was made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array

__all__ = [
    "BEGINNING", "EpisodeDraft", "HeldEpisode", "Material", "ModelClaim", "News", "Place",
    "Regrouping", "Touched",
]  # fmt: skip

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
    """An episode before it has a row; `terms` are the hashes of the words of its own."""

    scope: int
    stretch: int
    title: str
    summary: str
    event_start: float | None
    event_end: float | None
    participants: tuple[str, ...]
    keywords: tuple[str, ...]
    paragraphs: tuple[int, ...]
    terms: tuple[int, ...]
    segmented_by: str = "rules"
    model_due: float | None = None


@dataclass(frozen=True, slots=True)
class HeldEpisode:
    """An episode as it is stored."""

    id: int
    scope: int
    stretch: int
    event_start: float | None
    event_end: float | None
    segmented_by: str
    title: str
    summary: str
    participants: tuple[str, ...]
    keywords: tuple[str, ...]
    revision: int
    paragraphs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class News:
    """A stretch of time in which a source has changed; `anew`: its episodes are to be made again in any case."""

    id: int
    since: float
    upto: float
    anew: bool


@dataclass(frozen=True, slots=True)
class Touched:
    """What changes come to: how far they read, the times touched by source, and the episodes touched."""

    upto: int
    times: dict[int, set[float]]
    episodes: set[int]


@dataclass(frozen=True, slots=True)
class Regrouping:
    """What is to be stored: (row, episode) in the place of the row, new episodes, rows to drop, rows to ask about."""

    updates: tuple[tuple[int, EpisodeDraft], ...] = ()
    inserts: tuple[EpisodeDraft, ...] = ()
    removed: tuple[int, ...] = ()
    ask_again: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelClaim:
    """An episode that the chat model is being asked about."""

    id: int
    source: int
    stretch: int
    revision: int
    attempts: int


def touched(db: Connection, cursor: int, limit: int) -> Touched:
    """What the changes after `cursor` touch."""
    rows = db.run("episode_touched", cursor=cursor, limit=limit).fetchall()
    found = Touched(rows[-1][0] if rows else cursor, {}, set())
    _collect(found, (row[1:] for row in rows if row[1] is not None))
    return found


def expired(db: Connection, now: float, limit: int) -> Touched:
    """The same for paragraphs that have expired since their episodes were made."""
    found = Touched(0, {}, set())
    _collect(found, db.run("episode_expired", now=now, limit=limit))
    return found


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


def forget_news(db: Connection, ids: Iterable[int]) -> None:
    """Drop what has been worked in."""
    db.run("episode_news_forget", ids=array(ids))


def sources(db: Connection, after: int, limit: int) -> list[int]:
    """The next sources by row."""
    return [row[0] for row in db.run("all_sources", after=after, limit=limit)]


def sources_of_chat(db: Connection, chat_id: str) -> list[int]:
    """Every source of a chat."""
    return [row[0] for row in db.run("sources_of_chat", chat_id=chat_id)]


def source_type(db: Connection, source: int) -> str:
    """The type of a source."""
    return db.run("source_type_of", source=source).fetchone()[0]


def place_before(db: Connection, source: int, since: float, count: int, now: float) -> Place:
    """The start of the stretch that holds the live paragraph `count` places before a time; the stretch is whole."""
    values = {"source": source, "since": since, "count": count, "now": now}
    rows = db.run("episode_before", **values).fetchall()
    if len(rows) < count:
        return BEGINNING
    id_, at, episode = rows[-1]
    if episode is None:
        return at, id_
    start = db.run("stretch_start", source=source, episode=episode).fetchone()
    return min(start, (at, id_))


def material(db: Connection, source: int, begin: Place, limit: int, now: float) -> list[Material]:
    """The source's live paragraphs from a place on, in order."""
    values = {"source": source, "at": begin[0], "id": begin[1], "limit": limit, "now": now}
    return [Material(*row) for row in db.run("episode_material", **values)]


def material_of(db: Connection, episode: int, now: float) -> list[Material]:
    """The live paragraphs of an episode, in order."""
    return [Material(*row) for row in db.run("episode_material_of", episode=episode, now=now)]


def stretches(db: Connection, paragraphs: Iterable[int]) -> set[int]:
    """Those of the paragraphs that begin a stretch as it is stored."""
    return {row[0] for row in db.run("stretches_among", ids=array(paragraphs))}


def held(db: Connection, source: int, begin: Place, end: Place | None) -> list[HeldEpisode]:
    """The episodes that hold anything of the source from a place up to, and without, another."""
    end_at, end_id = end or (None, None)
    values = {"source": source, "at": begin[0], "id": begin[1], "end_at": end_at, "end_id": end_id}
    ids = [row[0] for row in db.run("episodes_between", **values)]
    members: dict[int, list[int]] = {}
    for episode, paragraph in db.run("episode_members", ids=array(ids)):
        members.setdefault(episode, []).append(paragraph)
    rows = db.run("episodes_held", ids=array(ids))
    return [_held(row, members.get(row[0], [])) for row in rows]


def store(db: Connection, source: int, work: Regrouping, now: float) -> None:
    """Put a regrouping in the place of what was there; an episode that goes on keeps its row."""
    db.run("episodes_remove", ids=array(work.removed))
    for drop in ("episode_members_drop", "episode_terms_drop"):
        db.run(drop, ids=array(id_ for id_, _ in work.updates))
    for id_, draft in work.updates:
        row = db.run("episode_update", **(_values(draft) | {"id": id_, "now": now})).fetchone()
        _fill(db, _insert(db, source, draft, now) if row is None else id_, draft)
    for draft in work.inserts:
        _fill(db, _insert(db, source, draft, now), draft)
    if work.ask_again:
        db.run("episode_ask_again", ids=array(work.ask_again), due=now)


def _insert(db: Connection, source: int, draft: EpisodeDraft, now: float) -> int:
    return db.run("episode_insert", **(_values(draft) | {"source": source, "now": now})).fetchone()[0]


def _fill(db: Connection, episode: int, draft: EpisodeDraft) -> None:
    members = [{"paragraph": id_, "episode": episode, "position": i} for i, id_ in enumerate(draft.paragraphs)]
    db.run_many("episode_member_insert", members)
    terms = [{"term": term, "scope": draft.scope, "episode": episode} for term in draft.terms]
    db.run_many("episode_term_insert", terms)


def claim_for_model(db: Connection, now: float, until: float) -> ModelClaim | None:
    """An episode that the model may be asked about now; nobody else takes it before `until`."""
    row = db.run("episode_model_claim", now=now, until=until).fetchone()
    return None if row is None else ModelClaim(*row)


def put_off_model(db: Connection, claim: ModelClaim, due: float | None, attempts: int) -> None:
    """Ask about it later, or (None) no more until it is made again."""
    values = {"id": claim.id, "revision": claim.revision, "due": due, "attempts": attempts}
    db.run("episode_model_put_off", **values)


def still_claimed(db: Connection, claim: ModelClaim) -> bool:
    """Whether the episode is as it was when the model was asked."""
    return db.run("episode_is_at", id=claim.id, revision=claim.revision).fetchone() is not None


def waiting_for_model(db: Connection, now: float) -> tuple[int, int]:
    """(episodes that the model is to be asked about, those of them that are due)."""
    return db.run("episode_model_counts", now=now).fetchone()


def _collect(found: Touched, rows: Iterable[tuple[int, float, int | None]]) -> None:
    for source, at, episode in rows:
        found.times.setdefault(source, set()).add(at)
        if episode is not None:
            found.episodes.add(episode)


def _held(row: tuple[Any, ...], members: Sequence[int]) -> HeldEpisode:
    id_, scope, stretch, start, end, segmented_by, title, summary, participants, keywords, revision = row
    return HeldEpisode(
        id_, scope, stretch, start, end, segmented_by, title, summary, tuple(json.loads(participants)),
        tuple(json.loads(keywords)), revision, tuple(members),
    )  # fmt: skip


def _values(draft: EpisodeDraft) -> dict[str, Any]:
    return {
        "scope": draft.scope,
        "stretch": draft.stretch,
        "title": draft.title,
        "summary": draft.summary,
        "event_start": draft.event_start,
        "event_end": draft.event_end,
        "paragraph_count": len(draft.paragraphs),
        "participants": json.dumps(draft.participants, ensure_ascii=False),
        "keywords": json.dumps(draft.keywords, ensure_ascii=False),
        "segmented_by": draft.segmented_by,
        "model_due": draft.model_due,
    }

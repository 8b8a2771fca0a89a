"""Episodes and the material they are made of."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .queries import array, queries

__all__ = ["EpisodeDraft", "EpisodeRepository", "EpisodeRow", "Material"]


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


@dataclass(frozen=True, slots=True)
class EpisodeDraft:
    """An episode before it has a row."""

    scope: int
    title: str
    summary: str
    event_start: float | None
    event_end: float | None
    participants: tuple[str, ...]
    keywords: tuple[str, ...]
    paragraphs: tuple[int, ...]


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


class EpisodeRepository:
    """Reads and writes episodes; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    def changed(self, db: sqlite3.Connection, cursor: int, limit: int) -> tuple[int, dict[int, list[int]]]:
        """(how far this reads, source -> paragraphs that changed) for the changes after `cursor`."""
        rows = db.execute(self._q["changed_paragraphs"], {"cursor": cursor, "limit": limit}).fetchall()
        found: dict[int, list[int]] = {}
        for _, paragraph, source in rows:
            if source is not None:
                found.setdefault(source, []).append(paragraph)
        return (rows[-1][0] if rows else cursor), found

    def sources(self, db: sqlite3.Connection, after: int, limit: int) -> list[int]:
        """The next sources by row."""
        return [row[0] for row in db.execute(self._q["all_sources"], {"after": after, "limit": limit})]

    def source_type(self, db: sqlite3.Connection, source: int) -> tuple[str, str]:
        """(type, name) of a source."""
        return db.execute(self._q["source_type_of"], {"source": source}).fetchone()

    def regroup_from(self, db: sqlite3.Connection, source: int, paragraphs: Sequence[int]) -> float:
        """The time from which the source's episodes have to be made again, when these paragraphs changed."""
        ids = array(paragraphs)
        earliest = db.execute(self._q["paragraphs_earliest"], {"ids": ids}).fetchone()[0]
        values = {"ids": ids, "source": source, "at": earliest}
        held = db.execute(self._q["episode_start"], values).fetchone()[0]
        return self._whole_from(db, source, earliest if held is None else min(held, earliest))

    def _whole_from(self, db: sqlite3.Connection, source: int, since: float) -> float:
        """The latest time up to `since` at which no episode of the source is cut in two."""
        while True:
            reach = db.execute(self._q["episodes_reach"], {"source": source, "since": since}).fetchone()[0]
            if reach is None or reach >= since:
                return since
            since = reach

    def material(self, db: sqlite3.Connection, source: int, since: float, now: float) -> list[Material]:
        """The source's live paragraphs from a time on, in order."""
        rows = db.execute(self._q["episode_material"], {"source": source, "since": since, "now": now})
        return [Material(*row) for row in rows]

    def replace(
        self, db: sqlite3.Connection, source: int, since: float, drafts: Iterable[EpisodeDraft], now: float
    ) -> None:
        """Put these episodes in the place of the source's episodes from `since` on."""
        db.execute(self._q["episodes_drop"], {"source": source, "since": since})
        for draft in drafts:
            self._insert(db, source, draft, now)

    def _insert(self, db: sqlite3.Connection, source: int, draft: EpisodeDraft, now: float) -> None:
        values = {
            "source": source,
            "scope": draft.scope,
            "title": draft.title,
            "summary": draft.summary,
            "event_start": draft.event_start,
            "event_end": draft.event_end,
            "paragraph_count": len(draft.paragraphs),
            "participants": json.dumps(draft.participants, ensure_ascii=False),
            "keywords": json.dumps(draft.keywords, ensure_ascii=False),
            "now": now,
        }
        id_ = db.execute(self._q["episode_insert"], values).fetchone()[0]
        members = [
            {"paragraph": paragraph, "episode": id_, "position": i} for i, paragraph in enumerate(draft.paragraphs)
        ]
        db.executemany(self._q["episode_member_insert"], members)

    def of_paragraphs(self, db: sqlite3.Connection, ids: Iterable[int], now: float) -> dict[int, int]:
        """Paragraph -> episode, for episodes whose paragraphs all live."""
        return dict(db.execute(self._q["episodes_of_paragraphs"], {"ids": array(ids), "now": now}).fetchall())

    def full(self, db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, EpisodeRow]:
        """Episode -> row."""
        rows = db.execute(self._q["episodes_full"], {"ids": array(ids)})
        return {row[0]: EpisodeRow(*row) for row in rows}

    def members(self, db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, list[int]]:
        """Episode -> its paragraphs in order."""
        found: dict[int, list[int]] = {}
        for episode, paragraph in db.execute(self._q["episode_members"], {"ids": array(ids)}):
            found.setdefault(episode, []).append(paragraph)
        return found

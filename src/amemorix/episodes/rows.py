"""The reading of episodes: whole rows, their paragraphs, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["EpisodeFailure", "EpisodeRow"]

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


@dataclass(frozen=True, slots=True)
class EpisodeFailure:
    """A source whose episodes could not be made; times in epoch seconds."""

    source: str
    chat_id: str
    attempts: int
    error: str
    next_at: float
    failed_at: float


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

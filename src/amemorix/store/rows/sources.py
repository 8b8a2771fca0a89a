"""Sources as people see them, and what the store holds in all."""

from __future__ import annotations

from dataclasses import dataclass

from ..ports import Connection

__all__ = ["Counts"]


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source with what lives in it; times in epoch seconds."""

    row: int
    source: str
    source_type: str
    chat_id: str
    count: int
    last_updated: float
    event_start: float | None
    event_end: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows of each kind there are; a paragraph is live, superseded or deleted, never two of them."""

    paragraphs: int
    superseded: int
    deleted: int
    relations: int
    entities: int
    persons: int
    chats: int
    episodes: int
    sources: int
    external_refs: int
    space_vectors: int


def listed(
    db: Connection, *, name: str | None, chat_id: str | None, now: float, limit: int, offset: int
) -> list[SourceRow]:
    """Sources with live paragraphs, the last written first."""
    values = {"name": name, "chat_id": chat_id, "now": now, "limit": limit, "offset": offset}
    return [SourceRow(*row) for row in db.run("sources_list", **values)]


def count(db: Connection, chat_id: str | None, now: float) -> int:
    return db.run("sources_count", chat_id=chat_id, now=now).fetchone()[0]


def named(db: Connection, name: str | None, chat_id: str | None, source_type: str | None = None) -> list[int]:
    """Rows of the sources of that name, chat and kind; None stands for any."""
    return [row[0] for row in db.run("sources_named", name=name, chat_id=chat_id, source_type=source_type)]


def counts(db: Connection, now: float) -> Counts:
    """All counts in one snapshot."""
    return Counts(*db.run("stats_counts", now=now).fetchone())

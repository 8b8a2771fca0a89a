"""Every row of a memory, for comparing it with itself."""

from __future__ import annotations

import sqlite3
from typing import Any

from amemorix import AMemorixHostService
from entrance import reading

__all__ = ["every_row", "tables", "tables_of"]

NOT_COMPARED = ("changes", "document_changes", "sqlite_sequence", "delete_operations", "delete_operation_items", "tasks", "meta", "name_news",
                "audit")  # fmt: skip
"""The logs of changes, the record of deletions, and how far the background has come."""
ACCOUNTS = ("changes", "document_changes", "audit", "sqlite_sequence")
NUMBERED_ANEW = ("episodes", "episode_paragraphs", "episode_terms", "episode_news")
"""Rows that are derived again and get other numbers."""


async def tables(host: AMemorixHostService) -> dict[str, list[tuple[Any, ...]]]:
    """Table -> its rows, sorted; episodes by what they tell."""
    with reading(host) as db:
        return tables_of(db)


async def every_row(host: AMemorixHostService) -> dict[str, list[tuple[Any, ...]]]:
    """Table -> all its rows, also those that keep account; only who changed what, and in which order, is left out."""
    with reading(host) as db:
        return _every_row(db)


def _every_row(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted(db.execute(f"select {_columns(db, name)} from {name}").fetchall(), key=repr)
        for name in _names(db)
        if name not in ACCOUNTS
    }


def _names(db: sqlite3.Connection) -> list[str]:
    return [name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")]


def tables_of(db: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """The same of an open database."""
    found = {
        name: sorted(db.execute(f"select {_columns(db, name)} from {name}").fetchall(), key=repr)
        for name in _names(db)
        if name not in (*NOT_COMPARED, *NUMBERED_ANEW)
    }
    episodes = db.execute(
        "select e.source, e.scope, e.title, e.summary, e.event_start, e.participants, e.keywords, "
        "(select group_concat(paragraph) from (select paragraph from episode_paragraphs where episode = e.id order by position)) "
        "from episodes e"
    )
    return found | {"episodes": sorted(episodes.fetchall(), key=repr)}


def _columns(db: sqlite3.Connection, table: str) -> str:
    """All but how far the background has come."""
    columns = [name for (name,) in db.execute("select name from pragma_table_info(?)", (table,))]
    return ", ".join(name for name in columns if name != "extracted")

"""SQLite connections that run statements by their name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from sqlite3 import Error as DatabaseError
from sqlite3 import OperationalError
from typing import Any

from .ports import Connection
from .queries import FOLDERS, queries

__all__ = ["DatabaseError", "OperationalError", "SqliteConnection", "connect", "of_file"]


class SqliteConnection(sqlite3.Connection):
    """A Connection of the store's ports; `execute` stays for what SQLite alone has (pragmas, savepoints)."""

    statements: Mapping[str, str]

    def run(self, name: str, /, **values: Any) -> sqlite3.Cursor:
        """Run the statement of this name with these values for its parameters."""
        return self.execute(self.statements[name], values)

    def run_many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> sqlite3.Cursor:
        """Run the statement of this name once for each row of values."""
        return self.executemany(self.statements[name], rows)


def of_file(db: Connection) -> SqliteConnection:
    """The connection of a database that is a SQLite file: for what other databases do not have (copies, pages, pragmas)."""
    if not isinstance(db, SqliteConnection):
        raise TypeError(f"{type(db).__name__} is no connection of a SQLite file")
    return db


def connect(path: Path | str, *, folders: tuple[str, ...] = FOLDERS, uri: bool = False) -> SqliteConnection:
    """A connection that begins and ends no transaction by itself, with the statements of these folders."""
    db = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=30, cached_statements=512, uri=uri,
        factory=SqliteConnection,
    )  # fmt: skip
    db.statements = queries(folders)
    return db

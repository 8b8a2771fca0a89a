"""SQLite connections that run statements by their name, and give up on those that run too long."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from sqlite3 import Error as DatabaseError
from sqlite3 import OperationalError
from typing import Any

from .ports import Connection
from .queries import FOLDERS, queries

__all__ = ["DatabaseError", "OperationalError", "SqliteConnection", "connect", "of_file", "time_limit"]

STEPS = 5_000
"""Steps of SQLite's machine between two looks at the clock: some tens of microseconds."""


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


@contextlib.contextmanager
def time_limit(db: Connection, seconds: float) -> Generator[None, None, None]:
    """Raises TimeoutError out of a statement that is still running after so long."""
    until = time.monotonic() + seconds
    of_file(db).set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        yield
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise TimeoutError(f"not done within {seconds * 1000:g} ms") from exc
        raise
    finally:
        of_file(db).set_progress_handler(None, 0)

"""Named SQL statements, read from the package's `.sql` files, and the SQLite connections that run them."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import time
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from sqlite3 import Error as DatabaseError
from sqlite3 import OperationalError
from typing import Any

from ..lazy_regex import lazy_regex
from .ports import Connection

__all__ = [
    "FOREIGN", "DatabaseError", "OperationalError", "SqliteConnection", "array", "connect", "of_file",
    "optional_array", "queries", "sqlite_only", "time_limit",
]  # fmt: skip

FOLDERS = (
    "store/sql", "ingest", "facts", "episodes", "graph", "profiles", "lifecycle", "corrections", "forgetting",
    "importing", "tuning", "spaces", "runtime",
)  # fmt: skip
"""Where the statements stand: those of the core, and those of each subject beside its code."""
FOREIGN = ("importing/readers",)
"""Where the statements stand that are run on databases of other programs."""
_HEAD = lazy_regex(r"^-- name: (\w+)\n((?:--.*\n)*)", re.M)
STEPS = 5_000
"""Steps of SQLite's machine between two looks at the clock: some tens of microseconds."""
_SQLITE_ONLY = "-- only: sqlite\n"


def sqlite_only() -> frozenset[str]:
    """Names of the statements about SQLite's own files, catalogue and settings: no other database has them."""
    return frozenset(name for name, (comment, _) in _read(FOLDERS).items() if _SQLITE_ONLY in comment)


@cache
def queries(folders: tuple[str, ...] = FOLDERS) -> dict[str, str]:
    """Every statement of these folders by its name; a name defined twice is a ValueError."""
    return {name: sql for name, (_, sql) in _read(folders).items()}


@cache
def _read(folders: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """(comment, statement) by name."""
    found: dict[str, tuple[str, str]] = {}
    package = files("amemorix")
    for entry in sorted((e for f in folders for e in package.joinpath(f).iterdir()), key=lambda e: e.name):
        if not entry.name.endswith(".sql"):
            continue
        parts = _HEAD.split(entry.read_text("utf-8"))[1:]
        for name, comment, sql in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            if name in found:
                raise ValueError(f"query {name} is defined twice")
            found[name] = comment, sql.strip().removesuffix(";")
    return found


def array(values: Iterable[int | str]) -> str:
    """A list as the one parameter that `json_each` reads."""
    listed = list(values)
    return str(listed) if listed and type(listed[0]) is int else json.dumps(listed)


def optional_array(values: Iterable[int | str] | None) -> str | None:
    """The same, with None for no restriction."""
    return None if values is None else array(values)


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

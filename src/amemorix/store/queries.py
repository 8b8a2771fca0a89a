"""Named SQL statements, read from the package's `.sql` files, and the SQLite connections that run them."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Generator, Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from ..lazy_regex import lazy_regex
from . import driver
from .driver import DatabaseError, NamedStatements, OperationalError, PageKey, SqliteConnection
from .ports import Connection

__all__ = [
    "DEEPEST_SHOWN", "FOREIGN", "DatabaseError", "OperationalError", "SqliteConnection", "array", "connect", "interruptible", "of_file",
    "optional_array", "queries", "shown_json", "sqlite_only", "time_limit",
]  # fmt: skip

FOLDERS = (
    "store/sql", "ingest", "facts", "episodes", "graph", "profiles", "lifecycle", "corrections", "forgetting",
    "importing", "tuning", "spaces", "runtime",
)  # fmt: skip
"""Where the statements stand: those of the core, and those of each subject beside its code."""
FOREIGN = ("importing/readers",)
"""Where the statements stand that are run on databases of other programs."""
_HEAD = lazy_regex(r"^-- name: (\w+)\n((?:--.*\n)*)", re.M)
_NESTING = lazy_regex(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]')
"""A text of JSON, whatever is in it, or what begins or ends an object or a list."""
DEEPEST_SHOWN = 100
"""Objects and lists within each other: an answer of some 250 cannot be written."""
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


def shown_json(stored: str) -> Any:
    """A stored value as an answer can hold it: what is nested deeper than that stands there as its JSON text."""
    if stored.count("{") + stored.count("[") <= DEEPEST_SHOWN:
        return json.loads(stored)
    parts, kept, depth, deep = list[str](), 0, 0, 0
    for token in _NESTING.finditer(stored):
        if token[0] in "{[":
            depth += 1
            if depth == DEEPEST_SHOWN + 1:
                deep = token.start()
        elif token[0] in "}]":
            depth -= 1
            if depth == DEEPEST_SHOWN:
                parts += [stored[kept:deep], json.dumps(stored[deep : token.end()], ensure_ascii=False)]
                kept = token.end()
    return json.loads("".join([*parts, stored[kept:]]))


def array(values: Iterable[int | str]) -> str:
    """A list as the one parameter that `json_each` reads."""
    listed = list(values)
    return str(listed) if listed and type(listed[0]) is int else json.dumps(listed)


def optional_array(values: Iterable[int | str] | None) -> str | None:
    """The same, with None for no restriction."""
    return None if values is None else array(values)


def of_file(db: Connection) -> SqliteConnection:
    """The connection of a database that is a SQLite file: for what other databases do not have (copies, pages, pragmas)."""
    if not isinstance(db, NamedStatements):
        raise TypeError(f"{type(db).__name__} is no connection of a SQLite file")
    return cast("SqliteConnection", db)


def connect(
    path: Path | str, *, key: PageKey | None = None, folders: tuple[str, ...] = FOLDERS, uri: bool = False
) -> SqliteConnection:
    """A connection that begins and ends no transaction by itself, with the statements of these folders."""
    db = driver.connect(path, key=key, uri=uri)
    db.statements = queries(folders)
    return db


@contextlib.contextmanager
def time_limit(db: Connection, seconds: float) -> Generator[None, None, None]:
    """Raises TimeoutError out of a statement that is still running after so long."""
    until = time.monotonic() + seconds
    with interruptible(db, lambda: time.monotonic() > until, TimeoutError(f"not done within {seconds * 1000:g} ms")):
        yield


@contextlib.contextmanager
def interruptible(db: Connection, ends: Callable[[], bool], error: Exception) -> Generator[None, None, None]:
    """Asks every few steps of a statement, and raises the error out of it when the answer is yes."""
    of_file(db).set_progress_handler(ends, STEPS)
    try:
        yield
    except OperationalError as exc:
        if exc.sqlite_errorcode == driver.INTERRUPT:
            raise error from exc
        raise
    finally:
        of_file(db).set_progress_handler(None, 0)

"""Named SQL statements, read from the package's `.sql` files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ..lazy_regex import lazy_regex

__all__ = ["array", "optional_array", "queries", "sqlite_only"]

_HEAD = lazy_regex(r"^-- name: (\w+)\n((?:--.*\n)*)", re.M)
_SQLITE_ONLY = "-- only: sqlite\n"


@cache
def queries(dialect: str = "sqlite", folder: str = "queries") -> dict[str, str]:
    """Every statement of the dialect by its name; a name defined twice is a ValueError.

    `sqlite` is the whole set; `postgres` holds what `dialects` cannot translate from it.
    """
    return {name: sql for name, (_, sql) in _read(dialect, folder).items()}


def sqlite_only() -> frozenset[str]:
    """Names of the statements about SQLite's own files, catalogue and settings: no other database has them."""
    return frozenset(name for name, (comment, _) in _read("sqlite", "queries").items() if _SQLITE_ONLY in comment)


@cache
def _read(dialect: str, folder: str) -> dict[str, tuple[str, str]]:
    """(comment, statement) by name."""
    found: dict[str, tuple[str, str]] = {}
    for entry in sorted((files("amemorix.storage") / dialect / folder).iterdir(), key=lambda e: e.name):
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
    return json.dumps(list(values))


def optional_array(values: Iterable[int | str] | None) -> str | None:
    """The same, with None for no restriction."""
    return None if values is None else array(values)

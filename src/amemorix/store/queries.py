"""Named SQL statements, read from the package's `.sql` files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ..lazy_regex import lazy_regex

__all__ = ["FOLDERS", "FOREIGN", "array", "optional_array", "queries", "sqlite_only"]

FOLDERS = (
    "store/sql", "ingest", "facts", "episodes", "graph", "profiles", "lifecycle", "corrections", "forgetting",
    "importing", "tuning",
)  # fmt: skip
"""Where the statements stand: those of the core, and those of each subject beside its code."""
FOREIGN = ("importing/readers",)
"""Where the statements stand that are run on databases of other programs."""
_HEAD = lazy_regex(r"^-- name: (\w+)\n((?:--.*\n)*)", re.M)
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
    return json.dumps(list(values))


def optional_array(values: Iterable[int | str] | None) -> str | None:
    """The same, with None for no restriction."""
    return None if values is None else array(values)

"""Named SQL statements, read from the package's `.sql` files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ..lazy_regex import lazy_regex

__all__ = ["array", "optional_array", "queries"]

_HEAD = lazy_regex(r"^-- name: (\w+)\n((?:--.*\n)*)", re.M)


@cache
def queries(dialect: str = "sqlite") -> dict[str, str]:
    """Every statement of the dialect by its name; a name defined twice is a ValueError."""
    found: dict[str, str] = {}
    folder = files("amemorix.storage") / dialect / "queries"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if not entry.name.endswith(".sql"):
            continue
        parts = _HEAD.split(entry.read_text("utf-8"))[1:]
        for name, sql in zip(parts[::3], parts[2::3], strict=True):
            if name in found:
                raise ValueError(f"query {name} is defined twice")
            found[name] = sql.strip().removesuffix(";")
    return found


def array(values: Iterable[int | str]) -> str:
    """A list as the one parameter that `json_each` reads."""
    return json.dumps(list(values))


def optional_array(values: Iterable[int | str] | None) -> str | None:
    """The same, with None for no restriction."""
    return None if values is None else array(values)

"""Tables of cases, one row a case, in `tests/data/cases`: what a text is read as, in Chinese and English."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["cases"]

FOLDER = Path(__file__).parent / "data" / "cases"


@cache
def tables(file: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{file}.toml").read_text("utf-8"))


def cases(file: str, table: str) -> list[Any]:
    """The rows of a table, as tuples; a row may be a single value."""
    return [as_tuples(row) for row in tables(file)[table]]


def as_tuples(value: Any) -> Any:
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value

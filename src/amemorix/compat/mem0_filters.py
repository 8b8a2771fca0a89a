"""Filters as mem0 has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..frontends.python.foreign_items import ORDERS, compared

__all__ = ["matches"]


def matches(fields: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the fields match every key of a filter. Raises ValueError for an operator that is unknown.

    `{"key": value}`, `{"key": "*"}` (there is one), `{"key": {"eq" | "ne" | "in" | "nin" | "gt" | "gte" | "lt" | "lte" |
    "contains" | "icontains": …}}`, and `AND`, `OR`, `NOT` with a list of filters.
    """
    met = [_holds(fields, key, value) for key, value in wanted.items()]  # every one is looked at: each is checked
    return all(met)


def _holds(fields: Mapping[str, Any], key: str, wanted: Any) -> bool:
    if key in ("AND", "OR", "NOT"):
        if not isinstance(wanted, list) or not wanted or not all(isinstance(one, Mapping) for one in wanted):
            raise ValueError(f"{key}: must be a list of filters.")
        met = [matches(fields, one) for one in wanted]
        return all(met) if key == "AND" else any(met) == (key == "OR")
    value = fields.get(key)
    if isinstance(wanted, Mapping):
        met = [_satisfies(value, key, name, than) for name, than in wanted.items()]
        return all(met)
    return value is not None if wanted == "*" else _alike(value, wanted)


def _satisfies(value: Any, key: str, name: str, than: Any) -> bool:
    if name in ("eq", "ne"):
        return _alike(value, than) == (name == "eq")
    if name in ("in", "nin"):
        if not isinstance(than, list | tuple | set | frozenset):
            raise ValueError(f"{key}: {name}: must be a list.")
        return any(_alike(value, one) for one in than) == (name == "in")
    if name in ORDERS:
        return compared(value, name, than)
    if name == "contains":
        return than in value if isinstance(value, list) or (isinstance(value, str) and isinstance(than, str)) else False
    if name == "icontains":
        return isinstance(value, str) and str(than).lower() in value.lower()
    raise ValueError(f"{key}: there is no operator {name!r}.")


def _alike(value: Any, wanted: Any) -> bool:
    """Equal, or a list that holds it."""
    return value == wanted or (isinstance(value, list) and wanted in value)

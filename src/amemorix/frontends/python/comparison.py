"""Comparison of values that are any JSON, for the filters of other programs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["ORDERS", "ordered"]

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def ordered(value: Any, name: str, than: Any) -> bool:
    """Whether a value stands so to another (`gt`, `gte`, `lt`, `lte`): as numbers, else as texts; else it does not."""
    try:
        return ORDERS[name](float(value), float(than))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(than, str) and ORDERS[name](value, than)

"""Comparison of JSON values by order, for the filters of other programs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["ORDERS", "compared"]

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def compared(value: Any, name: str, than: Any) -> bool:
    """`value gt than` (or `gte`, `lt`, `lte`), as numbers if both are or read as such, else as texts; False if they are neither."""
    try:
        return ORDERS[name](float(value), float(than))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(than, str) and ORDERS[name](value, than)

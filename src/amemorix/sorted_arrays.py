"""Small arrays of numbers as sets: a few microseconds where numpy's own functions take ten times as many."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["common", "contains", "distinct", "filled"]

N = TypeVar("N", bound=np.generic)


def distinct(values: NDArray[N]) -> NDArray[N]:
    """Ascending and without repetition, as `np.unique`; sorts the array that it is given."""
    values.sort(kind="stable")
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def contains(ascending: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a sorted array has each of the wanted values."""
    if not len(ascending):
        return np.zeros(len(wanted), np.bool_)
    return ascending[np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)] == wanted


def common(one: NDArray[N], other: NDArray[N]) -> NDArray[N]:
    """What two arrays have in common, ascending; each is ascending and without repetition."""
    few, many = (one, other) if len(one) < len(other) else (other, one)
    return few[contains(many, few)]


def filled(values: NDArray[np.float32], instead: float) -> NDArray[np.float32]:
    """The values, with this one where there is none."""
    return np.where(np.isnan(values), np.float32(instead), values)

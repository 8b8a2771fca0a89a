"""The check that turns a model's answer into unit vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelUnavailable

__all__ = ["unit_vectors"]


def unit_vectors(answer: ArrayLike, *, count: int, dimension: int, who: str) -> NDArray[np.float32]:
    """`answer` as float32 rows of length 1, shape (count, dimension); a dimension of 0 takes the answer's own.

    Raises ModelUnavailable if the shape differs; if single rows are not finite or all zero, `details["failed"]`
    holds their positions.
    """
    try:
        matrix = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise ModelUnavailable(f"{who} answered something that is not rows of numbers of one length.") from exc
    if matrix.size == 0 and matrix.ndim < 2:
        matrix = matrix.reshape(0, 1)
    if matrix.ndim != 2:
        raise ModelUnavailable(f"{who} answered {matrix.ndim} dimensions of numbers where rows were expected.")
    if len(matrix) != count:
        raise ModelUnavailable(
            f"{who} answered {len(matrix)} vectors for {count} texts.", expected=count, got=len(matrix)
        )
    width = matrix.shape[1]
    if width == 0 or width != (dimension or width):
        raise ModelUnavailable(
            f"{who} answered vectors of {width} numbers, not {dimension or 'at least one'}.",
            expected=dimension, got=width, endpoint_down=True,
        )  # fmt: skip
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    bad = np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0)).tolist()
    if bad:
        raise ModelUnavailable(f"{who} answered a vector that is not finite, or all zero.", failed=bad)
    return (matrix / norms).astype(np.float32)

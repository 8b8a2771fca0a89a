"""Files of equal rows, as numpy reads them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["map_rows", "write_rows"]

_HEADER = 128


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    header = io.BytesIO()
    fields: dict[str, Any] = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def write_rows(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]) -> None:
    """Write the rows, which come in parts, as an npy file of that type and shape."""
    with path.open("wb") as file:
        file.write(_header(dtype, shape))
        for part in parts:
            file.write(np.ascontiguousarray(part).data)


def map_rows(path: Path, dtype: np.dtype[Any], row: tuple[int, ...]) -> NDArray[Any]:
    """The file as an array of rows of that shape; ValueError unless it is just what `write_rows` writes."""
    size, width = path.stat().st_size, dtype.itemsize * math.prod(row)
    shape = (max(0, size - _HEADER) // width, *row)
    with path.open("rb") as file:
        if file.read(_HEADER) != _header(dtype, shape) or size != _HEADER + shape[0] * width:
            raise ValueError(f"{path} is damaged, or of another format")
    return np.asarray(np.memmap(path, dtype, "r", _HEADER, shape))

"""The lines of a file with the byte after each, whatever its length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from ...language.encoding import mark_length

__all__ = ["LONGEST_LINE", "Line", "read_lines"]

LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its number from 1 and the offset of the byte after it; `raw` is None if it is longer than any may be."""

    number: int
    after: int
    raw: bytes | None


def read_lines(file: IO[bytes], offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Every line of a file from an offset on, before which it has `number` lines; without a byte order mark."""
    file.seek(offset)
    while raw := file.readline(LONGEST_LINE + 1):
        number += 1
        offset += len(raw)
        if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(LONGEST_LINE)
                offset += len(raw)
            yield Line(number, offset, None)
            continue
        yield Line(number, offset, raw[mark_length(raw) :] if number == 1 else raw)

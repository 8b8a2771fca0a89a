"""What a JSON file consists of, piece by piece, as long as it is not nested too deep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import ijson

__all__ = ["DEEPEST", "Event", "TooDeep", "events"]

DEEPEST = 200
"""Lists and objects within each other; what stands in them is named by all of them, which no file may make expensive."""
_STARTS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")
_BOM = b"\xef\xbb\xbf"

Event = tuple[str, str, Any]
"""(the names of what it stands in, what it is, its value)."""


class TooDeep(ijson.JSONError):
    """Nested too deep."""

    def __init__(self) -> None:
        super().__init__(f"nested too deep: more than {DEEPEST} lists and objects within each other")


def events(file: IO[bytes]) -> Iterator[Event]:
    """The events of a file from its start, without a byte order mark. Raises ijson.JSONError."""
    if file.read(len(_BOM)) != _BOM:
        file.seek(0)
    return ijson.parse(_shallow(file))


def _shallow(file: IO[bytes]) -> Iterator[tuple[str, Any]]:
    depth = 0
    for event, value in ijson.basic_parse(file, use_float=True):
        if event in _STARTS:
            depth += 1
            if depth > DEEPEST:
                raise TooDeep
        elif event in _ENDS:
            depth -= 1
        yield event, value

"""Where a reader of lines is in its file, with all it has to know to go on from there."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from .duplicates import Occurrences

__all__ = ["Mark", "Marking"]

VERSION = 1
_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Mark:
    """After byte `position`, which is the end of line or row `number`; `more` is the reader's own, and holds no text."""

    position: int
    number: int
    said: Occurrences
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def packed(self) -> bytes:
        """The mark as it can be kept; `said` as it is now."""
        seen, again = self.said.state()
        head = json.dumps([VERSION, self.position, self.number, self.more, again]).encode()
        return len(head).to_bytes(_LENGTH, "big") + head + (zlib.compress(seen, 1) if seen else b"")

    @classmethod
    def unpacked(cls, raw: bytes) -> Mark | None:
        """The mark; None for one of another version, without which a file is read from its start."""
        end = _LENGTH + int.from_bytes(raw[:_LENGTH], "big")
        version, *values = json.loads(raw[_LENGTH:end])
        if version != VERSION:
            return None
        position, number, more, again = values
        return cls(position, number, Occurrences.of(zlib.decompress(raw[end:]) if raw[end:] else b"", again), more)


class Marking:
    """A reader that can be told to begin at a mark of another one, and tells its own: right after a record was read."""

    def __init__(self) -> None:
        self.mark: Mark | None = None
        """Where the last record ended."""
        self._from: Mark | None = None

    def resume(self, mark: Mark) -> None:
        """Begin there, as long as what is asked for does not stand before it."""
        self._from = mark

    def beginning(self, start: int) -> Mark:
        """Where to begin to read, to find the records from `start` on."""
        if self._from is not None and self._from.position <= start:
            return self._from
        return Mark(0, 0, Occurrences())

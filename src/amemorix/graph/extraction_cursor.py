"""How far a reader of the change log has come."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """The last change that was taken up.

    With a `row`, all paragraphs are being read because the log no longer reaches back to where the reader was: those
    up to that row have been read, and then it goes on from the change.
    """

    cursor: int = 0
    row: int | None = None

    @classmethod
    def parsed(cls, text: str | None) -> Place:
        """From what `str` gives; the beginning for None."""
        cursor, _, row = (text or "0").partition(":")
        return cls(int(cursor), int(row) if row else None)

    def __str__(self) -> str:
        return f"{self.cursor}" if self.row is None else f"{self.cursor}:{self.row}"

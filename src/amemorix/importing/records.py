"""What a reader of foreign data hands to the import engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["Bad", "Reader", "Record", "RecordKind"]

RecordKind = Literal["text", "turn", "summary", "override", "alias"]
"""`text`, `summary`: arguments of `ingest_text`, `ingest_summary`; `turn`: a message of `ingest_messages` with its chat_id,
group_id, user_id; `override`: person_id, text, chat_id; `alias`: person_id, alias, chat_id."""


@dataclass(frozen=True, slots=True)
class Record:
    """Something to store; `place` says where in the file it stood (`line 12`, `paragraphs.3`)."""

    kind: RecordKind
    arguments: dict[str, Any]
    place: str
    left: Mapping[str, int] = field(default_factory=dict[str, int])
    """What of it could not be taken over, or is missing: a kind of note, and how often."""
    foreign: bool = False
    """Its `group_id` and `user_id` are a group and a private chat of another system."""


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that cannot be read; the rest of the file can."""

    place: str
    reason: str


class Reader:
    """Reads one format as a stream; never holds a whole file in memory."""

    share = 0.0
    """How much of the file has been read, 0..1, where positions are no byte offsets."""

    def read(self, path: Path, start: int = 0) -> Iterator[tuple[int, Record | Bad]]:  # noqa: ARG002
        """The records, each with the position after it: a byte offset for line formats, else an ordinal.

        The same file gives the same records at the same positions. Those up to `start` are left out only by a reader that
        overrides this, since it finds a place in its file at once. Raises InvalidRequest if it is no such file.
        """
        return self.records(path)

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        """All of them."""
        raise NotImplementedError

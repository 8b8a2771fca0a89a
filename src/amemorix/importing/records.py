"""What a reader of foreign data is, what it hands to the import engine, and the lines of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from ..language.encoding import mark_length

__all__ = ["LONGEST_LINE", "Bad", "Line", "Reader", "Record", "RecordKind", "read_lines"]

LONGEST_LINE = 16 << 20

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

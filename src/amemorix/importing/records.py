"""What a reader of foreign data is, what it hands to the import engine, and what is told of that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import IO, Any, Literal

from ..clock import Clock, SystemClock
from ..language.encoding import mark_length

__all__ = [
    "BEYOND", "LONGEST_LINE", "LONGEST_NAME", "MOST_OF_A_TEXT", "Bad", "Line", "Occurrences", "Reader", "Record", "read_lines",
    "sentences",
]  # fmt: skip

LONGEST_LINE = 16 << 20
LONGEST_NAME = 512

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
    """Reads one format as a stream; never holds a whole file in memory.

    `chat_id`: the chat of what names none; `reference_time`: the time of turns that have none; `zone`: that of times which
    name none, the machine's if not given.
    """

    what = fields = example = ""
    """What a person should know of the format."""
    folder = False
    """It is a folder, not a file."""
    live = False
    """It may be written to while it is read, and has files beside it that belong to it."""
    takes: tuple[str, ...] = ()
    """Parameters of a task that this reader alone takes."""
    default_chat = ""
    """The chat where the task names none."""
    share: float | None = None
    """How much of the file has been read, 0..1; None where positions are byte offsets."""

    def __init__(
        self, *, chat_id: str = "", reference_time: Any = None, zone: tzinfo | None = None, clock: Clock | None = None
    ) -> None:
        self._chat_id = chat_id or self.default_chat
        self._reference_time = reference_time
        self._zone = zone
        self._clock = clock or SystemClock()

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


def read_lines(file: IO[bytes]) -> Iterator[Line]:
    """Every line of a file, without a byte order mark."""
    file.seek(0)
    offset = number = 0
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


# names for records that have none

_BITS = 27
_MASK = (1 << _BITS) - 1


class Occurrences:
    """Counts how often each digest came, in 16 MiB whatever the length of the file.

    A filter after Bloom (1970) tells those that came for the first time; only the others are held. One in about 100,000 of
    a million counts too many, always the same.
    """

    def __init__(self) -> None:
        self._seen = bytearray()
        self._again: dict[str, int] = {}

    def external_id(self, kind: str, text: str) -> str:
        """`KIND:DIGEST:COUNT`, of which the count tells the same texts of a file apart."""
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        return f"{kind}:{key}:{self.count(key)}"

    def count(self, key: str) -> int:
        """How often the digest has come, this time included."""
        if not self._seen:
            self._seen = bytearray(1 << (_BITS - 3))
        number = int(key, 16)
        met = True
        for shift in (0, 32, 64):
            bit = (number >> shift) & _MASK
            if not self._seen[bit >> 3] >> (bit & 7) & 1:
                met = False
                self._seen[bit >> 3] |= 1 << (bit & 7)
        if not met:
            return 1
        self._again[key] = self._again.get(key, 1) + 1
        return self._again[key]


# what a person should know of an imported file although nothing of it failed

MOST_OF_A_TEXT = 5_000
"""Entities, relations, persons or tags of one text that an import takes over."""
BEYOND = "beyond:"
"""Before the name of an argument of which a text had too many."""
_SENTENCES = {
    "no_speaker": "{count} messages do not say who speaks; they are stored without a speaker.",
    "no_speaker_column": "{count} rows are stored as texts of nobody: no column says who speaks. If this is a chat, name the "
    'column, `columns` {{"speaker": HEADING}} (`--columns speaker=HEADING`), and import it again.',
    "looks_like_chat": "it looks like a saved chat and is stored as a text that nobody says: with `chat_log` (`--chat-log`) it "
    "is stored turn by turn.",
    "day_or_month": "{count} messages have dates such as 03/04/2025, of which nothing in the file tells the day from the month; "
    "they are read as its country most likely writes them.",
    "long_name": "{count} names or ids are cut to {longest} characters.",
    "nothing": "there is nothing in it that somebody says or writes: nothing is stored.",
    "own_chat": "{count} records name a group or a private chat of their own; they are stored there, and not in the chat "
    "that the import names.",
    "put_here": "{count} records name a group or a private chat of their own; they are stored in the chat that the import "
    "names, as `scope_type` `chat` asks for.",
    "no_words": "{count} messages are left out: pictures, stickers and notices without a word that somebody wrote.",
    "relations": "{count} relations are left out: without a subject, a predicate and another object.",
    "records": "{count} further copies of texts are left out: they belong to more chats than can be taken over.",
    "metadata": "of {count} texts metadata is left out: there is too much of it, or it cannot be stored.",
}


def sentences(notes: Mapping[str, int]) -> list[str]:
    """The notes of a file, in words."""
    return [_sentence(kind, count) for kind, count in sorted(notes.items()) if count]


def _sentence(kind: str, count: int) -> str:
    if kind.startswith(BEYOND):
        of = kind.removeprefix(BEYOND)
        return f"{count:,} {of} are left out: one text has at most {MOST_OF_A_TEXT:,}."
    return _SENTENCES.get(kind, f"{kind}: {{count}}").format(count=f"{count:,}", longest=LONGEST_NAME)

"""Plain texts and Markdown, a section at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex
from ..duplicates import Occurrences
from ..records import Bad, Reader, Record
from .chat_log import looks_like_chat
from .lines import Line, read_lines

__all__ = ["Markdown", "PlainText"]

SECTION_CHARS = 8_000
"""A section ends at the first blank line after so many characters …"""
LONGEST_SECTION = 16_000
"""… and after so many at any line."""
_HEADING = lazy_regex(r"(#{1,6})\s+(.*)")
_FENCE = lazy_regex(r"^\s*(```|~~~)")


class _Sections:
    """Gathers lines to sections."""

    def __init__(self) -> None:
        self.said = Occurrences()
        self.left: dict[str, int] = {}
        self.held: list[str] = []
        self.chars = 0
        self.first = 1

    def add(self, text: str, number: int) -> None:
        if not self.held:
            self.first = number
        self.held.append(text)
        self.chars += len(text)

    def is_full(self) -> bool:
        blank = bool(self.held) and not self.held[-1].strip()
        return self.chars >= LONGEST_SECTION or (self.chars >= SECTION_CHARS and blank)

    def taken(self, last: int, trail: Sequence[tuple[int, str]] = ()) -> Record | None:
        """The record of what was gathered below the headings; None if it is blank."""
        text = "".join(self.held).strip()
        self.held, self.chars = [], 0
        if not text:
            return None
        arguments: dict[str, Any] = {"external_id": self.said.external_id("text", text), "text": text}
        if trail:
            arguments["metadata"] = {"headings": [title for _, title in trail]}
        left, self.left = self.left, {}
        return Record("text", arguments, f"lines {self.first}-{last}", left)


class PlainText(Reader):
    """Sections of about 8,000 characters that end at a blank line where there is one; positions are byte offsets."""

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        encoding, sections, after, number = encoding_of(path), _Sections(), 0, 0
        if looks_like_chat(path):
            sections.left = {"looks_like_chat": 1}
        with path.open("rb") as file:
            for line in read_lines(file):
                text = _decoded(line, encoding)
                if isinstance(text, Bad):
                    if record := sections.taken(number):
                        yield after, record
                    yield line.after, text
                else:
                    sections.add(text, line.number)
                after, number = line.after, line.number
                if sections.is_full() and (record := sections.taken(number)):
                    yield after, record
            if record := sections.taken(number):
                yield after, record


class Markdown(Reader):
    """What stands below each heading, long stretches in sections; the headings above it are kept as metadata.

    Positions are byte offsets. A `#` within fenced code is no heading.
    """

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        encoding, sections, after, number = encoding_of(path), _Sections(), 0, 0
        trail: list[tuple[int, str]] = []
        fenced = False
        with path.open("rb") as file:
            for line in read_lines(file):
                text = _decoded(line, encoding)
                if isinstance(text, Bad):
                    yield line.after, text
                    continue
                heading = None if fenced else _HEADING.match(text)
                if (heading or sections.is_full()) and (record := sections.taken(number, trail)):
                    yield after, record
                if heading:
                    level, title = len(heading.group(1)), heading.group(2).rstrip().rstrip("#").rstrip()
                    trail = [one for one in trail if one[0] < level] + [(level, title)]
                fenced ^= bool(_FENCE.match(text))
                sections.add(text, line.number)
                after, number = line.after, line.number
            if record := sections.taken(number, trail):
                yield after, record


def _decoded(line: Line, encoding: str) -> str | Bad:
    if line.raw is None:
        return Bad(f"line {line.number}", "the line is too long")
    if b"\0" in line.raw:
        return Bad(f"line {line.number}", "it holds NUL bytes: it is no text")
    try:
        return line.raw.decode(encoding)
    except UnicodeDecodeError:
        return Bad(f"line {line.number}", f"not {encoding}")

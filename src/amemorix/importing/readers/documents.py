"""Plain texts and Markdown, a section at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex
from ..duplicates import Occurrences, digest
from ..records import Bad, Record
from ..resume_points import Mark, Marking
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

    def __init__(self, said: Occurrences | None = None) -> None:
        self.said = said or Occurrences()
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

    def taken(self, last: int, **more: Any) -> Record | None:
        """The record of what was gathered; None if it is blank."""
        text = "".join(self.held).strip()
        self.held, self.chars = [], 0
        if not text:
            return None
        key = digest(text.encode())
        arguments = {"external_id": f"text:{key}:{self.said.count(key)}", "text": text, **more}
        left, self.left = self.left, {}
        return Record("text", arguments, f"lines {self.first}-{last}", left)


class PlainText(Marking):
    """Sections of about 8,000 characters that end at a blank line where there is one; positions are byte offsets."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """Records from byte `start` on. Raises InvalidRequest for what is no text."""
        begun = self.beginning(start)
        encoding, sections = encoding_of(path), _Sections(begun.said)
        after, number = begun.position, begun.number
        if not after and looks_like_chat(path):
            sections.left = {"looks_like_chat": 1}
        with path.open("rb") as file:
            for line in read_lines(file, after, number):
                text = _decoded(line, encoding)
                if isinstance(text, Bad):
                    yield from self._ended(start, after, number, sections)
                    self.mark = Mark(line.after, line.number, begun.said)
                    yield from _placed(start, line.after, text)
                else:
                    sections.add(text, line.number)
                after, number = line.after, line.number
                if sections.is_full():
                    yield from self._ended(start, after, number, sections)
            yield from self._ended(start, after, number, sections)

    def _ended(self, start: int, after: int, number: int, sections: _Sections) -> Iterator[tuple[int, Record | Bad]]:
        record = sections.taken(number)
        self.mark = Mark(after, number, sections.said)
        yield from _placed(start, after, record)


class Markdown:
    """What stands below each heading, long stretches in sections; the headings above it are kept as metadata.

    Positions are byte offsets. A `#` within fenced code is no heading.
    """

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """Records from byte `start` on. Raises InvalidRequest for what is no text."""
        encoding, sections = encoding_of(path), _Sections()
        trail: list[tuple[int, str]] = []
        after, number, fenced = 0, 0, False
        with path.open("rb") as file:
            for line in read_lines(file):
                text = _decoded(line, encoding)
                if isinstance(text, Bad):
                    yield from _placed(start, line.after, text)
                    continue
                heading = None if fenced else _HEADING.match(text)
                if heading or sections.is_full():
                    yield from _placed(start, after, sections.taken(number, **_under(trail)))
                if heading:
                    level = len(heading.group(1))
                    title = heading.group(2).rstrip().rstrip("#").rstrip()
                    trail = [one for one in trail if one[0] < level] + [(level, title)]
                fenced ^= bool(_FENCE.match(text))
                sections.add(text, line.number)
                after, number = line.after, line.number
            yield from _placed(start, after, sections.taken(number, **_under(trail)))


def _under(trail: list[tuple[int, str]]) -> dict[str, Any]:
    return {"metadata": {"headings": [title for _, title in trail]}} if trail else {}


def _placed(start: int, after: int, record: Record | Bad | None) -> Iterator[tuple[int, Record | Bad]]:
    if record is not None and after > start:
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

"""Plain texts and Markdown, a section at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex
from ..records import Bad, Line, Occurrences, Reader, Record, read_lines
from .chat_log import looks_like_chat

__all__ = ["Markdown", "PlainText"]

SECTION_CHARS = 8_000
"""A section ends at the first blank line after so many characters …"""
LONGEST_SECTION = 16_000
"""… and after so many at any line."""
_HEADING = lazy_regex(r"(#{1,6})\s+(.*)")
_FENCE = lazy_regex(r"^\s*(```|~~~)")


class PlainText(Reader):
    """Sections of about 8,000 characters that end at a blank line where there is one; positions are byte offsets."""

    what = "A text, stored in sections that end at blank lines. 纯文本，按空行分段。"
    fields = "UTF-8 or GB 18030"
    example = "The tea house opens at nine.\n\n茶馆九点开门。"

    has_headings = False

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        encoding, said = encoding_of(path), Occurrences()
        notes = {"looks_like_chat": 1} if not self.has_headings and looks_like_chat(path) else {}
        held: list[str] = []
        trail: list[tuple[int, str]] = []
        chars = first = last = after = 0
        fenced = False

        def section() -> Iterator[tuple[int, Record]]:
            """What is held, below its headings; nothing if it is blank."""
            nonlocal chars, notes
            text = "".join(held).strip()
            held.clear()
            chars = 0
            if text:
                arguments: dict[str, Any] = {"external_id": said.external_id("text", text), "text": text}
                if trail:
                    arguments["metadata"] = {"headings": [title for _, title in trail]}
                yield after, Record("text", arguments, f"lines {first}-{last}", notes)
                notes = {}

        with path.open("rb") as file:
            for line in read_lines(file):
                text = _decoded(line, encoding)
                if isinstance(text, Bad):
                    yield from section()
                    yield line.after, text
                    continue
                heading = _HEADING.match(text) if self.has_headings and not fenced else None
                if heading or chars >= LONGEST_SECTION or (chars >= SECTION_CHARS and not held[-1].strip()):
                    yield from section()
                if heading:
                    level, title = len(heading.group(1)), heading.group(2).rstrip().rstrip("#").rstrip()
                    trail = [one for one in trail if one[0] < level] + [(level, title)]
                fenced ^= bool(_FENCE.match(text))
                first = first if held else line.number
                held.append(text)
                chars += len(text)
                after, last = line.after, line.number
            yield from section()


class Markdown(PlainText):
    """What stands below each heading, long stretches in sections; the headings above it are kept as metadata.

    Positions are byte offsets. A `#` within fenced code is no heading.
    """

    what = "Markdown, stored heading by heading. Markdown，按标题切分。"
    fields = "UTF-8 or GB 18030; the headings become metadata"
    example = "# Kitchen\n\nThe oven runs hot.\n\n## 茶\n\n绿茶用八十度的水。"

    has_headings = True


def _decoded(line: Line, encoding: str) -> str | Bad:
    if line.raw is None:
        return Bad(f"line {line.number}", "the line is too long")
    if b"\0" in line.raw:
        return Bad(f"line {line.number}", "it holds NUL bytes: it is no text")
    try:
        return line.raw.decode(encoding)
    except UnicodeDecodeError:
        return Bad(f"line {line.number}", f"not {encoding}")

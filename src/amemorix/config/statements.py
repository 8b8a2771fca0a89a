"""Where each table header and each setting stands in a TOML text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["KeyPath", "Statement", "line_of", "statements", "tokens"]

KeyPath = tuple[str | int, ...]
"""Absolute path of a value; a number is a position in an array of tables."""

_TOKEN = re.compile(
    r"""(?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<newline>\n)
    | (?P<space>[ \t\r]+)
    | (?P<mark>[\[\]{}=.,])
    | (?P<word>[^\s\[\]{}=.,"'\#]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One table header, or one `key = value`. Offsets count characters of the text."""

    table: KeyPath
    """The table it opens or stands in."""
    path: KeyPath
    """What it defines."""
    start: int
    """Its first character, after the indentation."""
    value: slice | None
    """Extent of the value; None for a table header."""
    end: int
    """Just past the newline that ends it."""


def statements(text: str) -> list[Statement]:
    """All statements of a text that is valid TOML, in order."""
    found: list[Statement] = []
    sizes: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, end in _logical_lines(text):
        start = line[0].start()
        if line[0][0] == "[":
            table = _table_path(line, sizes)
            found.append(Statement(table, table, start, None, end))
        else:
            equals = next(i for i, token in enumerate(line) if token[0] == "=")
            value = slice(line[equals + 1].start(), line[-1].end())
            found.append(Statement(table, table + _key(line[:equals]), start, value, end))
    return found


def line_of(found: list[Statement], text: str, path: KeyPath) -> int | None:
    """Line (from 1) of the statement that defines `path`; failing that, of what is nearest below or above it."""
    for size in range(len(path), 0, -1):
        for statement in found:
            if statement.path[:size] == path[:size]:
                return text.count("\n", 0, statement.start) + 1
    return None


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Tokens of a TOML text; `lastgroup` is string, comment, newline, space, mark or word."""
    return _TOKEN.finditer(text)


def _logical_lines(text: str) -> Iterator[tuple[list[re.Match[str]], int]]:
    """Tokens of each statement, without blanks and comments, and the offset where it ends."""
    depth, line = 0, list[re.Match[str]]()
    for token in tokens(text):
        if token.lastgroup == "newline" and depth == 0:
            if line:
                yield line, token.end()
            line = []
        elif token.lastgroup in {"string", "mark", "word"}:
            depth += (token[0] in {"[", "{"}) - (token[0] in {"]", "}"})
            line.append(token)
    if line:
        yield line, len(text)


def _table_path(line: list[re.Match[str]], sizes: dict[KeyPath, int]) -> KeyPath:
    """Path of a header; `[[name]]` begins the next table of an array, later headers below `name` belong to that one."""
    parts = _key(line)
    is_array = line[1][0] == "["
    path: KeyPath = ()
    for position, part in enumerate(parts, 1):
        path = (*path, part)
        if is_array and position == len(parts):
            sizes[path] = sizes.get(path, 0) + 1
        if path in sizes:
            path = (*path, sizes[path] - 1)
    return path


def _key(line: list[re.Match[str]]) -> tuple[str, ...]:
    return tuple(_plain(token[0]) for token in line if token.lastgroup in {"string", "word"})


def _plain(part: str) -> str:
    return tomllib.loads(f"key = {part}")["key"] if part[0] in "\"'" else part

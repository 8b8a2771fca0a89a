"""TOML text read into plain tables, with errors that name the line."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import InvalidConfig
from ..lazy_regex import lazy_regex
from ..locale import Language

__all__ = [
    "BOM", "ENDINGS", "KeyPath", "Lines", "Problem", "decoded", "dotted", "missing_end", "read_tables", "read_text", "same",
]  # fmt: skip

BOM = "\ufeff"
ENDINGS: dict[Language, tuple[str, str]] = {
    "en": (
        "# This text ends with the line `# End of the settings.`: without it, it was cut off and is refused.",
        "# End of the settings.",
    ),
    "zh": ("# 本文件以 `# 设置到此结束。` 一行结尾：缺了它，说明文件不完整，将不予采用。", "# 设置到此结束。"),
}
"""What a default text promises at its head, and the last line that it promises, by language; both are known, whichever is spoken."""
KeyPath = tuple[str | int, ...]
"""Absolute path of a value; a number is a position in an array."""
_STATEMENT = lazy_regex(r"""\s*(\[|("(\\.|[^"\\])*"|'[^']*'|[\w-]+)\s*[.=])""")
"""What a statement begins like; a line of a long string or array may look the same."""
LONGEST_SHOWN = 120
"""Characters of a line that is shown."""
_NAMED = lazy_regex(r"'([^']*)'")
_PLACE = lazy_regex(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Problem:
    """One value that the schema refuses, or one key that it does not know."""

    path: KeyPath
    text: str
    """A sentence that names the setting, what it holds and what is allowed."""
    value: str | int | float | bool | None = None
    """The refused value, if it is short and plain."""


def dotted(path: KeyPath) -> str:
    """`("groups", 0, "name")` as `groups[0].name`."""
    words = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(words).removeprefix(".")


def read_text(path: Path) -> str:
    """The file's text, its line ends as they are, a byte order mark taken off.

    Raises InvalidConfig if the file cannot be read or is not UTF-8.
    """
    try:
        return decoded(path.read_bytes(), path)
    except OSError as exc:
        raise _broken(str(path), f"the file cannot be read: {exc.strerror or exc}") from exc


def decoded(content: bytes, path: Path) -> str:
    """The text of a file's content, as `read_text` gives it. Raises InvalidConfig if it is not UTF-8."""
    try:
        return content.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        raise _broken(str(path), "the text is not UTF-8; save the file as UTF-8", line) from exc


def read_tables(text: str, where: str) -> dict[str, Any]:
    """The tables of a TOML text; InvalidConfig with line and column if it is not TOML."""
    try:
        text.encode("utf-8")
        tables = tomllib.loads(text.removeprefix(BOM))
        if not all(-(2**63) <= number < 2**63 for number in _integers(tables)):
            raise _broken(where, "an integer is too large: TOML's have 64 bits")
        return tables
    except UnicodeEncodeError as exc:
        line = text.count("\n", 0, exc.start) + 1
        raise _broken(where, "the text holds half of a surrogate pair, which UTF-8 cannot store", line) from exc
    except RecursionError as exc:
        raise _broken(where, "the values are nested too deep") from exc
    except ValueError as exc:
        raise _syntax_error(text.removeprefix(BOM), where, str(exc)) from exc


def _syntax_error(text: str, where: str, message: str) -> InvalidConfig:
    """The error for what `tomllib` says of a text: in words, with the line and a mark below the place in it."""
    found = _PLACE.search(message)
    if found is None:
        return _broken(where, message)
    problem, lines = message[: found.start()], text.split("\n")
    line, column = int(found["line"] or len(lines)), int(found["column"] or len(lines[-1]) + 1)
    if not found["line"] and problem.startswith(("Unterminated", "Expected")):  # where what is not closed begins
        triple = next((mark for mark in ('"""', "'''") if text.count(mark) % 2), "")
        start = text.rfind(triple or ("'" if "'" in problem else '"'))
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    rest = lines[line - 1][column - 1 :].strip()
    shown = lines[line - 1].rstrip("\r")
    first = max(0, column - LONGEST_SHOWN) if len(shown) > LONGEST_SHOWN else 0
    part = "".join(one if one.isprintable() else " " for one in shown[first : first + LONGEST_SHOWN])
    return _broken(where, _problem(problem, rest), line, column, f"\n  {part}\n  {' ' * (column - 1 - first)}^")


def _problem(message: str, rest: str) -> str:
    """What `tomllib` says of a text in words; `rest` is the line from the place on."""
    if message.startswith("Invalid value"):
        word = rest.split("#")[0].split(",")[0].strip(" ]}")
        if word.lower() in ("true", "false"):
            return f"{word} is not a value; write {word.lower()}"
        if rest[:1] in ("“", "”", "‘", "’", "「", "『"):
            return f'a text stands between straight quotes ("), not {rest[0]}'
        if word:
            return f'write a text in quotes: "{word}"'
        return f"a value is missing before {rest[0]}" if rest and rest[0] in ",]}" else "a value is missing after ="
    if message.startswith("Expected ']]'"):
        return "the name of a list of tables ends with ]]"
    if message.startswith("Expected ']'"):
        return "the name of a table ends with ]"
    if message.startswith("Expected '='"):
        return "after a key comes =, not :" if rest[:1] == ":" else "after a key comes = and its value"
    if message.startswith("Expected newline"):
        return "only a comment (#) may follow on the line of a value"
    if message.startswith(("Unterminated", "Expected", "Illegal character '\\n'", "Found invalid character '\\n'")):
        return "the quote that ends a text is missing"
    if message.startswith("Unclosed array"):
        return "a comma or the ] of a list belongs before this"
    if message.startswith("Unclosed inline"):
        return "the } of an inline table belongs on the line of its {"
    if message.startswith(("Cannot overwrite", "Duplicate")):
        return "this name already has a value"
    if message.startswith("Cannot"):
        return f"the table [{'.'.join(_NAMED.findall(message))}] was written above"
    if message.startswith(("Unescaped", "Invalid hex", "Escaped")):
        return "\\ has a meaning of its own between double quotes: write \\\\, or put the text in single quotes"
    if message.startswith("Invalid date"):
        return "there is no such date or time"
    if message.startswith("Invalid statement"):
        kinds = "a line is a [table], a key = value or a # comment"
        return f"{kinds}; a key in other letters than a to z stands in quotes" if not rest[:1].isascii() else kinds
    return message


def missing_end(text: str) -> str:
    """The last line that the text promises and lacks, as one that is half written does; empty if it lacks none."""
    lines = text.splitlines()
    return next((last for promise, last in ENDINGS.values() if promise in lines and last not in lines), "")


def same(a: Any, b: Any) -> bool:
    """Equal as settings: 5 and 5.0 are, 1 and true are not, nan is itself, an empty table is as good as none."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return all(same(a.get(key, {}), b.get(key, {})) for key in {**a, **b})
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b) or (a != a and b != b)


class Lines:
    """The lines of a text that is valid TOML, asked for the one where a value stands.

    A value stands in the first statement after which the text, cut off there, holds it.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix(BOM).split("\n")
        self._starts = [number for number, line in enumerate(self._lines) if _STATEMENT.match(line)]
        self._until = cache(self._read)

    def of(self, path: KeyPath) -> int | None:
        """Line (from 1) of the statement that defines `path`; failing that, of the nearest table above it."""
        while path and not (self._starts and _holds(self._until(len(self._starts) - 1), path)):
            path = path[:-1]
        if not path:
            return None
        place = bisect_left(range(len(self._starts)), True, key=lambda place: _holds(self._until(place), path))
        return self._starts[place] + 1

    def _read(self, place: int) -> dict[str, Any]:
        """The tables of the text up to the end of the statement that begins at `place` or, if none does, goes on there."""
        for end in self._starts[place + 1 :]:
            try:
                return tomllib.loads("\n".join([*self._lines[:end], ""]))
            except ValueError:
                continue
        return tomllib.loads("\n".join(self._lines))


def _holds(tables: Any, path: KeyPath) -> bool:
    for part in path:
        try:
            tables = tables[part]
        except (LookupError, TypeError):
            return False
    return True


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)
    elif isinstance(value, int):
        yield value


def _broken(
    where: str, problem: str, line: int | None = None, column: int | None = None, shown: str = ""
) -> InvalidConfig:
    place = "".join([f", line {line}" if line else "", f", column {column}" if column else ""])
    known = {"line": line, "column": column}
    report = {"path": "", "problem": problem, **{name: number for name, number in known.items() if number}}
    return InvalidConfig(f"{where}{place}: {problem}.{shown}", problems=[report], file=where)

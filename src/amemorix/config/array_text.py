"""Changing an array in its TOML text without losing the comments of the lines that stay."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from .render import toml_value
from .statements import tokens

__all__ = ["comments_in", "edited_array"]


def comments_in(value: str) -> list[str]:
    """The comments inside the text of a value."""
    return [token[0] for token in tokens(value) if token.lastgroup == "comment"]


def edited_array(text: str, items: Sequence[Any]) -> str | None:
    """The text of an array changed to hold `items`; None unless it is laid out with one item on each line.

    Lines of items that stay are kept, with comments and blank lines around them.
    """
    rows = _rows(text)
    if rows is None:
        return None
    first, *middle, last = text.split("\n")
    owned = sorted(rows)
    indent = middle[owned[0]][: len(middle[owned[0]]) - len(middle[owned[0]].lstrip())]
    old, new = [rows[line] for line in owned], [toml_value(item) for item in items]
    ends = {line: _with_comma(middle[line]) for line in owned}
    result, done = [first], 0
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for line in owned[i:j]:
            result += middle[done:line]
            result += [ends[line]] if tag == "equal" else []
            done = line + 1
        result += [f"{indent}{value}," for value in (new[k:m] if tag != "equal" else [])]
    return "\n".join([*result, *middle[done:], last])


def _rows(text: str) -> dict[int, str] | None:
    """Line number, from the line after the bracket, of each item, with the item as `toml_value` writes it."""
    first, *middle = text.split("\n")
    if first.split("#")[0].strip() != "[" or not middle or middle.pop().strip() != "]":
        return None
    rows: dict[int, str] = {}
    for number, line in enumerate(middle):
        items = _items(line)
        if items is None or len(items) > 1:
            return None
        if items:
            rows[number] = toml_value(items[0])
    return rows or None


def _items(line: str) -> list[Any] | None:
    """The items on one line of an array; None if the line does not stand by itself."""
    try:
        return tomllib.loads(f"items = [\n{line}\n]")["items"]
    except tomllib.TOMLDecodeError:
        return None


def _with_comma(line: str) -> str:
    """The line with a comma after its item."""
    found = [token for token in tokens(line) if token.lastgroup in {"string", "mark", "word"}]
    if found[-1][0] == ",":
        return line
    return line[: found[-1].end()] + "," + line[found[-1].end() :]

"""Settings changed in a parsed TOML document, comments left where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import AoT, Array, Comment, InlineTable, Item, Key, Null, Table, Whitespace

from .document import same

__all__ = ["edit"]

_Part = Container | Table | InlineTable
"""A place where settings of one table stand; `[a]`, `[a.b]` and `a.c = 1` are parts of `a`."""
_FILLER = Comment | Whitespace | Null
"""What stands between settings; Null is where one was taken out."""


def edit(parts: Sequence[_Part], current: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Change what differs in the parts of a table (the document is that of the outermost), until they hold `wanted`.

    Raises ValueError or TOMLKitError where tomlkit cannot follow the layout.
    """
    for key in current:
        if key not in wanted:
            _remove(parts, key)
    for key, value in wanted.items():
        before = current.get(key, {})
        found: list[Any] = [item for part in parts for _, item in _places(part, key)]
        if same(before, value):
            continue
        if key in current and isinstance(before, Mapping) and isinstance(value, Mapping):
            edit(found, before, value)
        else:
            item = found[0] if found else None
            if isinstance(item, Array) and isinstance(value, list | tuple):
                _edit_array(item, value)
            elif item is None or isinstance(item, Table | AoT) or isinstance(value, Mapping):
                home = _home(parts)
                new = _new(home, value)
                _remove(parts, key)
                _add(home, key, new)
            else:
                next(part for part in parts if key in part)[key] = _new(parts[0], value)


def _edit_array(array: Array, values: Sequence[Any]) -> None:
    """Insert and delete items; those that stay keep their lines and comments."""
    old, new = [*map(repr, array.unwrap())], [*map(repr, values)]
    for tag, i, j, k, m in reversed(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag != "equal":
            for value in reversed(values[k:m]):
                array.insert(i, value)
            del array[i + m - k : j + m - k]


def _remove(parts: Sequence[_Part], key: str) -> None:
    for part in parts:
        tails = {index: _tail(item) for index, item in _places(part, key)}
        if tails:
            del part[key]
        for index in filter(tails.get, tails):
            _body(part)[index] = (None, Whitespace(tails[index]))


def _tail(item: Item) -> str:
    """The comments at the end of a table: they belong to the header below it."""
    if isinstance(item, AoT):
        return _tail(item.body[-1])
    text = ""
    for _, part in reversed(item.value.body if isinstance(item, Table) else []):
        if not isinstance(part, _FILLER):
            return _tail(part) + text
        text = part.as_string() + text
    return text


def _home(parts: Sequence[_Part]) -> _Part:
    """Where a new setting belongs: below the table's own header, else after its dotted keys, else in the last part."""
    with_header = [part for part in parts if not isinstance(part, Table) or not part.is_super_table()]
    return [*parts, *filter(_is_dotted, parts), *with_header][-1]


def _add(part: _Part, key: str, value: Any) -> None:
    """Add a setting after the last one; tomlkit puts it below the comments that belong to the next header.

    tomlkit's own index of the body does not follow the move, so `key` must not be looked up again.
    """
    part[key] = value
    if isinstance(part, InlineTable):
        return
    body = _body(part)
    old = new = next(index for index, _ in _places(part, key))
    while new and isinstance(body[new - 1][1], _FILLER):
        new -= 1
    if new < old and (new or isinstance(part, Table)):
        body.insert(new, body.pop(old))
        below = body[old + 1][1] if old + 1 < len(body) else None
        if isinstance(below, Table):
            below.trivia.indent = below.trivia.indent.lstrip("\n")


def _new(part: _Part, value: Any) -> Any:
    """The value as it is to stand in `part`: a list as an array, a table inline where a header would not do."""
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(value)
        return array
    if isinstance(value, Mapping) and _is_dotted(part):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline
    return value


def _is_dotted(part: _Part) -> bool:
    return (
        isinstance(part, Table)
        and part.is_super_table()
        and any(key and (key.is_dotted() or not isinstance(item, Table | AoT)) for key, item in part.value.body)
    )


def _places(part: _Part, key: str) -> Iterator[tuple[int, Item]]:
    return ((index, item) for index, (found, item) in enumerate(_body(part)) if found and found.key == key)


def _body(part: _Part) -> list[tuple[Key | None, Item]]:
    return part.body if isinstance(part, Container) else part.value.body

"""A change of some settings, made in the TOML text itself, so that comments, order and layout stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidConfig
from .array_text import comments_in, edited_array
from .document import BOM, read_tables
from .render import toml_key, toml_value
from .statements import KeyPath, Statement, statements

__all__ = ["merged", "patched"]

_ABSENT = object()


def patched(text: str, patch: Mapping[str, Any]) -> str:
    """The text after a deep merge of `patch`; all that the patch does not change stays as it was, byte for byte.

    `{"retrieval": {"candidates": 50}}` and `{"retrieval.candidates": 50}` mean the same. None takes a setting out, so
    that its default holds again; a table that is left without settings may go or stay. Lists are replaced whole; of a list with one item a line, the lines that stay keep
    their comments. The result is TOML, but not checked against the schema: that is `parse`.
    Raises InvalidConfig if the text is not TOML, or the patch holds what TOML cannot.
    """
    mark = BOM if text.startswith(BOM) else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removeprefix(BOM).replace("\r\n", "\n")
    try:
        wanted = merged(read_tables(body, "the configuration"), _expand(patch, {}))
        return mark + _brought_to(body, wanted).replace("\n", newline)
    except RecursionError as exc:
        raise InvalidConfig("The patch is nested too deep.") from exc


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Deep merge by the rules of JSON Merge Patch (RFC 7396): None removes, tables merge, all else replaces."""
    result = dict(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            below = result.get(key)
            result[key] = merged(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = value
    return result


def _expand(patch: Mapping[str, Any], into: dict[str, Any]) -> dict[str, Any]:
    """Add the patch to nested tables, dotted keys taken apart."""
    for key, value in patch.items():
        *parents, last = key.split(".")
        table = into
        for part in parents:
            table = _subtable(table, part)
        if isinstance(value, Mapping):
            _expand(value, _subtable(table, last))
        else:
            table[last] = value
    return into


def _subtable(table: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(table.get(key), dict):
        table[key] = {}
    return table[key]


def _brought_to(text: str, wanted: dict[str, Any]) -> str:
    """Take one difference after another out of the text, until it reads as `wanted`."""
    for _ in range(len(statements(text)) + 3 * _leaves(wanted) + 3):
        path = _first_difference(read_tables(text, "the configuration"), wanted, ())
        if path is None:
            return text
        text = _step(text, path, wanted)
    raise InvalidConfig("The text is laid out in a way that cannot be changed in place; edit the file by hand.")


def _leaves(value: Any) -> int:
    return 1 + sum(map(_leaves, value.values())) if isinstance(value, Mapping) else 1


def _first_difference(current: dict[str, Any], wanted: dict[str, Any], path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Path of a value to set or remove; a table without settings is as good as none."""
    for key in {**current, **wanted}:
        below = (*path, key)
        before, after = current.get(key, {}), wanted.get(key, {})
        if isinstance(before, dict) and isinstance(after, dict) and (key in wanted or not before):
            if found := _first_difference(before, after, below):
                return found
        elif key not in wanted or not _same(before, after):
            return below
    return None


def _same(a: Any, b: Any) -> bool:
    """Equal as settings: 5 and 5.0 are, 1 and true are not, and nan is itself."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b) or (a != a and b != b)


def _step(text: str, path: tuple[str, ...], wanted: dict[str, Any]) -> str:
    """Set or remove what differs at `path`; a table that is to become a plain value is only removed."""
    found = statements(text)
    target = _at(wanted, path)
    cover = next((s for s in found if s.value and path[: len(s.path)] == s.path), None)
    if cover and cover.value and (cover.path != path or target is not _ABSENT):
        return _with_value(text, cover.start, cover.value, _at(wanted, cover.path))
    if any(s.path[: len(path)] == path for s in found):
        return _without(text, found, path)
    return _with_setting(text, found, path, target)


def _at(tables: Any, path: KeyPath) -> Any:
    for part in path:
        if not isinstance(tables, Mapping) or part not in tables:
            return _ABSENT
        tables = tables[part]
    return tables


def _with_value(text: str, start: int, extent: slice, value: Any) -> str:
    """Exchange the value of the statement at `start`; comments inside it that have no place left go above it."""
    old, after = text[extent], text[extent.stop :]
    if isinstance(value, list | tuple) and (edited := edited_array(old, value)) is not None:
        return text[: extent.start] + edited + after
    line = text.rfind("\n", 0, start) + 1
    comments = "".join(f"{text[line:start]}{comment}\n" for comment in comments_in(old))
    return text[:line] + comments + text[line : extent.start] + toml_value(value) + after


def _without(text: str, found: list[Statement], path: KeyPath) -> str:
    for statement in reversed(found):
        if statement.path[: len(path)] == path:
            text = text[: text.rfind("\n", 0, statement.start) + 1] + text[statement.end :]
    return text


def _with_setting(text: str, found: list[Statement], path: tuple[str, ...], value: Any) -> str:
    """Write a setting that is not there yet: after the last one of its table, else in a new table."""
    parent = path[:-1]
    header = next((s for s in found if s.value is None and s.path == parent), None)
    if header or not parent:
        inside = [s for s in found if s.table == parent]
        return _inserted(text, inside[-1] if inside else None, parent, path, value)
    cousins = [s for s in found if s.value and s.path[: len(parent)] == parent and len(s.table) < len(parent)]
    if cousins:
        return _inserted(text, cousins[-1], cousins[-1].table, path, value)
    return _with_table(text, found, path, value)


def _inserted(text: str, last: Statement | None, table: KeyPath, path: tuple[str, ...], value: Any) -> str:
    line = f"{toml_key(path[len(table) :])} = {toml_value(value)}\n"
    if last is None:
        return line + ("\n" if text else "") + text
    indent = text[text.rfind("\n", 0, last.start) + 1 : last.start]
    return _spliced(text, last.end, indent + line)


def _with_table(text: str, found: list[Statement], path: tuple[str, ...], value: Any) -> str:
    """Begin a table behind what is nearest above it, so that `[a.b]` comes to stand with `[a]`."""
    lines = f"[{toml_key(path[:-1])}]\n{toml_key(path[-1:])} = {toml_value(value)}\n"
    for size in range(len(path) - 2, 0, -1):
        family = [s for s in found if s.path[:size] == path[:size]]
        if family:
            table = family[-1].table
            return _spliced(text, [s for s in found if s.table == table][-1].end, "\n" + lines)
    return _spliced(text, len(text), ("\n" if text else "") + lines)


def _spliced(text: str, offset: int, lines: str) -> str:
    head = text[:offset]
    return head + ("\n" if head and not head.endswith("\n") else "") + lines + text[offset:]

"""A change of some settings, made in the TOML text itself, so that comments, order and layout stay."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..errors import InvalidConfig
from .document import BOM, missing_end, read_tables, same

__all__ = ["merged", "patched"]


def patched(text: str, patch: Mapping[str, Any]) -> str:
    """The text after a deep merge of `patch`; what the patch does not change stays as it was, comments included.

    `{"retrieval": {"candidates": 50}}` and `{"retrieval.candidates": 50}` mean the same. None takes a setting out, so
    that its default holds again; a table that is left without settings may go or stay. Lists are replaced whole; of
    an array with one item a line, the lines that stay keep their comments; a table that goes takes its comments along.
    The result is TOML, but not checked against the schema: that is `parse`.
    Raises InvalidConfig if the text is not TOML, the patch has a key that is no text or holds what TOML cannot, or the text is laid out in a way
    that cannot be changed in place.
    """
    mark = BOM if text.startswith(BOM) else ""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removeprefix(BOM).replace("\r\n", "\n")
    try:
        _check_keys(patch)
        current, wished = read_tables(body, "the configuration"), _expand(patch, {})
        _refuse_what_toml_cannot_hold(wished)
        wanted = merged(current, wished)
        result = body if same(current, wanted) else _edited(body, current, wanted)
    except RecursionError as exc:
        raise InvalidConfig("The patch is nested too deep.") from exc
    return mark + result.replace("\n", newline)


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


def _check_keys(value: object) -> None:
    """Raise InvalidConfig if a key, also of a table in an array, is no text."""
    if isinstance(value, Mapping):
        table = cast("Mapping[object, object]", value)
        for key in table:
            if not isinstance(key, str):
                raise InvalidConfig(f"The patch has the key {key!r}; keys are the names of settings, as texts.")
        value = [*table.values()]
    if isinstance(value, list | tuple):
        for one in cast("Iterable[object]", value):
            _check_keys(one)


def _subtable(table: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(table.get(key), dict):
        table[key] = {}
    return table[key]


def _refuse_what_toml_cannot_hold(wished: Mapping[str, Any]) -> None:
    """Raise InvalidConfig if a value is nothing that TOML can hold."""
    import tomlkit
    from tomlkit.exceptions import ConvertError

    try:
        read_tables(tomlkit.dumps(merged({}, wished)), "the patch")
    except ConvertError as exc:
        raise InvalidConfig(f"The patch holds what TOML cannot: {exc}.") from exc


def _edited(text: str, current: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The text with its settings changed from `current` to `wanted`; it is read again before it is handed out."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from .editor import edit

    try:
        document = tomlkit.parse(text)
        edit([document], current, wanted)
        result = tomlkit.dumps(document)
        reached = tomllib.loads(result)
        if not missing_end(text) and (last := missing_end(result)):  # it stood in the table that went
            result += f"\n{last}\n"
    except (TOMLKitError, ValueError) as exc:
        raise _unchangeable(current, wanted) from exc
    if not same(reached, wanted):
        raise _unchangeable(reached, wanted)
    return result


def _unchangeable(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> InvalidConfig:
    names = ", ".join(_differences(current, wanted))
    return InvalidConfig(
        f"The text is laid out in a way that {names} cannot be changed in place; edit the file by hand."
    )


def _differences(current: Mapping[str, Any], wanted: Mapping[str, Any], table: str = "") -> Iterator[str]:
    for key in {**current, **wanted}:
        before, after = current.get(key, {}), wanted.get(key, {})
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, f"{table}{key}.")
        elif not same(before, after):
            yield f"{table}{key}"

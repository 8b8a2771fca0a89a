"""TOML text of keys and values, and of the commented default file."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any

from ..errors import InvalidConfig
from .schema import Setting, sections, settings

__all__ = ["default_toml", "toml_key", "toml_value"]

_WIDTH = 100
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_HEAD = """\
Settings of A-Memorix. Each is shown with its default; a line that is left out keeps the default.

What a change of a setting costs:
  live     it applies to the next call
  rebuild  a new model or index is built beside the old one, which serves until the switch
  restart  the store is opened anew, or the process has to be started again
"""


def default_toml() -> str:
    """The text of `config/a_memorix.toml`: every setting with its meaning, what is allowed, its cost and its default."""
    lines = [f"# {line}".rstrip() for line in _HEAD.splitlines()]
    tables = sections()
    for path, group in _by_table(settings(), tables).items():
        if path:
            lines += ["", "", *_comment(tables[path]), f"[{path}]"]
        for setting in group:
            lines += ["", *_entry(setting)]
    return "\n".join(lines) + "\n"


def toml_key(parts: Sequence[str]) -> str:
    """A dotted key, its parts quoted where TOML wants it."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else _quoted(part) for part in parts)


def toml_value(value: Any) -> str:
    """One line of TOML for a value; InvalidConfig for what TOML cannot hold, such as null."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            pairs = ", ".join(f"{toml_key([key])} = {toml_value(item)}" for key, item in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:
            raise InvalidConfig(
                f"{'null' if value is None else type(value).__name__} is not a value that TOML can hold."
            )


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are valid TOML; DEL, which JSON leaves bare, is not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _by_table(every: list[Setting], tables: Mapping[str, str]) -> dict[str, list[Setting]]:
    groups: dict[str, list[Setting]] = {path: [] for path in ("", *tables)}
    for setting in every:
        if "[]" not in setting.path:
            groups[setting.path.rpartition(".")[0]].append(setting)
    return groups


def _entry(setting: Setting) -> Iterator[str]:
    yield from _comment(setting.description)
    yield from _comment(f"Allowed: {setting.bounds}. Change: {setting.reload}.")
    yield f"{setting.path.rpartition('.')[2]} = {toml_value(setting.default)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )

"""TOML text of the commented default file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from .document import LAST_LINE, PROMISE
from .schema import Setting, sections, settings

__all__ = ["default_toml"]

_WIDTH = 100
_HEAD = """\
Settings of A-Memorix. Each is shown with its default; a line that is left out keeps the default.

What a change of a setting costs:
  live     it applies to the next call
  rebuild  a new model or index is built beside the old one, which serves until the switch
  restart  the store is opened anew, or the process has to be started again
"""


def default_toml() -> str:
    """The text of `config/a_memorix.toml`: every setting with its meaning, what is allowed, its cost and its default."""
    lines = [f"# {line}".rstrip() for line in _HEAD.splitlines()] + ["#", PROMISE]
    tables = sections()
    for path, group in _by_table(settings(), tables).items():
        if path:
            lines += ["", "", *_comment(tables[path]), f"[{path}]"]
        for setting in group:
            lines += ["", *_entry(setting)]
    return "\n".join([*lines, "", "", LAST_LINE]) + "\n"


def _by_table(every: list[Setting], tables: Mapping[str, str]) -> dict[str, list[Setting]]:
    groups: dict[str, list[Setting]] = {path: [] for path in ("", *tables)}
    for setting in every:
        if "[]" not in setting.path:
            groups[setting.path.rpartition(".")[0]].append(setting)
    return groups


def _entry(setting: Setting) -> Iterator[str]:
    from tomlkit import item

    yield from _comment(setting.description)
    yield from _comment(f"Allowed: {setting.bounds}. Change: {setting.reload}.")
    yield f"{setting.path.rpartition('.')[2]} = {item(setting.default).as_string()}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )

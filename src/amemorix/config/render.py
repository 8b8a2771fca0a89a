"""TOML text of the commented default file."""

from __future__ import annotations

import textwrap

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
    from tomlkit import item

    lines = [f"# {line}".rstrip() for line in _HEAD.splitlines()] + ["#", PROMISE]
    tables = sections()
    groups: dict[str, list[Setting]] = {path: [] for path in ("", *tables)}
    for setting in settings():
        if "[]" not in setting.path:
            groups[setting.path.rpartition(".")[0]].append(setting)
    for path, group in groups.items():
        if path:
            lines += ["", "", *_comment(tables[path]), f"[{path}]"]
        for one in group:
            lines += ["", *_comment(one.description), *_comment(f"Allowed: {one.bounds}. Change: {one.reload}.")]
            lines.append(f"{one.path.rpartition('.')[2]} = {item(one.default).as_string()}")
    return "\n".join([*lines, "", "", LAST_LINE]) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )

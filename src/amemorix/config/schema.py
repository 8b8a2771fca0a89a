"""The settings as data: their JSON Schema, one record for each, the commented default file, and what differs between two."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args
from unicodedata import east_asian_width

from ..locale import Language, told
from .document import ENDINGS
from .model import Config, ReloadLevel, Section

__all__ = ["Setting", "allowed", "changes", "config_schema", "default_toml", "sections", "settings", "strongest"]

_KINDS = {
    "array": "an array", "boolean": "a boolean", "integer": "an integer", "number": "a number", "object": "a table",
    "string": "a string",
}  # fmt: skip

_COLUMNS = 98
"""Of a comment, without its sign."""
_HEAD = "Settings of A-Memorix. Each is shown with its default; a line that is left out keeps the default."
_SOME = """\
These are the first to look at: `amemorix config show` lists every setting,
`amemorix config set NAME VALUE` writes one."""
_COSTS = """\
What a change of a setting costs:
  live     it applies to the next call
  rebuild  a new model or index is built beside the old one, which serves until the switch
  restart  the store is opened anew, or the process has to be started again"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as a reference page or a settings form shows it."""

    path: str
    """Dotted name; `groups[].targets` is a setting of each table in the array `groups`."""
    type: str
    """JSON type: `boolean`, `integer`, `number`, `string`, `array of string`, `array of object`."""
    default: Any
    """JSON value that holds while the file does not name the setting; None for one that a table has to name."""
    bounds: str
    """What values are allowed, in words: `an integer from 10 to 2000`."""
    reload: ReloadLevel
    """What a change costs."""
    description: str

    @property
    def table(self) -> str:
        """Dotted name of the table that it stands in; empty outside of tables."""
        return self.path.partition("[]")[0].rpartition(".")[0]


def config_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the configuration file; `x-reload` tells what changing a setting costs."""
    schema = Config.model_json_schema()
    for node in schema["properties"].values(), *(table["properties"].values() for table in schema["$defs"].values()):
        for value in node:
            if "$ref" in value:
                value.pop("default", None)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:amemorix:config",
        "title": "A-Memorix configuration",
    }
    return {**head, **{name: part for name, part in schema.items() if name != "title"}}


@cache
def settings() -> tuple[Setting, ...]:
    """Every setting, in the order of the configuration file: those outside tables first."""
    schema = config_schema()
    found: list[Setting] = []
    for path, node in _walk(schema, schema, ""):
        if "x-reload" in node:
            kind = f"array of {node['items'].get('type', 'object')}" if node["type"] == "array" else node["type"]
            default, words = node.get("default"), allowed(node)
            found.append(Setting(path, kind, default, words, node["x-reload"], node["description"]))
    return tuple(found)


@cache
def sections() -> Mapping[str, str]:
    """Dotted name of each table, with what it is about, in the order of the configuration file."""
    schema = config_schema()
    return {path: node["description"] for path, node in _walk(schema, schema, "") if "properties" in node}


def allowed(node: dict[str, Any]) -> str:
    """What values a schema node admits, in words."""
    if "enum" in node or "const" in node:
        *words, last = [f'"{value}"' for value in node.get("enum", [node.get("const")])]
        return f"{', '.join(words)} or {last}" if words else last
    kind = node.get("type", "")
    if kind == "boolean":
        return "true or false"
    if "minimum" in node and "maximum" in node:
        bounds = f"from {node['minimum']} to {node['maximum']}"
    else:
        words = {"minimum": "at least", "exclusiveMinimum": "above", "exclusiveMaximum": "below", "maximum": "at most"}
        bounds = " and ".join(f"{phrase} {node[bound]}" for bound, phrase in words.items() if bound in node)
    items = node.get("items", {})
    inside = "of tables" if "$ref" in items else ""
    if items.get("type") == "string":
        inside = f"of strings ({_length(items).removeprefix('of ')} each)" if _length(items) else "of strings"
    return " ".join(filter(None, [_KINDS.get(kind, "a value"), bounds, _length(node), inside]))


def _walk(root: dict[str, Any], table: dict[str, Any], prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Dotted path and schema node of all below a table; plain settings come before nested tables, as TOML wants."""
    nodes = {name: _resolved(root, node) for name, node in table["properties"].items()}
    for name, node in sorted(nodes.items(), key=lambda item: "properties" in item[1]):
        path = f"{prefix}{name}"
        yield path, node
        if "properties" in node:
            yield from _walk(root, node, f"{path}.")
        elif "properties" in (items := _resolved(root, node.get("items", {}))):
            yield from _walk(root, items, f"{path}[].")


def _resolved(root: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    return cast("dict[str, Any]", root["$defs"][node["$ref"].rpartition("/")[2]])


def _length(node: dict[str, Any]) -> str:
    least, most = node.get("minLength"), node.get("maxLength")
    if least is not None and most is not None:
        return f"of {least} to {most} characters"
    if least is not None:
        return f"of at least {least} character{'s' if least != 1 else ''}"
    return "" if most is None else f"of at most {most} characters"


def default_toml(language: Language = "en", *, only: Collection[str] = ()) -> str:
    """The text of `config/a_memorix.toml`: every setting, or `only` some, with its meaning, what is allowed, its cost and its
    default; comments are in `language`."""
    from tomlkit import item

    promise, last = ENDINGS[language]
    head = "\n\n".join(told(part, language) for part in (_HEAD, *([_SOME] if only else ()), _COSTS))
    lines = [f"# {line}".rstrip() for line in head.splitlines()] + ["#", promise]
    tables = sections()
    groups: dict[str, list[Setting]] = {path: [] for path in ("", *tables)}
    for setting in settings():
        if "[]" not in setting.path and (not only or setting.path in only):
            groups[setting.table].append(setting)
    for path, group in groups.items():
        if path and (group or not only):
            lines += ["", "", *_comment(told(tables[path], language)), f"[{path}]"]
        for one in group:
            costs = told(f"Allowed: {one.bounds}. Change: {one.reload}.", language)
            lines += ["", *_comment(told(one.description, language)), *_comment(costs)]
            lines.append(f"{one.path.rpartition('.')[2]} = {item(one.default).as_string()}")
    return "\n".join([*lines, "", "", last]) + "\n"


def _comment(text: str) -> list[str]:
    """Lines of at most 100 columns, as wide as a terminal shows them; Chinese may be broken anywhere but before a stop."""
    lines, width = [""], 0
    for word in re.findall(r"[\u4e00-\u9fff][，。；：、！？）”]*|[^\s\u4e00-\u9fff]+[，。；：、！？）”]*|\s+", text):
        wide = sum(1 + (east_asian_width(char) in "WF") for char in word)
        if width + wide > _COLUMNS and not word.isspace():
            lines.append("")
            width = 0
        lines[-1] += word
        width += wide
    return [f"# {line.strip()}" for line in lines]


def changes(old: Section, new: Section, prefix: str = "") -> dict[str, ReloadLevel]:
    """Dotted name of each setting that differs, with its reload level, in the order of the model."""
    found: dict[str, ReloadLevel] = {}
    for name, field in type(old).model_fields.items():
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, Section):
            found |= changes(before, after, f"{prefix}{name}.")
        elif before != after:
            found[f"{prefix}{name}"] = cast("dict[str, ReloadLevel]", field.json_schema_extra)["x-reload"]
    return found


def strongest(changed: Mapping[str, ReloadLevel]) -> ReloadLevel | None:
    """The costliest level among the changes (`restart` over `rebuild` over `live`); None if nothing changed."""
    return max(changed.values(), key=get_args(ReloadLevel).index, default=None)

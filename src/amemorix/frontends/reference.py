"""The reference page: every operation and every setting."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..config import settings
from ..host.operations import OPERATIONS
from ..ops import Operation
from .http.json_response import BASE_PATH
from .http.openapi import Shapes, shapes

__all__ = ["bounds", "default", "reference_page"]

PREFIX = "#/$defs/"
EFFECTS = {"read": "Reads.", "write": "Writes.", "destructive": "Deletes."}
_HEAD = f"""\
# Reference

Made from the table of operations and the settings; edit those, then run `scripts/generate`.

Every operation is called as `await host.invoke(component, arguments)`, as `POST {BASE_PATH}/component` (or
`{BASE_PATH}/component/action`), and as
`amemorix call component [action] --argument value` (or `amemorix invoke component --json '{{…}}'`). An action goes into the arguments as
`action`. Every answer has `success`; one that failed has `error`, `error_code` and `details`. An argument that is null
has its default; one that is not known is reported in `warnings`.
"""
_SETTINGS = """\
In `config/a_memorix.toml`. A change of a `live` setting applies to the next call; of a `rebuild` setting, a new model or index is built \
beside the old one, then they switch; of a `restart` setting, the store is opened anew, or the process has to be started again.
"""


def reference_page() -> str:
    found = shapes(OPERATIONS, PREFIX)
    every = sorted(OPERATIONS, key=lambda op: op.component)
    lines = [_HEAD, "## Operations\n"]
    summaries = [(f"[`{_title(op)}`](#{op.name})", op.effect, op.summary) for op in every]
    lines += _table(("operation", "effect", "what it does"), summaries)
    for op in every:
        lines += _operation(op, found)
    top = {*found.requests.values(), *found.responses.values()}
    referred = set(re.findall(re.escape(PREFIX) + r"(\w+)", json.dumps(found.definitions)))
    lines.append("## Records\n")
    for name, schema in found.definitions.items():
        if name not in top or name in referred:
            lines += [f'### <a id="{name.lower()}"></a>{name}\n', f"{schema.get('description', '')}\n"]
            lines += _table(("field", "type", "meaning"), _fields(schema))
    lines += ["## Settings\n", _SETTINGS]
    rows = [(f"`{s.path}`", default(s.default), s.bounds, s.reload, s.description) for s in settings()]
    lines += _table(("setting", "default", "allowed", "change", "meaning"), rows)
    return "\n".join(lines).rstrip() + "\n"


def _operation(op: Operation, found: Shapes) -> Iterator[str]:
    yield f'### <a id="{op.name}"></a>`{_title(op)}`\n'
    older = f" Older names of the action: {', '.join(f'`{name}`' for name in op.aliases)}." if op.aliases else ""
    others = [f"`{name}`" for name, component in OPERATIONS.older_names.items() if component == op.component]
    older += f" Older names of the component: {', '.join(others)}." if others else ""
    yield f"{op.summary} {EFFECTS[op.effect]}{older}\n"
    request = found.definitions[found.requests[op.name]]
    required = request.get("required", [])
    arguments: list[tuple[str, ...]] = []
    for name, node in request.get("properties", {}).items():
        given = "required" if name in required else default(node.get("default"))
        arguments.append((f"`{name}`", _type(node), given, node.get("description", "")))
    if arguments:
        yield from _table(("argument", "type", "default", "meaning"), arguments)
    else:
        yield "No arguments.\n"
    yield "Answer:\n"
    yield from _table(("field", "type", "meaning"), _fields(found.definitions[found.responses[op.name]]))


def _title(op: Operation) -> str:
    return op.component if op.action is None else f"{op.component} {op.action}"


def _fields(schema: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (f"`{name}`", _type(node), node.get("description", "")) for name, node in schema.get("properties", {}).items()
    ]


def _type(node: dict[str, Any]) -> str:
    if "$ref" in node:
        name = node["$ref"].removeprefix(PREFIX)
        return f"[{name}](#{name.lower()})"
    if "enum" in node or "const" in node:
        return " or ".join(f'`"{value}"`' for value in node.get("enum", [node.get("const")]))
    if "anyOf" in node:
        return " or ".join(_type(choice) for choice in node["anyOf"] if choice.get("type") != "null")
    if node.get("type") == "array":
        return f"list of {_type(node.get('items', {}))}{bounds(node)}"
    return f"{node.get('type', 'anything')}{bounds(node)}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def bounds(node: dict[str, Any]) -> str:
    """Such as `, 1 to 200`; empty without bounds."""
    least = node.get("minimum", node.get("minLength", node.get("minItems")))
    most = node.get("maximum", node.get("maxLength", node.get("maxItems")))
    unit = " characters" if "maxLength" in node or "minLength" in node else ""
    unit = " entries" if "maxItems" in node or "minItems" in node else unit
    if least is None and most is None:
        return ""
    if least is None or most is None:
        return f", at least {least}{unit}" if most is None else f", at most {most}{unit}"
    return f", {least} to {most}{unit}"


def default(value: Any) -> str:
    """A default as code; empty for none."""
    return "" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"

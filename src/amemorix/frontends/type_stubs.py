"""What type checkers and editors know of `call`: the arguments and the answer of every operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from ..host.operations import OPERATIONS
from ..ops import Operation
from .http.openapi import Shapes, shapes

__all__ = ["call_overloads", "operation_types"]

PREFIX = "#/$defs/"
MOMENT = ["float", "str", "None"]
"""What a time is in JSON; in Python it may be a date too."""
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_TYPES = '''\
# Made from the table of operations; edit that, then run `scripts/generate`.
# fmt: off
"""Arguments and answers of the operations, as typed dictionaries named as in the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, Required, TypedDict

__all__ = [
    "Moment",
'''
_MOMENT = '''\
]

Moment = float | str | date | None
"""Epoch seconds, a date, ISO 8601, or words such as `yesterday` and `上周三`."""
'''
_OVERLOADS = """\
# Made from the table of operations; edit that, then run `scripts/generate`.
# fmt: off
# One overload for each operation; the last is for a component whose name is known at run time only.
from collections.abc import Mapping
from typing import Any, Literal, Unpack, overload

from ... import operation_types as records
"""


def operation_types() -> str:
    """A module of one TypedDict for each request, response and record."""
    found = _shapes()
    given = _reached(found, found.requests.values())
    lines = [_TYPES, *(f'    "{name}",\n' for name in found.definitions), _MOMENT]
    for name, schema in found.definitions.items():
        lines += _record(name, schema, given=name in given)
    return "".join(lines)


def call_overloads() -> str:
    """A stub with `call` as `Memory` and `Client` have it, and as those have it that are awaited."""
    lines = [_OVERLOADS]
    for name, definition in (("TypedCalls", "def"), ("AsyncTypedCalls", "async def")):
        lines.append(f"\nclass {name}:\n")
        for op in OPERATIONS:
            lines += _overload(op, definition)
        by_name = "component: str, arguments: Mapping[str, Any], /"
        lines += _signature(
            definition, by_name, "dict[str, Any]", "Call any operation; the error that it answers is raised."
        )
    return "".join(lines)


@cache
def _shapes() -> Shapes:
    return shapes(OPERATIONS, PREFIX)


def _reached(found: Shapes, names: Iterable[str]) -> set[str]:
    """These definitions, and those that they refer to."""
    reached: set[str] = set()
    waiting = [*names]
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting += _references(found.definitions[name])
    return reached


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from [value.removeprefix(PREFIX)] if key == "$ref" else _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _record(name: str, schema: dict[str, Any], *, given: bool) -> Iterator[str]:
    """An answer has every key; of what is given only the required ones have to be there."""
    yield f"\n\nclass {name}(TypedDict{', total=False' * given}):\n"
    yield f'    """{schema.get("description", "No description.")}"""\n'
    required = schema.get("required", [])
    for field, node in schema.get("properties", {}).items():
        kind = _type(node, given=given)
        yield f"    {field}: {f'Required[{kind}]' if given and field in required else kind}\n"


def _type(node: dict[str, Any], *, given: bool) -> str:
    kinds = list(dict.fromkeys(_kinds(node, given=given)))
    return "Moment" if given and kinds == MOMENT else " | ".join(kinds)


def _kinds(node: dict[str, Any], *, given: bool) -> Iterator[str]:
    """What a value may be."""
    kind = node.get("type", "")
    if "$ref" in node:
        name = str(node["$ref"]).removeprefix(PREFIX)
        schema = _shapes().definitions[name]
        yield name
        if schema.get("additionalProperties"):
            yield "Mapping[str, Any]"
        if isinstance(schema["type"], list):
            yield from (SCALARS[one] for one in schema["type"] if one in SCALARS)
    elif "enum" in node or "const" in node:
        yield f"Literal[{', '.join(map(repr, node.get('enum', [node.get('const')])))}]"
    elif "anyOf" in node:
        for one in node["anyOf"]:
            yield from _kinds(one, given=given)
    elif kind == "array" and given:
        items = _kinds(node.get("items", {}), given=given)
        yield from ("list[str]" if one == "str" else f"Sequence[{one}]" for one in items)  # a str is a sequence of them
    elif kind == "array":
        yield f"list[{_type(node.get('items', {}), given=given)}]"
    elif kind == "object":
        value = node.get("additionalProperties", True)
        inner = _type(value, given=given) if isinstance(value, dict) else "Any"
        yield f"{'Mapping' if given else 'dict'}[str, {inner}]"
    else:
        yield from (SCALARS.get(one, "Any") for one in (kind if isinstance(kind, list) else [kind]))


def _overload(op: Operation, definition: str) -> Iterator[str]:
    found = _shapes()
    request = found.requests[op.name]
    older = [name for name, now in OPERATIONS.older_names.items() if now == op.component]
    parts = [f"component: Literal[{', '.join(map(repr, [op.component, *older]))}], /"]
    if op.action is not None:
        parts.append(f"*, action: Literal[{', '.join(map(repr, op.actions))}]")
    if found.definitions[request].get("properties"):
        parts.append(f"**arguments: Unpack[records.{request}]")
    yield from _signature(definition, ", ".join(parts), f"records.{found.responses[op.name]}", op.summary)


def _signature(definition: str, parameters: str, answer: str, summary: str) -> Iterator[str]:
    yield "    @overload\n"
    yield f"    {definition} call(self, {parameters}) -> {answer}:\n"
    yield f'        """{summary}"""\n'

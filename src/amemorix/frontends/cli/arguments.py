"""An operation's arguments as words on a command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidRequest
from ...ops import Operation
from ..schema_words import bounds, default

__all__ = ["Argument", "arguments"]

WORDS = {"integer": "INTEGER", "number": "NUMBER", "object": "JSON", "array": "JSON", "string": "TEXT"}
STRUCTURED = frozenset({"object", "array"})
NUMBERS = frozenset({"integer", "number", "null"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: how it is written, and what it means."""

    name: str
    spellings: tuple[str, ...]
    """`--chat-id`, and the older names."""
    kinds: frozenset[str]
    """JSON types that a single value may have; empty for any."""
    is_flag: bool
    is_list: bool
    metavar: str
    help: str

    def value(self, given: Any) -> Any:
        """What the memory is handed. Raises InvalidRequest for what begins as JSON and is none."""
        if self.is_flag:
            return given
        return [self._one(text) for text in given] if self.is_list else self._one(given)

    def _one(self, text: str) -> Any:
        """An object or a list where one may stand, a number where no text may; else the text, for the memory to judge."""
        if text.lstrip()[:1] in ("{", "[") and (not self.kinds or self.kinds & STRUCTURED):
            return _json(self.spellings[0], self.name, text)
        return _number(text) if self.kinds and self.kinds <= NUMBERS else text


def arguments(op: Operation) -> list[Argument]:
    """In the order of the request model."""
    document = op.request.model_json_schema()
    required = document.get("required", [])
    return [
        _argument(op, name, node, document, name in required) for name, node in document.get("properties", {}).items()
    ]


def _argument(op: Operation, name: str, node: dict[str, Any], document: dict[str, Any], required: bool) -> Argument:
    found = [choice for choice in _choices(node, document) if choice.get("type") != "null"]
    lists = [choice for choice in found if choice.get("type") == "array"]
    single = _choices(lists[0].get("items", {}), document) if lists else found
    kinds = frozenset(kind for choice in single for kind in _types(choice))
    told = [node.get("description", ""), f"({_limits(node, found, required)})"]
    return Argument(
        name,
        _spellings(op, name),
        kinds,
        is_flag=kinds == frozenset({"boolean"}) and not lists,
        is_list=bool(lists),
        metavar=_metavar(single),
        help=" ".join(text for text in told if text not in ("", "()")),
    )


def _spellings(op: Operation, name: str) -> tuple[str, ...]:
    older = getattr(op.request.model_fields[name].validation_alias, "choices", [])
    names = dict.fromkeys([name, *(choice for choice in older if isinstance(choice, str))])
    return tuple(f"--{one.replace('_', '-')}" for one in names)


def _choices(node: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas that a value may follow, without references."""
    if "$ref" in node:
        return _choices(document["$defs"][node["$ref"].removeprefix("#/$defs/")], document)
    return [inner for choice in node["anyOf"] for inner in _choices(choice, document)] if "anyOf" in node else [node]


def _types(node: dict[str, Any]) -> Sequence[str]:
    kind = node.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _metavar(choices: list[dict[str, Any]]) -> str:
    words = [
        "|".join(map(str, choice["enum"])) if "enum" in choice else WORDS.get(kind, "")
        for choice in choices
        for kind in _types(choice)
    ]
    return "|".join(dict.fromkeys(word for word in words if word)) or "TEXT|JSON"


def _limits(node: dict[str, Any], choices: list[dict[str, Any]], required: bool) -> str:
    said = ["required"] if required else []
    said += ["repeatable"] if any(choice.get("type") == "array" for choice in choices) else []
    said += [words.removeprefix(", ") for words in map(bounds, choices) if words]
    said += [f"default {default(node['default'])}"] if node.get("default") not in (None, "", [], {}) else []
    return "; ".join(said)


def _json(spelling: str, name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidRequest(f"{spelling} is not valid JSON: {exc}.", field=name) from exc


def _number(text: str) -> Any:
    try:
        number = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return number if isinstance(number, int | float) and not isinstance(number, bool) else text

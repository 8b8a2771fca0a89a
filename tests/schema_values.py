"""Values made from the JSON Schema of a request: the smallest that fits, any that fits, and what nearly fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["EXTREMES", "extremes", "fitting", "nearly_fitting", "smallest"]

Schema = dict[str, Any]
Known = Mapping[str, Sequence[Any]]
"""Argument name -> values that mean something to the memory under test."""
LONGEST_LIST = 6


def nested(depth: int) -> Any:
    """Lists and objects within each other."""
    value: Any = "deep"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


EXTREMES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 10**5000, -0.0, 1e-320, 1e308,
    -1e308, float("nan"), float("inf"), float("-inf"), "", " ", "\u3000", "NaN", "Infinity", "-1", "1e400", "9" * 5000,
    "\0", "a\0b", "\ud800", "\udfff\ud800", "\ud83d\ude00", "\u202eabc", "\ufeff", "\u200b", "e\u0301" * 50, "x" * 300, "伞" * 100, "a/" * 400, "a.b/c", "~nobody/x", "~", "[", "**/**", "x" * 100_000,
    "伞" * 20_000, "a b " * 30_000, "%s%n{0}$(x)`y`", "'; drop table paragraphs; --", "../../etc/passwd", "*", "p1", "P1", "p0", "p-1",
    "p99999999999999999999", "r1", "e1", "n1", "f1", "2023-02-30", "0000-00-00", "999999-01-01", "昨天", "true", "null", "{}", "[]",
    b"bytes", (), (1, 2), {1, 2}, object, [], {}, [None], [[]], [{}], {"": ""}, {"\ud800": "\udfff"}, {1: 2}, ["x"] * 20_000, [{}] * 5_000,
    nested(60), nested(3000), {"a": nested(150)},
)  # fmt: skip


def extremes() -> st.SearchStrategy[Any]:
    """Any of them; drawn by number, since some have no text form."""
    return st.integers(0, len(EXTREMES) - 1).map(lambda index: EXTREMES[index])


def smallest(schema: Schema, known: Known | None = None) -> Any:
    """Only what is required, in its first choice or its least; a known value where there is one."""
    return _Reader(schema, known or {}).smallest(schema, "")


def fitting(schema: Schema, known: Known | None = None) -> st.SearchStrategy[Any]:
    """Anything that the schema allows, with known values often; lists stay short."""
    return _Reader(schema, known or {}).fitting(schema, "")


@st.composite
def nearly_fitting(draw: st.DrawFn, schema: Schema, known: Known | None = None) -> dict[str, Any]:
    """What fits, with one or two arguments put wrong, left out, or given under a name that is not theirs."""
    args = dict(draw(fitting(schema, known)))
    names = sorted(schema.get("properties", {})) or ["nothing"]
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(names))
        match draw(st.sampled_from(["odd", "odd", "odd", "within", "out", "misspelt"])):
            case "odd":
                args[name] = draw(extremes())
            case "within":
                args[name] = _spoilt(draw, args.get(name))
            case "out":
                args.pop(name, None)
            case _:
                args[f"{name}s"] = args.pop(name, 1)
    return args


def _spoilt(draw: st.DrawFn, value: Any) -> Any:
    """The value with something odd inside it."""
    odd = draw(extremes())
    if isinstance(value, list):
        return [*value, odd]
    if isinstance(value, dict) and value:
        return {**value, draw(st.sampled_from(sorted(value, key=repr))): odd}
    return [odd]


class _Reader:
    """Reads one document's schemas."""

    def __init__(self, document: Schema, known: Known) -> None:
        self._document = document
        self._known = known

    def smallest(self, schema: Schema, name: str) -> Any:
        node = self._resolved(schema)
        if self._known.get(name):
            return self._known[name][0]
        if "anyOf" in node:
            return self.smallest(node["anyOf"][0], name)
        if values := _choices(node):
            return values[0]
        match _kind(node):
            case "object":
                inner = node.get("properties", {})
                return {key: self.smallest(inner[key], key) for key in node.get("required", [])}
            case "array":
                return [self.smallest(node.get("items", {}), "") for _ in range(node.get("minItems", 0))]
            case "integer" | "number":
                return _least(node)
            case "boolean":
                return False
            case "null":
                return None
            case _:
                return "x" * max(1, node.get("minLength", 1))

    def fitting(self, schema: Schema, name: str) -> st.SearchStrategy[Any]:
        node = self._resolved(schema)
        some = st.sampled_from(list(self._known[name])) if self._known.get(name) else None
        any_ = self._any(node)
        return any_ if some is None else some | some | any_

    def _any(self, node: Schema) -> st.SearchStrategy[Any]:
        if "anyOf" in node:
            return st.one_of(*(self.fitting(choice, "") for choice in node["anyOf"]))
        if values := _choices(node):
            return st.sampled_from(values)
        kind = node.get("type")
        if isinstance(kind, list):
            return st.one_of(*(self._any({**node, "type": one}) for one in kind))
        match kind:
            case "object":
                return self._object(node)
            case "array":
                return self._array(node)
            case "integer":
                return st.integers(node.get("minimum"), node.get("maximum")) | st.just(_least(node))
            case "number":
                return _number(node)
            case "boolean":
                return st.booleans()
            case "null":
                return st.none()
            case "string":
                return _text(node)
            case _:
                return st.recursive(
                    st.none() | st.booleans() | st.integers() | _text({}),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text({}), inner, max_size=3),
                    max_leaves=6,
                )

    def _object(self, node: Schema) -> st.SearchStrategy[Any]:
        inner, required = node.get("properties", {}), set(node.get("required", []))
        extra = node.get("additionalProperties")
        if not inner and extra:
            keys = _text(node.get("propertyNames", {}))
            return st.dictionaries(keys, self.fitting(extra if isinstance(extra, dict) else {}, ""), max_size=3)
        parts = {name: self.fitting(part, name) for name, part in inner.items()}
        return st.fixed_dictionaries(
            {name: part for name, part in parts.items() if name in required},
            optional={name: part for name, part in parts.items() if name not in required},
        )

    def _array(self, node: Schema) -> st.SearchStrategy[Any]:
        least = node.get("minItems", 0)
        most = min(node.get("maxItems", LONGEST_LIST), max(LONGEST_LIST, least))
        return st.lists(self.fitting(node.get("items", {}), ""), min_size=least, max_size=most)

    def _resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        if reference is None:
            return _spread(schema)
        node: Any = self._document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        return _spread(node)


def _spread(node: Schema) -> Schema:
    """An object of which one argument or another is required, as the objects that it may be."""
    if "anyOf" not in node or "properties" not in node:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {
        "anyOf": [
            {
                **rest,
                "required": [*node.get("required", []), *one.get("required", [])],
                "properties": {
                    name: {**part, **one.get("properties", {}).get(name, {})}
                    for name, part in node["properties"].items()
                },
            }
            for one in node["anyOf"]
        ]
    }


def _kind(node: Schema) -> str | None:
    kind = node.get("type")
    return kind[0] if isinstance(kind, list) else kind


def _choices(node: Schema) -> list[Any]:
    return [node["const"]] if "const" in node else node.get("enum", [])


def _least(node: Schema) -> Any:
    if "exclusiveMinimum" in node:
        return node["exclusiveMinimum"] + 1
    return node.get("minimum", 0)


def _number(node: Schema) -> st.SearchStrategy[Any]:
    low, high = node.get("exclusiveMinimum", node.get("minimum")), node.get("maximum")
    bounds = {"min_value": low, "max_value": high}
    left_out = "exclusiveMinimum" in node
    return st.floats(**bounds, exclude_min=left_out, allow_nan=False, allow_infinity=False) | st.just(_least(node))


def _text(node: Schema) -> st.SearchStrategy[str]:
    least, most = node.get("minLength", 0), node.get("maxLength")
    words = [
        text
        for text in ("kite", "风筝", "Hannah", "周宁", "住在北京", "a\nb", "🎂")
        if least <= len(text) <= (most or 99)
    ]
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    free = st.text(letters, min_size=least, max_size=min(most or 60, least + 60))
    return st.sampled_from(words) | free if words else free

"""What is wrong with the tables of a configuration, in words."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import cache
from typing import Any, cast

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from .document import KeyPath, Problem, dotted
from .schema import allowed, config_schema, sections, settings
from .section import NO_VARIABLE

__all__ = ["find_problems"]

_NEAR = 0.75
"""Least likeness of a known name that is worth suggesting."""
_SAME_TABLE = 0.2
"""How much a name of the same table is preferred to one of another table."""
_LONGEST_SHOWN = 80


def find_problems(tables: dict[str, Any]) -> list[Problem]:
    """Every problem, one for each setting; an empty list if the tables fit the schema."""
    found: dict[KeyPath, Problem] = {}
    for error in _validator().iter_errors(tables):
        for problem in _problems(error):
            found.setdefault(problem.path, problem)
    return list(found.values())


@cache
def _validator() -> Draft202012Validator:
    def is_finite_number(_: TypeChecker, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

    types = Draft202012Validator.TYPE_CHECKER.redefine("number", is_finite_number)
    return extend(Draft202012Validator, type_checker=types)(config_schema())


def _problems(error: ValidationError) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    schema = cast("dict[str, Any]", error.schema)
    if error.validator == "required":
        yield Problem(path, f"{dotted(path)}: {error.message}")
        return
    if path and str(path[-1]).endswith("_env"):
        yield Problem(path, f"{dotted(path)}: {NO_VARIABLE}")
        return
    if error.validator != "additionalProperties":
        value, kind, hint = error.instance, schema.get("type"), ""
        if isinstance(value, date | time) and "string" in (kind, schema.get("items", {}).get("type")):
            hint = " (put it in quotes)"
        elif isinstance(value, str) and kind in {"boolean", "integer", "number"}:
            hint = " (write it without quotes)"
        yield Problem(path, f"{dotted(path)} is {_shown(value)}; allowed: {allowed(schema)}{hint}", _plain(value))
        return
    for key in cast("dict[str, Any]", error.instance):
        if key not in schema["properties"]:
            yield Problem((*path, key), _unknown(path, key))


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'the string "{_cut(value)}"'
        case datetime() | date() | time():
            return f"the date {value.isoformat()}"
        case dict():
            return "a table"
        case list():
            return "an array"
        case _:
            return repr(value)


def _plain(value: Any) -> str | int | float | bool | None:
    match value:
        case str():
            return _cut(value)
        case bool():
            return value
        case int() | float():
            return value if math.isfinite(value) else repr(value)
        case datetime() | date() | time():
            return value.isoformat()
        case _:
            return None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _unknown(table: KeyPath, key: str) -> str:
    """The value is not repeated: it may be a secret that was put in the wrong place."""
    here = ".".join(str(part) for part in table if isinstance(part, str))
    inside = f"{here}[]" if table and isinstance(table[-1], int) else here
    word = _cut(key).lower().replace("-", "_")

    def likeness(path: str) -> float:
        parent, _, name = path.rpartition(".")
        return difflib.SequenceMatcher(None, word, name).ratio() + _SAME_TABLE * (parent == inside)

    near = max(_known(), key=likeness)
    known = [path.rpartition(".")[2] for path in _known() if path.rpartition(".")[0] == inside]
    hint = f"did you mean {near}" if likeness(near) >= _NEAR else f"known here: {', '.join(known)}"
    return f"{dotted((*table, _cut(key)))} is not a setting; {hint}"


@cache
def _known() -> tuple[str, ...]:
    return (*(setting.path for setting in settings()), *sections())

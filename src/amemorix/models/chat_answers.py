"""The reading of a chat model's words as an object of a given shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

from ..lazy_regex import lazy_regex

__all__ = ["Misfit", "read_object", "shape_in_words"]

_THINKING = lazy_regex(r"<think(?:ing)?>.*?</think(?:ing)?>", re.S | re.I)
_FENCE = lazy_regex(r"```[\w-]*[ \t]*\n(.*?)```", re.S)
_LONGEST_PROBLEM = 500


class Misfit(ValueError):
    """The answer is not the object that was asked for; its text quotes nothing of the answer, `problem` may."""

    def __init__(self, message: str, problem: str = "") -> None:
        super().__init__(message)
        self.problem = (problem or message)[:_LONGEST_PROBLEM]


def read_object(answer: str | Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The object in an answer, valid against the schema. Raises Misfit.

    Thoughts in `<think>` tags, code fences and words around the object are passed over; half a surrogate pair, which JSON
    may hold and nothing can store, becomes a question mark.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    found = dict(answer) if isinstance(answer, Mapping) else _parsed(answer)
    error = best_match(Draft202012Validator(schema).iter_errors(found))
    if error is not None:
        raise Misfit(
            f"it breaks the rule `{error.validator}` at {error.json_path}", f"{error.json_path}: {error.message}"
        )
    return _storable(found)


def shape_in_words(schema: Mapping[str, Any]) -> str:
    """The instruction to answer with an object of this shape."""
    shape = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must be valid against this JSON Schema:\n{shape}"


def _parsed(text: str) -> dict[str, Any]:
    for candidate in _candidates(_THINKING.sub("", text).strip()):
        try:
            found = json.loads(candidate, parse_constant=_refuse)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise Misfit("it is no JSON object")


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_storable(key): _storable(one) for key, one in cast(Mapping[Any, Any], value).items()}
    return [_storable(one) for one in cast(list[Any], value)] if isinstance(value, list) else value


def _candidates(text: str) -> Iterator[str]:
    """What may be the object: all of it, what is fenced, and what stands between the outermost braces."""
    yield text
    yield from _FENCE.findall(text)
    yield text[text.find("{") : text.rfind("}") + 1]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")

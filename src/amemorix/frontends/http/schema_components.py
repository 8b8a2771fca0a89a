"""The JSON Schemas of every request and response, over definitions that they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ...ops import Operation

Model = tuple[type[BaseModel], Literal["validation", "serialization"]]

__all__ = ["Shapes", "shapes"]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Where each operation's models are defined."""

    requests: dict[str, str]
    """Operation name → name of the definition."""
    responses: dict[str, str]
    definitions: dict[str, dict[str, Any]]
    """In alphabetical order; they refer to each other by the prefix that was asked for."""


def shapes(operations: Iterable[Operation], prefix: str) -> Shapes:
    """Collect the schemas; a reference reads `<prefix>NAME`."""
    every = list(operations)
    models: list[Model] = [model for op in every for model in _models(op)]
    places, whole = models_json_schema(models, ref_template=f"{prefix}{{model}}")
    names = {key: str(place["$ref"]).removeprefix(prefix) for key, place in places.items()}
    return Shapes(
        requests={op.name: names[op.request, "validation"] for op in every},
        responses={op.name: names[op.response, "serialization"] for op in every},
        definitions=dict(sorted(whole["$defs"].items())),
    )


def _models(op: Operation) -> tuple[Model, Model]:
    return (op.request, "validation"), (op.response, "serialization")

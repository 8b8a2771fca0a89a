"""What version 0.1.0 offered is still offered: every component, action, argument, answer field and setting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import generated
from amemorix.host.operations import OPERATIONS

KEPT: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data").joinpath("contract_0_1_0.json").read_text("utf-8")
)
"""Read out of the models of 0.1.0; what goes on purpose leaves this file, and the CHANGELOG says so."""
NOW = {op.name: op for op in OPERATIONS}


def paths(schema: dict[str, Any], defs: dict[str, Any], within: tuple[str, ...] = ()) -> set[str]:
    """The dotted names of every field that a JSON Schema describes."""
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        return set() if name in within else paths(defs[name], defs, (*within, name))
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in schema.get(key, [])]
    parts += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    found = {path for part in parts for path in paths(part, defs, within)}
    if isinstance(schema.get("additionalProperties"), dict):
        found |= {f"*.{path}" for path in paths(schema["additionalProperties"], defs, within)}
    for name, inner in schema.get("properties", {}).items():
        found |= {name, *(f"{name}.{path}" for path in paths(inner, defs, within))}
    return found


def fields(schema: dict[str, Any]) -> set[str]:
    return paths(schema, schema.get("$defs", {}))


@pytest.mark.parametrize("name", KEPT["operations"])
def test_an_operation_takes_and_answers_what_it_did(name: str) -> None:
    kept, op = KEPT["operations"][name], NOW[name]
    assert op.component == kept["component"]
    assert sorted(set(kept["actions"]) - set(op.actions)) == []
    assert sorted(set(kept["arguments"]) - op.request.known_keys()) == []
    assert sorted(set(kept["nested"]) - fields(op.request.model_json_schema())) == []
    assert sorted(set(kept["answer"]) - fields(op.response.model_json_schema(mode="serialization"))) == []


def test_a_component_still_goes_by_its_older_name() -> None:
    assert set(KEPT["older_names"].items()) <= set(OPERATIONS.older_names.items())


def test_every_setting_is_there() -> None:
    schema = json.loads(generated.generated_files()["schemas/config_schema.json"])
    assert sorted(set(KEPT["settings"]) - fields(schema)) == []

"""What version 0.1.0 offered is still offered: every component, action, argument, answer field and setting."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import amemorix
from amemorix import generated
from amemorix.errors import UnknownComponent
from amemorix.host.operations import MODULES, OPERATIONS
from amemorix.ops import Operations

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


def test_an_action_may_be_written_in_capitals_and_with_spaces_around() -> None:
    assert OPERATIONS.resolve("memory_source_admin", {"action": " LIST "})[0].action == "list"


def test_what_is_not_there_is_told_with_what_is() -> None:
    with pytest.raises(UnknownComponent) as wrong:
        OPERATIONS.resolve("memory_fuzzy_admin", {})
    assert wrong.value.details["known"] == OPERATIONS.components()
    with pytest.raises(UnknownComponent) as wrong:
        OPERATIONS.resolve("memory_fuzzy_modify_admin", {"action": "undo"})
    assert wrong.value.details["allowed"] == OPERATIONS.actions("memory_correction_admin")


def test_each_operation_is_named_once_and_says_what_it_does() -> None:
    names = [op.name for op in OPERATIONS]
    assert len(names) == len(set(names))
    for op in OPERATIONS:
        assert op.summary.endswith("."), op.name
        assert op.response().warnings == []
        assert not set(op.aliases) & {other.action for other in OPERATIONS if other.component == op.component}
    assert not set(OPERATIONS.older_names) & set(OPERATIONS.components())


def test_every_component_is_where_the_table_looks_for_it() -> None:
    found: dict[str, set[str]] = {}
    for info in walk_packages(amemorix.__path__, "amemorix."):
        table = getattr(import_module(info.name), "ops", None)
        for component in table.components() if isinstance(table, Operations) else ():
            found.setdefault(component, set()).add(info.name.removeprefix("amemorix."))
    assert {component: set(modules) for component, modules in MODULES.items()} == found

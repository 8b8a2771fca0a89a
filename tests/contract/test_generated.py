"""The checked-in files that are made from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY as SPECIFICATIONS

from amemorix.config import settings
from amemorix.frontends.http.openapi import openapi_document
from amemorix.frontends.reference import reference_page
from amemorix.generated import generated_files, main, stale_files, write_generated
from amemorix.host.operations import OPERATIONS

ROOT = Path(__file__).parents[2]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(document: Any, reference: str) -> Any:
    node = document
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node


def test_the_files_are_current() -> None:
    assert stale_files(ROOT) == [], "run scripts/generate"


def test_writing_brings_missing_changed_and_left_over_files_up_to_date(tmp_path: Path) -> None:
    write_generated(tmp_path)
    assert stale_files(tmp_path) == []
    (tmp_path / "schemas" / "reference.md").unlink()
    (tmp_path / "schemas" / "openapi.json").write_text("{}", "utf-8")
    left_over = tmp_path / "schemas" / "components" / "gone_admin.json"
    left_over.write_text("{}", "utf-8")
    expected = ["schemas/components/gone_admin.json", "schemas/openapi.json", "schemas/reference.md"]
    assert stale_files(tmp_path) == expected
    assert write_generated(tmp_path) == expected
    assert stale_files(tmp_path) == []
    assert not left_over.exists()


def test_the_command_names_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    assert capsys.readouterr().out.split() == sorted(generated_files())
    main([str(tmp_path)])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("component", OPERATIONS.components())
def test_each_component_has_a_valid_schema(component: str) -> None:
    schema = json.loads(generated_files()[f"schemas/components/{component}.json"])
    Draft202012Validator.check_schema(schema)
    for reference in references(schema):
        assert resolve(schema, reference)


KEYWORDS = frozenset(Draft202012Validator.META_SCHEMA["properties"]) | {
    key for part in ("core", "applicator", "validation", "meta-data", "format-annotation", "content")
    for key in SPECIFICATIONS.contents(f"https://json-schema.org/draft/2020-12/meta/{part}")["properties"]
}  # fmt: skip


def strange_keywords(schema: dict[str, Any]) -> Iterator[str]:
    """Keys that no validator knows, and so passes over."""
    yield from (key for key in schema if key not in KEYWORDS and not key.startswith("x-"))
    for named in ("properties", "$defs"):
        for inner in schema.get(named, {}).values():
            yield from strange_keywords(inner)
    for listed in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(listed, []):
            yield from strange_keywords(inner)
    for single in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(single), dict):
            yield from strange_keywords(schema[single])


@pytest.mark.parametrize("component", OPERATIONS.components())
def test_each_component_schema_says_only_what_validators_know(component: str) -> None:
    assert list(strange_keywords(OPERATIONS.json_schema(component))) == []


def test_a_component_schema_accepts_what_the_component_accepts() -> None:
    schema = json.loads(generated_files()["schemas/components/memory_source_admin.json"])
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"action": "delete", "source": "note:c"})
    assert not validator.is_valid({"action": "delete"})
    assert not validator.is_valid({"source": "note:c"})


def test_openapi_refers_only_to_what_it_defines() -> None:
    document = openapi_document()
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    assert all(resolve(document, reference) for reference in references(document))


def test_each_model_of_openapi_has_a_name_of_its_own() -> None:
    """Two of one name would be told apart by the names of their modules, or by `-Input` and `-Output`."""
    assert not [name for name in openapi_document()["components"]["schemas"] if "__" in name or "-" in name]


def test_openapi_names_each_operation_once() -> None:
    names = [entry["operationId"] for path in openapi_document()["paths"].values() for entry in path.values()]
    assert len(names) == len(set(names))


def test_the_reference_names_every_operation_argument_and_setting() -> None:
    page = reference_page()
    for op in OPERATIONS:
        title = op.component if op.action is None else f"{op.component} {op.action}"
        assert f"`{title}`\n" in page
        assert op.summary in page
        for name in op.aliases:
            assert f"`{name}`" in page
        for argument in op.request.model_fields:
            assert f"| `{argument}` |" in page
    for name in OPERATIONS.older_names:
        assert f"`{name}`" in page
    for setting in settings():
        assert f"| `{setting.path}` |" in page


def test_every_operation_and_alias_is_in_the_schemas() -> None:
    files = {name: json.loads(text) for name, text in generated_files().items() if name.endswith(".json")}
    paths = files["schemas/openapi.json"]["paths"]
    for op in OPERATIONS:
        schema = files[f"schemas/components/{op.component}.json"]
        if op.action is None:
            assert set(schema["properties"]) == set(op.request.model_fields)
            assert f"/api/webui/memory/{op.component}" in paths
        else:
            variants = schema.get("oneOf", [schema])
            (own,) = (one for one in variants if op.action in one["properties"]["action"]["enum"])
            assert own["properties"]["action"]["enum"] == list(op.actions)
            assert set(own["properties"]) == {*op.request.model_fields, "action"}
            assert f"/api/webui/memory/{op.component}/{op.action}" in paths


def test_links_of_the_reference_lead_somewhere() -> None:
    page = reference_page()
    targets = {part.split(")")[0] for part in page.split("](#")[1:]}
    assert targets
    for target in targets:
        assert f'<a id="{target}"></a>' in page

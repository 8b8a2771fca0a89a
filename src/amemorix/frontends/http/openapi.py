"""The OpenAPI description of the HTTP front door."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ...facades.rooms.models import LONGEST_ID, LONGEST_ROOM, MemoryEntry
from ...host.operations import OPERATIONS
from ...locale import Language, told
from ...ops import Operation
from ...version import __version__
from .events import EVENTS_PATH, PARAMETERS
from .json_response import BASE_PATH, UPLOAD_PATH
from .rooms import ROOMS_CALLS, ROOMS_PATH

__all__ = ["Shapes", "openapi_document", "shapes"]

PREFIX = "#/components/schemas/"
FAULTS = {
    "400": "The arguments do not fit.", "401": "A token is needed.", "403": "The caller may not.",
    "404": "No component, action or thing has that name.",
    "409": "The store is not in the state that the call needs.", "413": "The body or a text is over its limit.",
    "500": "It failed inside.", "503": "The memory or its model is not ready.",
    "504": "It took longer than `timeout_ms`.",
}  # fmt: skip
FAULT = {"$ref": f"{PREFIX}Fault"}
FAULT_SCHEMA = {
    "type": "object",
    "description": "What went wrong.",
    "required": ["success", "error", "error_code", "details"],
    "properties": {
        "success": {"const": False},
        "error": {"type": "string", "description": "A sentence for a person."},
        "error_code": {"type": "string", "description": "A stable name for a program."},
        "details": {"type": "object", "description": "Such as `field`, `allowed`, `problems`."},
    },
}
TIMEOUT = {
    "name": "timeout_ms",
    "in": "query",
    "required": False,
    "description": "Give up waiting after so many milliseconds.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999_999},
}


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
    models: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = []
    for op in every:
        models.append((op.request, "validation"))
        models.append((op.response, "serialization"))
    places, whole = models_json_schema(models, ref_template=f"{prefix}{{model}}")
    names = {key: str(place["$ref"]).removeprefix(prefix) for key, place in places.items()}
    return Shapes(
        requests={op.name: names[op.request, "validation"] for op in every},
        responses={op.name: names[op.response, "serialization"] for op in every},
        definitions=dict(sorted(whole["$defs"].items())),
    )


def openapi_document(language: Language = "en") -> dict[str, Any]:
    """OpenAPI 3.1: one path for each operation, one for each component that takes the action in its body.

    In another language are the summaries, and what is said of arguments.
    """
    every = list(OPERATIONS)
    found = shapes(every, PREFIX)
    paths: dict[str, Any] = {}
    for component in OPERATIONS.components():
        ops = [op for op in every if op.component == component]
        if ops[0].action is not None:
            paths[f"{BASE_PATH}/{component}"] = {"post": _by_body(component, ops, found)}
        for op in ops:
            path = f"{BASE_PATH}/{op.component}" + (f"/{op.action}" if op.action else "")
            paths[path] = {"post": _operation(op, found)}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "A-Memorix", "version": __version__, "summary": "Long-term memory for chatbots."},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "security": [{}, {"token": []}],
        "paths": paths | _room_paths() | _own_paths(),
        "components": {
            "schemas": {**found.definitions, "Fault": FAULT_SCHEMA},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return document if language == "en" else _in_language(document, language)


def _in_language(node: Any, language: Language) -> Any:
    if isinstance(node, list):
        return [_in_language(one, language) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    return {
        key: told(value, language)
        if key in ("summary", "description") and isinstance(value, str)
        else _in_language(value, language)
        for key, value in cast("dict[str, Any]", node).items()
    }


def _operation(op: Operation, found: Shapes) -> dict[str, Any]:
    return {
        "operationId": op.name, "summary": op.summary, "tags": [op.component], "x-effect": op.effect,
        "parameters": [TIMEOUT], "requestBody": _body({"$ref": PREFIX + found.requests[op.name]}),
        "responses": _responses({"$ref": PREFIX + found.responses[op.name]}),
    }  # fmt: skip


def _by_body(component: str, ops: list[Operation], found: Shapes) -> dict[str, Any]:
    choices = [
        {
            "allOf": [{"$ref": PREFIX + found.requests[op.name]}], "type": "object", "description": op.summary,
            "properties": {"action": {"enum": list(op.actions)}}, "required": ["action"],
        }
        for op in ops
    ]  # fmt: skip
    answers = [{"$ref": PREFIX + name} for name in sorted({found.responses[op.name] for op in ops})]
    return {
        "operationId": component, "summary": "The same actions, named in the body.", "tags": [component],
        "parameters": [TIMEOUT], "requestBody": _body({"oneOf": choices}), "responses": _responses({"anyOf": answers}),
    }  # fmt: skip


def _body(schema: dict[str, Any], media: str = "application/json") -> dict[str, Any]:
    return {"required": True, "content": {media: {"schema": schema}}}


def _responses(schema: dict[str, Any]) -> dict[str, Any]:
    answered = _described("Answered; `success` says whether it did what was asked.", schema)
    return {"200": answered} | {status: _described(text, FAULT) for status, text in FAULTS.items()}


def _described(text: str, schema: dict[str, Any], media: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {media: {"schema": schema}}}


def _room_paths() -> dict[str, Any]:
    """The calls of rooms; the models stand in them whole, for their `roomId` is in the path."""
    entry = MemoryEntry.model_json_schema(mode="serialization")
    gives = {"memory": {"anyOf": [entry, {"type": "null"}]}, "memories": {"type": "array", "items": entry}}
    paths: dict[str, Any] = {}
    for path, calls in ROOMS_CALLS.items():
        named = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1, "maxLength": most},
            }
            for name, most in (("roomId", LONGEST_ROOM), ("id", LONGEST_ID))
            if f"{{{name}}}" in path
        ]
        for method, call in calls.items():
            shape = {"type": "object", "properties": {call.gives: gives[call.gives]} if call.gives else {}}
            described: dict[str, Any] = {
                "operationId": f"rooms_{call.name}", "summary": call.summary, "tags": ["rooms"],
                "parameters": [*named, TIMEOUT], "responses": _responses(shape),
            }  # fmt: skip
            if call.takes:
                schema = call.takes.model_json_schema()
                schema["required"] = [one for one in schema["required"] if one != "roomId"]
                if call.name == "search":
                    schema["properties"]["query"] = {"type": "string"}
                    schema["required"].append("query")
                described["requestBody"] = _body(schema)
            paths.setdefault(f"{ROOMS_PATH}{path}", {})[method.lower()] = described
    return paths


def _own_paths() -> dict[str, Any]:
    staged = {"type": "object", "properties": {"files": {"type": "array", "items": {
        "type": "object", "properties": {"staged": {"type": "string"}, "name": {"type": "string"}, "size": {"type": "integer"}},
    }}}}  # fmt: skip
    files = {
        "type": "object",
        "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
    }
    upload = _about(
        "memory_import_admin_upload", "Stage files for `create_upload`, which takes their `staged` ids.", _described("Staged.", staged),
        **{status: _described(FAULTS[status], FAULT) for status in ("400", "409", "413")},
    )  # fmt: skip
    upload["requestBody"] = _body(files, "multipart/form-data")
    anything = {"type": "object"}
    alive, ready = _described("The process lives.", anything), _described("Calls are answered.", anything)
    waiting = _described("Calls are not answered yet, or no longer.", FAULT)
    page = _described("HTML.", {"type": "string"}, "text/html")
    figures = _described("Prometheus text format.", {"type": "string"}, "text/plain")
    events = _about(
        "changes", "What becomes of documents, as server-sent events: `memory_runtime_admin changes` as it comes.",
        _described("Each event has the number as its id, the kind as its name, and the change as its data.",
                   {"type": "string"}, "text/event-stream"),
        **{status: _described(FAULTS[status], FAULT) for status in ("400", "401", "403", "503")},
    )  # fmt: skip
    events["parameters"] = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}} for name in PARAMETERS
    ]
    events["parameters"].append(
        {"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}}
    )
    return {
        f"{BASE_PATH}{UPLOAD_PATH}": {"post": upload},
        EVENTS_PATH: {"get": events},
        "/healthz": {"get": _about("healthz", "Whether the process lives.", alive) | {"security": [{}]}},
        "/readyz": {"get": _about("readyz", "Whether calls are answered.", ready, **{"503": waiting})},
        "/metrics": {"get": _about("metrics", "Figures for Prometheus.", figures)},
        "/docs": {"get": _about("docs", "A page to read and try this description in.", page) | {"security": [{}]}},
        "/openapi.json": {"get": _about("openapi", "This description.", _described("OpenAPI 3.1.", anything))},
    }


def _about(name: str, summary: str, answer: dict[str, Any], **faults: Any) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "tags": ["daemon"], "responses": {"200": answer, **faults}}

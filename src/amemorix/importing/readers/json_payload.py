"""JSON documents of paragraphs, entities and relations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ijson

from ...errors import InvalidRequest
from ...ingest.operations import EntityInput, IngestText
from ..records import Bad, Occurrences, Reader, Record
from .foreign_values import is_hash
from .json_documents import events, listed

__all__ = ["JsonPayload"]

KEYS = ("paragraphs", "entities", "relations")
TIMES = {"event_time": "timestamp", "time": "timestamp", "event_time_start": "time_start", "event_time_end": "time_end"}
KNOWN = IngestText.known_keys() | {"content", "type", *TIMES}


class JsonPayload(Reader):
    """`{"paragraphs": […], "entities": […], "relations": […]}`, or a list of paragraphs; positions count records.

    A paragraph is a text, or an object with `content`, and what `ingest_text` takes. A relation that stands by itself is
    stored with the sentence that it makes, an entity with its description or its name.
    """

    what = "Paragraphs with their entities and relations. 段落、实体与关系。"
    fields = (
        "paragraphs: content, source, entities, relations, event_time, knowledge_type; entities: names or objects; "
        "relations: subject, predicate, object"
    )
    example = (
        '{"paragraphs": [{"content": "Ada lives in Porto.", "entities": ["Ada"], '
        '"relations": [{"subject": "Ada", "predicate": "lives in", "object": "Porto"}]}]}'
    )

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        said, position, met = Occurrences(), 0, False

        def hear(prefix: str, event: str, value: Any) -> None:
            nonlocal met
            met = met or (event == "map_key" and not prefix and value in KEYS)
            if prefix in KEYS and event != "null":
                raise InvalidRequest(f"file: `{prefix}` is no list.", field="file")

        try:
            with path.open("rb") as file:
                size = max(path.stat().st_size, 1)
                for one in listed(events(file), ("", *KEYS), hear):
                    if one is None:
                        met = True
                        continue
                    key, number, item = one
                    position += 1
                    self.share = min(file.tell() / size, 1.0)
                    yield position, _MAKERS[key](item, f"{key or 'paragraphs'}.{number}", said)
        except (ijson.JSONError, UnicodeDecodeError) as exc:
            why = " ".join(str(exc).split())[:120]
            raise InvalidRequest(f"file: it is not valid JSON: {why}.", field="file") from exc
        if not met:
            raise InvalidRequest(
                f"file: a JSON document with one of {', '.join(KEYS)} was expected, or a list of paragraphs.",
                field="file", allowed=list(KEYS),
            )  # fmt: skip


def _record(kind: str, arguments: dict[str, Any], place: str, said: Occurrences) -> Record:
    external_id = said.external_id(kind, json.dumps(arguments, sort_keys=True))
    return Record("text", {"external_id": external_id, **arguments}, place)


def _paragraph(item: Any, place: str, said: Occurrences) -> Record | Bad:
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        return Bad(place, "a paragraph is a text or an object")
    given: dict[str, Any] = {str(key): value for key, value in item.items() if value is not None}
    if unknown := sorted(given.keys() - KNOWN):
        return Bad(place, f"unknown {json.dumps(unknown[0])}; known: {', '.join(sorted(KNOWN))}")
    for other, name in TIMES.items():
        if other in given and name not in given:
            given[name] = given.pop(other)
    text = given.pop("content", None) or given.get("text")
    if not isinstance(text, str) or not text.strip():
        return Bad(place, "there is no `content`")
    if is_hash(text.strip()):
        return Bad(place, "the content is a hash, not a text")
    kind = given.pop("type", None)
    if kind in ("factual", "narrative", "quote"):
        given.setdefault("knowledge_type", kind)
    given["text"] = text
    for key, read in (("entities", _as_entity), ("relations", _as_relation)):
        if isinstance(value := given.get(key), list):  # what is none is left for `ingest_text` to refuse
            given[key] = [read(one) for one in value]
    return _record("paragraph", given, place, said)


def _as_entity(one: Any) -> Any:
    if isinstance(one, dict):
        return {key: one[key] for key in EntityInput.model_fields if key in one}
    return one


def _as_relation(one: Any) -> Any:
    """An object, or [subject, predicate, object]."""
    if isinstance(one, list) and len(one) == 3:
        return dict(zip(("subject", "predicate", "object"), one, strict=True))
    if isinstance(one, dict):
        return {key: one[key] for key in ("subject", "predicate", "object", "confidence") if key in one}
    return one


def _entity(item: Any, place: str, said: Occurrences) -> Record | Bad:
    entity = _as_entity(item)
    name = entity.get("name") if isinstance(entity, dict) else entity
    if not isinstance(name, str) or not name.strip():
        return Bad(place, "an entity is a name, or an object with `name`")
    if is_hash(name.strip()):
        return Bad(place, "the name is a hash")
    described = item.get("description") if isinstance(item, dict) else None
    text = described if isinstance(described, str) and described.strip() else name
    return _record("entity", {"text": text, "entities": [entity]}, place, said)


def _relation(item: Any, place: str, said: Occurrences) -> Record | Bad:
    relation = _as_relation(item)
    parts = [relation.get(key) for key in ("subject", "predicate", "object")] if isinstance(relation, dict) else []
    if not parts or not all(isinstance(part, str) and part.strip() for part in parts):
        return Bad(place, "a relation has `subject`, `predicate` and `object`")
    text = " ".join(str(part).strip() for part in parts)
    return _record("relation", {"text": text, "relations": [relation]}, place, said)


_MAKERS: dict[str, Callable[[Any, str, Occurrences], Record | Bad]] = {
    "": _paragraph, "paragraphs": _paragraph, "entities": _entity, "relations": _relation,
}  # fmt: skip

"""JSON documents of paragraphs, entities and relations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ijson

from ...errors import InvalidRequest
from ...ingest.requests import EntityInput, IngestText
from ...lazy_regex import lazy_regex
from ..duplicates import Occurrences, digest
from ..records import Bad, Record
from .json_events import Event, events

__all__ = ["JsonPayload"]

KEYS = ("paragraphs", "entities", "relations")
_HASH = lazy_regex(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})", re.IGNORECASE)
TIMES = {"event_time": "timestamp", "time": "timestamp", "event_time_start": "time_start", "event_time_end": "time_end"}
KNOWN = IngestText.known_keys() | {"content", "type", *TIMES}


class JsonPayload:
    """`{"paragraphs": […], "entities": […], "relations": […]}`, or a list of paragraphs; positions count records.

    A paragraph is a text, or an object with `content`, and what `ingest_text` takes. A relation that stands by itself is
    stored with the sentence that it makes, an entity with its description or its name.
    """

    def __init__(self) -> None:
        self.share = 0.0
        """How much of the file has been read, 0..1."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """Records from number `start` on. Raises InvalidRequest for another document."""
        said, position = Occurrences(), 0
        try:
            for place, item, make in self._items(path):
                position += 1
                record = make(item, place, said)
                if position > start:
                    yield position, record
        except (ijson.JSONError, UnicodeDecodeError) as exc:
            raise InvalidRequest(f"file: it is not valid JSON: {_line(exc)}.", field="file") from exc
        if not position and not self._is_payload(path):
            raise InvalidRequest(
                f"file: a JSON document with one of {', '.join(KEYS)} was expected, or a list of paragraphs.",
                field="file", allowed=list(KEYS),
            )  # fmt: skip

    def _items(self, path: Path) -> Iterator[tuple[str, Any, Callable[[Any, str, Occurrences], Record | Bad]]]:
        if _first_event(path) == "start_array":
            for number, item in enumerate(self._array(path, "item", 0, 1)):
                yield f"paragraphs.{number}", item, _paragraph
            return
        makers = (_paragraph, _entity, _relation)
        for part, (key, make) in enumerate(zip(KEYS, makers, strict=True)):
            for number, item in enumerate(self._array(path, f"{key}.item", part, len(KEYS))):
                yield f"{key}.{number}", item, make

    def _array(self, path: Path, prefix: str, part: int, parts: int) -> Iterator[Any]:
        with path.open("rb") as file:
            size = max(path.stat().st_size, 1)
            for item in ijson.items(_lists_only(events(file)), prefix):
                self.share = (part + min(file.tell() / size, 1.0)) / parts
                yield item
        self.share = (part + 1) / parts

    def _is_payload(self, path: Path) -> bool:
        with path.open("rb") as file:
            for prefix, event, value in events(file):
                if prefix == "" and (event == "start_array" or (event == "map_key" and value in KEYS)):
                    return True
        return False


def _lists_only(found: Iterator[Event]) -> Iterator[Event]:
    """The events of a payload. Raises InvalidRequest where something else stands in the place of one of its lists."""
    for one in found:
        if one[0] in KEYS and one[1] not in ("start_array", "end_array", "null"):
            raise InvalidRequest(f"file: `{one[0]}` is no list.", field="file")
        yield one


def _first_event(path: Path) -> str:
    with path.open("rb") as file:
        return next((event for _, event, _ in events(file)), "")


def _line(exc: Exception) -> str:
    return " ".join(str(exc).split())[:120]


def _named(arguments: dict[str, Any], said: Occurrences, kind: str) -> dict[str, Any]:
    key = digest(json.dumps(arguments, sort_keys=True).encode())
    count = said.count(key)
    return {"external_id": f"{kind}:{key}:{count}", **arguments}


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
    if _HASH.fullmatch(text.strip()):
        return Bad(place, "the content is a hash, not a text")
    kind = given.pop("type", None)
    if kind in ("factual", "narrative", "quote"):
        given.setdefault("knowledge_type", kind)
    given["text"] = text
    for key, read in (("entities", _entity_names), ("relations", _triples)):
        if key in given:
            given[key] = read(given[key])
    return Record("text", _named(given, said, "paragraph"), place)


def _entity_names(value: Any) -> Any:
    """Entities as `ingest_text` takes them; what is none is left for it to refuse."""
    return [_as_entity(one) for one in value] if isinstance(value, list) else value


def _as_entity(one: Any) -> Any:
    if isinstance(one, dict):
        return {key: one[key] for key in EntityInput.model_fields if key in one}
    return one


def _triples(value: Any) -> Any:
    return [_as_relation(one) for one in value] if isinstance(value, list) else value


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
    if _HASH.fullmatch(name.strip()):
        return Bad(place, "the name is a hash")
    described = item.get("description") if isinstance(item, dict) else None
    text = described if isinstance(described, str) and described.strip() else name
    return Record("text", _named({"text": text, "entities": [entity]}, said, "entity"), place)


def _relation(item: Any, place: str, said: Occurrences) -> Record | Bad:
    relation = _as_relation(item)
    parts = [relation.get(key) for key in ("subject", "predicate", "object")] if isinstance(relation, dict) else []
    if not parts or not all(isinstance(part, str) and part.strip() for part in parts):
        return Bad(place, "a relation has `subject`, `predicate` and `object`")
    text = " ".join(str(part).strip() for part in parts)
    return Record("text", _named({"text": text, "relations": [relation]}, said, "relation"), place)

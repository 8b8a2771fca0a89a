"""Exports of Graphiti: its nodes and edges as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...store.temp_lookup import TempLookup
from ..records import Bad, Record
from .foreign_values import digest, entities, id_of, left, metadata, moment, name, relation, text_of, texts
from .json_documents import JsonReader, Member

__all__ = ["GraphitiExport"]

SOURCE = "graphiti"
NAMES, LABELS, OF_EPISODE, MENTIONS = "name", "labels", "edge", "mention"
NO_FACTS = ("", "MENTIONS", "HAS_MEMBER", "HAS_EPISODE", "NEXT_EPISODE")
"""Names of the edges between episodes, entities, communities and sagas."""
NOT_METADATA = ("content", "fact", "summary", "name_embedding", "fact_embedding", "episodes", "entity_edges")
BASE_LABELS = frozenset({"Entity", "Episodic", "Community"})


class GraphitiExport(JsonReader):
    """`{"nodes": […], "edges": […]}`, or the nodes and edges of each kind in a list of their own (`episodes` or
    `episodic_nodes`, `entities` or `entity_nodes`, `entity_edges`, `episodic_edges`), with the fields of Graphiti's models.

    - A node with `content` is an episode: a text, with the entities that it mentions and the relations that rest on it.
    - A node with a `summary` is an entity: a text about it. One without comes along with what mentions it.
    - An edge with a `fact` is a text, true from `valid_at` to `invalid_at`. Its relation is known only while it is true:
      one with `invalid_at` or `expired_at` has none.
    - `group_id` is the chat; what has none goes to the chat that is named here.
    """

    what = "Nodes and edges of Graphiti. Graphiti 的节点与边。"
    fields = (
        "nodes: uuid, name, content or summary, labels, group_id; edges: uuid, source_node_uuid, target_node_uuid, name, "
        "fact, valid_at, invalid_at, episodes"
    )
    example = (
        '{"nodes": [{"uuid": "a", "name": "Ada", "labels": ["Entity"]}, {"uuid": "b", "name": "Porto"}], "edges": '
        '[{"uuid": "e", "source_node_uuid": "a", "target_node_uuid": "b", "name": "LIVES_IN", "fact": "Ada lives in Porto"}]}'
    )

    default_chat = SOURCE
    expected = 'an export of Graphiti: {"nodes": [{"uuid", …}], "edges": [{"uuid", "source_node_uuid", "target_node_uuid", …}]}'
    lists = (
        "nodes", "entity_nodes", "entities", "episodic_nodes", "episodes", "edges", "entity_edges", "episodic_edges",
    )  # fmt: skip

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        """The file is read twice; the first reading counts as a third of the work."""
        with TempLookup() as known:
            for member in self.members(path, 0.0, 1 / 3):
                if isinstance(member, Member):
                    _note(member.value, known)
            for position, member in enumerate(self.members(path, 1 / 3, 2 / 3), start=1):
                made = member if isinstance(member, Bad) else self._made(member, known)
                if made is not None:
                    yield position, made

    def _made(self, member: Member, known: TempLookup) -> Record | Bad | None:
        item = member.value
        if "source_node_uuid" in item:
            return self._fact(member, known)
        if not name(item.get("uuid")):
            return Bad(member.place, "has no `uuid`")
        if "content" in item:
            return self._episode(member, known)
        summary, called = text_of(item.get("summary")), name(item.get("name"))
        if not summary or not called or "Community" in texts(item.get("labels")):
            return None
        told = f"{called}：{summary}" if not summary.isascii() else f"{called}: {summary}"
        return self._text(item, told, member.place, entities=_entities([name(item["uuid"])], known))

    def _episode(self, member: Member, known: TempLookup) -> Record | Bad:
        item, uuid = member.value, name(member.value.get("uuid"))
        text = text_of(item.get("content"))
        if not text:
            return Bad(member.place, "is an episode without content")
        edges: list[tuple[str, str, str]] = [json.loads(edge) for edge in known.values(OF_EPISODE, uuid)]
        ends = [end for source, _, target in edges for end in (source, target)]
        made = [_relation(edge[0], edge[1], edge[2], known) for edge in edges]
        relations = [one for one in made if one]
        about = _entities([*known.values(MENTIONS, uuid), *ends], known)
        return self._text(item, text, member.place, left(made), entities=about, relations=relations)

    def _fact(self, member: Member, known: TempLookup) -> Record | Bad | None:
        item = member.value
        fact = text_of(item.get("fact"))
        if not fact:
            return Bad(member.place, "has no `fact`") if name(item.get("name")) not in NO_FACTS else None
        source, target = name(item.get("source_node_uuid")), name(item.get("target_node_uuid"))
        made = [_relation(source, name(item.get("name")), target, known)] if _stands(item) else []
        return self._text(
            item, fact, member.place, left(made),
            entities=_entities([source, target], known), relations=[one for one in made if one], knowledge_type="factual",
        )  # fmt: skip

    def _text(
        self, item: dict[str, Any], text: str, place: str, left: Mapping[str, int] | None = None, **more: Any
    ) -> Record:
        zone = self._zone
        start, end = moment(item.get("valid_at"), zone=zone), moment(item.get("invalid_at"), "end", zone)
        if start is None and end is None:
            start = moment(item.get("created_at"), zone=zone)
        chat = name(item.get("group_id")) or self._chat_id
        arguments = {
            "external_id": id_of(SOURCE, name(item.get("uuid")) or digest(text, place)),
            "source_type": SOURCE,
            "source": id_of(SOURCE, chat),
            "text": text,
            "chat_id": chat,
            "time_start": start,
            "time_end": None if start is not None and end is not None and end < start else end,
            "metadata": metadata({"graphiti": metadata({key: item[key] for key in item if key not in NOT_METADATA})}),
            **more,
        }
        return Record("text", arguments, place, left or {})


def _note(item: dict[str, Any], known: TempLookup) -> None:
    """Keep what the records of other members need of this one."""
    if "source_node_uuid" not in item:
        uuid, called = name(item.get("uuid")), name(item.get("name"))
        if uuid and called and "content" not in item:
            known.put(NAMES, uuid, called)
            for label in texts(item.get("labels")):
                if label not in BASE_LABELS:
                    known.put(LABELS, uuid, label)
        return
    source, target = name(item.get("source_node_uuid")), name(item.get("target_node_uuid"))
    if not text_of(item.get("fact")):
        known.put(MENTIONS, source, target)
    elif _stands(item):
        for episode in texts(item.get("episodes")):
            known.put(OF_EPISODE, episode, json.dumps([source, name(item.get("name")), target], ensure_ascii=False))


def _stands(item: dict[str, Any]) -> bool:
    return not item.get("invalid_at") and not item.get("expired_at")


def _entities(uuids: list[str], known: TempLookup) -> list[dict[str, Any]]:
    names: list[str] = []
    kinds: dict[str, str] = {}
    for uuid in dict.fromkeys(uuids):
        for called in known.values(NAMES, uuid, limit=1):
            names.append(called)
            if labels := known.values(LABELS, uuid, limit=1):
                kinds[called] = labels[0]
    return entities(names, kinds)


def _relation(source: str, predicate: str, target: str, known: TempLookup) -> dict[str, Any] | None:
    ends = known.values(NAMES, source, limit=1), known.values(NAMES, target, limit=1)
    return relation(ends[0][0], predicate, ends[1][0]) if all(ends) else None

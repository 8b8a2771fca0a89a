"""Exports of Graphiti."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amemorix.importing.readers.graphiti import GraphitiExport
from import_readers import bad, records, write

NODES: list[dict[str, Any]] = [
    {
        "uuid": "ep-1", "name": "chat 1", "group_id": "群一", "labels": ["Episodic"], "source": "message",
        "source_description": "chat", "content": "Alice: 我去年加入了星河公司", "valid_at": "2025-03-01T09:30:00+08:00",
        "created_at": "2025-03-02T00:00:00Z", "entity_edges": ["e-1"],
    },
    {"uuid": "n-1", "name": "Alice", "group_id": "群一", "labels": ["Entity", "Person"], "summary": "Alice 在星河公司工作。"},
    {"uuid": "n-2", "name": "星河公司", "group_id": "群一", "labels": ["Entity"], "summary": "", "name_embedding": [0.1] * 64},
    {"uuid": "n-3", "name": "Acme", "labels": ["Entity"], "summary": "A maker of anvils."},
    {"uuid": "c-1", "name": "Work", "labels": ["Community"], "summary": "All about work."},
]  # fmt: skip
EDGES: list[dict[str, Any]] = [
    {
        "uuid": "e-1", "name": "WORKS_AT", "fact": "Alice 在星河公司工作", "group_id": "群一", "source_node_uuid": "n-1",
        "target_node_uuid": "n-2", "episodes": ["ep-1"], "valid_at": "2024-01-01T00:00:00Z", "invalid_at": None,
        "expired_at": None, "created_at": "2025-03-02T00:00:00Z",
    },
    {
        "uuid": "e-2", "name": "WORKED_AT", "fact": "Alice worked at Acme", "source_node_uuid": "n-1",
        "target_node_uuid": "n-3", "episodes": ["ep-1"], "valid_at": "2020-01-01T00:00:00Z",
        "invalid_at": "2023-12-31T00:00:00Z", "expired_at": "2025-03-02T00:00:00Z",
    },
    {"uuid": "m-1", "source_node_uuid": "ep-1", "target_node_uuid": "n-1"},
]  # fmt: skip


def export(folder: Path) -> Path:
    return write(folder / "graphiti.json", {"nodes": NODES, "edges": EDGES})


def test_episodes_entities_and_facts_come_with_their_times_and_relations(tmp_path: Path) -> None:
    found = {one.arguments["external_id"]: one.arguments for one in records(GraphitiExport(), export(tmp_path))}
    works = {"subject": "Alice", "predicate": "WORKS_AT", "object": "星河公司"}
    assert list(found) == ["graphiti:ep-1", "graphiti:n-1", "graphiti:n-3", "graphiti:e-1", "graphiti:e-2"]
    episode = found["graphiti:ep-1"]
    assert (episode["chat_id"], episode["text"]) == ("群一", "Alice: 我去年加入了星河公司")
    assert episode["time_start"] == 1_740_792_600.0
    assert episode["entities"] == [{"name": "Alice", "type": "Person"}, {"name": "星河公司"}]
    assert episode["relations"] == [works]
    assert found["graphiti:n-1"]["text"] == "Alice：Alice 在星河公司工作。"
    assert found["graphiti:n-3"]["text"] == "Acme: A maker of anvils."
    assert found["graphiti:n-3"]["chat_id"] == "graphiti"
    assert found["graphiti:e-1"]["relations"] == [works]
    past = found["graphiti:e-2"]
    assert past["relations"] == []
    assert (past["time_start"], past["time_end"]) == (1_577_836_800.0, 1_703_980_800.0)
    assert past["metadata"]["graphiti"]["expired_at"] == "2025-03-02T00:00:00Z"
    assert all("embedding" not in key for one in found.values() for key in one["metadata"]["graphiti"])


def test_lists_of_each_kind_and_any_order_give_the_same_texts(tmp_path: Path) -> None:
    split = {
        "entity_edges": EDGES[:2], "episodic_edges": EDGES[2:], "episodes": NODES[:1], "entity_nodes": NODES[1:],
    }  # fmt: skip
    whole, parts = (
        {one.arguments["external_id"]: one.arguments for one in records(GraphitiExport(), path)}
        for path in (export(tmp_path), write(tmp_path / "split.json", split))
    )
    assert whole == parts


def test_bad_members_name_their_place(tmp_path: Path) -> None:
    broken = {
        "nodes": [{"name": "nobody"}, {"uuid": "x", "content": " "}, "text"],
        "edges": [{"uuid": "y", "name": "KNOWS", "source_node_uuid": "a", "target_node_uuid": "b"}],
    }
    assert bad(GraphitiExport(), write(tmp_path / "bad.json", broken)) == [
        ("nodes.0", "has no `uuid`"),
        ("nodes.1", "is an episode without content"),
        ("nodes.2", "is a text, not an object"),
        ("edges.0", "has no `fact`"),
    ]


def test_a_relation_without_one_of_its_nodes_is_left_out_and_its_fact_stays(tmp_path: Path) -> None:
    path = write(tmp_path / "loose.json", {"nodes": NODES[1:2], "edges": EDGES[:1]})
    fact = records(GraphitiExport(), path)[1].arguments
    assert (fact["text"], fact["relations"]) == ("Alice 在星河公司工作", [])
    assert fact["entities"] == [{"name": "Alice", "type": "Person"}]

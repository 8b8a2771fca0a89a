"""A small memory in two languages, and what may be named in calls on it."""

from __future__ import annotations

from typing import Any

__all__ = ["FILLING", "KNOWN"]

FILLING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ingest_messages", {"chat_id": "c", "messages": [
        {"speaker": "周宁", "text": "我住在北京，养了一只叫豆豆的猫。", "time": "2025-03-01T09:00:00Z"},
        {"speaker": "Hannah", "text": "I am allergic to peanuts and I live in Lisbon.", "time": "2025-03-01T09:01:00Z"},
        {"speaker": "周宁", "text": "我把折叠伞放在值班柜第二层。", "time": "2025-03-02T09:00:00Z"},
    ]}),
    ("ingest_messages", {"chat_id": "d", "messages": [
        {"speaker": "Hannah", "text": "We flew a kite on Sunday.", "time": "2025-04-01T09:00:00Z"},
    ]}),
    ("ingest_text", {
        "external_id": "note-1", "source_type": "note", "text": "周宁住在北京。", "chat_id": "c", "person_ids": ["周宁"],
        "relations": [{"subject": "周宁", "predicate": "住在", "object": "北京"}],
    }),
    ("ingest_text", {
        "external_id": "note-2", "source_type": "note", "text": "Hannah likes kites.", "chat_id": "d",
        "relations": [{"subject": "Hannah", "predicate": "likes", "object": "kite"}],
    }),
)  # fmt: skip
"""Calls that fill it."""

KNOWN: dict[str, list[Any]] = {
    "chat_id": ["c", "d", "nowhere", ""],
    "session_id": ["c"],
    "person_id": ["Hannah", "周宁", "nobody"],
    "source": ["chat:c", "note:c", "Hannah", "周宁", ""],
    "sources": [["chat:d"], ["note:c", "gone"], ["Hannah", "周宁"]],
    "node": ["Hannah", "周宁", "n1", "kite"],
    "name": ["Hannah", "周宁", "n2", "new"],
    "entity": ["Hannah", "周宁"],
    "subject": ["Hannah", "周宁"],
    "object": ["北京", "peanuts"],
    "predicate": ["住在", "likes"],
    "target": ["r1", "Hannah", "周宁", "北京"],
    "relation": ["r1", "r2", ""],
    "evidence_id": ["p1", "r1", "p2"],
    "episode_id": ["e1", 1],
    "fact_id": ["f1", 1, 2],
    "winner": ["f1", 1],
    "task_id": [1],
    "plan_id": [1, 2],
    "operation_id": [1, "1", "d1"],
    "undo_id": [1, "1", "u1"],
    "text": ["周宁住在上海。", "Hannah moved to Rome.", "Hannah is allergic to peanuts.", "不对，周宁住在上海。"],
    "query": ["周宁住在哪里？", "peanuts", "Hannah"],
    "selector": [{"hashes": ["p1"]}, {"ids": ["p2"]}, "p1", ["r1"], {"sources": ["chat:d"]}, {"query": "kite"}],
    "mode": ["paragraph", "relation", "source", "entity", "mixed", "search", "time"],
    "time_start": ["2025-03-01", "昨天", 1_700_000_000],
    "time_end": ["2026-01-01", "今天", 1_800_000_000],
    "wait": [0, 0.05],
    "path": ["", "out", "graph.json"],
    "backup": ["latest", "nothing"],
}  # fmt: skip
"""Argument -> values that mean something to it; the first is taken where one is enough."""

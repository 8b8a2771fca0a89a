"""Exports of mem0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from amemorix.clock import FrozenClock
from amemorix.importing.readers.mem0 import Mem0Export
from import_readers import bad, read, records, write

MEMORIES: list[dict[str, Any]] = [
    {
        "id": "m-1", "memory": "Alex is planning a trip to San Francisco", "user_id": "alex", "hash": "ab",
        "created_at": "2024-07-01T12:00:00Z", "updated_at": "2024-07-02T12:00:00-07:00",
        "categories": ["travel"], "metadata": {"mood": "glad"}, "expiration_date": None,
    },
    {"id": "m-2", "memory": "小林对花生过敏", "user_id": "小林", "run_id": "会话一", "created_at": "2024-07-05T15:30:00+08:00"},
    {"id": "m-3", "memory": "Answer in rhyme", "agent_id": "poet"},
    {
        "id": "m-4", "memory": "Mia works at Orbit", "user_id": "mia",
        "entities": [{"id": "entity-1", "name": "Mia", "type": "person"}, {"id": "entity-2", "name": "Orbit"}],
        "relations": [{"source": "entity-1", "target": "entity-2", "relationship": "works_at"}],
    },
]  # fmt: skip
RELATIONS = [
    {"source": "alex", "relationship": "likes", "destination": "pizza"},
    {"source": "小林", "relationship": "喜欢", "destination": "猫咪"},
]


def export(path: Path) -> Path:
    return write(path / "mem0.json", {"results": MEMORIES, "relations": RELATIONS})


def test_memories_keep_their_owner_time_and_graph(tmp_path: Path) -> None:
    found = records(Mem0Export(), export(tmp_path))
    assert [one.place for one in found] == [
        "results.0", "results.1", "results.2", "results.3", "relations.0", "relations.1",
    ]  # fmt: skip
    first, second, third, fourth, *between = [one.arguments for one in found]
    assert first["external_id"] == "mem0:m-1"
    assert first["user_id"] == "alex" and "chat_id" not in first
    assert first["person_ids"] == ["alex"] and first["tags"] == ["travel"]
    assert first["timestamp"] == 1_719_835_200.0
    assert first["metadata"]["mood"] == "glad" and first["metadata"]["mem0"]["hash"] == "ab"
    assert (second["chat_id"], second["user_id"], second["text"]) == ("会话一", "小林", "小林对花生过敏")
    assert third["chat_id"] == "mem0:agent:poet"
    assert [one["source"] for one in (first, second, third)] == ["mem0:alex", "mem0:小林", "mem0:agent:poet"]
    assert fourth["entities"] == [{"name": "Mia", "type": "person"}, {"name": "Orbit"}]
    assert fourth["relations"] == [{"subject": "Mia", "predicate": "works_at", "object": "Orbit"}]
    assert [one["text"] for one in between] == ["alex likes pizza", "小林喜欢猫咪"]
    assert [one["chat_id"] for one in between] == ["mem0", "mem0"]  # of several users: shown to none of them


def test_relations_of_one_user_belong_to_that_user(tmp_path: Path) -> None:
    path = write(tmp_path / "one.json", {"results": MEMORIES[:1], "relations": RELATIONS[:1]})
    assert records(Mem0Export(), path)[1].arguments["user_id"] == "alex"


def test_older_exports_are_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "list.json", MEMORIES[:2])
    assert [one.arguments["external_id"] for one in records(Mem0Export(), path)] == ["mem0:m-1", "mem0:m-2"]
    assert [one.place for one in records(Mem0Export(), path)] == ["item.0", "item.1"]
    assert read(Mem0Export(), write(tmp_path / "empty.json", [])) == []


def test_what_has_no_id_is_known_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path / "no-id.json", [{"memory": "一样", "user_id": "a"}, {"memory": "一样", "user_id": "b"}])
    ids = [one.arguments["external_id"] for one in records(Mem0Export(), path)]
    assert len(set(ids)) == 2
    assert ids == [one.arguments["external_id"] for one in records(Mem0Export(), path)]


def test_ids_that_are_far_too_long_stay_different(tmp_path: Path) -> None:
    items = [{"id": "x" * 509 + end, "memory": "好", "run_id": "r" * 600} for end in ("a", "b")]
    ids = [one.arguments["external_id"] for one in records(Mem0Export(), write(tmp_path / "long.json", items))]
    assert len(set(ids)) == 2 and max(map(len, ids)) <= 512


def test_what_has_expired_is_passed_over(tmp_path: Path) -> None:
    items = [
        {"id": str(i), "memory": "Buy milk", "expiration_date": day}
        for i, day in enumerate(["2020-01-01", "2099-01-01"])
    ]
    found = read(Mem0Export(clock=FrozenClock(1_700_000_000.0)), write(tmp_path / "e.json", items))
    assert [position for position, _ in found] == [2]


def test_bad_members_name_their_place(tmp_path: Path) -> None:
    path = write(
        tmp_path / "bad.json", {"results": [7, MEMORIES[0], {"id": "x"}, None], "relations": [{"source": "a"}]}
    )
    assert bad(Mem0Export(), path) == [
        ("results.0", "is a number, not an object"),
        ("results.2", "has no text under `memory`"),
        ("results.3", "is null, not an object"),
        ("relations.0", "has no `source`, `relationship` and `destination` that can be joined"),
    ]
    assert len(read(Mem0Export(), path)) == 5


def test_a_file_that_breaks_off_gives_what_stands_before(tmp_path: Path) -> None:
    whole = export(tmp_path).read_text("utf-8")
    path = tmp_path / "half.json"
    path.write_text(whole[: whole.index("Answer in rhyme")], "utf-8")
    found = read(Mem0Export(), path)
    assert [getattr(one, "place", "") for _, one in found] == ["results.0", "results.1", "the end"]
    assert "breaks off" in bad(Mem0Export(), path)[0][1]


def test_a_byte_order_mark_and_odd_characters_are_read(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    item = {"id": "😀", "memory": "线\u0000上\r\n🎉", "user_id": "é\u0000", "metadata": {"deep": [[[1.5]]]}}
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([item]).encode())
    arguments = records(Mem0Export(), path)[0].arguments
    assert (arguments["text"], arguments["user_id"], arguments["external_id"]) == ("线上\n🎉", "é", "mem0:😀")


def test_keys_of_the_same_name_deeper_down_are_not_lists_of_the_file(tmp_path: Path) -> None:
    value = {
        "info": {"results": [{"memory": "no"}]},
        "results": [{"id": "1", "memory": "yes", "metadata": {"results": [1]}}],
    }
    found = records(Mem0Export(), write(tmp_path / "deep.json", value))
    assert [one.arguments["text"] for one in found] == ["yes"]

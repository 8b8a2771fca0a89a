"""Which chat a record goes to that says a user or a group beside the chat of the import, and what is told of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from entrance import contents, rows
from import_entrance import pasted

ELSEWHERE = "1 records name a group or a private chat of their own; they are stored there"
PUT_HERE = "1 records name a group or a private chat of their own; they are stored in the chat that the import names"
SPOKEN = "select n.person_id, p.name from paragraph_persons p join persons n on n.id = p.person where p.role = 1"
TURN = {"speaker": "小雨", "person_id": "P1", "user_id": "55", "text": "周六去看豹猫 ocelot"}
EVENT = {"post_type": "message", "message_type": "group", "group_id": 42, "message_id": 1, "time": 1_700_000_000,
         "sender": {"user_id": 5, "nickname": "林澈"}, "raw_message": "看豹猫 ocelot", "self_id": 9}  # fmt: skip
PRIVATE = {key: value for key, value in EVENT.items() if key != "group_id"} | {"message_type": "private", "user_id": 5}
MEM0 = {"results": [{"id": "m1", "memory": "Likes the ocelot 豹猫", "user_id": "ada"}]}
TEXT = {"text": "豹猫 ocelot seen", "source_type": "note", "user_id": "55"}
OPEN, CLOSED = {"chat_id": "qq:70"}, {"chat_id": "qq:70", "scope_type": "chat"}


async def seen(host: AMemorixHostService, chat: str) -> int:
    found = [len(await contents(host, query, chat_id=chat)) for query in ("ocelot", "豹猫")]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
@pytest.mark.parametrize("params", [OPEN, CLOSED])
@pytest.mark.parametrize(("turn", "person"), [(TURN, "P1"), (TURN | {"person_id": ""}, "55")])
async def test_a_user_beside_a_chat_is_who_spoke(
    host: AMemorixHostService, suffix: str, params: Any, turn: dict[str, str], person: str
) -> None:
    table = ",".join(turn) + "\n" + ",".join(turn.values())
    task = await pasted(host, f"a.{suffix}", json.dumps(turn) if suffix == "jsonl" else table, **params)
    assert (task["counts"], task["warnings"]) == ({"stored": 1}, [])
    assert (await seen(host, "qq:70"), await seen(host, "private:55")) == (1, 0)
    assert rows(host, SPOKEN) == [(person, "小雨")]


async def test_a_turn_with_a_chat_of_its_own_stays_there(host: AMemorixHostService) -> None:
    task = await pasted(host, "a.jsonl", json.dumps({**TURN, "chat_id": "qq:9"}), **OPEN)
    assert (task["counts"], task["warnings"]) == ({"stored": 1}, [])
    assert (await seen(host, "qq:70"), await seen(host, "qq:9")) == (0, 1)


@pytest.mark.parametrize(
    ("name", "document", "own"),
    [
        ("a.jsonl", TEXT, "private:55"),
        ("mem0.json", MEM0, "private:ada"),
        ("b.jsonl", EVENT, "group:42"),
        ("c.jsonl", PRIVATE, "private:5"),
        ("d.json", {"messages": [EVENT]}, "group:42"),
        ("e.jsonl", {"speaker": "Ada", "text": "豹猫 ocelot", "group_id": 42}, "group:42"),
    ],
)
async def test_what_goes_to_a_chat_of_its_own_is_told(
    host: AMemorixHostService, name: str, document: Any, own: str
) -> None:
    task = await pasted(host, name, json.dumps(document), **OPEN)
    assert task["counts"] == {"stored": 1}, task
    [warning] = task["warnings"]
    assert ELSEWHERE in warning
    assert (await seen(host, "qq:70"), await seen(host, own)) == (0, 1)
    same = await pasted(host, name, json.dumps(document), chat_id=own)
    assert (same["counts"], same["warnings"]) == ({"existing": 1}, []), "the chat that the import names"


@pytest.mark.parametrize(
    ("name", "document", "own"), [("b.jsonl", EVENT, "group:42"), ("mem0.json", MEM0, "private:ada")]
)
async def test_marks_of_another_system_are_put_into_the_one_chat(
    host: AMemorixHostService, name: str, document: Any, own: str
) -> None:
    task = await pasted(host, name, json.dumps(document), **CLOSED)
    assert task["counts"] == {"stored": 1}, task
    [warning] = task["warnings"]
    assert PUT_HERE in warning
    assert (await seen(host, "qq:70"), await seen(host, own), await seen(host, "third")) == (1, 0, 0)
    same = await pasted(host, name, json.dumps(document), chat_id=own, scope_type="chat")
    assert (same["counts"], same["warnings"]) == ({"stored": 1}, [])


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("mem0.json", {"results": [{**MEM0["results"][0], "run_id": "elsewhere"}]}),
        ("a.jsonl", {**TEXT, "user_id": "elsewhere"}),
        ("b.jsonl", {"speaker": "Ada", "text": "豹猫 ocelot", "group_id": "elsewhere"}),
        ("c.jsonl", {**TURN, "chat_id": "elsewhere"}),
        ("d.jsonl", {"text": "豹猫 ocelot", "chat_id": "elsewhere"}),
        ("e.json", {"paragraphs": [{"content": "豹猫 ocelot", "chat_id": "elsewhere"}]}),
        ("f.csv", "text,chat_id\n豹猫 ocelot,elsewhere\n"),
    ],
)
async def test_what_names_another_chat_is_not_put_into_the_one(
    host: AMemorixHostService, name: str, document: Any
) -> None:
    task = await pasted(host, name, document if isinstance(document, str) else json.dumps(document), **CLOSED)
    assert (task["status"], task["counts"], task["warnings"]) == ("failed", {"failed": 1}, [])
    [chunk] = task["files"][0]["chunk_list"]
    reason = chunk["errors"][0]["reason"]
    assert "elsewhere" in reason and "'qq:70'" in reason
    assert await contents(host, "ocelot") == await contents(host, "豹猫") == []


async def test_what_was_said_in_private_is_not_put_into_the_one_chat(host: AMemorixHostService) -> None:
    task = await pasted(host, "c.jsonl", json.dumps(PRIVATE), **CLOSED)
    assert task["counts"] == {"failed": 1}
    assert "it names 'private:5'" in json.dumps(task)
    assert (await pasted(host, "d.jsonl", json.dumps(PRIVATE), chat_id="private:5", scope_type="chat"))["counts"] == {
        "stored": 1
    }

"""Whatever an import cannot take over is counted and said: nothing is lost in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.importing.readers.formats import FORMATS
from amemorix.importing.records import BEYOND, MOST_OF_A_TEXT, sentences
from entrance import rows
from import_entrance import imported, pasted, raw_folder

MANY = 1_300


async def told(host: AMemorixHostService, name: str, document: Any) -> dict[str, Any]:
    (await raw_folder(host) / name).write_text(json.dumps(document), "utf-8")
    return await imported(host, "create_raw_scan", glob=name)


def triples(count: int) -> list[list[str]]:
    return [[f"人物{n}", "认识", f"Ada {n}"] for n in range(count)]


async def counted(host: AMemorixHostService, table: str) -> int:
    return rows(host, f"select count(*) from {table}")[0][0]


async def test_a_text_may_tell_more_than_a_thousand_relations(host: AMemorixHostService) -> None:
    docs = [{"idx": "1", "passage": "a list of names", "extracted_entities": [f"n{n}" for n in range(MANY)],
             "extracted_triples": triples(MANY)}]  # fmt: skip
    task = await told(host, "a-openie.json", {"docs": docs})
    assert (task["status"], task["counts"], task["warnings"]) == ("completed", {"stored": 1}, [])
    assert await counted(host, "relations") == MANY
    assert await counted(host, "entities") == 3 * MANY


async def test_what_is_beyond_all_bounds_is_counted(host: AMemorixHostService) -> None:
    relations = [dict(zip(("subject", "predicate", "object"), one, strict=True)) for one in triples(MOST_OF_A_TEXT + 7)]
    tags = [f"t{n}" for n in range(MOST_OF_A_TEXT + 2)]
    task = await told(host, "a.json", {"paragraphs": [{"content": "a kite", "relations": relations, "tags": tags}]})
    assert task["counts"] == {"stored": 1}
    assert task["files"][0]["warnings"] == [
        f"7 relations are left out: one text has at most {MOST_OF_A_TEXT:,}.",
        f"2 tags are left out: one text has at most {MOST_OF_A_TEXT:,}.",
    ]
    assert await counted(host, "relations") == MOST_OF_A_TEXT


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a-openie.json", {"docs": [{"passage": "小雨养了猫", "extracted_triples": [["小雨", "养", "猫"], ["a", "is", "a"], ["a", "b"], None]}]}),
        ("mem0.json", {"results": [{"id": "1", "memory": "Likes tea", "user_id": "ada", "relations": [
            {"source": "Ada", "relationship": "likes", "target": "tea"}, {"source": "", "relationship": "x", "target": "y"}, 3, {}]}]}),
        ("graphiti.json", {"nodes": [{"uuid": "a", "name": "Ada"}, {"uuid": "b", "name": "Porto"}], "edges": [
            {"uuid": f"e{n}", "source_node_uuid": "a", "target_node_uuid": target, "name": "LIVES_IN", "fact": f"fact {n}"}
            for n, target in enumerate(("b", "gone", "a", "gone"))]}),
    ],
)  # fmt: skip
async def test_relations_that_join_nothing_are_counted(host: AMemorixHostService, name: str, document: Any) -> None:
    task = await told(host, name, document)
    assert task["status"] == "completed", task
    assert task["warnings"] == [f"{name}: 3 relations are left out: without a subject, a predicate and another object."]


async def test_metadata_that_is_too_much_is_told(host: AMemorixHostService) -> None:
    given = [{"id": "1", "memory": "Likes tea", "user_id": "ada", "metadata": {"a": "x" * 70_000}}]
    task = await told(host, "mem0.json", {"results": given})
    [warning] = task["warnings"]
    assert "of 1 texts metadata is left out" in warning


@pytest.mark.parametrize(
    ("table", "warned"),
    [
        ("时间,谁,内容\n2026-03-01,林澈,去爬山\n2026-03-02,大黄,好\n", 2),
        ("time,message\n2026-03-01,hello\n", 1),
        ("group_id,text\n42,hello\n", 1),
        ("date,text\n2026-03-01,a diary\n", 0),
        ("title,text\nTea,green tea\n", 0),
        ("time,speaker,text\n2026-03-01,Ada,hello\n", 0),
    ],
)
async def test_a_table_of_a_chat_without_a_speaker_is_told(host: AMemorixHostService, table: str, warned: int) -> None:
    task = await pasted(host, "群.csv", table, chat_id="c")
    assert task["status"] == "completed", task
    found = [one for one in task["warnings"] if one.startswith(f"群.csv: {warned} rows are stored as texts of nobody")]
    elsewhere = [one for one in task["warnings"] if "private chat of their own" in one]
    assert (len(found), len(task["warnings"]) - len(elsewhere)) == (int(warned > 0), int(warned > 0))
    assert len(elsewhere) == table.startswith("group_id")


async def test_messages_that_nobody_says_are_told(host: AMemorixHostService) -> None:
    lines = [{"text": "hello", "time": 1}, {"text": "去爬山", "speaker": "林澈"}]
    task = await pasted(host, "a.jsonl", "\n".join(json.dumps(one) for one in lines), chat_id="c")
    assert task["warnings"] == ["a.jsonl: 1 messages do not say who speaks; they are stored without a speaker."]


async def test_a_user_id_without_a_chat_is_that_of_a_private_one(host: AMemorixHostService) -> None:
    line = {"external_id": "g1", "speaker": "小雨", "user_id": "10003", "text": "周六九点东门集合"}
    assert (await pasted(host, "g.jsonl", json.dumps(line)))["counts"] == {"stored": 1}
    assert [
        hit["content"] for hit in (await host.invoke("search_memory", {"query": "集合", "user_id": "10003"}))["hits"]
    ]
    assert not (await host.invoke("search_memory", {"query": "集合", "chat_id": "qq:42"}))["hits"]


async def test_notes_are_of_what_is_stored(host: AMemorixHostService) -> None:
    task = await pasted(host, "a.jsonl", '{"text": "hello"}\n{bad', chat_id="c")
    assert (task["counts"], task["warnings"]) == ({"failed": 2}, [])
    task = await pasted(host, "a.jsonl", '{"text": "hello"}\n{bad', chat_id="c", skip_bad=True)
    assert len(task["warnings"]) == 1


async def test_columns_without_a_name_or_with_the_same_are_kept(host: AMemorixHostService) -> None:
    task = await pasted(host, "a.csv", "text,note,note,\na kite,one,two,three\n")
    assert task["counts"] == {"stored": 1}
    ((metadata,),) = rows(host, "select metadata from paragraphs")
    metadata = json.loads(metadata)
    assert {"note": "one", "note 3": "two", "4": "three"}.items() <= metadata.items()


def test_every_note_is_a_sentence() -> None:
    assert sentences({f"{BEYOND}tags": 2000, "relations": 0}) == [
        f"2,000 tags are left out: one text has at most {MOST_OF_A_TEXT:,}."
    ]


@pytest.mark.parametrize(
    ("text", "like_a_chat"),
    [
        ("2026-03-01 20:15 林澈: 去爬山\n" * 4, True),
        ("A chat:\n" + "2026/3/1 20:15 Ada\nhello\n\n2026/3/1 20:16 Ben\nhi\n" * 3, True),
        ("小雨：去吗\n大黄：去\n" * 3, True),
        (f"{FORMATS['chat_log'].example}\n", True),
        ("[2026-03-05 00:01:00] 林大1: 去吗\n[2026-03-05 00:02:00] 林大2: 去\n", True),
        ("2026/3/1 20:15 Ada\nhello\n\n2026/3/1 20:16 Ben\nhi\n", True),
        ("2026-03-01 Rome\nThe first day.\nIt rains.\n2026-03-02 Milan\nThe second.\nIt rains.\n", False),
        ("name: tea house\nopens: nine\n", False),
        ("Note: a kite\nA story that goes on and on.\nAnd on.\n" * 5, False),
        ("name: tea house\nopens: nine\ncloses: ten\nphone: 12\nowner: Ada\n", False),
        ("The tea house opens at nine.\n\n茶馆九点开门。\n", False),
    ],
)
async def test_a_text_that_looks_like_a_chat_is_told(host: AMemorixHostService, text: str, like_a_chat: bool) -> None:
    task = await pasted(host, "a.txt", text, chat_id="c")
    assert task["status"] == "completed"
    assert [one.startswith("a.txt: it looks like a saved chat") for one in task["warnings"]] == [True] * like_a_chat

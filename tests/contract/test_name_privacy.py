"""A chat is shown persons and things under the names that it knows, and a purge takes every name that nobody else bears."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from conftest import Open
from database_file import content
from entrance import call, data_of

ADMIN, GRAPH, FACTS = "memory_delete_admin", "memory_graph_admin", "memory_fact_admin"


async def talk(host: AMemorixHostService, chat: str, *turns: tuple[str, str, str]) -> None:
    """(speaker, person id, text) in a chat."""
    messages = [
        {"external_id": f"{chat}-{text}", "speaker": name, "person_id": person, "text": text, "time": 1.69e9 + at}
        for at, (name, person, text) in enumerate(turns)
    ]
    await call(host, "ingest_messages", chat_id=chat, messages=messages)
    await host.settle(600)


def held(folder: Path, name: str) -> list[str]:
    """The files that hold a name, as it stands or as JSON writes it."""
    forms = {name.encode(), json.dumps(name)[1:-1].encode()}
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(form in content(path) for form in forms)]


# persons

SECRET_NAMES = [
    ("小甜甜", "Bob", "我住在杭州", "Bob住在哪里"),
    ("Sugarplum", "鲍勃", "I live in Hangzhou", "Where does 鲍勃 live?"),
]


@pytest.mark.parametrize(("secret", "name", "line", "query"), SECRET_NAMES)
async def test_a_fact_bears_the_name_of_the_chat_that_asks(
    host: AMemorixHostService, secret: str, name: str, line: str, query: str
) -> None:
    await talk(host, "private:u1", (secret, "u1", "晚安 good night"))
    await talk(host, "qq:1", (name, "u1", line))

    found = await call(host, "search_memory", query=query, chat_id="qq:1")
    listed = await call(host, FACTS, action="list", chat_id="qq:1")
    shown = await call(host, FACTS, action="get", fact_id=listed["items"][0]["id"], chat_id="qq:1")

    assert [one["person"] for one in found["facts"]] == [name]
    assert [one["person"] for one in listed["items"]] == [name]
    assert shown["fact"]["person"] == name
    assert secret not in json.dumps([found, listed, shown], ensure_ascii=False)


@pytest.mark.parametrize(("first", "newest"), [("Zoe", "Amy"), ("小赵", "阿赵")])
async def test_the_newest_of_several_names_is_shown(host: AMemorixHostService, first: str, newest: str) -> None:
    await talk(host, "qq:1", (first, "u1", "I live in Oslo."), (newest, "u1", "hello again"))

    here = await call(host, FACTS, action="list", chat_id="qq:1")
    everywhere = await call(host, FACTS, action="list")

    assert [one["person"] for one in here["items"]] == [newest]
    assert [one["person"] for one in everywhere["items"]] == [first]


@pytest.mark.parametrize(("secret", "name", "line", "query"), SECRET_NAMES)
async def test_a_name_goes_with_the_only_chat_that_bore_it(
    host: AMemorixHostService, secret: str, name: str, line: str, query: str
) -> None:
    await talk(host, "private:u1", (secret, "u1", "晚安 good night"))
    await talk(host, "qq:1", (name, "u1", line))
    assert held(data_of(host), secret)

    purged = await call(host, ADMIN, action="execute", mode="chat", selector="private:u1", purge=True)

    assert purged["receipt"]["found"] == {}
    assert held(data_of(host), secret) == []
    assert [one["person"] for one in (await call(host, FACTS, action="list"))["items"]] == [name]
    found = await call(host, "search_memory", query=query, chat_id="qq:1")
    assert [one["person"] for one in found["facts"]] == [name]


# things

CATS = [
    ("我的猫叫《饕餮小霸王》", "饕餮小霸王", "我的猫叫《奥利奥饼干》", "奥利奥饼干", "Bob的猫叫什么", "Mia的猫叫什么"),
    ("My cat is called Thunderpaw", "Thunderpaw", "My cat is called Marshmallow", "Marshmallow",
     "What is Bob's cat called?", "What is Mia's cat called?"),
]  # fmt: skip


async def two_cats(host: AMemorixHostService, cats: tuple[str, ...], *, forward: bool) -> None:
    """A cat in qq:1, another in qq:2, made one; forward: the first became the second."""
    line, name, other_line, other, _, _ = cats
    await talk(host, "qq:1", ("Bob", "u1", line))
    await talk(host, "qq:2", ("Mia", "u2", other_line))
    source, target = (name, other) if forward else (other, name)
    await call(host, GRAPH, action="merge_nodes", sources=[source], target=target)
    await host.settle(600)


async def looked(host: AMemorixHostService, chat: str, query: str, name: str, person: str) -> str:
    """All that a chat is told."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_memory", {"query": query}), ("search_memory", {"query": name}),
        (GRAPH, {"action": "get_graph"}), (GRAPH, {"action": "search", "query": name}),
        (GRAPH, {"action": "search", "query": name[:3]}), (GRAPH, {"action": "node_detail", "node": name}),
        ("get_person_profile", {"person_id": person}), (FACTS, {"action": "list"}),
    ]  # fmt: skip
    answers = [await call(host, component, **args, chat_id=chat) for component, args in calls]
    return json.dumps(answers, ensure_ascii=False)


@pytest.mark.parametrize("cats", CATS)
@pytest.mark.parametrize("forward", [True, False])
async def test_a_merge_shows_no_chat_the_words_of_another(
    host: AMemorixHostService, cats: tuple[str, ...], forward: bool
) -> None:
    for chat, name, cat in (("qq:1", "Bob", cats[1]), ("qq:2", "Mia", cats[3])):
        told = [{"subject": name, "predicate": "has", "object": cat}]
        text = {"external_id": chat, "source_type": "note", "text": f"{name}: {cat}", "relations": told}
        await call(host, "ingest_text", chat_id=chat, **text)
    await two_cats(host, cats, forward=forward)

    here = await looked(host, "qq:1", cats[4], cats[1], "u1")
    there = await looked(host, "qq:2", cats[5], cats[3], "u2")

    assert cats[3] not in here
    assert cats[1] not in there
    hits = (await call(host, "search_memory", query=cats[1], chat_id="qq:1"))["hits"]
    assert any(cats[1] in sentence for hit in hits for sentence in hit["explain"].get("relations", ()))


@pytest.mark.parametrize("cats", CATS)
@pytest.mark.parametrize("forward", [True, False])
async def test_a_name_that_the_chat_never_said_finds_nothing(
    host: AMemorixHostService, cats: tuple[str, ...], forward: bool
) -> None:
    await two_cats(host, cats, forward=forward)

    for chat, strange in (("qq:1", cats[3]), ("qq:2", cats[1])):
        node = await host.invoke(GRAPH, {"action": "node_detail", "node": strange, "chat_id": chat})
        assert (node["success"], node["error_code"], node["details"]["field"]) == (False, "not_found", "node")
        found = await call(host, GRAPH, action="search", query=strange, kind="entity", chat_id=chat)
        assert found["items"] == []
    assert (await call(host, GRAPH, action="node_detail", node=cats[1]))["node"]["name"] == cats[3 if forward else 1]


@pytest.mark.parametrize("cats", CATS)
@pytest.mark.parametrize("forward", [True, False])
async def test_a_purge_takes_the_name_of_what_was_merged(
    host: AMemorixHostService, cats: tuple[str, ...], forward: bool
) -> None:
    await two_cats(host, cats, forward=forward)
    assert held(data_of(host), cats[1])

    purged = await call(host, ADMIN, action="execute", mode="chat", selector="qq:1", purge=True)

    assert purged["receipt"]["found"] == {}
    assert held(data_of(host), cats[1]) == []
    assert held(data_of(host), cats[3])
    assert (await call(host, GRAPH, action="node_detail", node=cats[3]))["node"]["name"] == cats[3]
    assert (await call(host, GRAPH, action="node_detail", node=cats[3], chat_id="qq:2"))["node"]["name"] == cats[3]


@pytest.mark.parametrize("cats", CATS)
async def test_a_name_that_another_chat_says_too_stays(host: AMemorixHostService, cats: tuple[str, ...]) -> None:
    await two_cats(host, cats, forward=True)
    await talk(host, "qq:3", ("Ann", "u3", cats[0]))

    await call(host, ADMIN, action="execute", mode="chat", selector="qq:1", purge=True)

    node = await call(host, GRAPH, action="node_detail", node=cats[1], chat_id="qq:3")
    assert node["node"]["name"] == cats[1]


async def test_a_former_name_goes_after_a_rename_as_well(opened: Open) -> None:
    host = await opened()
    await two_cats(host, CATS[0], forward=False)
    await call(host, GRAPH, action="rename_node", node=CATS[0][1], new_name="大猫猫")

    purged = await call(host, ADMIN, action="execute", mode="chat", selector="qq:1", purge=True)

    assert purged["receipt"]["found"] == {}
    assert held(data_of(host), CATS[0][1]) == []
    assert (await call(host, GRAPH, action="node_detail", node="大猫猫"))["node"]["name"] == "大猫猫"

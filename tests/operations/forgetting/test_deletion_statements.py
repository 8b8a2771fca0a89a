"""What others stated by hand that names a person goes with them, or is told of as staying."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from conftest import Open
from entrance import call, data_of, rows
from test_name_privacy import ADMIN, FACTS, GRAPH, held, talk

PROFILES = "memory_profile_admin"
PEOPLE = [
    ("欧阳娜娜", "Mia 是欧阳娜娜的朋友", "欧阳娜娜粉丝团", "是欧阳娜娜的同事", "大家好我来了"),
    ("Wilhelmina", "Mia is a friend of Wilhelmina", "Friends of Wilhelmina", "worked for Wilhelmina at", "hello all"),
]  # fmt: skip


async def stated(host: AMemorixHostService, person: tuple[str, ...]) -> str:
    """A person in a chat, and what others were told to be by hand; returns the fact."""
    name, profile, club, predicate, line = person
    await talk(host, "qq:1", (name, "usr-777", line), ("Mia", "u5", "hi"), ("Bob", "u7", "the weather is fine"))
    await call(host, PROFILES, action="set_override", person_id="u5", text=profile, updated_by=name)
    await call(host, PROFILES, action="set_override", person_id="u7", text="Bob is tall", updated_by=name)
    await call(host, GRAPH, action="create_node", name=club)
    await call(host, GRAPH, action="create_edge", subject="Bob Dean", predicate=predicate, object="Ann Lee")
    await call(host, GRAPH, action="create_edge", subject="Bob Dean", predicate="belongs to", object=club)
    added = await call(host, FACTS, action="add", person_id="u5", attribute="friend", value=name, chat_id="qq:1")
    await host.settle(600)
    return added["fact"]["id"]


def shown(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(row["item_type"], row["label"]) for row in rows}


@pytest.mark.parametrize("person", PEOPLE)
async def test_statements_by_hand_go_and_come_back(host: AMemorixHostService, person: tuple[str, ...]) -> None:
    name, profile, club, predicate, _ = person
    fact = await stated(host, person)

    plan = await call(host, ADMIN, action="preview", mode="person", selector="usr-777")
    gone = await call(host, ADMIN, action="execute", mode="person", selector="usr-777")

    going = shown(plan["items"])
    assert {("profile_override", profile), ("relation", f"Bob Dean {predicate} Ann Lee")} <= going
    assert ("fact", f"Mia · friend: {name}") in going
    assert ("relation", f"Bob Dean belongs to {club}") not in going
    assert [(row["label"], bool(row["why"])) for row in plan["stays"] if row["item_type"] == "entity"] == [(club, True)]
    assert (await host.invoke(FACTS, {"action": "get", "fact_id": fact}))["error_code"] == "not_found"

    await call(host, ADMIN, action="restore", operation_id=gone["operation_id"])

    assert (await call(host, FACTS, action="get", fact_id=fact))["fact"]["value"] == name
    again = await call(host, ADMIN, action="preview", mode="person", selector="usr-777")
    assert shown(again["items"]) >= going


@pytest.mark.parametrize("person", PEOPLE)
async def test_a_purge_takes_them_for_good_and_tells_what_stays(
    host: AMemorixHostService, person: tuple[str, ...]
) -> None:
    name, _, club, _, _ = person
    await stated(host, person)

    receipt = (await call(host, ADMIN, action="execute", mode="person", selector="usr-777", purge=True))["receipt"]
    await host.settle(600)

    assert receipt["found"] == {}
    assert [row["item_type"] for row in receipt["stays"]] == ["entity"]
    texts = rows(
        host,
        "select text || updated_by from profile_overrides union all select value from facts "
        "union all select predicate from relations",
    )
    assert name not in json.dumps(texts, ensure_ascii=False)
    await call(host, GRAPH, action="delete_node", node=club)


@pytest.mark.parametrize("person", PEOPLE)
async def test_with_mentions_kept_they_stay_and_are_told_of(host: AMemorixHostService, person: tuple[str, ...]) -> None:
    name = person[0]
    fact = await stated(host, person)

    plan = await call(host, ADMIN, action="preview", mode="person", selector="usr-777", mentions="keep")

    stays = {(row["item_type"], row["item_key"]) for row in plan["stays"]}
    assert ("fact", fact) in stays
    assert {kind for kind, _ in stays} >= {"fact", "relation", "person", "entity"}
    assert ("fact", f"Mia · friend: {name}") not in shown(plan["items"])


@pytest.mark.parametrize(("name", "value"), [("高兴", "今天很高兴"), ("May", "the month of may")])
async def test_a_common_word_in_a_statement_stays_and_is_told_of(
    host: AMemorixHostService, name: str, value: str
) -> None:
    await talk(host, "qq:1", (name, "w1", "hi 大家好"), ("Mia", "u5", "hello 你好"))
    await call(host, PROFILES, action="set_override", person_id="u5", text=value)

    plan = await call(host, ADMIN, action="preview", mode="person", selector="w1")

    profile = [row for row in plan["stays"] if row["item_type"] == "person"]
    assert [row["label"] for row in profile] == ["Mia"]
    assert value not in {row["label"] for row in plan["items"]}


async def test_what_a_tool_was_called_goes_with_the_question(opened: Open) -> None:
    host = await opened(feedback={"enabled": True})
    await talk(host, "qq:1", ("欧阳娜娜", "usr-777", "我住在杭州"), ("Mia", "u5", "hi"))
    found = await call(host, "search_memory", query="欧阳娜娜住在哪里", chat_id="qq:1")
    content = {"query": "欧阳娜娜住在哪里", "hits": found["hits"]}
    await call(host, "enqueue_feedback_task", query_tool_id="tool-欧阳娜娜-1", session_id="qq:1",
               query_timestamp=1.7e9, structured_content=content)  # fmt: skip
    assert held(data_of(host), "tool-欧阳娜娜-1")

    await call(host, ADMIN, action="execute", mode="person", selector="usr-777", purge=True)

    assert held(data_of(host), "欧阳娜娜") == []

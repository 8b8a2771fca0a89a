"""Nodes that were only read out of texts are listed as long as something that lives speaks of them."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from entrance import hits, told
from graph_entrance import changed, graph, nodes

CORRECTION = "memory_correction_admin"


async def every_name(host: AMemorixHostService) -> set[str]:
    """Names listed in each way in which nodes are listed; they have to agree."""
    await host.settle(600)
    by = [set(await nodes(host, order=order)) for order in ("importance", "name", "recent")]
    assert by[0] == by[1] == by[2]
    assert (await graph(host, "get_graph"))["total_nodes"] == len(by[0])
    return by[0]


async def searched(host: AMemorixHostService, query: str) -> list[str]:
    found = await graph(host, "search", query=query, kind="entity")
    return [item["name"] for item in found["items"]]


@pytest.mark.parametrize(
    ("text", "said", "person", "wrong", "right"),
    [
        ("Mia works at Nokia.", "Mia doesn't work at Nokia, she works at Stripe.", "Mia", "Nokia", "Stripe"),
    ],
)
async def test_what_a_withdrawn_correction_spoke_of_is_not_listed(
    host: AMemorixHostService, text: str, said: str, person: str, wrong: str, right: str
) -> None:
    await told(host, text, chat_id="g", person_ids=[person])
    before = await every_name(host)
    assert {person, wrong} <= before
    args = {"action": "preview", "text": said, "chat_id": "g"}
    plan = await host.invoke(CORRECTION, args)
    assert plan["success"], plan
    assert (await host.invoke(CORRECTION, {"action": "execute", "plan_id": plan["plan_id"], "confirmed": True}))[
        "success"
    ]
    assert right in await every_name(host)
    assert wrong not in await every_name(host)
    assert (await host.invoke(CORRECTION, {"action": "rollback", "plan_id": plan["plan_id"]}))["success"]

    assert await every_name(host) == before
    assert await searched(host, right) == []
    assert await searched(host, right[:-1]) == []
    assert await searched(host, wrong) == [wrong]


async def deleted(host: AMemorixHostService, *paragraphs: str) -> None:
    args = {"action": "execute", "mode": "paragraph", "selector": list(paragraphs)}
    assert (await host.invoke("memory_delete_admin", args))["success"]


@pytest.mark.parametrize("name", ["Lisbon", "里斯本"])
async def test_what_was_made_or_told_by_hand_stays_listed(host: AMemorixHostService, name: str) -> None:
    text = "Bailey lives in Lisbon." if name == "Lisbon" else "林澈在读《里斯本》。"
    await told(host, text, person_ids=["Bailey", "林澈"])
    assert name in await every_name(host)
    await graph(host, "create_node", name=name)
    await deleted(host, "p1")
    assert await every_name(host) == {name}


async def test_what_was_told_stays_listed(host: AMemorixHostService) -> None:
    await told(host, "a line", entities=["Lisbon"])
    await deleted(host, "p1")
    assert await every_name(host) == {"Lisbon"}


async def test_a_read_node_is_listed_again_with_its_paragraph(host: AMemorixHostService) -> None:
    await told(host, "Bailey lives in Lisbon.", person_ids=["Bailey"])
    before = await every_name(host)
    await deleted(host, "p1")
    assert await every_name(host) == set()
    await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "d1"})
    assert await every_name(host) == before


@pytest.mark.parametrize(
    ("name", "alias", "former", "text"),
    [("Robert", "Bobby", "Robbie", "The big one was towed away."), ("林澈", "阿澈", "小林", "她昨天去爬山了。")],
)
async def test_a_match_by_alias_or_former_name_shows_the_entity(
    host: AMemorixHostService, name: str, alias: str, former: str, text: str
) -> None:
    await told(host, text, entities=[{"name": name, "aliases": [alias]}])
    await told(host, "another line", entities=[former])
    await changed(host, "merge_nodes", sources=[former], target=name)

    for query in (name, alias, former, f"{alias} {name}"):
        found = await hits(host, query)
        assert found, query
        assert all(hit["explain"]["matched_entities"] == [name] for hit in found), query

"""What went away for several reasons comes back when the last of them is gone, and never with a dead end."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host
from entrance import call, reading, refused, told
from graph_entrance import changed, edges, fits, graph, nodes, rows, triple

DELETE, GRAPH, LIFE = "memory_delete_admin", "memory_graph_admin", "memory_v5_admin"
Call = tuple[str, dict[str, Any]]
EXPECTED = {"not_found", "conflict", "invalid_request"}


async def deleted(host: AMemorixHostService, mode: str, selector: Any) -> str:
    return (await call(host, DELETE, "execute", mode=mode, selector=selector))["operation_id"]


@pytest.fixture(params=[("Bailey", "lives in", "Lisbon"), ("林澈", "住在", "杭州")])
async def home(request: pytest.FixtureRequest, host: AMemorixHostService) -> tuple[str, str, str]:
    """A relation r1 of one paragraph p1."""
    subject, predicate, object_ = request.param
    await told(host, "a line", relations=[triple(subject, predicate, object_)])
    return request.param


@pytest.mark.parametrize("first", ["undo", "restore"])
@pytest.mark.parametrize("by_hand", ["delete_edge", "delete_node"])
async def test_a_relation_deleted_twice_is_back_in_any_order(
    host: AMemorixHostService, home: tuple[str, str, str], by_hand: str, first: str
) -> None:
    before = await rows(host)
    what = {"relation": "r1"} if by_hand == "delete_edge" else {"node": home[0]}
    undo = await changed(host, by_hand, **what)
    operation = await deleted(host, "paragraph", ["p1"])
    assert await edges(host) == set()

    if first == "restore":
        await call(host, DELETE, "restore", operation_id=operation)
        assert await edges(host) == set()
    await graph(host, "undo", undo_id=undo)
    if first == "undo":
        assert await edges(host) == set()
        await call(host, DELETE, "restore", operation_id=operation)

    assert await edges(host) == {home}
    assert await rows(host) == before
    await fits(host)


async def test_a_relation_that_lost_its_paragraph_first_waits_for_its_node(
    host: AMemorixHostService, home: tuple[str, str, str]
) -> None:
    before = await rows(host)
    operation = await deleted(host, "paragraph", ["p1"])
    undo = await changed(host, "delete_node", node=home[2])
    restored = await call(host, DELETE, "restore", operation_id=operation)

    assert restored["not_restored"]
    await graph(host, "undo", undo_id=undo)
    assert await edges(host) == {home}
    assert await rows(host) == before


@pytest.mark.parametrize("way", ["delete_node", "entity"])
async def test_a_forgotten_relation_is_not_restored_without_its_node(
    host: AMemorixHostService, home: tuple[str, str, str], way: str
) -> None:
    await call(host, LIFE, "forget", target="r1")
    if way == "entity":
        gone: Call = DELETE, {"action": "restore", "operation_id": await deleted(host, "entity", home[2])}
    else:
        gone = GRAPH, {"action": "undo", "undo_id": await changed(host, "delete_node", node=home[2])}
    sentence = await refused(host, LIFE, {"action": "restore", "target": "r1"}, "target", "conflict")
    assert "n2" in sentence
    assert home[2] in sentence
    await fits(host)

    assert (await host.invoke(*gone))["success"]
    assert await edges(host) == set()
    await call(host, LIFE, "restore", target="r1")
    assert await edges(host) == {home}
    await fits(host)


async def test_a_forgotten_relation_is_not_restored_after_its_ends_were_merged(
    host: AMemorixHostService, home: tuple[str, str, str]
) -> None:
    await call(host, LIFE, "forget", target="r1")
    undo = await changed(host, "merge_nodes", sources=[home[0]], target=home[2])
    sentence = await refused(host, LIFE, {"action": "restore", "target": "r1"}, "target", "conflict")
    assert "n1" in sentence

    await graph(host, "undo", undo_id=undo)
    await call(host, LIFE, "restore", target="r1")
    assert await edges(host) == {home}


@pytest.mark.parametrize("way", ["delete_node", "entity"])
async def test_a_restored_paragraph_leaves_the_relation_down_until_the_node_is_back(
    host: AMemorixHostService, home: tuple[str, str, str], way: str
) -> None:
    before = await rows(host)
    await call(host, LIFE, "forget", target="p1")
    if way == "entity":
        gone: Call = DELETE, {"action": "restore", "operation_id": await deleted(host, "entity", home[2])}
    else:
        gone = GRAPH, {"action": "undo", "undo_id": await changed(host, "delete_node", node=home[2])}
    await call(host, LIFE, "restore", target="p1")
    assert await edges(host) == set()
    await fits(host)

    assert (await host.invoke(*gone))["success"]
    assert await edges(host) == {home}
    assert await rows(host) == before


async def test_a_deleted_relation_that_was_merged_away_comes_back_with_the_undoing_of_the_merge(
    host: AMemorixHostService, home: tuple[str, str, str]
) -> None:
    await told(host, "more", relations=[triple("Mia", *home[1:])])
    before = await rows(host)
    operation = await deleted(host, "relation", ["r1"])
    undo = await changed(host, "merge_nodes", sources=[home[0]], target="Mia")
    restored = await host.invoke(DELETE, {"action": "restore", "operation_id": operation})
    assert [one["reason"] for one in restored["not_restored"]] == [
        "what it rests on is still deleted, or has become part of something else"
    ]
    await fits(host)

    await graph(host, "undo", undo_id=undo)
    await call(host, DELETE, "restore", operation_id=operation)
    assert await rows(host) == before


async def test_a_rolled_back_correction_brings_no_relation_without_its_node(host: AMemorixHostService) -> None:
    await told(host, "林澈住在北京。", chat_id="g", relations=[triple("林澈", "住在", "北京")], person_ids=["林澈"])
    before = await rows(host)
    plan = await call(host, "memory_correction_admin", "preview", text="林澈不住在北京，住在上海。", chat_id="g")
    executed = await call(host, "memory_correction_admin", "execute", plan_id=plan["plan_id"], confirmed=True)
    assert executed["success"]
    undo = await changed(host, "delete_node", node="林澈")
    await call(host, "memory_correction_admin", "rollback", plan_id=plan["plan_id"])
    await fits(host)

    await graph(host, "undo", undo_id=undo)
    assert ("林澈", "住在", "北京") in await edges(host)
    after = await rows(host)
    assert set(before["relations"]) <= set(after["relations"])


async def test_a_paragraph_read_again_does_not_bring_back_a_node_deleted_by_hand(host: AMemorixHostService) -> None:
    await told(host, "Bailey lives in Lisbon.", person_ids=["Bailey"])
    await host.settle(600)
    before = await rows(host)
    assert "Lisbon" in await nodes(host)
    await call(host, LIFE, "forget", target="p1")
    undo = await changed(host, "delete_node", node="Lisbon")
    await call(host, LIFE, "restore", target="p1")
    await host.settle(600)
    assert "Lisbon" not in await nodes(host)

    await graph(host, "undo", undo_id=undo)
    assert await rows(host) == before


# random histories

NODES = ["林澈", "Mia", "Lot", "杭州"]
paragraph, edge = st.integers(1, 4).map(lambda n: f"p{n}"), st.integers(1, 6).map(lambda n: f"r{n}")
node = st.sampled_from(NODES)
any_call = st.one_of(
    st.builds(lambda t: (LIFE, {"action": "forget", "target": t}), st.one_of(paragraph, edge)),
    st.builds(lambda t: (LIFE, {"action": "restore", "target": t}), st.one_of(paragraph, edge)),
    st.builds(lambda n: (GRAPH, {"action": "delete_node", "node": n}), node),
    st.builds(lambda r: (GRAPH, {"action": "delete_edge", "relation": r}), edge),
    st.builds(lambda n: (GRAPH, {"action": "undo", "undo_id": f"u{n}"}), st.integers(1, 5)),
    st.builds(lambda s, t: (GRAPH, {"action": "merge_nodes", "sources": [s], "target": t}), node, node),
    st.builds(lambda p: (DELETE, {"action": "execute", "mode": "paragraph", "selector": [p]}), paragraph),
    st.builds(lambda r: (DELETE, {"action": "execute", "mode": "relation", "selector": [r]}), edge),
    st.builds(lambda n: (DELETE, {"action": "execute", "mode": "entity", "selector": n}), node),
    st.builds(lambda n: (DELETE, {"action": "restore", "operation_id": f"d{n}"}), st.integers(1, 5)),
)
MATERIAL = [
    [("林澈", "住在", "杭州"), ("Mia", "knows", "林澈")],
    [("Mia", "住在", "杭州"), ("Mia", "knows", "林澈")],
    [("Lot", "knows", "Mia"), ("Lot", "knows", "林澈"), ("林澈", "knows", "Lot")],
    [("Lot", "knows", "Mia"), ("林澈", "住在", "杭州")],
]


async def tried(host: AMemorixHostService, component: str, args: dict[str, Any]) -> bool:
    """A call, which may have to be refused."""
    result = await host.invoke(component, args)
    assert result["success"] or result.get("not_restored") or result["error_code"] in EXPECTED, result
    return result["success"]


async def everything_undone(host: AMemorixHostService) -> None:
    """Undo, restore and take out of the bin whatever there is, until nothing is left; the oldest first."""
    for _ in range(12):
        undone = await graph(host, "list_undo", limit=50)
        held = await call(host, DELETE, "list", status="executed", limit=50)
        bin_ = await call(host, LIFE, "recycle_bin", limit=50)
        calls = [(GRAPH, {"action": "undo", "undo_id": one["undo_id"]}) for one in reversed(undone["items"])]
        calls += [(DELETE, {"action": "restore", "operation_id": one["operation_id"]}) for one in held["items"]]
        calls += [(LIFE, {"action": "restore", "target": one["id"]}) for one in bin_["items"]]
        if not calls:
            return
        for component, args in calls:
            await tried(host, component, args)
    raise AssertionError(calls)


async def state(host: AMemorixHostService) -> tuple[Any, ...]:
    with reading(host) as db:
        texts = db.execute(
            "select id, deleted_at, deleted_reason, superseded_at from paragraphs order by id"
        ).fetchall()
    return await rows(host), texts


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls=st.lists(any_call, min_size=1, max_size=9))
def test_no_live_relation_has_a_dead_end_and_undone_is_as_if_never_done(calls: list[Call]) -> None:
    async def life(folder: Path) -> None:
        async with memory_host(folder, embed=HashEmbedder(16)) as host:
            for n, relations in enumerate(MATERIAL):
                await told(host, f"text {n}", relations=[triple(*one) for one in relations])
            await host.settle()
            before = await state(host)
            for component, args in calls:
                await tried(host, component, args)
            await fits(host)
            await everything_undone(host)
            await fits(host)
            assert await state(host) == before

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(life(Path(folder)))


@pytest.mark.parametrize("by_hand", ["delete_edge", "delete_node", "memory_delete_admin"])
async def test_what_a_hand_took_stays_away_when_its_paragraph_comes_back_in_the_same_instant(
    host: AMemorixHostService, home: tuple[str, str, str], by_hand: str
) -> None:
    if by_hand == "memory_delete_admin":
        operation = await deleted(host, "relation", ["r1"])
    else:
        what = {"relation": "r1"} if by_hand == "delete_edge" else {"node": home[0]}
        undo = await changed(host, by_hand, **what)
    await call(host, LIFE, "forget", target="p1")
    await call(host, LIFE, "restore", target="p1")
    assert await edges(host) == set()

    if by_hand == "memory_delete_admin":
        await call(host, DELETE, "restore", operation_id=operation)
    else:
        await graph(host, "undo", undo_id=undo)
    assert await edges(host) == {home}


async def test_an_undo_gives_back_nothing_that_was_deleted_anew_in_the_same_instant(
    host: AMemorixHostService, home: tuple[str, str, str]
) -> None:
    undo = await changed(host, "delete_edge", relation="r1")
    await told(host, "a second line", relations=[triple(*home)])
    operation = await deleted(host, "relation", ["r1"])
    await graph(host, "undo", undo_id=undo)
    assert await edges(host) == set()
    await call(host, DELETE, "restore", operation_id=operation)
    assert await edges(host) == {home}

"""Changing the graph by hand: merged, renamed, weighed, deleted, and given back as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder
from conftest import Open
from entrance import change, contents, found, hits, told
from graph_entrance import changed, edges, family, fits, graph, nodes, page, rows, triple, turned_down, wrong
from pace import PATIENCE


async def test_aliases_come_with_a_text_and_find_its_paragraphs(host: AMemorixHostService) -> None:
    await told(host, "她昨天去爬山了。", entities=[{"name": "林澈", "type": "person", "aliases": ["阿澈", "LC"]}])
    await told(host, "The big one was towed away.", entities=[{"name": "Volvo", "aliases": ["old lady"]}])

    assert await contents(host, "阿澈怎么样？") == ["她昨天去爬山了。"]
    assert await contents(host, "What about the old lady?") == ["The big one was towed away."]
    detail = await graph(host, "node_detail", node="lc")
    assert (detail["node"]["name"], detail["node"]["type"], detail["aliases"]) == ("林澈", "person", ["LC", "阿澈"])


async def test_an_alias_serves_the_relations_of_the_same_text(host: AMemorixHostService) -> None:
    await told(host, "x", entities=[{"name": "林澈", "aliases": ["LC"]}], relations=[triple("LC", "likes", "tea")])
    assert await edges(host) == {("林澈", "likes", "tea")}


async def test_an_alias_that_means_another_stays_as_it_was(host: AMemorixHostService) -> None:
    await told(host, "one", entities=[{"name": "Robert", "aliases": ["Bob"]}])
    result = await told(host, "two", entities=[{"name": "Bobby", "aliases": ["bob", "Bobbie"]}])

    assert len(result["warnings"]) == 1
    assert "entities.0.aliases.0" in result["warnings"][0]
    assert (await graph(host, "node_detail", node="BOB"))["node"]["name"] == "Robert"
    assert (await graph(host, "node_detail", node="bobbie"))["node"]["name"] == "Bobby"


@pytest.mark.parametrize("name", ["李雷", "Robert"])
async def test_an_alias_that_is_another_ones_name_is_refused(host: AMemorixHostService, name: str) -> None:
    await told(host, "one", entities=[name])
    error = await turned_down(host, "two", "entities.0.aliases.0", entities=[{"name": "somebody", "aliases": [name]}])
    assert "merge_nodes" in error
    assert await nodes(host) == [name]


@pytest.mark.parametrize("aliases", [[""], ["  "], [5.5], "Bob"])
async def test_an_alias_is_a_name(host: AMemorixHostService, aliases: Any) -> None:
    field = "entities.0.aliases" if isinstance(aliases, str) else "entities.0.aliases.0"
    await turned_down(host, "x", field, entities=[{"name": "a", "aliases": aliases}])


async def test_the_same_again_changes_no_row(host: AMemorixHostService) -> None:
    for _ in range(2):
        await told(
            host, "x", external_id="1", entities=[{"name": "a", "aliases": ["b"]}], relations=[triple("a", "p", "c")]
        )
    assert len((await rows(host))["relation_evidence"]) == 1
    assert len((await rows(host))["entity_aliases"]) == 1


async def test_a_relation_whose_ends_are_one_thing_is_left_out(host: AMemorixHostService) -> None:
    await told(host, "one", entities=[{"name": "Robert", "aliases": ["Bob"]}])
    result = await told(host, "two", relations=[triple("Bob", "is", "Robert"), triple("Bob", "likes", "tea")])

    assert len(result["relation_ids"]) == 1
    assert "same entity" in result["warnings"][0]
    assert await edges(host) == {("Robert", "likes", "tea")}


async def test_merged_nodes_are_one(host: AMemorixHostService) -> None:
    await told(host, "Bob likes tea.", relations=[triple("Bob", "likes", "tea", confidence=0.5)])
    await told(host, "Robert likes tea.", relations=[triple("Robert", "likes", "tea", confidence=0.9)])
    await told(host, "Bob knows Robert.", relations=[triple("Bob", "knows", "Robert")])
    await told(
        host, "Ada knows Bob.", relations=[triple("Ada", "knows", "Bob")], entities=[{"name": "Bob", "aliases": ["B."]}]
    )
    result = await graph(host, "merge_nodes", sources=["Bob"], target="Robert")

    assert result["count"] == 1
    assert await edges(host) == {("Robert", "likes", "tea"), ("Ada", "knows", "Robert")}
    detail = await graph(host, "node_detail", node="bob")
    assert (detail["node"]["name"], detail["former_names"], detail["aliases"]) == ("Robert", ["Bob"], ["B."])
    assert detail["paragraph_count"] == 4
    tea = next(r for r in detail["relations"] if r["object"] == "tea")
    assert (tea["confidence"], tea["evidence_count"]) == (0.9, 2)
    await told(host, "Bob sings.", relations=[triple("Bob", "sings", "songs")])
    assert ("Robert", "sings", "songs") in await edges(host)
    await fits(host)


@pytest.mark.parametrize(("source", "target"), [("阿澈", "林澈"), ("Bob", "Robert")])
async def test_the_former_name_finds_the_paragraphs_of_both(
    host: AMemorixHostService, source: str, target: str
) -> None:
    await told(host, "first note here", entities=[source])
    await told(host, "second note here", entities=[target])
    await changed(host, "merge_nodes", sources=source, target=target)

    assert sorted(await contents(host, source)) == ["first note here", "second note here"]
    assert (await hits(host, source))[0]["explain"]["lanes"]["graph"]


async def test_a_merge_of_many_is_undone_to_the_row(dense_host: AMemorixHostService) -> None:
    host = dense_host
    for name in ("Bob", "Rob", "Robert"):
        await told(host, f"{name} likes tea.", relations=[triple(name, "likes", "tea"), triple(name, "owns", f"{name}'s car")],
                   entities=[{"name": name, "aliases": [f"{name}ster"]}])  # fmt: skip
        await told(host, f"{name} and all.", relations=[triple("Ada", "knows", name), triple(name, "met", "Bob")]
                   if name != "Bob" else [])  # fmt: skip
    await host.settle()
    before = await rows(host)
    undo = await changed(
        host, "merge_nodes", sources=["Bob", "Rob"], target="Robert", requested_by="me", reason="one man"
    )
    await fits(host)
    assert await edges(host) == {
        ("Robert", "likes", "tea"), ("Ada", "knows", "Robert"), ("Robert", "owns", "Bob's car"),
        ("Robert", "owns", "Rob's car"), ("Robert", "owns", "Robert's car"),
    }  # fmt: skip
    await graph(host, "undo", undo_id=undo)
    await fits(host)
    assert await rows(host) == before


async def test_a_second_merge_does_not_chain_and_is_undone_first(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "x"), triple("b", "p", "x"), triple("c", "p", "x")])
    before = await rows(host)
    first = await changed(host, "merge_nodes", sources=["a"], target="b")
    middle = await rows(host)
    second = await changed(host, "merge_nodes", sources=["b"], target="c")
    await fits(host)
    assert (await graph(host, "node_detail", node="a"))["node"]["name"] == "c"

    error = await wrong(host, "undo", "undo_id", "conflict", undo_id=first)
    assert second in error
    await graph(host, "undo", undo_id=second)
    assert await rows(host) == middle
    await graph(host, "undo", undo_id=first)
    assert await rows(host) == before


async def test_what_came_after_a_merge_stays_with_the_target(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "x"), triple("b", "q", "x")])
    undo = await changed(host, "merge_nodes", sources=["a"], target="b")
    await told(host, "later", relations=[triple("a", "r", "y")])
    await graph(host, "undo", undo_id=undo)

    assert await edges(host) == {("a", "p", "x"), ("b", "q", "x"), ("b", "r", "y")}
    await fits(host)


async def test_a_merge_is_undone_after_its_texts_were_deleted(host: AMemorixHostService) -> None:
    await told(host, "x", source="s", relations=[triple("a", "p", "x")])
    await told(host, "y", source="t", relations=[triple("b", "p", "x")])
    undo = await changed(host, "merge_nodes", sources=["a"], target="b")
    await host.invoke("memory_source_admin", {"action": "delete", "source": "s"})
    await graph(host, "undo", undo_id=undo)

    assert await edges(host) == {("b", "p", "x")}
    await fits(host)


@pytest.mark.parametrize(("old", "new"), [("林澈", "林小澈"), ("Mia", "Mia Chen")])
async def test_a_renamed_node_is_found_by_both_names(dense_host: AMemorixHostService, old: str, new: str) -> None:
    host = dense_host
    await told(host, "something happened", relations=[triple(old, "sold", "kayak")])
    await host.settle()
    before = await rows(host)
    undo = await changed(host, "rename_node", old_name=old, new_name=new)
    during = await rows(host)

    assert during["relation_embeddings"] == []
    await fits(host)
    assert (await rows(host))["relation_embeddings"] != before["relation_embeddings"]
    assert await edges(host) == {(new, "sold", "kayak")}
    for name in (old, new):
        assert await contents(host, name) == ["something happened"]
        assert (await graph(host, "node_detail", node=name))["node"]["name"] == new
    await graph(host, "undo", undo_id=undo)
    await fits(host)
    assert await rows(host) == before


async def test_a_vector_of_what_a_relation_said_before_is_not_kept(opened: Open) -> None:
    """The relation is renamed while the model makes its vector."""
    loop, renamed = asyncio.get_running_loop(), list[str]()

    class Renaming(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            if "Mia sold kayak" in texts and not renamed:
                rename = changed(host, "rename_node", node="Mia", new_name="Ada")
                renamed.append(asyncio.run_coroutine_threadsafe(rename, loop).result(PATIENCE))
            return super().embed(texts)

    host = await opened(embed=Renaming())
    await told(host, "x", relations=[triple("Mia", "sold", "kayak")])
    await host.settle(PATIENCE)
    assert renamed
    [held] = (await rows(host))["relation_embeddings"]
    assert held[2] == HashEmbedder().embed(["Ada sold kayak"])[0].astype("<f2").tobytes()


async def test_a_rename_may_change_only_the_spelling(host: AMemorixHostService) -> None:
    await told(host, "x", entities=["mia"])
    before = await rows(host)
    undo = await changed(host, "rename_node", node="mia", new_name="MIA")
    assert await nodes(host) == ["MIA"]
    assert (await rows(host))["entity_aliases"] == []
    await graph(host, "undo", undo_id=undo)
    assert await rows(host) == before


async def test_a_rename_to_the_same_name_changes_nothing(host: AMemorixHostService) -> None:
    await told(host, "x", entities=["mia"])
    result = await graph(host, "rename_node", node="mia", new_name="mia")
    assert (result["changed"], result["undo_id"], len(result["warnings"])) == (False, "", 1)


async def test_a_rename_to_an_own_alias_or_a_former_name_changes_places(host: AMemorixHostService) -> None:
    await told(host, "x", entities=[{"name": "Robert", "aliases": ["Bob"]}, "Rob"])
    await changed(host, "merge_nodes", sources=["Rob"], target="Robert")
    before = await rows(host)
    first = await changed(host, "rename_node", node="Robert", new_name="BOB")
    second = await changed(host, "rename_node", node="Robert", new_name="rob")

    detail = await graph(host, "node_detail", node="Robert")
    assert detail["node"]["name"] == "rob"
    assert (await graph(host, "node_detail", node="bob"))["node"] == detail["node"]
    await fits(host)
    await graph(host, "undo", undo_id=second)
    await graph(host, "undo", undo_id=first)
    assert await rows(host) == before


async def test_a_rename_onto_another_node_needs_a_merge(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("Bob", "likes", "tea"), triple("Robert", "likes", "milk")])
    error = await wrong(host, "rename_node", "new_name", "conflict", node="Bob", new_name="ROBERT")
    assert "merge_nodes" in error
    await changed(host, "rename_node", node="Bob", new_name="ROBERT", merge=True)
    assert await edges(host) == {("Robert", "likes", "tea"), ("Robert", "likes", "milk")}


async def test_aliases_are_added_and_removed(host: AMemorixHostService) -> None:
    await told(host, "走了很远。", entities=["林澈"])
    before = await rows(host)
    added = await changed(host, "add_alias", node="林澈", alias="澈哥")
    assert await contents(host, "澈哥在哪里") == ["走了很远。"]
    again = await graph(host, "add_alias", node="林澈", alias="澈哥")
    assert (again["changed"], again["undo_id"]) == (False, "")
    during = await rows(host)
    removed = await changed(host, "remove_alias", node="林澈", alias="澈哥")
    assert await contents(host, "澈哥在哪里") == []
    assert await rows(host) == before
    await graph(host, "undo", undo_id=removed)
    assert await rows(host) == during
    await graph(host, "undo", undo_id=added)
    assert await rows(host) == before


async def test_an_alias_is_not_brought_back_over_a_new_name(host: AMemorixHostService) -> None:
    await told(host, "x", entities=[{"name": "Robert", "aliases": ["Bob"]}])
    undo = await changed(host, "remove_alias", alias="Bob")
    await told(host, "y", entities=["Bob"])
    await wrong(host, "undo", "undo_id", "conflict", undo_id=undo)


async def test_a_node_goes_with_its_relations_and_comes_back_with_them(host: AMemorixHostService) -> None:
    await family(host)
    await told(host, "x", relations=[triple("Mia", "knows", "林澈")])
    before = await rows(host)
    undo = await changed(host, "delete_node", node="Mia")

    assert await edges(host) == {("林澈", "住在", "杭州")}
    assert "Mia" not in await nodes(host)
    await wrong(host, "node_detail", "node", "not_found", node="Mia")
    await fits(host)
    await graph(host, "undo", undo_id=undo)
    await fits(host)
    assert await rows(host) == before


async def test_a_deleted_node_that_is_spoken_of_again_lives_again(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "b"), triple("a", "q", "b")])
    undo = await changed(host, "delete_node", node="a")
    await told(host, "y", relations=[triple("a", "p", "b")])
    assert await edges(host) == {("a", "p", "b")}
    await graph(host, "undo", undo_id=undo)
    assert await edges(host) == {("a", "p / q", "b")}
    await fits(host)


async def test_two_deleted_ends_come_back_in_their_order(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "b")])
    before = await rows(host)
    first = await changed(host, "delete_node", node="a")
    second = await changed(host, "delete_node", node="b")
    await wrong(host, "undo", "undo_id", "conflict", undo_id=first)
    await graph(host, "undo", undo_id=second)
    await graph(host, "undo", undo_id=first)
    assert await rows(host) == before
    await fits(host)


async def test_edges_go_by_id_or_by_their_ends(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "b"), triple("a", "q", "b"), triple("b", "p", "a")])
    before = await rows(host)
    by_ends = await changed(host, "delete_edge", subject="a", object="b")
    assert await edges(host) == {("b", "p", "a")}
    await graph(host, "undo", id=by_ends)
    one = (await graph(host, "edge_detail", source="a", target="b", predicate="q"))["relations"][0]["id"]
    by_id = await changed(host, "delete_edge", hash=one)
    assert await edges(host) == {("a", "p", "b"), ("b", "p", "a")}
    await graph(host, "undo", undo_id=by_id)
    assert await rows(host) == before
    await fits(host)


async def test_a_weight_moves_ranks_and_walks(host: AMemorixHostService) -> None:
    await told(host, "first", entities=["left"], relations=[triple("hub", "p", "left")])
    await told(host, "second", entities=["right"], relations=[triple("hub", "p", "right")])
    await told(host, "only the left is in this one", entities=["left"])
    await told(host, "only the right is in this one", entities=["right"])
    before = await rows(host)

    undo = await changed(host, "update_edge_weight", source="hub", target="left", weight=50)
    assert (await nodes(host))[:2] == ["hub", "left"] or (await nodes(host))[:2] == ["left", "hub"]
    ranked = await contents(host, "hub", limit=10)
    assert ranked.index("only the left is in this one") < ranked.index("only the right is in this one")
    await fits(host)
    edge = (await page(host))["edges"][0]
    assert edge["weight"] == 50
    await graph(host, "undo", undo_id=undo)
    assert await rows(host) == before

    await changed(host, "update_edge_weight", source="hub", target="right", weight=50)
    ranked = await contents(host, "hub", limit=10)
    assert ranked.index("only the right is in this one") < ranked.index("only the left is in this one")


async def test_a_weight_moves_the_walk_within_a_chat(host: AMemorixHostService) -> None:
    for side in ("left", "right"):
        await told(host, f"{side} one", chat_id="c", relations=[triple("hub", "p", side)])
        await told(host, f"just {side}", chat_id="c", entities=[side])
    for side, other in (("left", "right"), ("right", "left")):
        await changed(host, "update_edge_weight", source="hub", target=side, weight=50)
        await changed(host, "update_edge_weight", source="hub", target=other, weight=0.1)
        ranked = await contents(host, "hub", chat_id="c", limit=10)
        assert ranked.index(f"just {side}") < ranked.index(f"just {other}")


async def test_an_edge_by_hand_stays_without_evidence(host: AMemorixHostService) -> None:
    result = await graph(host, "create_edge", subject="林澈", predicate="认识", object="Mia", confidence=0.8, weight=2)

    assert (result["created"], result["relations"][0]["origin"], result["relations"][0]["weight"]) == (True, "admin", 2)
    assert await edges(host) == {("林澈", "认识", "Mia")}
    await told(host, "x", source="s", relations=[triple("林澈", "认识", "Mia")])
    await host.invoke("memory_source_admin", {"action": "delete", "source": "s"})
    assert await edges(host) == {("林澈", "认识", "Mia")}
    assert await edges(host, chat_id="c") == set()
    await fits(host)


async def test_an_edge_on_a_paragraph_goes_with_it(host: AMemorixHostService) -> None:
    stored = await told(host, "Mia runs.", source="s", chat_id="c")
    result = await graph(
        host, "create_edge", subject="Mia", predicate="does", object="running", paragraph=stored["stored_ids"][0]
    )

    assert result["relations"][0]["evidence_count"] == 1
    assert await edges(host, chat_id="c") == {("Mia", "does", "running")}
    assert await edges(host, chat_id="d") == set()
    assert await contents(host, "running", chat_id="c") == ["Mia runs."]
    await host.invoke("memory_source_admin", {"action": "delete", "source": "s"})
    assert await edges(host) == set()


async def test_an_edge_that_is_there_is_confirmed(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("a", "p", "b", confidence=0.3)])
    await changed(host, "update_edge_weight", source="a", target="b", weight=7)
    result = await graph(host, "create_edge", subject="A", predicate="p", object="n2", confidence=0.6)
    relation = result["relations"][0]
    assert (result["created"], relation["confidence"], relation["weight"]) == (False, 0.6, 7)


async def test_a_forgotten_edge_is_restored_and_not_made_again(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple("林澈", "喜欢", "花生")])
    forgotten = await host.invoke("memory_v5_admin", {"action": "forget", "target": "r1"})
    assert forgotten["success"], forgotten
    change(host, "update relations set deleted_at = 1")
    await wrong(host, "create_edge", "predicate", "conflict", subject="林澈", predicate="喜欢", object="花生")


async def test_nodes_are_made_once(host: AMemorixHostService) -> None:
    made = await graph(host, "create_node", name="西湖", type="place", aliases=["West Lake"], metadata={"city": "杭州"})
    again = await graph(host, "create_node", name="west lake")

    assert (made["created"], again["created"], again["node"]["name"]) == (True, False, "西湖")
    assert len(again["warnings"]) == 1
    detail = await graph(host, "node_detail", node="west lake")
    assert (detail["metadata"], detail["node"]["type"]) == ({"city": "杭州"}, "place")
    assert await nodes(host) == ["西湖"]
    await changed(host, "delete_node", node="西湖")
    assert (await graph(host, "create_node", name="西湖"))["created"]


async def test_the_list_of_changes_tells_what_is_to_be_undone_first(host: AMemorixHostService) -> None:
    await family(host)
    first = await changed(host, "merge_nodes", sources=["Mia"], target="林澈", requested_by="ops", reason="测试")
    second = await changed(host, "add_alias", node="Lot", alias="the lot")
    third = await changed(host, "rename_node", node="林澈", new_name="Lin")
    listed = await graph(host, "list_undo")

    assert [item["undo_id"] for item in listed["items"]] == [third, second, first]
    assert (listed["items"][2]["undo_first"], listed["items"][1]["undo_first"]) == (third, "")
    assert (listed["items"][2]["requested_by"], listed["items"][2]["reason"]) == ("ops", "测试")
    assert listed["items"][2]["summary"] == "Mia became part of Lin"
    await graph(host, "undo", undo_id=third)
    assert (await graph(host, "list_undo"))["total"] == 2
    whole = await graph(host, "list_undo", include_undone=True, limit=1)
    assert (whole["total"], whole["items"][0]["undo_id"], whole["items"][0]["undone_at"] is not None) == (
        3,
        third,
        True,
    )
    await wrong(host, "undo", "undo_id", "conflict", undo_id=third)


async def test_changes_outlive_a_restart(opened: Open) -> None:
    host = await opened(extraction={"enabled": False})
    await family(host)
    before = await rows(host)
    undo = await changed(host, "merge_nodes", sources=["Mia"], target="林澈")
    await host.stop()
    await host.start()
    await graph(host, "undo", undo_id=undo)
    await fits(host)
    assert await rows(host) == before


NOT_THERE: list[tuple[str, str, dict[str, Any]]] = [
    ("node_detail", "node", {"node": "nobody"}),
    ("node_detail", "node", {"node": "n99"}),
    ("node_detail", "node", {"node": "没有"}),
    ("edge_detail", "relation", {"relation": "r99"}),
    ("edge_detail", "source", {"source": "nobody", "target": "Lot"}),
    ("edge_detail", "target", {"source": "Mia", "target": "nobody"}),
    ("edge_detail", "target", {"source": "Lot", "target": "Mia"}),
    ("edge_detail", "target", {"source": "Mia", "target": "Lot", "predicate": "hates"}),
    ("delete_node", "node", {"node": "nobody"}),
    ("rename_node", "node", {"node": "nobody", "new_name": "x"}),
    ("merge_nodes", "sources.1", {"sources": ["Mia", "nobody"], "target": "Lot"}),
    ("merge_nodes", "target", {"sources": ["Mia"], "target": "n99"}),
    ("add_alias", "node", {"node": "nobody", "alias": "x"}),
    ("remove_alias", "alias", {"alias": "nothing"}),
    ("remove_alias", "alias", {"node": "Mia", "alias": "阿澈"}),
    ("remove_alias", "node", {"node": "nobody", "alias": "阿澈"}),
    ("create_edge", "subject", {"subject": "n99", "predicate": "p", "object": "Mia"}),
    ("create_edge", "paragraphs.0", {"subject": "a", "predicate": "p", "object": "b", "paragraph": "p99"}),
    ("delete_edge", "relation", {"relation": "r99"}),
    ("delete_edge", "target", {"source": "Lot", "target": "Mia"}),
    ("update_edge_weight", "relation", {"relation": "99", "weight": 1}),
    ("undo", "undo_id", {"undo_id": "u99"}),
    ("suggest_merges", "node", {"node": "nobody"}),
    ("export", "node", {"node": "nobody"}),
]
NOT_SO: list[tuple[str, str, dict[str, Any]]] = [
    ("get_graph", "limit", {"limit": 0}),
    ("get_graph", "offset", {"offset": -1}),
    ("get_graph", "order", {"order": "size"}),
    ("get_graph", "edges", {"edges": "none"}),
    ("search", "query", {}),
    ("search", "query", {"query": " "}),
    ("search", "limit", {"query": "x", "limit": 201}),
    ("node_detail", "node", {}),
    ("node_detail", "evidence_node_limit", {"node": "Mia", "evidence_node_limit": 11}),
    ("edge_detail", "relation", {}),
    ("edge_detail", "target", {"source": "Mia"}),
    ("edge_detail", "relation", {"relation": "Mia"}),
    ("create_node", "name", {}),
    ("create_node", "aliases.0", {"name": "Bo", "aliases": ["Mia"]}),
    ("create_node", "metadata", {"name": "Bo", "metadata": {"x": "y" * 70_000}}),
    ("delete_node", "node", {}),
    ("rename_node", "node", {"new_name": "x"}),
    ("rename_node", "new_name", {"node": "Mia"}),
    ("merge_nodes", "sources", {"target": "Mia"}),
    ("merge_nodes", "sources", {"sources": [], "target": "Mia"}),
    ("merge_nodes", "target", {"sources": ["Mia"]}),
    ("merge_nodes", "sources.0", {"sources": ["mia"], "target": "Mia"}),
    ("add_alias", "node", {"alias": "x"}),
    ("add_alias", "alias", {"node": "Mia"}),
    ("remove_alias", "alias", {}),
    ("create_edge", "object", {"subject": "a", "predicate": "p"}),
    ("create_edge", "object", {"subject": "阿澈", "predicate": "是", "object": "林澈"}),
    ("create_edge", "object", {"subject": "new", "predicate": "is", "object": "NEW"}),
    ("create_edge", "predicate", {"subject": "a", "object": "b"}),
    ("create_edge", "confidence", {"subject": "a", "predicate": "p", "object": "b", "confidence": 2}),
    ("create_edge", "weight", {"subject": "a", "predicate": "p", "object": "b", "weight": 0}),
    ("create_edge", "paragraphs.0", {"subject": "a", "predicate": "p", "object": "b", "paragraphs": ["x"]}),
    ("delete_edge", "relation", {}),
    ("delete_edge", "source", {"target": "Mia"}),
    ("update_edge_weight", "weight", {"source": "Mia", "target": "Lot"}),
    ("update_edge_weight", "weight", {"source": "Mia", "target": "Lot", "weight": 0}),
    ("update_edge_weight", "weight", {"source": "Mia", "target": "Lot", "weight": float("nan")}),
    ("update_edge_weight", "relation", {"weight": 1}),
    ("undo", "undo_id", {}),
    ("undo", "undo_id", {"undo_id": "now"}),
    ("list_undo", "limit", {"limit": 0}),
    ("suggest_merges", "min_score", {"min_score": 2}),
    ("export", "format", {"format": "png"}),
    ("export", "path", {"path": "../graph.json"}),
    ("export", "path", {"path": "/tmp/graph.json"}),
    ("export", "path", {"path": "."}),
]
IN_THE_WAY: list[tuple[str, str, dict[str, Any]]] = [
    ("rename_node", "new_name", {"node": "Mia", "new_name": "Lot"}),
    ("rename_node", "new_name", {"node": "Mia", "new_name": "阿澈"}),
    ("add_alias", "alias", {"node": "Mia", "alias": "lot"}),
    ("add_alias", "alias", {"node": "Mia", "alias": "阿澈"}),
    ("remove_alias", "alias", {"alias": "Mia"}),
]


async def test_what_is_not_there_is_named(host: AMemorixHostService) -> None:
    await family(host)
    for action, field, args in NOT_THERE:
        await wrong(host, action, field, "not_found", **args)


async def test_what_does_not_fit_is_refused(host: AMemorixHostService) -> None:
    await family(host)
    for action, field, args in NOT_SO:
        await wrong(host, action, field, **args)


async def test_what_is_in_the_way_is_named(host: AMemorixHostService) -> None:
    await family(host)
    for action, field, args in IN_THE_WAY:
        await wrong(host, action, field, "conflict", **args)


async def test_a_former_name_is_no_alias_and_a_deleted_name_is_in_the_way(host: AMemorixHostService) -> None:
    await told(host, "x", entities=["a", "b", "c"])
    await changed(host, "merge_nodes", sources=["a"], target="b")
    await changed(host, "delete_node", node="c")
    await wrong(host, "remove_alias", "alias", "conflict", alias="a")
    await wrong(host, "remove_alias", "alias", "not_found", alias="c")
    await wrong(host, "rename_node", "new_name", "conflict", node="b", new_name="c")
    await wrong(host, "rename_node", "new_name", "conflict", node="b", new_name="c", merge=True)
    await wrong(host, "add_alias", "alias", "conflict", node="b", alias="c")


async def test_expired_paragraphs_lend_the_graph_nothing(host: AMemorixHostService) -> None:
    await told(host, "gone soon", chat_id="c", relations=[triple("kite", "hangs in", "hall")])
    await told(host, "stays", chat_id="c", entities=["hall"])
    change(host, "update paragraphs set expires_at = 1 where content = 'gone soon'")

    assert [hit["content"] for hit in (await found(host, "kite", chat_id="c"))["hits"]] == []
    assert await nodes(host, chat_id="c") == ["hall"]
    assert (await graph(host, "node_detail", node="hall", chat_id="c"))["relation_count"] == 0

"""The graph as it is looked at: pages by importance, search, details, scope, suggestions, export."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, pause_background
from conftest import Open
from entrance import data_of, refused, rows, said, told
from graph_entrance import changed, edges, family, graph, nodes, page, triple

NOW = FrozenClock().now()
HIDDEN = {"filter": {"enabled": True, "mode": "blacklist", "chats": ["stream:secret"]}}


async def star(host: AMemorixHostService, spokes: int) -> None:
    """hub-n has n relations."""
    relations = [triple(f"hub-{n}", "holds", f"leaf-{n}-{i}") for n in range(1, spokes + 1) for i in range(n)]
    await told(host, "star", relations=relations)


async def test_the_most_important_nodes_come_first(host: AMemorixHostService) -> None:
    await star(host, 5)
    assert (await nodes(host, limit=5)) == ["hub-5", "hub-4", "hub-3", "hub-2", "leaf-5-4"]
    assert (await nodes(host, limit=2, order="recent")) == ["leaf-5-4", "leaf-5-3"]
    assert (await nodes(host, limit=2, order="name")) == ["hub-1", "hub-2"]


async def test_evidence_and_confidence_count(host: AMemorixHostService) -> None:
    await told(host, "one", relations=[triple("a", "p", "b", confidence=0.2), triple("c", "p", "d", confidence=0.5)])
    assert (await nodes(host))[:2] == ["d", "c"]
    for n in range(3):
        await told(host, f"more {n}", relations=[triple("a", "p", "b", confidence=0.2)])
    whole = await page(host)
    assert [node["name"] for node in whole["nodes"]] == ["b", "a", "d", "c"]
    assert [node["weight"] for node in whole["nodes"]] == [0.8, 0.8, 0.5, 0.5]
    assert (whole["edges"][0]["evidence_count"], whole["nodes"][0]["evidence_count"]) == (4, 4)


async def test_an_edge_gathers_the_relations_of_a_direction(host: AMemorixHostService) -> None:
    many = [triple("林澈", said, "杭州") for said in ("住在", "喜欢", "来自", "写过")]
    await told(host, "x", relations=[*many, triple("杭州", "有", "林澈")])
    whole = await page(host)
    edge = next(e for e in whole["edges"] if e["relation_count"] == 4)

    assert (whole["total_nodes"], whole["total_edges"], whole["total_relations"]) == (2, 2, 5)
    assert (edge["weight"], len(edge["relation_ids"]), sorted(edge["predicates"])) == (
        4, 4, sorted(["住在", "喜欢", "来自", "写过"])
    )  # fmt: skip
    assert edge["label"].endswith(" …")


async def test_nodes_without_relations_come_last_the_newest_first(host: AMemorixHostService) -> None:
    for name in ("alone", "孤岛"):
        await graph(host, "create_node", name=name)
    await told(host, "x", relations=[triple("a", "p", "b")])
    whole = await page(host)
    assert [node["name"] for node in whole["nodes"]] == ["b", "a", "孤岛", "alone"]
    assert (whole["total_nodes"], whole["next_offset"]) == (4, None)
    assert await nodes(host, offset=3) == ["alone"]
    assert await nodes(host, offset=4) == []
    assert await nodes(host, offset=2**62) == []


async def test_an_empty_graph_is_a_page(host: AMemorixHostService) -> None:
    for args in ({}, {"chat_id": "c"}, {"order": "name"}):
        whole = await page(host, **args)
        assert (whole["nodes"], whole["edges"], whole["total_nodes"]) == ([], [], 0)


@pytest.mark.parametrize("chat", ["", "c"])
@pytest.mark.parametrize("order", ["importance", "recent", "name"])
async def test_pages_join_to_the_whole_graph(host: AMemorixHostService, chat: str, order: str) -> None:
    await told(host, "x", chat_id="c", entities=["alone 1", "alone 2"],
               relations=[triple(f"n{i * 7 % 23}x", "p", f"n{i * 5 % 19}y") for i in range(60)])  # fmt: skip
    whole = await page(host, chat_id=chat, order=order)
    seen: list[str] = []
    joined: list[str] = []
    at: int | None = 0
    while at is not None:
        part = await page(host, chat_id=chat, order=order, offset=at, limit=7, edges="before")
        shown = set(seen) | {node["id"] for node in part["nodes"]}
        assert all({edge["source"], edge["target"]} <= shown for edge in part["edges"])
        seen += [node["id"] for node in part["nodes"]]
        joined += [relation for edge in part["edges"] for relation in edge["relation_ids"]]
        at = part["next_offset"]
    assert seen == [node["id"] for node in whole["nodes"]]
    assert sorted(joined) == sorted(r for edge in whole["edges"] for r in edge["relation_ids"])
    assert len(joined) == whole["total_relations"]


async def test_twenty_thousand_nodes_in_two_statements_a_page(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db = connect(*args, **kwargs)
        db.set_trace_callback(ran.append)
        return db

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", traced)
    host = await opened()
    for part in range(10):
        numbers = range(part * 1000, (part + 1) * 1000)
        await told(
            host, f"part {part}", relations=[triple(f"left {n}", "meets", f"right {n * 7 % 10_000}") for n in numbers]
        )
    await pause_background(host)
    await page(host)
    counts: list[int] = []
    for offset in (0, 10_000, 19_800):
        ran.clear()
        found = await page(host, offset=offset, limit=200)
        counts.append(sum(line.startswith(("select", "with")) for line in ran))
        assert len(found["nodes"]) == 200
        assert found["total_nodes"] == 20_000
    assert counts == [counts[0]] * 3
    assert counts[0] <= 6, "what changed, how many, nodes, edges, which of them are over"
    assert (
        len({node for offset in range(0, 20_000, 4_000) for node in await nodes(host, offset=offset, limit=4_000)})
        == 20_000
    )


async def test_edges_beyond_the_limit_are_counted(host: AMemorixHostService) -> None:
    await star(host, 4)
    whole = await page(host, edge_limit=3)
    assert (len(whole["edges"]), whole["edges_left_out"]) == (3, 7)
    assert (await page(host, edge_limit=0))["edges"] == []


# who sees what


async def test_a_chat_sees_what_its_memories_support(host: AMemorixHostService) -> None:
    await told(host, "甲的事", chat_id="甲", relations=[triple("林澈", "喜欢", "花生")])
    await told(host, "乙的事", chat_id="乙", relations=[triple("林澈", "讨厌", "花生"), triple("林澈", "认识", "Mia")])
    await told(host, "for all", scope="global", relations=[triple("Mia", "works at", "Lot")])

    assert await edges(host, chat_id="甲") == {("林澈", "喜欢", "花生"), ("Mia", "works at", "Lot")}
    assert len(await edges(host)) == 3
    assert await edges(host, chat_id="丙") == {("Mia", "works at", "Lot")}
    detail = await graph(host, "node_detail", node="林澈", chat_id="甲")
    assert [r["text"] for r in detail["relations"]] == ["林澈 喜欢 花生"]
    assert [p["content"] for p in detail["paragraphs"]] == ["甲的事"]
    assert (detail["relation_count"], detail["paragraph_count"]) == (1, 1)
    labels = {node["label"] for node in detail["evidence_graph"]["nodes"]}
    assert labels == {"林澈", "林澈 喜欢 花生", "花生", "甲的事"}
    found = await graph(host, "search", query="林澈", chat_id="甲")
    assert [item["name"] for item in found["items"]] == ["林澈", "林澈 喜欢 花生"]
    assert (await graph(host, "search", query="认识", chat_id="甲"))["items"] == []
    edge = await graph(host, "edge_detail", source="林澈", target="花生", chat_id="甲")
    assert [r["predicate"] for r in edge["relations"]] == ["喜欢"]


@pytest.mark.parametrize(
    ("action", "args"),
    [
        ("node_detail", {"node": "林澈"}),
        ("edge_detail", {"source": "林澈", "target": "花生"}),
        ("edge_detail", {"relation": "r1"}),
        ("export", {"node": "林澈"}),
        ("suggest_merges", {"node": "林澈"}),
    ],
)
@pytest.mark.parametrize("who", [{"chat_id": "乙"}, {"group_id": "g"}, {"user_id": "u"}])
async def test_another_chat_learns_nothing(host: AMemorixHostService, action: str, args: dict, who: dict) -> None:
    await told(host, "甲的事", chat_id="甲", relations=[triple("林澈", "喜欢", "花生")])
    hidden = await host.invoke("memory_graph_admin", {"action": action, **args, **who})
    nothing = await host.invoke(
        "memory_graph_admin", {"action": action, **{k: "n77" if k != "relation" else "r77" for k in args}, **who}
    )
    assert (hidden["success"], hidden["error_code"], nothing["error_code"]) == (False, "not_found", "not_found")
    assert await nodes(host, **who) == []


async def test_a_chat_sees_no_aliases_of_others(host: AMemorixHostService) -> None:
    await told(host, "甲的事", chat_id="甲", entities=[{"name": "林澈", "aliases": ["小名"]}])
    await told(host, "乙的事", chat_id="乙", entities=["林澈"])
    detail = await graph(host, "node_detail", node="林澈", chat_id="乙")
    found = await graph(host, "search", query="小名", chat_id="乙")
    assert (detail["aliases"], detail["former_names"], detail["metadata"]) == ([], [], {})
    assert found["items"] == []
    assert (await graph(host, "search", query="小名"))["items"][0]["matched_text"] == "小名"


async def test_a_chat_that_is_not_served_sees_nothing(opened: Open) -> None:
    host = await opened(**HIDDEN)
    await told(host, "x", chat_id="secret", respect_filter=False, relations=[triple("a", "p", "b")])
    await told(host, "y", chat_id="c", relations=[triple("c", "p", "d")])
    assert await nodes(host, chat_id="secret") == []
    assert await nodes(host) == ["d", "c"]
    assert len(await nodes(host, respect_filter=False)) == 4


# search


async def test_exact_before_prefix_before_contains(host: AMemorixHostService) -> None:
    await told(host, "x", entities=["Mia Chen", "Mia", "Old Mia", {"name": "Robert", "aliases": ["MIAOU"]}])
    items = (await graph(host, "search", query="mia"))["items"]
    assert [(i["name"], i["match"], i["matched_field"]) for i in items] == [
        ("Mia", "exact", "name"), ("Robert", "prefix", "alias"), ("Mia Chen", "prefix", "name"),
        ("Old Mia", "contains", "name"),
    ]  # fmt: skip


@pytest.mark.parametrize("query", ["台湾", "台灣", " ＴＷ "])
async def test_names_are_found_in_either_script_and_width(host: AMemorixHostService, query: str) -> None:
    names = ["台湾", "台灣大学", "去台湾"] if "ＴＷ" not in query else ["tw", "TW radio", "in tw"]
    await told(host, "x", entities=names, relations=[triple(names[0], "养", "猫")])
    items = (await graph(host, "search", query=query))["items"]
    assert [(i["name"], i["match"]) for i in items] == [
        (names[0], "exact"), (f"{names[0]} 养 猫", "exact"), (names[1], "prefix"), (names[2], "contains"),
    ]  # fmt: skip


async def test_relations_are_found_by_what_they_say(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[
        triple("a", "works_at", "b"), triple("c", "Works at home", "d"), triple("e", "no longer works at", "f"),
        triple("g", "住在", "h"),
    ])  # fmt: skip
    items = (await graph(host, "search", query="works at", kind="relation"))["items"]
    assert [(i["name"], i["match"], i["matched_field"]) for i in items] == [
        ("a works_at b", "exact", "predicate"), ("c Works at home d", "prefix", "predicate"),
        ("e no longer works at f", "contains", "predicate"),
    ]  # fmt: skip
    assert [i["name"] for i in (await graph(host, "search", query="住"))["items"]] == ["g 住在 h"]
    assert (await graph(host, "search", query="works at", kind="entity"))["items"] == []


async def test_search_is_paged(host: AMemorixHostService) -> None:
    await told(host, "x", entities=[f"kite {n}" for n in range(9)])
    first = await graph(host, "search", query="kite", limit=5)
    second = await graph(host, "search", query="kite", limit=5, offset=5)
    assert (first["more"], second["more"]) == (True, False)
    assert len({i["id"] for i in first["items"] + second["items"]}) == 9
    assert (await graph(host, "search", query="nothing of the kind"))["items"] == []


async def test_search_finds_former_names_and_not_the_deleted(host: AMemorixHostService) -> None:
    await told(host, "x", entities=["Bob", "Robert", "Bobby"])
    await changed(host, "merge_nodes", sources="Bob", target="Robert")
    await changed(host, "delete_node", node="Bobby")
    assert [(i["name"], i["matched_field"]) for i in (await graph(host, "search", query="bob"))["items"]] == [
        ("Robert", "alias")
    ]


# details


async def test_a_node_is_told_with_its_evidence(host: AMemorixHostService) -> None:
    await family(host)
    detail = await graph(host, "node_detail", node_id="阿澈")
    assert (detail["node"]["name"], detail["aliases"]) == ("林澈", ["阿澈"])
    assert [(r["text"], r["evidence_count"], r["origin"]) for r in detail["relations"]] == [
        ("林澈 住在 杭州", 1, "caller")
    ]
    assert detail["paragraphs"][0]["content"] == "林澈住在杭州。"
    drawn = detail["evidence_graph"]
    assert {node["type"] for node in drawn["nodes"]} == {"entity", "relation", "paragraph"}
    assert {edge["kind"] for edge in drawn["edges"]} == {"subject", "object", "supports", "mentions"}
    ids = {node["id"] for node in drawn["nodes"]}
    assert all({edge["source"], edge["target"]} <= ids for edge in drawn["edges"])


async def test_details_keep_to_their_limits(host: AMemorixHostService) -> None:
    for n in range(30):
        await told(host, f"note {n}", relations=[triple("hub", f"says {n}", f"leaf {n}")])
    detail = await graph(host, "node_detail", node="hub", relation_limit=5, paragraph_limit=3, evidence_node_limit=12)
    assert (len(detail["relations"]), detail["relation_count"]) == (5, 30)
    assert ([p["content"] for p in detail["paragraphs"]], detail["paragraph_count"]) == (
        ["note 29", "note 28", "note 27"],
        30,
    )
    assert len(detail["evidence_graph"]["nodes"]) == 12
    assert detail["node"]["degree"] == 30


async def test_an_edge_is_told_with_its_evidence(host: AMemorixHostService) -> None:
    await told(host, "first", relations=[triple("Mia", "likes", "tea"), triple("Mia", "sells", "tea")])
    await told(host, "second", relations=[triple("Mia", "likes", "tea")])
    by_ends = await graph(host, "edge_detail", source="mia", target="Tea")
    by_id = await graph(host, "edge_detail", relation=by_ends["relations"][0]["id"])

    assert [p["content"] for p in by_ends["paragraphs"]] == ["second", "first"]
    assert (by_ends["edge"]["relation_count"], by_ends["edge"]["evidence_count"]) == (2, 3)
    assert [r["predicate"] for r in by_id["relations"]] == ["likes"]


# suggestions


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Dr. Chen", "dr chen", "same_form"),
        ("ＫＴＶ", "K.T.V", "same_form"),
        ("台灣大學", "台湾 大学", "same_form"),
        ("Mia", "Mia Chen", "contains"),
        ("李雷", "李雷老师", "contains"),
    ],
)
async def test_alike_names_are_suggested(host: AMemorixHostService, one: str, other: str, reason: str) -> None:
    await told(host, "x", entities=[one, "something else", "别的东西"], relations=[triple(other, "p", "q")])
    found = await graph(host, "suggest_merges")
    assert found["total"] == 1
    item = found["items"][0]
    assert ({item["source"]["name"], item["target"]["name"]}, item["reasons"]) == ({one, other}, [reason])
    assert item["target"]["name"] == other, "the one with a relation is better known"
    assert await nodes(host) != [], "nothing is merged by itself"
    assert len(await nodes(host)) == 5


async def test_shared_neighbours_speak_for_a_merge(host: AMemorixHostService) -> None:
    await told(
        host,
        "x",
        relations=[triple(who, "p", what) for who in ("Jonathan", "Jonatan", "Susan") for what in ("a1", "b2", "c3")],
    )
    items = (await graph(host, "suggest_merges"))["items"]
    assert [({i["source"]["name"], i["target"]["name"]}, i["reasons"]) for i in items] == [
        ({"Jonathan", "Jonatan"}, ["alike", "shared_neighbours:3"])
    ]
    assert (await graph(host, "suggest_merges", node="Susan"))["items"] == []
    assert (await graph(host, "suggest_merges", node="Jonatan", min_score=0.99))["items"] == []


async def test_a_chat_is_suggested_what_it_sees(host: AMemorixHostService) -> None:
    await told(host, "x", chat_id="c", entities=["Mia Chen"])
    await told(host, "y", chat_id="d", entities=["Mia"])
    assert (await graph(host, "suggest_merges", chat_id="c"))["items"] == []
    assert (await graph(host, "suggest_merges"))["total"] == 1


# export


async def test_exports_are_read_by_networkx(host: AMemorixHostService) -> None:
    await family(host)
    await told(host, "x", relations=[triple('A <&> "B"', "p\x0bq", "n\U0001f600")], entities=["alone"])
    answer = await graph(host, "export", format="graphml")
    read = nx.parse_graphml(answer["graphml"], force_multigraph=True)
    linked = nx.node_link_graph((await graph(host, "export", format="json"))["graph"], edges="edges")

    for one in (read, linked):
        names = nx.get_node_attributes(one, "name")
        assert sorted(names.values()) == sorted(["林澈", "杭州", "Mia", "Lot", 'A <&> "B"', "n\U0001f600", "alone"])
        said = {(names[a], d["predicate"], names[b]) for a, b, d in one.edges(data=True)}
        assert ("林澈", "住在", "杭州") in said
        assert len(said) == 3
        assert {d["evidence_count"] for *_, d in one.edges(data=True)} == {1}
    assert (answer["nodes"], answer["edges"], answer["path"]) == (7, 3, "")


async def test_an_export_to_a_file_stays_below_exports(host: AMemorixHostService, tmp_path: Path) -> None:
    await family(host)
    answer = await graph(host, "export", format="json", path="mine/graph")
    path = Path(answer["path"])
    assert path == data_of(host) / "exports" / "mine" / "graph.json"
    assert len(json.loads(path.read_text("utf-8"))["nodes"]) == 4
    assert answer["bytes"] == path.stat().st_size
    (path.parent / "out").symlink_to(tmp_path)
    result = await host.invoke("memory_graph_admin", {"action": "export", "path": "mine/out/graph.json"})
    assert (result["success"], result["details"]["field"]) == (False, "path")
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


NO_FILES = [
    "x" * 201,
    f"a/{'图' * 67}",
    "taken.json/graph.json",
    "mine",
    "../x",
    "/x",
    "a/../x",
]


async def test_a_path_that_can_be_no_file_is_refused(host: AMemorixHostService) -> None:
    await family(host)
    await graph(host, "export", format="json", path="taken.json")
    await graph(host, "export", format="json", path="mine/graph")
    for path in NO_FILES:
        await refused(host, "memory_graph_admin", {"action": "export", "path": path}, "path")


async def test_a_large_graph_goes_to_a_file(host: AMemorixHostService) -> None:
    await told(host, "x", relations=[triple(f"a{n}", "p", f"b{n}") for n in range(900)])
    answer = await graph(host, "export")
    assert (answer["graphml"], answer["nodes"], answer["edges"]) == ("", 1800, 900)
    assert len(nx.read_graphml(answer["path"])) == 1800


async def test_an_export_may_be_of_a_neighbourhood_or_a_chat(host: AMemorixHostService) -> None:
    await told(host, "x", chat_id="c", relations=[triple("a", "p", "b"), triple("b", "p", "c"), triple("c", "p", "d")])
    await told(host, "y", chat_id="d", relations=[triple("y", "p", "z")])
    near = await graph(host, "export", format="json", node="a", depth=1)
    assert sorted(node["name"] for node in near["graph"]["nodes"]) == ["a", "b"]
    mine = await graph(host, "export", format="json", chat_id="d")
    assert ([n["name"] for n in mine["graph"]["nodes"]], len(mine["graph"]["edges"])) == (["y", "z"], 1)
    assert (await graph(host, "export", format="json", chat_id="e"))["nodes"] == 0


async def test_a_file_that_cannot_be_written_is_told(host: AMemorixHostService) -> None:
    await family(host)
    (data_of(host) / "exports").write_text("in the way")
    result = await host.invoke("memory_graph_admin", {"action": "export", "path": "graph.json"})
    assert (result["success"], result["error_code"]) == (False, "storage_failure")


async def test_a_node_tells_what_facts_join_the_person_to(host: AMemorixHostService) -> None:
    """As far as the fact is seen, and as long as it stands; the graph itself has no such relation."""
    await told(host, "Ann met Bo in June", relations=[triple("Ann", "met", "Bo")])
    await said(host, "home", ("Ann", "my dog's name is Comet", NOW))
    await said(host, "work", ("Ann", "I work at Siemens now", NOW - 60))
    await host.settle()

    async def known(**args: Any) -> dict[str, str]:
        return {
            one["id"]: f"{one['predicate']} {one['object']}"
            for one in (await graph(host, "node_detail", node="Ann", **args))["known"]
        }

    everything, at_home = await known(), await known(chat_id="home")
    assert list(at_home.values()) == ["pet Comet (dog)"]
    assert set(everything.values()) == {"pet Comet (dog)", "workplace Siemens"}
    (view,) = at_home
    fact = view.removeprefix("fact:")
    shown = await graph(host, "node_detail", node="Ann")
    assert (shown["relation_count"], [one["text"] for one in shown["relations"]]) == (1, ["Ann met Bo"])
    for action in ("edge_detail", "delete_edge"):
        answer = await host.invoke("memory_graph_admin", {"action": action, "relation": view})
        assert not answer["success"]

    gone = await host.invoke("memory_fact_admin", {"action": "retract", "fact_id": fact})
    assert await known(chat_id="home") == {}
    await host.invoke("memory_fact_admin", {"action": "undo", "undo_id": gone["undo_id"]})
    assert await known(chat_id="home") == at_home

    (line,) = [row for (row,) in rows(host, "select id from paragraphs where content like '%Comet%'")]
    selected = {"action": "execute", "mode": "paragraph", "selector": f"p{line}"}
    deleted = await host.invoke("memory_delete_admin", selected)
    assert deleted["success"], deleted
    await host.settle()
    assert set((await known()).values()) == {"workplace Siemens"}
    restored = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": deleted["operation_id"]})
    assert restored["success"], restored
    await host.settle()
    assert await known(chat_id="home") == at_home


async def test_a_name_of_several_persons_joins_to_nothing(host: AMemorixHostService) -> None:
    await told(host, "Ann met Bo in June", relations=[triple("Ann", "met", "Bo")])
    for person in ("u1", "u2"):
        message = {"speaker": "Ann", "person_id": person, "text": f"my dog's name is Comet-{person}", "time": NOW}
        await host.invoke("ingest_messages", {"chat_id": "home", "messages": [message]})
    await host.settle()
    assert (await graph(host, "node_detail", node="Ann"))["known"] == []

"""Random changes to the graph: nothing dangles, the indexes follow, and undone is as if never done."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host
from entrance import told
from graph_entrance import fits, graph, rows, triple

NAMES = ["林澈", "阿澈", "Mia", "Mia Chen", "Lot", "杭州", "tea"]
ALIASES = ["小林", "MC", "the lot"]
PREDICATES = ["knows", "住在"]

name = st.sampled_from(NAMES)
node = st.one_of(name, st.sampled_from(ALIASES), st.integers(1, len(NAMES)).map(lambda n: f"n{n}"))
relation = st.builds(triple, name, st.sampled_from(PREDICATES), name).filter(lambda r: r["subject"] != r["object"])
texts = st.lists(st.lists(relation, min_size=1, max_size=5), min_size=1, max_size=4)
change = st.one_of(
    st.fixed_dictionaries({"action": st.just("merge_nodes"), "sources": st.lists(node, min_size=1, max_size=3), "target": node}),
    st.fixed_dictionaries({"action": st.just("rename_node"), "node": node, "new_name": st.sampled_from([*NAMES, *ALIASES, "new", "新的"]),
                           "merge": st.booleans()}),
    st.fixed_dictionaries({"action": st.just("add_alias"), "node": node, "alias": st.sampled_from(ALIASES)}),
    st.fixed_dictionaries({"action": st.just("remove_alias"), "alias": st.sampled_from([*ALIASES, *NAMES])}),
    st.fixed_dictionaries({"action": st.just("delete_node"), "node": node}),
    st.fixed_dictionaries({"action": st.just("delete_edge"), "source": node, "target": node}),
    st.fixed_dictionaries({"action": st.just("update_edge_weight"), "source": node, "target": node, "weight": st.sampled_from([0.5, 2.0])}),
    st.fixed_dictionaries({"action": st.just("undo"), "undo_id": st.integers(1, 8).map(lambda n: f"u{n}")}),
)  # fmt: skip
Change = dict[str, Any]
EXPECTED = {"not_found", "conflict", "invalid_request"}


async def tried(host: AMemorixHostService, change: Change) -> None:
    """A change, which may have to be refused."""
    result = await host.invoke("memory_graph_admin", change)
    assert result["success"] or result["error_code"] in EXPECTED, result


async def all_undone(host: AMemorixHostService) -> None:
    while items := (await graph(host, "list_undo", limit=1))["items"]:
        await graph(host, "undo", undo_id=items[0]["undo_id"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=texts, changes=st.lists(change, max_size=10))
def test_undone_is_as_if_never_done(texts: list[list[dict[str, Any]]], changes: list[Change]) -> None:
    async def life(folder: Path) -> None:
        async with memory_host(folder, embed=HashEmbedder(16)) as host:
            for n, relations in enumerate(texts):
                await told(host, f"text {n}", entities=NAMES if not n else [], relations=relations)
            await host.settle()
            before = await rows(host)
            for one in changes:
                await tried(host, one)
            await fits(host)
            await all_undone(host)
            await fits(host)
            assert await rows(host) == before

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(life(Path(folder)))


told_again = st.fixed_dictionaries({"action": st.just("told"), "relations": st.lists(relation, min_size=1, max_size=3)})
source_gone = st.fixed_dictionaries({"action": st.just("gone"), "source": st.sampled_from("012")})


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes=st.lists(st.one_of(change, change, told_again, source_gone), max_size=14))
def test_nothing_dangles_whatever_is_told_and_deleted_between(changes: list[Change]) -> None:
    async def life(folder: Path) -> None:
        async with memory_host(folder) as host:
            await told(host, "first", entities=NAMES, relations=[triple("Mia", "knows", "林澈")])
            for n, one in enumerate(changes):
                if one["action"] == "told":
                    await told(host, f"text {n}", source=str(n % 3), relations=one["relations"])
                elif one["action"] == "gone":
                    await host.invoke("memory_source_admin", {"action": "delete", "source": one["source"]})
                else:
                    await tried(host, one)
            await fits(host)
            for one in (await graph(host, "list_undo", limit=50))["items"]:
                # An alias that was taken away is not given back where a text has made its name a thing of its own since.
                await tried(host, {"action": "undo", "undo_id": one["undo_id"]})
                await fits(host)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(life(Path(folder)))

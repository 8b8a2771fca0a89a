"""The parts of A-Memorix by the names that MaiBot's documentation gives them: each is there, and does what it says."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from inspect import getdoc, iscoroutinefunction, signature
from pathlib import Path
from typing import Any, get_args

import pytest

from amemorix import AMemorixHostService, MemoryFault
from amemorix.errors import InvalidRequest
from amemorix.facades import maibot
from amemorix.facades.maibot import (
    BaseStrategy,
    EpisodeRetrievalService,
    EpisodeSegmentationService,
    FactualStrategy,
    KernelSearchRequest,
    NarrativeStrategy,
    QuantizationType,
    QuoteStrategy,
    RetrievalResult,
    SDKMemoryKernel,
    VectorStore,
    strategy_of,
)
from amemorix.host.operations import OPERATIONS
from amemorix.indexes.graph.state import EdgeRow
from amemorix.search.operations import MODES
from conftest import Open
from entrance import call, said, told

ROOT = Path(__file__).parents[2]
PAGES = ("docs/contracts.md", "docs/zh/contracts.md")
NAMED = (
    "SDKMemoryKernel", "KernelSearchRequest", "AMemorixHostService", "start", "stop", "reload", "invoke", "get_config", "update_config",
    "get_raw_config", "update_raw_config", "VectorStore", "QuantizationType", "GraphStore", "MetadataStore", "knowledge_types.py",
    "DualPathRetriever", "graph_relation_recall.py", "SparseBM25Index", "PageRank", "threshold.py", "RetrievalResult", "base.py", "factual",
    "narrative", "quote", "EpisodeService", "EpisodeSegmentationService", "EpisodeRetrievalService", "PersonProfileService",
    "RelationWriteService", "AggregateQueryService", "ImportTaskManager", "search_memory", "ingest_summary", "ingest_text",
    "get_person_profile", "maintain_memory", "memory_stats", "memory_graph_admin", "memory_source_admin", "memory_episode_admin",
    "memory_profile_admin", "memory_runtime_admin", "memory_import_admin", "memory_tuning_admin", "memory_v5_admin", "memory_delete_admin",
    "AMemorixPlugin", "@Tool", "config/a_memorix.toml", "config_schema.json", "storage.data_dir", "/api/webui/memory/*",
    "external_memory_refs", "memory_v5_operations", "delete_operations", "requested_source_count", "matched_source_count",
    "deleted_paragraph_count", "deleted_count", "success",
)  # fmt: skip
"""Every class, module, component, file and field of that page."""
ARGUMENTS: dict[str, str] = {
    "search_memory": "query mode limit chat_id person_id time_start time_end respect_filter user_id group_id",
    "ingest_summary": "external_id chat_id text participants time_start time_end tags metadata",
    "ingest_text": "external_id source_type text chat_id entities relations",
    "get_person_profile": "person_id chat_id limit",
}
ACTIONS: dict[str, str] = {
    "maintain_memory": "reinforce protect restore freeze recycle_bin",
    "memory_graph_admin": "get_graph create_node delete_node rename_node create_edge delete_edge update_edge_weight",
    "memory_source_admin": "list delete batch_delete",
    "memory_episode_admin": "query list get status rebuild process_pending",
    "memory_profile_admin": "query list set_override delete_override",
    "memory_runtime_admin": "save get_config self_check refresh_self_check set_auto_save",
    "memory_import_admin": "settings get_guide create_upload create_paste create_raw_scan list get chunks cancel retry_failed",
    "memory_tuning_admin": "settings get_profile apply_profile rollback_profile create_task list_tasks get_task cancel apply_best get_report",
    "memory_v5_admin": "status recycle_bin restore reinforce weaken remember_forever forget",
    "memory_delete_admin": "preview execute restore get_operation list_operations purge",
}


def section(page: str) -> str:
    """The part of a page that is about MaiBot's names: the first below its heading."""
    return (ROOT / page).read_text("utf-8").split("\n## ")[1]


def rows_of(page: str) -> list[list[str]]:
    found = [line.strip("|").split(" | ") for line in section(page).splitlines() if line.startswith("| ")]
    assert all(len(row) == 3 for row in found)
    return found[1:]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_holds_every_name_with_a_test(page: str) -> None:
    rows = rows_of(page)
    spans = {
        word for row in rows for span in re.findall(r"`([^`]+)`", row[0]) for word in (span, *re.split(r"[(\s]", span))
    }
    assert [name for name in NAMED if name not in spans] == []
    for component, names in {**ARGUMENTS, **ACTIONS}.items():
        (row,) = [row for row in rows if f"`{component}" in row[0]]
        assert [name for name in names.split() if f"`{name}`" not in row[0] + row[1]] == [], component
    assert [row[0] for row in rows if not re.search(r"`(maibot|suite)::test_", row[2])] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_name_is_imported_from_where_the_page_says(page: str) -> None:
    places = set(re.findall(r"`(amemorix(?:\.\w+)+)`", section(page)))
    assert len(places) > 25
    for place in places:
        try:
            found: Any = importlib.import_module(place)
        except ModuleNotFoundError:
            module, _, name = place.rpartition(".")
            try:
                found = getattr(importlib.import_module(module), name)
            except ModuleNotFoundError:  # a method of a class
                outer, _, owner = module.rpartition(".")
                found = getattr(getattr(importlib.import_module(outer), owner), name)
        assert getdoc(found) or get_args(found), place
    for name in maibot.__all__:
        assert f"amemorix.facades.maibot.{name}" in places, name


def test_components_actions_and_arguments_are_there() -> None:
    for component, names in ARGUMENTS.items():
        (op,) = [op for op in OPERATIONS if op.component == component]
        assert set(names.split()) <= op.request.known_keys(), component
    for component, names in ACTIONS.items():
        assert set(names.split()) <= set(OPERATIONS.actions(component)), component
    lpmm = {"create_lpmm_openie", "create_lpmm_convert"}
    assert lpmm <= set(OPERATIONS.actions("memory_import_admin"))


def test_a_request_has_the_defaults_of_the_page() -> None:
    request = KernelSearchRequest.model_validate({})
    names = (
        "query",
        "limit",
        "mode",
        "chat_id",
        "person_id",
        "time_start",
        "time_end",
        "respect_filter",
        "user_id",
        "group_id",
    )
    assert tuple(getattr(request, name) for name in names) == ("", 5, "search", "", "", None, None, True, "", "")
    assert set(MODES) == {"search", "time", "hybrid", "episode", "aggregate"}


async def test_modes_that_lack_what_they_need_are_refused(host: AMemorixHostService) -> None:
    for args in ({"mode": "semantic", "query": "x"}, {"mode": "time"}, {"mode": "hybrid", "query": "x"}):
        with pytest.raises(InvalidRequest):
            await host.kernel.search_memory(**args)


async def test_every_component_is_a_method_of_the_kernel(host: AMemorixHostService) -> None:
    for component in OPERATIONS.components():
        method = getattr(SDKMemoryKernel, component)
        assert iscoroutinefunction(method) and getdoc(method), component
    kernel = host.kernel
    note = {"external_id": "n", "text": "The kite hangs in the hall.", "chat_id": "c", "source_type": "note"}
    assert await kernel.ingest_text(**note) == {
        **(await kernel.ingest_text(note)),
        "stored_ids": ["p1"],
        "reason": "",
        "skipped_ids": [],
    }
    args: dict[str, Any] = {"query": "where is the kite?", "chat_id": "c"}
    by_name, together = await kernel.search_memory(**args), await kernel.search_memory(KernelSearchRequest(**args))
    assert [hit["content"] for hit in by_name["hits"]] == [note["text"]]
    for answer in (together, await kernel.search_memory(args), await host.invoke("search_memory", args)):
        assert {**answer, "elapsed_ms": 0} == {**by_name, "elapsed_ms": 0}
    assert (await kernel.memory_source_admin(action="list"))["items"][0]["source"] == "note:c"
    assert (await kernel.memory_stats())["paragraphs"] == 1
    assert (await kernel.search_memory(query="kite", limitt=3))["warnings"]
    for wrong in ({"query": 3}, {"query": "x", "conversation_id": "c"}):
        with pytest.raises(MemoryFault):
            await kernel.search_memory(**wrong)


async def test_the_host_starts_stops_reloads_and_changes_its_settings(opened: Open) -> None:
    host = await opened()
    before = host.kernel
    await host.update_config({"general.language": "zh"})
    assert (await host.get_config())["general"]["language"] == "zh"
    raw = await host.get_raw_config()
    await host.update_raw_config(raw.replace('language = "zh"', 'language = "en"'))
    assert (await host.get_config())["general"]["language"] == "en"
    await host.reload()
    await told(host, "a kite")
    await host.stop()
    assert (await host.invoke("memory_stats"))["error_code"] == "not_ready"
    await host.start()
    assert (await host.invoke("memory_stats"))["paragraphs"] == 1 and host.kernel is not before


def test_a_vector_store_keeps_vectors_in_eight_bits() -> None:
    assert QuantizationType("int8") is QuantizationType.INT8
    assert signature(VectorStore).parameters["quantization"].default is QuantizationType.INT8


async def test_a_result_has_texts_scores_and_sources(host: AMemorixHostService) -> None:
    await told(host, "The kite hangs in the hall.", source="notes")
    found = await host.call("search_memory", {"query": "kite"})
    assert isinstance(found, RetrievalResult)
    (hit,) = found.hits
    assert (hit.content, hit.source, hit.type) == ("The kite hangs in the hall.", "notes", "paragraph")
    assert 0 < hit.score <= 1 and 0 < hit.confidence <= 1


async def test_the_graph_and_its_ranks_find_what_words_do_not(host: AMemorixHostService) -> None:
    """A line about what the query's name is joined with, and a rank for each node that falls with the distance."""
    joined = {"subject": "Zephyr", "predicate": "belongs to", "object": "Marlow"}
    await told(host, "Zephyr belongs to Marlow.", chat_id="c", relations=[joined])
    await told(host, "Marlow keeps bees on the roof.", chat_id="c", entities=["Marlow"])
    await told(host, "The bus was late again today.", chat_id="c")
    await host.settle(600)
    found = await call(host, "search_memory", query="Zephyr", chat_id="c", limit=3, gate=False)
    assert {hit["content"] for hit in found["hits"]} == {"Zephyr belongs to Marlow.", "Marlow keeps bees on the roof."}
    graph = maibot.GraphStore()
    graph.build(iter([EdgeRow(1, 10, 11, 1.0), EdgeRow(2, 11, 12, 1.0)]))
    nodes, ranks = graph.pagerank({10: 1.0})
    rank = dict(zip(nodes.tolist(), ranks.tolist(), strict=True))
    assert rank[10] > rank[12] > 0 and rank[11] > rank[12]


async def test_hits_below_a_threshold_are_left_out(dense_host: AMemorixHostService) -> None:
    for text in ("The kite hangs in the hall.", "A kite is made of paper and string, said the man."):
        await told(dense_host, text, chat_id="c")
    await dense_host.settle(600)
    every = (await call(dense_host, "search_memory", query="kite in the hall", chat_id="c"))["hits"]
    assert len(every) == 2 and every[0]["confidence"] > every[1]["confidence"]
    between = (every[0]["confidence"] + every[1]["confidence"]) / 2
    best = await call(dense_host, "search_memory", query="kite in the hall", chat_id="c", min_score=between)
    assert [hit["id"] for hit in best["hits"]] == [every[0]["id"]]


async def test_several_modes_are_merged(host: AMemorixHostService) -> None:
    await said(host, "c", *(("Ann", f"the boat needs paint, part {n}", 1.7e9 + n * 60) for n in range(5)))
    await host.settle(600)
    found = await call(host, "search_memory", query="boat paint", chat_id="c", mode="aggregate", limit=10)
    assert {hit["type"] for hit in found["hits"]} >= {"paragraph", "episode"}
    assert all(hit["explain"]["branches"] for hit in found["hits"])
    merged = maibot.AggregateQueryService().merge({"a": [], "b": []}, 5)
    assert merged == []


# strategies

LISTED = (
    "Opening hours:\n- Monday: 9 to 17\n- Tuesday: 9 to 17\n- Friday: closed\n\nPrices:\n- Adults: 5\n- Children: 2"
)
VERSE = "The fog comes\non little cat feet.\n\nIt sits looking\nover harbor and city\non silent haunches\nand then moves on."
TALE = (
    "Chapter 1\n" + "Mia walked along the river and told Tom about the boat. " * 8
    + "\n\nChapter 2\n" + "In the morning they sailed and said nothing for an hour. " * 8
)  # fmt: skip


def test_strategies_share_one_way_and_cut_by_the_kind_of_text() -> None:
    for strategy in (FactualStrategy, NarrativeStrategy, QuoteStrategy):
        assert issubclass(strategy, BaseStrategy)
        assert strategy(chunk_chars=60).split("  \n ") == []
        for text in (LISTED, VERSE, TALE):
            assert "".join("".join(strategy(chunk_chars=200).split(text)).split()) == "".join(text.split())
    assert [strategy_of(text) for text in (LISTED, VERSE, TALE, "short")] == [
        FactualStrategy, QuoteStrategy, NarrativeStrategy, NarrativeStrategy,
    ]  # fmt: skip
    assert FactualStrategy(chunk_chars=60).split(LISTED)[0].startswith("Opening hours:\n- Monday")
    assert QuoteStrategy(chunk_chars=60).split(VERSE) == VERSE.split("\n\n")
    assert not any("Tom" in piece and "sailed" in piece for piece in NarrativeStrategy(chunk_chars=2000).split(TALE))


async def test_strategies_store_what_they_cut(host: AMemorixHostService) -> None:
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    facts = await FactualStrategy(host.kernel).store(LISTED, external_id="f", entities=["kiosk"], relations=[hangs])
    assert len(facts["relation_ids"]) == 1 and facts["stored_ids"]
    graph = await call(host, "memory_graph_admin", "get_graph")
    assert {node["name"] for node in graph["nodes"]} >= {"kiosk", "kite", "hall"}
    quote = await QuoteStrategy(host).store(VERSE, external_id="q")
    shown = await call(host, "memory_text_admin", "get", ids=quote["stored_ids"])
    assert "\n\n".join(item["text"] for item in shown["items"]) == VERSE
    summary = await NarrativeStrategy(host).store("They talked about boats.", chat_id="c", external_id="s")
    (item,) = (await call(host, "memory_text_admin", "get", ids=summary["stored_ids"]))["items"]
    assert (item["kind"], item["source"]) == ("summary", "chat_summary:c")
    tale = await NarrativeStrategy(host).store(TALE, external_id="t")
    (kind, *_) = (await call(host, "memory_text_admin", "get", ids=tale["stored_ids"]))["items"]
    assert kind["kind"] == "text"
    with pytest.raises(ValueError, match="text"):
        await QuoteStrategy(host).store(" ")


# episodes


def turns(*said_at: tuple[float, str]) -> list[Mapping[str, Any]]:
    return [{"time": at, "text": text} for at, text in said_at]


async def test_talk_is_cut_into_the_episodes_that_the_memory_makes(host: AMemorixHostService) -> None:
    talk = turns(*((1.7e9 + n * 60, f"the boat needs paint, part {n}") for n in range(5)),
                 *((1.7e9 + 864_000 + n * 60, f"the garden needs water, part {n}") for n in range(4)))  # fmt: skip
    cut = EpisodeSegmentationService().segment(talk)
    assert [len(one) for one in cut] == [5, 4] and [turn for one in cut for turn in one] == talk
    await said(host, "c", *(("Ann", turn["text"], turn["time"]) for turn in talk))
    await host.settle(600)
    made = await EpisodeRetrievalService(host.kernel).query(chat_id="c")
    assert sorted(one["paragraph_count"] for one in made) == [4, 5]
    assert EpisodeSegmentationService().segment([]) == []


async def test_episodes_are_found_and_have_a_state(host: AMemorixHostService) -> None:
    await said(host, "c", *(("Ann", f"the boat needs paint, part {n}", 1.7e9 + n * 60) for n in range(5)))
    await said(host, "d", *(("Bob", f"the garden needs water, part {n}", 1.7e9 + n * 60) for n in range(5)))
    await host.settle(600)
    episodes = EpisodeRetrievalService(host)
    assert [hit["type"] for hit in await episodes.query("paint for the boat", chat_id="c")] == ["episode"]
    assert await episodes.query("water for the garden", chat_id="c") == []
    assert {one["chat_id"] for one in await episodes.query()} == {"c", "d"}
    with pytest.raises(ValueError, match="limit"):
        await episodes.query("x", limit=0)
    status = await call(host, "memory_episode_admin", "status")
    assert status["success"] and status["counts" if "counts" in status else "pending"] is not None


# the plugin


def test_the_plugin_declares_tools_for_finding_and_storing() -> None:
    sdk = pytest.importorskip("maibot_sdk")
    spec = importlib.util.spec_from_file_location("amemorix_plugin", ROOT / "integrations" / "maibot" / "plugin.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plugin = module.create_plugin()
    assert type(plugin) is module.AMemorixPlugin and issubclass(module.AMemorixPlugin, sdk.MaiBotPlugin)
    declared = {one["name"] for one in plugin.get_components()}
    assert declared >= {"search_memory", "get_person_profile", "ingest_text", "ingest_summary", "memory_stats"}


def test_kinds_of_knowledge() -> None:
    assert set(get_args(maibot.KnowledgeType)) == {"", "factual", "narrative", "quote"}


# what is kept in which tables, and under which paths


async def test_records_stand_in_tables_of_these_names(host: AMemorixHostService) -> None:
    from entrance import rows

    await told(host, "a kite", external_id="x", source="s")
    assert rows(host, "select external_id from external_memory_refs") == [("x",)]
    await call(host, "memory_v5_admin", "reinforce", target="p1")
    assert rows(host, "select count(*) from memory_v5_operations")[0][0] >= 1
    done = await call(host, "memory_delete_admin", "execute", mode="source", selector="s")
    assert rows(host, "select count(*) from delete_operations") == [(1,)]
    assert [
        done[name]
        for name in ("requested_source_count", "matched_source_count", "deleted_paragraph_count", "deleted_count")
    ] == [1, 1, 1, 1]


async def test_settings_stand_where_the_page_says(host: AMemorixHostService) -> None:
    assert (ROOT / "config" / "a_memorix.toml").is_file() and (ROOT / "schemas" / "config_schema.json").is_file()
    assert (await host.get_config())["storage"]["data_dir"]
    from amemorix.config.model import Config
    from amemorix.frontends.http.json_response import BASE_PATH

    assert (Config().storage.data_dir, BASE_PATH) == ("data/a-memorix", "/api/webui/memory")

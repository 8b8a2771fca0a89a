"""The calls that the pages of MaiBot's dashboard make, as they make them, and what the pages read of the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.json_response import BASE_PATH
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import ASK_NOBODY, HashEmbedder
from conftest import Open
from entrance import call

BOUND = "reader of hike"


class Dashboard:
    """A page of the dashboard without a browser: what it asks, and the answer if it is one that pages take."""

    def __init__(self, host: AMemorixHostService, token: str = "") -> None:
        entries = [{"token": "owner", "role": "admin"}, {"token": "any chat", "role": "read"},
                   {"token": BOUND, "role": "read", "chats": ["qq:hike"]}]  # fmt: skip
        tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(entries)}, Path()) if token else None
        self.web = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=create_app(host, tokens=tokens)), base_url="http://localhost",
            headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=120,
        )  # fmt: skip

    async def ask(self, method: str, path: str, status: int = 200, **sent: Any) -> dict[str, Any]:
        answer = await self.web.request(method, BASE_PATH + path, **sent)
        assert answer.status_code == status, answer.text
        body = answer.json()
        assert body["success"] is (status == 200), body
        return body

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        return await self.ask("GET", path, params=query)

    async def post(self, path: str, **body: Any) -> dict[str, Any]:
        return await self.ask("POST", path, json=body)


@pytest.fixture
async def host(opened: Open) -> AMemorixHostService:
    memory = await opened(**ASK_NOBODY, feedback={"enabled": True})
    hike = [
        ("小林", "u1", "我对花生过敏，点菜的时候提醒我。"),
        ("阿周", "u2", "周日八点在福田口岸集合去爬山。"),
        ("小林", "u1", "我住在深圳。"),
    ]
    band = [
        ("Ann", "u3", "I live in Leeds and have two cats."),
        ("Ben", "u4", "We rehearse on Tuesdays in the old mill."),
    ]
    for chat, turns in (("qq:hike", hike), ("discord:band", band)):
        await call(memory, "ingest_messages", chat_id=chat, messages=[
            {"speaker": name, "person_id": person, "text": text, "time": f"2025-03-01T09:0{at}:00Z"}
            for at, (name, person, text) in enumerate(turns)
        ])  # fmt: skip
    for chat, text, relation in (
        ("qq:hike", "小林住在深圳。", ("小林", "住在", "深圳")),
        ("discord:band", "Ann knows Ben.", ("Ann", "knows", "Ben")),
    ):
        told = [dict(zip(("subject", "predicate", "object"), relation, strict=True))]
        await call(
            memory,
            "ingest_text",
            external_id=f"note of {chat}",
            source_type="note",
            text=text,
            chat_id=chat,
            relations=told,
        )
    await call(memory, "memory_fact_admin", "process_pending")
    await call(memory, "memory_episode_admin", "rebuild", all=True, wait=60)
    return memory


@pytest.fixture
async def pages(host: AMemorixHostService) -> AsyncGenerator[Dashboard]:
    dashboard = Dashboard(host)
    yield dashboard
    await dashboard.web.aclose()


def named(items: list[dict[str, Any]], key: str, value: str) -> dict[str, Any]:
    found = [one for one in items if one[key] == value]
    assert len(found) == 1, (key, value, items)
    return found[0]


# graph


async def test_the_graph_and_what_is_behind_a_node(pages: Dashboard) -> None:
    graph = await pages.get("/graph", limit=120)
    ids = {node["id"] for node in graph["nodes"]}
    assert {edge[end] for edge in graph["edges"] for end in ("source", "target")} <= ids
    edge = named(graph["edges"], "label", "住在")
    assert (edge["relation_count"], len(edge["relation_hashes"]), edge["predicates"]) == (1, 1, ["住在"])
    assert graph["total_nodes"] == len(ids)

    node = named(graph["nodes"], "name", "小林")
    detail = await pages.get(
        "/graph/node-detail", node_id=node["id"], relation_limit=20, paragraph_limit=20, evidence_node_limit=80
    )
    assert (detail["node"]["content"], detail["node"]["type"], detail["node"]["hash"]) == ("小林", "entity", node["id"])
    assert "active_evidence_count" in detail["node"]
    relation = named(detail["relations"], "text", "小林 住在 深圳")
    assert (relation["predicate"], relation["paragraph_count"], relation["confidence"]) == ("住在", 1, 1.0)
    paragraph = named(detail["paragraphs"], "hash", relation["paragraph_hashes"][0])
    assert paragraph["content"] == paragraph["preview"] == "小林住在深圳。"
    assert paragraph["relation_count"] == 1
    assert set(paragraph["entities"]) == {"小林", "深圳"}
    shown = detail["evidence_graph"]
    assert {one["type"] for one in shown["nodes"]} == {"entity", "relation", "paragraph"}
    by_type = {one["type"]: one["metadata"] for one in shown["nodes"]}
    assert by_type["relation"]["hash"] == relation["hash"]
    assert by_type["paragraph"]["hash"].startswith("p")
    assert {one["metadata"]["entity_name"] for one in shown["nodes"] if one["type"] == "entity"} == {"小林", "深圳"}
    assert all(link["weight"] > 0 and link["kind"] for link in shown["edges"])

    between = await pages.get(
        "/graph/edge-detail", source=edge["source"], target=edge["target"], paragraph_limit=20, evidence_node_limit=80
    )
    assert between["edge"]["relation_hashes"] == [relation["hash"]]
    assert [one["hash"] for one in between["paragraphs"]] == [paragraph["hash"]]
    alone = await pages.get("/graph/paragraph-detail", paragraph_hash=paragraph["hash"], evidence_node_limit=80)
    assert alone["paragraph"]["content"] == "小林住在深圳。"
    assert isinstance(alone["paragraph"]["entities"], list)
    assert [one["id"] for one in alone["evidence_graph"]["nodes"]] == [paragraph["hash"]]
    await pages.ask("GET", "/graph/paragraph-detail", 404, params={"paragraph_hash": "p999"})


async def test_the_graph_is_searched_by_name(pages: Dashboard) -> None:
    found = (await pages.get("/graph/search", query="小林", limit=50))["items"]
    entity = named(found, "type", "entity")
    assert (entity["title"], entity["entity_name"], entity["matched_field"]) == ("小林", "小林", "name")
    relation = named(found, "type", "relation")
    assert (relation["subject"], relation["object"], relation["confidence"]) == ("小林", "深圳", 1.0)
    assert relation["relation_hash"].startswith("r")


# records


async def test_records_of_every_kind_are_found_and_opened(pages: Dashboard) -> None:
    everything = await pages.get("/records/search", query="", types="", limit=80, include_inactive="false")
    kinds = {one["type"] for one in everything["items"]}
    assert kinds == {"paragraph", "entity", "relation", "fact", "episode"}
    assert everything["counts"] == {kind: sum(one["type"] == kind for one in everything["items"]) for kind in kinds}
    for kind in kinds:
        one = next(one for one in everything["items"] if one["type"] == kind)
        assert one["title"]
        assert isinstance(one["metadata"], dict)
        context = await pages.get(f"/records/{kind}/{one['id']}", limit=50)
        assert (context["record"]["type"], context["record"]["id"]) == (kind, one["id"])
        assert set(context["related"]) == {"paragraphs", "entities", "relations", "facts", "episodes", "profiles"}
        assert context["projection"]["graph_jobs"] == []
        assert isinstance(context["available_actions"], list)
    found = await pages.get("/records/search", query="花生", types="paragraph", limit=80, include_inactive="false")
    assert found["items"][0]["title"] == "我对花生过敏，点菜的时候提醒我。"
    assert found["counts"] == {"paragraph": len(found["items"])}


async def test_what_belongs_to_a_record_is_shown_with_it(pages: Dashboard) -> None:
    found = (await pages.get("/records/search", query="", types="relation", limit=80, include_inactive="false"))[
        "items"
    ]
    relation = named(found, "title", "小林 住在 深圳")
    context = await pages.get(f"/records/relation/{relation['id']}", limit=50)
    assert [one["title"] for one in context["related"]["paragraphs"]] == ["小林住在深圳。"]
    assert {one["title"] for one in context["related"]["entities"]} == {"小林", "深圳"}
    assert {"reinforce", "delete"} <= set(context["available_actions"])
    entity = named(context["related"]["entities"], "title", "小林")
    assert [
        one["id"] for one in (await pages.get(f"/records/entity/{entity['id']}", limit=50))["related"]["relations"]
    ] == [relation["id"]]
    await pages.ask("GET", "/records/paragraph/p999", 404)
    await pages.ask("GET", "/records/planet/p1", 400)


async def test_a_fact_is_added_changed_taken_back_and_restored(pages: Dashboard) -> None:
    sent = {"scope_type": "person", "scope_id": "u1", "fact_key": "pet", "value_text": "豆豆", "polarity": "positive",
            "cardinality": "set", "stability": "stable", "profile_section": "stable_facts", "authority": "manual",
            "confidence": 1, "reason": "knowledge_base_fact_create", "updated_by": "knowledge_base"}  # fmt: skip
    added = await pages.post("/facts", **sent)
    id_ = added["claim"]["id"]
    context = await pages.get(f"/records/fact/{id_}", limit=50)
    metadata = context["record"]["metadata"]
    assert [metadata[key] for key in ("scope_type", "scope_id", "fact_key", "value_text", "polarity")] == [
        "person",
        "u1",
        "pet",
        "豆豆",
        "positive",
    ]
    assert {"edit_fact", "retract_fact"} <= set(context["available_actions"])
    changed = await pages.ask("PATCH", f"/facts/{id_}", json={**sent, "value_text": "毛毛"})
    assert changed["replaced"] is True
    assert changed["claim"]["value"] == "毛毛"
    await pages.ask(
        "PATCH", f"/facts/{changed['claim']['id']}", 400, json={**sent, "fact_key": "home", "value_text": "毛毛"}
    )
    id_ = changed["claim"]["id"]
    await pages.post(f"/facts/{id_}/retract", reason="knowledge_base_fact_retract", requested_by="knowledge_base")
    gone = await pages.get(f"/records/fact/{id_}", limit=50)
    assert gone["record"]["status"] == "retracted"
    assert "restore_fact" in gone["available_actions"]
    assert [one["reason"] for one in gone["fact_transitions"] if one["transition_type"] == "retract"] == [
        "knowledge_base_fact_retract"
    ]
    await pages.post(f"/facts/{id_}/restore", reason="knowledge_base_fact_restore", requested_by="knowledge_base")
    assert (await pages.get(f"/records/fact/{id_}", limit=50))["record"]["status"] == "active"
    stated = next(
        one for one in (await pages.get("/records/search", types="fact", limit=80))["items"] if one["id"] != id_
    )
    context = await pages.get(f"/records/fact/{stated['id']}", limit=50)
    assert [one["evidence_type"] for one in context["fact_evidence"]] == ["paragraph"]
    assert [one["id"] for one in context["related"]["paragraphs"]] == [context["fact_evidence"][0]["evidence_id"]]


# timeline and episodes


async def test_the_timeline_of_a_chat(pages: Dashboard) -> None:
    chats = (await pages.get("/import/chat-targets"))["data"]
    assert {one["chat_id"] for one in chats} == {"qq:hike", "discord:band"}
    assert all(one["chat_name"] and "is_group" in one and "platform" in one for one in chats)
    told = await pages.get("/timeline", chat_id="qq:hike", limit=200)
    assert {one["event_type"] for one in told["items"]} == {"paragraph_created", "episode_created"}
    times = [one["occurred_at"] for one in told["items"]]
    assert times == sorted(times, reverse=True)
    assert len({one["event_id"] for one in told["items"]}) == len(times)
    assert told["summary"]["total"] == len(times)
    one = next(one for one in told["items"] if one["category"] == "paragraph" and "花生" in one["summary"])
    assert (one["title"], one["chat_id"], one["jump_target"]["tab"]) == ("小林", "qq:hike", "graph")
    assert one["jump_target"]["params"]["paragraph_hash"] == one["key_id"]
    only = await pages.get("/timeline", chat_id="qq:hike", types="episode", limit=200)
    assert {one["category"] for one in only["items"]} == {"episode"}
    assert (await pages.get("/timeline", chat_id="qq:hike", types="delete", limit=200))["items"] == []
    assert (await pages.get("/timeline", chat_id="qq:hike", limit=200, time_start=1, time_end=2))["items"] == []
    assert not [one for one in told["items"] if "Leeds" in one["summary"]]


async def test_episodes(pages: Dashboard) -> None:
    query = {"query": "", "limit": 20, "source": "", "person_id": "", "platform": "", "user_id": ""}
    items = (await pages.get("/episodes", **query))["items"]
    assert len(items) >= 2
    assert all(one["episode_id"] and one["title"] and one["updated_at"] for one in items)
    episode = (await pages.get(f"/episodes/{items[0]['episode_id']}"))["episode"]
    assert episode["summary"]
    assert all(one["hash"] and one["content"] for one in episode["paragraphs"])
    hike = (await pages.get("/episodes", **{**query, "platform": "qq", "user_id": "u1"}))["items"]
    assert {one["chat_id"] for one in hike} == {"qq:hike"}
    status = await pages.get("/episodes/status", limit=20)
    assert set(status["counts"]) == {"pending", "running", "done", "failed"}
    assert status["failed"] == []
    old = await pages.get("/episodes/migration-backfill")
    assert (old["candidates"], old["sample_sources"]) == (0, [])
    assert isinstance(old["by_status"], dict)
    assert (await pages.post("/episodes/rebuild", source="", sources=[], all=True))["rebuilt"] >= 2
    assert (await pages.post("/episodes/process-pending", limit=20, max_retry=3))["processed"] >= 0


# profiles


async def test_profiles_are_listed_and_shown_with_their_evidence(pages: Dashboard) -> None:
    profiles = (await pages.get("/profiles", limit=80))["items"]
    one = named(profiles, "person_name", "小林")
    assert one["person_id"] == "u1"
    assert "花生" in one["profile_text"]
    assert one["manual_override"] is None
    assert one["profile_version"] >= 1
    searched = await pages.get(
        "/profiles/search", person_id="", person_keyword="小林", platform="", user_id="", limit=80
    )
    assert [one["person_id"] for one in searched["items"]] == ["u1"]
    exact = await pages.get(
        "/profiles/query", person_id="", person_keyword="", platform="qq", user_id="u1", limit=12, force_refresh="false"
    )
    assert exact["person_id"] == "u1"
    assert "花生" in exact["profile_text"]
    by_id = await pages.get(
        "/profiles/search", person_id="u1", person_keyword="", platform="qq", user_id="u1", limit=80
    )
    assert [one["person_id"] for one in by_id["items"]] == ["u1"]
    evidence = await pages.get("/profiles/u1/evidence", limit=12, force_refresh="true")
    assert evidence["evidence_count"] == len(evidence["evidence"]) >= 1
    piece = next(one for one in evidence["evidence"] if one["deletable"])
    assert all(piece[key] for key in ("evidence_type", "evidence_key", "hash", "content"))
    gone = await pages.post("/profiles/u1/evidence/correct", evidence_type=piece["evidence_type"], hash=piece["hash"],
                            requested_by="knowledge_base", reason="profile_evidence_correction", refresh=True, limit=12)  # fmt: skip
    assert piece["hash"] not in [one["hash"] for one in gone["refreshed_evidence"]["evidence"]]


async def test_a_profile_is_overridden_and_has_further_names(pages: Dashboard) -> None:
    await pages.post(
        "/profiles/override", person_id="u1", override_text="小林是领队。", updated_by="knowledge_base", source="webui"
    )
    one = named((await pages.get("/profiles", limit=80))["items"], "person_id", "u1")
    assert (one["has_manual_override"], one["manual_override"]["override_text"]) == (True, "小林是领队。")
    evidence = await pages.get("/profiles/u1/evidence", limit=12)
    assert (evidence["has_manual_override"], evidence["profile_text"]) == (True, "小林是领队。")
    assert "花生" in evidence["auto_profile_text"]
    await pages.ask("DELETE", "/profiles/override/u1")
    assert not named((await pages.get("/profiles", limit=80))["items"], "person_id", "u1")["has_manual_override"]

    assert (await pages.get("/profiles/u1/aliases"))["has_override"] is False
    saved = await pages.ask(
        "PUT",
        "/profiles/u1/aliases",
        json={"aliases": ["林哥", "Lin"], "updated_by": "knowledge_base", "source": "webui"},
    )
    assert set(saved["effective_aliases"]) == {"林哥", "Lin"}
    saved = await pages.ask(
        "PUT", "/profiles/u1/aliases", json={"aliases": ["林哥"], "updated_by": "knowledge_base", "source": "webui"}
    )
    assert saved["effective_aliases"] == ["林哥"]
    assert (await pages.get("/profiles/u1/aliases"))["effective_aliases"] == ["林哥"]


# what deletes and corrects


async def test_a_source_is_deleted_after_a_preview_and_restored(pages: Dashboard) -> None:
    sources = (await pages.get("/sources"))["items"]
    source = next(one for one in sources if one["chat_id"] == "qq:hike" and one["paragraph_count"] == 3)
    assert source["source"]
    assert source["last_updated"] > 0
    request = {"mode": "source", "selector": {"sources": [source["source"]]}, "requested_by": "knowledge_base"}
    preview = await pages.post("/delete/preview", **request)
    assert (preview["counts"]["paragraphs"], preview["counts"]["sources"], preview["mode"]) == (3, 1, "source")
    assert preview["item_count"] == len(preview["items"]) > 0
    assert all(one["item_type"] and one["item_hash"] and one["label"] for one in preview["items"])
    assert (preview["sources"], preview["matched_source_count"], preview["requested_source_count"]) == (
        [source["source"]],
        1,
        1,
    )
    done = await pages.post("/delete/execute", **request, reason="knowledge_base_source_delete")
    assert done["deleted_paragraph_count"] == 3
    assert source["source"] not in [one["source"] for one in (await pages.get("/sources"))["items"]]
    listed = named((await pages.get("/delete/operations", limit=100))["items"], "operation_id", done["operation_id"])
    assert (listed["status"], listed["mode"], listed["reason"]) == (
        "executed",
        "source",
        "knowledge_base_source_delete",
    )
    assert listed["summary"]["counts"]["paragraphs"] == 3
    operation = (await pages.get(f"/delete/operations/{done['operation_id']}"))["operation"]
    assert operation["selector"]["sources"] == [source["source"]]
    assert {one["item_type"] for one in operation["items"]} >= {"paragraph"}
    assert all(one["item_hash"] for one in operation["items"])
    await pages.post("/delete/restore", operation_id=done["operation_id"], requested_by="knowledge_base")
    assert source["source"] in [one["source"] for one in (await pages.get("/sources"))["items"]]
    assert (await pages.get(f"/delete/operations/{done['operation_id']}"))["operation"]["status"] == "restored"


async def test_the_graph_page_deletes_by_what_it_was_shown(pages: Dashboard) -> None:
    graph = await pages.get("/graph", limit=120)
    detail = await pages.get("/graph/node-detail", node_id=named(graph["nodes"], "name", "小林")["id"])
    relation = detail["relations"][0]
    request = {
        "mode": "mixed", "reason": "knowledge_graph_delete_relation", "requested_by": "knowledge_graph",
        "selector": {"relation_hashes": [relation["hash"]], "paragraph_hashes": relation["paragraph_hashes"]},
    }  # fmt: skip
    assert (await pages.post("/delete/preview", **request))["counts"]["relations"] == 1
    done = await pages.post("/delete/execute", **request)
    assert (done["deleted_relation_count"], done["deleted_paragraph_count"]) == (1, 1)
    entity = {"mode": "mixed", "selector": {"entity_hashes": [detail["node"]["hash"]], "paragraph_hashes": []}}
    assert (await pages.post("/delete/preview", **entity))["counts"]["entities"] == 1


async def test_a_correction_is_previewed_carried_out_and_rolled_back(pages: Dashboard) -> None:
    sent = {
        "request_text": "小林不住在深圳，他住在广州",
        "scope": "memory",
        "chat_id": "qq:hike",
        "requested_by": "knowledge_base",
        "reason": "moved",
    }
    preview = await pages.post("/corrections/preview", **sent)
    plan = preview["plan_id"]
    assert {one["action"] for one in preview["preview"]["operations"]} == {"mark_superseded", "ingest_text"}
    assert all(one["candidate_id"] and one["content"] for one in preview["preview"]["candidates"])
    listed = named((await pages.get("/corrections/plans", limit=100))["items"], "plan_id", plan)
    assert (listed["status"], listed["request_text"], listed["target_chat_id"]) == (
        "awaiting_confirmation",
        sent["request_text"],
        "qq:hike",
    )
    assert (await pages.get(f"/corrections/plans/{plan}"))["plan"]["plan"]["operations"]
    done = await pages.post(
        "/corrections/execute", plan_id=plan, confirmed=True, requested_by="knowledge_base", reason=""
    )
    assert done["plan"]["status"] == "executed"
    back = await pages.post(f"/corrections/plans/{plan}/rollback", requested_by="knowledge_base", reason="")
    assert back["plan"]["status"] == "rolled_back"
    everywhere = await pages.post(
        "/corrections/preview", request_text="小林不住在深圳，他住在广州", scope="person_profile", person_id="u1"
    )
    assert everywhere["plan_id"]
    await pages.ask("POST", "/corrections/preview", 400, json={**sent, "targets": [{"type": "paragraph", "id": "p1"}]})


async def test_what_cannot_be_done_is_no_error_of_http(pages: Dashboard) -> None:
    sent = {"request_text": "小林不住在深圳，他住在广州", "scope": "memory", "chat_id": "qq:hike"}
    plan = (await pages.post("/corrections/preview", **sent))["plan_id"]
    answer = await pages.web.post(f"{BASE_PATH}/corrections/plans/{plan}/rollback", json={})
    assert (answer.status_code, answer.json()["success"], answer.json()["error_code"]) == (200, False, "conflict")
    await pages.ask("GET", "/corrections/plans/c999", 404)
    await pages.ask("GET", "/graph", 400, params={"limit": 0})
    await pages.ask("GET", "/graph", 400, params={"limit": "many"})
    for method, path in (
        ("GET", "/images/status"),
        ("POST", "/images/reindex"),
        ("DELETE", "/bundles/b1"),
        ("GET", "/planets"),
    ):
        assert (await pages.ask(method, path, 404))["error"]


async def test_maintenance(pages: Dashboard, host: AMemorixHostService) -> None:
    id_ = (await pages.get("/records/search", query="深圳", types="relation", limit=80))["items"][0]["id"]
    for action, more in (
        ("freeze", {}),
        ("restore", {}),
        ("reinforce", {}),
        ("protect", {"hours": 12}),
        ("protect", {}),
    ):
        assert (await pages.post(f"/maintenance/{action}", target=id_, **more))["detail"]
    await call(host, "memory_v5_admin", "forget", target=id_)
    one = named((await pages.get("/maintenance/recycle-bin", limit=50))["items"], "hash", id_)
    assert "深圳" in one["text"]
    assert one["deleted_at"]
    await pages.post("/maintenance/restore", target=one["hash"])
    assert (await pages.get("/maintenance/recycle-bin", limit=50))["items"] == []


async def test_what_was_learnt_from_answers(pages: Dashboard, host: AMemorixHostService) -> None:
    await call(host, "enqueue_feedback_task", query_tool_id="t1", session_id="qq:hike", query_timestamp=1740820000,
               query="花生", structured_content=["p1"])  # fmt: skip
    items = (await pages.get("/feedback-corrections", limit=100))["items"]
    one = named(items, "query_tool_id", "t1")
    assert one["task_status"] in ("pending", "running", "applied", "skipped", "error")
    assert one["rollback_status"] == "none"
    detail = (await pages.get(f"/feedback-corrections/{one['task_id']}"))["task"]
    assert detail["query_text"] == one["query_text"]
    assert detail["action_logs"] == []


# imports


async def until(ask: Callable[[], Any], done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the page is answered once it is done; the page asks again and again, as here."""
    async with asyncio.timeout(60):
        while not done(found := await ask()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return found


COMMON = {"llm_enabled": True, "strategy_override": "narrative", "chat_log": False, "scope_type": "global", "dedupe_policy": "content_hash",
          "force": False, "clear_manifest": False, "file_concurrency": 2, "chunk_concurrency": 4, "narrative_window_size": 1600,
          "narrative_overlap": 400, "factual_target_size": 1200}  # fmt: skip
"""What the pages send with every import."""


async def test_a_pasted_text_becomes_rows(pages: Dashboard) -> None:
    assert isinstance((await pages.get("/import/settings"))["settings"], dict)
    created = await pages.post(
        "/import/paste",
        **COMMON,
        name="trip.txt",
        content="Mina planted forty olive trees in Crete.",
        input_mode="text",
    )
    id_ = created["task"]["task_id"]
    done = await until(
        lambda: pages.get(f"/import/tasks/{id_}", include_chunks="false"),
        lambda one: one["task"]["status"] == "completed",
    )
    task = done["task"]
    assert (task["task_kind"], task["progress"], task["done_chunks"], task["total_chunks"]) == ("paste", 1.0, 1, 1)
    other = {"action": "list", "component": "memory_runtime_admin", "content": "The ferry is late."}
    assert (await pages.post("/import/paste", **COMMON, **other))["task"]["kind"] == "paste"
    file = task["files"][0]
    assert (file["name"], file["status"], file["done_chunks"], file["failed_chunks"]) == ("trip.txt", "completed", 1, 0)
    chunks = await pages.get(f"/import/tasks/{id_}/chunks/{file['file_id']}", offset=0, limit=50)
    assert (chunks["total"], chunks["items"][0]["status"], chunks["items"][0]["error"]) == (1, "completed", "")
    assert named((await pages.get("/import/tasks", limit=20))["items"], "task_id", id_)["status"] == "completed"
    found = await pages.get("/records/search", query="olive trees", types="paragraph", limit=80)
    assert [one["title"] for one in found["items"]] == ["Mina planted forty olive trees in Crete."]


async def test_files_are_uploaded_scanned_and_refused(pages: Dashboard) -> None:
    files = [("files", ("a.txt", b"The kite is red.")), ("files", ("b.md", "风筝是红色的。".encode()))]
    created = await pages.ask(
        "POST", "/import/upload", files=files, data={"payload_json": json.dumps({**COMMON, "input_mode": "text"})}
    )
    id_ = created["task"]["task_id"]
    done = await until(lambda: pages.get(f"/import/tasks/{id_}"), lambda one: one["task"]["status"] == "completed")
    assert {one["name"] for one in done["task"]["files"]} == {"a.txt", "b.md"}
    await pages.ask("POST", "/import/upload", 400, files=files, data={"payload_json": "{"})
    await pages.ask(
        "POST", "/import/upload", 400, files=files, data={"payload_json": json.dumps({"strategy_override": "odd"})}
    )
    where = await pages.post("/import/resolve-path", alias="raw", relative_path="", must_exist=False)
    assert where["resolved_path"]
    assert where["is_dir"] is True
    folder = Path(where["resolved_path"])
    (folder / "c.txt").write_text("The boat is blue.", "utf-8")
    created = await pages.post(
        "/import/raw-scan", **COMMON, alias="raw", relative_path="", glob="*", recursive=True, input_mode="text"
    )
    id_ = created["task"]["task_id"]
    await until(lambda: pages.get(f"/import/tasks/{id_}"), lambda one: one["task"]["status"] == "completed")
    await pages.ask(
        "POST",
        "/import/lpmm-openie",
        404,
        json={**COMMON, "alias": "lpmm", "relative_path": "nothing", "include_all_json": False},
    )
    nothing = await pages.web.post(f"{BASE_PATH}/import/tasks/{id_}/retry", json={"overrides": COMMON})
    assert (nothing.status_code, nothing.json()["error_code"]) == (200, "conflict")


# tuning and the runtime


async def test_tuning(pages: Dashboard) -> None:
    profile = await pages.get("/retrieval_tuning/profile")
    assert profile["runtime_profile"] == profile["persistable_profile"] != {}
    assert "[retrieval" in profile["toml"]
    assert (await pages.get("/retrieval_tuning/tasks", limit=20))["items"] == []
    created = await pages.post(
        "/retrieval_tuning/tasks", objective="precision_priority", intensity="quick", sample_size=24, top_k_eval=20
    )
    id_ = str(created["task"]["task_id"])
    listed = named((await pages.get("/retrieval_tuning/tasks", limit=20))["items"], "task_id", id_)
    assert listed["rounds_total"] >= listed["rounds_done"] >= 0
    assert listed["updated_at"] > 0
    ended = await until(
        lambda: pages.get("/retrieval_tuning/tasks", limit=20),
        lambda one: one["items"][0]["status"] in ("completed", "failed"),
    )
    applied = await pages.web.post(
        f"{BASE_PATH}/retrieval_tuning/tasks/{id_}/apply-best", json={"persist": False, "validate": True}
    )
    assert applied.status_code == 200
    assert applied.json()["success"] is ended["items"][0]["recommended"]


async def test_the_state_of_the_memory(opened: Open) -> None:
    memory = await opened(embed=HashEmbedder())
    await call(memory, "ingest_text", external_id="n", source_type="note", text="The kite is red.")
    await memory.settle()
    pages = Dashboard(memory)
    state = await pages.get("/runtime/config")
    assert (state["memory_enabled"], state["runtime_ready"]) == (True, True)
    assert state["embedding_dimension"] > 0
    assert state["data_dir"]
    assert {"metadata", "sparse", "graph"} <= set(state["available_channels"])
    assert state["vector_pools"]["single_pool"]["num_vectors"] == 1
    assert (await pages.ask("POST", "/runtime/self-check/refresh"))["report"]["ok"] is True
    assert (await pages.post("/runtime/vectors/rebuild", dry_run=True))["counts"]["paragraphs"] == 1
    space = (await pages.get("/runtime/vectors/spaces"))["items"][0]
    assert (space["state"], space["can_delete"]) == ("active", False)
    assert space["embedding_fingerprint"]["dimension"] == state["embedding_dimension"]


# who asks


async def test_a_token_that_is_bound_to_a_chat_sees_that_chat(host: AMemorixHostService) -> None:
    pages = Dashboard(host, BOUND)
    assert {node["name"] for node in (await pages.get("/graph", limit=120))["nodes"]} >= {"小林", "深圳"}
    everything = json.dumps([
        await pages.get("/graph", limit=120), await pages.get("/records/search", query="", types="", limit=80),
        await pages.get("/records/search", query="Leeds", types="", limit=80), await pages.get("/episodes", limit=20),
        await pages.get("/import/chat-targets"), await pages.get("/sources"), await pages.get("/timeline", chat_id="qq:hike", limit=200),
        await pages.get("/graph/search", query="Ann", limit=50), await pages.get("/maintenance/recycle-bin", limit=50),
    ], ensure_ascii=False)  # fmt: skip
    assert "深圳" in everything
    for hidden in ("Leeds", "Ann", "Ben", "discord:band"):
        assert hidden not in everything
    assert (await pages.get("/records/search", query="", types="paragraph", limit=80))["counts"] == {"paragraph": 4}
    first = (await pages.get("/records/search", query="", types="paragraph", limit=80))["items"][0]
    assert (await pages.get(f"/records/paragraph/{first['id']}", limit=50))["available_actions"] == []
    await pages.ask("GET", "/timeline", 403, params={"chat_id": "discord:band", "limit": 200})
    for method, path, body in (
        ("GET", "/profiles", None), ("GET", "/runtime/config", None), ("GET", "/delete/operations", None), ("GET", "/import/tasks", None),
        ("POST", "/delete/execute", {"mode": "source", "selector": {"sources": ["chat:qq:hike"]}}),
        ("POST", "/maintenance/reinforce", {"target": "小林 住在 深圳"}),
    ):  # fmt: skip
        await pages.ask(method, path, 403, json=body)
    files = [("files", ("a.txt", b"The kite is red."))]
    await pages.ask("POST", "/import/upload", 403, files=files, data={"payload_json": "{}"})


async def test_without_a_chat_everything_is_for_administrators(host: AMemorixHostService) -> None:
    reader = Dashboard(host, "any chat")
    await reader.ask("GET", "/graph", 403)
    await reader.ask("GET", "/records/search", 403)
    assert (await reader.get("/timeline", chat_id="discord:band", limit=200))["items"]
    owner = Dashboard(host, "owner")
    assert {node["name"] for node in (await owner.get("/graph", limit=120))["nodes"]} >= {"小林", "Ann"}
    stranger = Dashboard(host, "nobody")
    assert (await stranger.web.get(f"{BASE_PATH}/graph")).status_code == 401
    for pages in (Dashboard(host), owner):
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = await pages.web.post(f"{BASE_PATH}/maintenance/reinforce", json={"target": "x"}, headers=headers)
            assert answer.status_code == 403
    same = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert (await owner.ask("GET", "/graph", headers=same))["nodes"]

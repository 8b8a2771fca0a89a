"""Rows of answers as the pages of MaiBot's dashboard read them: their names are put beside ours."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .page_call import Answer

__all__ = [
    "aliases", "applied", "chat_targets", "chunks", "corrected_evidence", "deleted", "deletion", "deletions", "edge", "episode",
    "episode_history", "episode_status", "episodes", "fact_change", "feedback", "feedback_task", "found_in_graph", "graph",
    "import_settings", "import_task", "import_tasks", "node", "plan", "plan_preview", "plans", "profile", "profiles",
    "recycle_bin", "rebuilt_episodes", "rebuilt_vectors", "runtime", "self_check", "sources", "tuning_tasks", "vector_spaces",
]  # fmt: skip

Row = dict[str, Any]


# graph


def graph(answer: Answer) -> Answer:
    nodes = [
        {**one, "attributes": {key: one[key] for key in ("type", "weight", "degree", "evidence_count")}}
        for one in answer["nodes"]
    ]
    return {"nodes": nodes, "edges": [{**one, "relation_hashes": one["relation_ids"]} for one in answer["edges"]]}


def found_in_graph(answer: Answer) -> Answer:
    items: list[Row] = []
    for one in answer["items"]:
        row = {**one, "title": one["name"], "matched_value": one["matched_text"] or one["name"]}
        if one["type"] == "entity":
            items.append({**row, "entity_name": one["name"], "entity_hash": one["id"]})
        else:
            items.append({**row, **one["relation"], "relation_hash": one["id"]})
    return {"items": items}


def node(answer: Answer) -> Answer:
    one = answer["node"]
    shown = {**one, "type": "entity", "content": one["name"], "hash": one["id"], "active_evidence_count": one["evidence_count"],
             "appearance_count": answer["paragraph_count"]}  # fmt: skip
    return {"node": shown, **_evidence(answer)}


def edge(answer: Answer) -> Answer:
    return {"edge": {**answer["edge"], "relation_hashes": answer["edge"]["relation_ids"]}, **_evidence(answer)}


def _evidence(answer: Answer) -> Answer:
    """Relations with their paragraphs, paragraphs with what they are linked to, and the picture of both."""
    shown = answer["evidence_graph"]
    labels = {one["id"]: one["label"] for one in shown["nodes"]}
    behind: defaultdict[str, list[str]] = defaultdict(list)
    held: defaultdict[str, list[str]] = defaultdict(list)
    for link in shown["edges"]:
        if link["kind"] == "supports":
            behind[link["target"]].append(link["source"])
        elif link["kind"] == "mentions":
            held[link["source"]].append(labels[link["target"]])
    relations = {
        one["id"]: {**one, "hash": one["id"], "paragraph_count": one["evidence_count"], "paragraph_hashes": behind[one["id"]]}
        for one in answer["relations"]
    }  # fmt: skip
    paragraphs: dict[str, Row] = {}
    for one in answer["paragraphs"]:
        supported = [relation for relation in relations.values() if one["id"] in relation["paragraph_hashes"]]
        ends = [relation[end] for relation in supported for end in ("subject", "object")]
        entities = list(dict.fromkeys([*held[one["id"]], *ends]))
        paragraphs[one["id"]] = {
            **one, "hash": one["id"], "preview": one["content"], "updated_at": one["recorded_at"], "entities": entities,
            "entity_count": len(entities), "relations": [relation["text"] for relation in supported],
            "relation_count": len(supported),
        }  # fmt: skip
    known = {"relation": relations, "paragraph": paragraphs}
    nodes: list[Row] = []
    for one in shown["nodes"]:
        about = {"entity_name": one["label"]} if one["type"] == "entity" else {"preview": one["label"]}
        metadata = {"hash": one["id"], **about, **known.get(one["type"], {}).get(one["id"], {})}
        nodes.append({**one, "content": one["label"], "metadata": metadata})
    edges = [{**link, "weight": 1, "label": link["kind"]} for link in shown["edges"]]
    focus = [one["label"] for one in shown["nodes"] if one["type"] == "entity"]
    return {
        "relations": list(relations.values()), "paragraphs": list(paragraphs.values()),
        "evidence_graph": {"nodes": nodes, "edges": edges, "focus_entities": focus},
    }  # fmt: skip


# chats, sources, episodes


def chat_targets(answer: Answer) -> Answer:
    data = [
        {
            **one,
            "chat_name": one["chat_id"],
            "platform": platform if rest else "",
            "is_group": bool(one["group_id"]) or not one["user_id"],
        }
        for one in answer["items"]
        for platform, _, rest in [one["chat_id"].partition(":")]
    ]
    return {"data": data}


def sources(answer: Answer) -> Answer:
    named = {"chat_name": "chat_id", "source_kind": "source_type", "paragraph_count": "count"}
    return {"items": [{**one, **{name: one[ours] for name, ours in named.items()}} for one in answer["items"]]}


def episodes(answer: Answer) -> Answer:
    return {"items": [_episode(one) for one in answer["items"]]}


def episode(answer: Answer) -> Answer:
    paragraphs = [{**one, "hash": one["id"], "preview": one["content"]} for one in answer["paragraphs"]]
    return {"episode": {**_episode(answer["episode"]), "paragraphs": paragraphs}}


def _episode(one: Row) -> Row:
    return {**one, "updated_at": one["derived_at"]}


def episode_status(answer: Answer) -> Answer:
    ours = {"pending": "pending", "running": "processing", "done": "completed", "failed": "failed"}
    return {"counts": {name: answer[key] for name, key in ours.items()}, "failed": answer["failures"]}


def episode_history(answer: Answer) -> Answer:
    """What an older memory has left to be done: nothing, for an import stores what it takes over as it stores all else."""
    return {"candidates": 0, "active_skipped": 0, "by_status": episode_status(answer)["counts"], "sample_sources": []}


def rebuilt_episodes(answer: Answer) -> Answer:
    return {"rebuilt": answer["queued"]}


# people


def profiles(answer: Answer) -> Answer:
    return {"items": [_profile_row(one) for one in answer["items"]]}


def _profile_row(one: Row) -> Row:
    override = {"override_text": one["summary"]} if one["has_manual_override"] else None
    return {**one, "profile_text": one["summary"], "profile_version": one["version"], "manual_override": override}


def profile(answer: Answer) -> Answer:
    """What is known of a person, with its evidence."""
    evidence: list[Row] = [
        {**one, "evidence_type": one["type"], "evidence_key": one["id"], "hash": one["id"]}
        for one in answer["evidence"]
    ]
    doubted = sum(one["metadata"].get("status") in ("conflicted", "maybe_outdated") for one in evidence)
    return {
        "profile_text": answer["summary"], "auto_profile_text": answer["auto_summary"], "profile_version": answer["version"],
        "evidence": evidence, "evidence_count": len(evidence), "uncertain_fact_count": doubted,
    }  # fmt: skip


def corrected_evidence(answer: Answer) -> Answer:
    return {"refreshed_evidence": {**answer["profile"], **profile(answer["profile"])}}


def aliases(answer: Answer) -> Answer:
    return {
        "effective_aliases": answer["aliases"],
        "derived_aliases": [],
        "suggested_aliases": [],
        "has_override": False,
    }


def fact_change(answer: Answer) -> Answer:
    return {"claim": answer["fact"], "replaced": len(answer["facts"]) > 1, "refresh_queued": False}


# deletion


def deletion(answer: Answer) -> Answer:
    """A preview, or what was deleted."""
    items = [{**one, "item_hash": one["item_key"], "preview": one["why"]} for one in answer["items"]]
    return {
        "counts": {**answer["counts"], "sources": len(answer["sources"])}, "items": items, "item_count": len(items),
        "matched_source_count": len(answer["sources"]),
        "requested_source_count": len(answer["sources"]) + len(answer["missing"] if answer["mode"] == "source" else ()),
    }  # fmt: skip


def deletions(answer: Answer) -> Answer:
    return {"items": [_operation(one) for one in answer["items"]]}


def deleted(answer: Answer) -> Answer:
    items = [{**one, "item_hash": one["item_key"], "payload": {}} for one in answer["items"]]
    return {"operation": {**_operation(answer["operation"]), "items": items}}


def _operation(one: Row) -> Row:
    selector: Any = one["selector"]
    named: Any = selector.get("sources", []) if isinstance(selector, dict) else []
    return {**one, "summary": {"counts": {**one["counts"], "sources": len(named)}, "sources": named}}


def recycle_bin(answer: Answer) -> Answer:
    return {"items": [{**one, "hash": one["id"]} for one in answer["items"]]}


# corrections


def plan_preview(answer: Answer) -> Answer:
    operations = [
        {"action": "mark_superseded", "target_type": "paragraph", "hash": one["id"], "reason": one["content"]}
        for one in answer["replacements"]
    ]
    becomes = dict.fromkeys([one["becomes"] for one in answer["replacements"]] + [answer["note"]])
    operations += [{"action": "ingest_text", "text": text} for text in becomes if text]
    operations += [
        {"action": "mark_superseded", "target_type": kind, "hash": sentence}
        for kind in ("relation", "fact")
        for sentence in answer[f"{kind}s"]
    ]
    candidates = [
        {**one, "candidate_id": one["id"], "hash": one["id"], "target_type": "paragraph", "source": one["why"]}
        for one in answer["candidates"]
    ]
    return {"preview": {"operations": operations, "candidates": candidates, "confidence": answer["confidence"]}}


def plans(answer: Answer) -> Answer:
    return {"items": [_plan(one) for one in answer["items"]]}


def plan(answer: Answer) -> Answer:
    return {"plan": _plan(answer["plan"])}


def _plan(one: Row) -> Row:
    operations = [
        {"action": "mark_superseded", "target_type": "paragraph", "hash": id_} for id_ in one["superseded_ids"]
    ]
    operations += [{"action": "ingest_text", "text": one["right"]}] if one["right"] else []
    return {
        **one, "request_text": one["text"], "scope": "memory",
        "target_person_id": one["person_id"], "target_chat_id": one["chat_id"],
        "plan": {"operations": operations, "reason": one["reason"]},
    }  # fmt: skip


def feedback(answer: Answer) -> Answer:
    return {"items": [_feedback(one) for one in answer["items"]]}


def feedback_task(answer: Answer) -> Answer:
    return {"task": {**_feedback(answer["task"]), "action_logs": []}}


def _feedback(one: Row) -> Row:
    stopped = {"failed": "error"}
    return {
        **one, "task_status": stopped.get(one["status"], one["status"]),
        "rollback_status": stopped.get(one["rollback_status"], one["rollback_status"]), "query_text": one["query"],
        "decision_confidence": one["confidence"], "feedback_message_count": int(bool(one["said"])), "affected_counts": {},
    }  # fmt: skip


# imports


def import_settings(answer: Answer) -> Answer:
    return {"settings": answer["limits"]}


def import_tasks(answer: Answer) -> Answer:
    return {"items": [_import(one) for one in answer["items"]]}


def import_task(answer: Answer) -> Answer:
    return {"task": {**_import(answer["task"]), "retry_summary": answer.get("retry_summary", {})}}


def _import(one: Row) -> Row:
    files = [{**file, "current_step": file["status"], **_chunk_counts([file])} for file in one["files"]]
    return {
        **one,
        "task_kind": one["kind"],
        "current_step": one["status"],
        "files": files,
        **_chunk_counts(one["files"]),
    }


def _chunk_counts(files: list[Row]) -> Row:
    def of(status: str = "") -> int:
        return sum(count for one in files for name, count in one["chunks"].items() if status in ("", name))

    return {
        "done_chunks": of("completed"), "failed_chunks": of("failed"), "cancelled_chunks": of("cancelled"), "total_chunks": of(),
    }  # fmt: skip


def chunks(answer: Answer) -> Answer:
    items = [
        {
            **one, "chunk_id": str(one["index"]), "step": one["status"], "progress": float(one["done_at"] is not None),
            "error": "; ".join(f"{error['place']}: {error['reason']}" for error in one["errors"]),
        }
        for one in answer["items"]
    ]  # fmt: skip
    return {"items": items}


# tuning and the runtime


def tuning_tasks(answer: Answer) -> Answer:
    return {"items": [_tuning(one) for one in answer["items"]]}


def _tuning(one: Row) -> Row:
    return {
        **one, "task_id": str(one["task_id"]), "progress": 100 * one["progress"], "rounds_total": one["rounds"],
        "updated_at": one["finished_at"] or one["started_at"] or one["created_at"],
    }  # fmt: skip


def applied(answer: Answer) -> Answer:  # noqa: ARG001
    """A profile goes into the configuration file, whatever the page asks."""
    return {"persisted": True}


def runtime(answer: Answer) -> Answer:
    vectors = answer["embedding"]
    reads = bool(vectors["serving_generation"])
    return {
        "memory_enabled": answer["config"]["plugin"]["enabled"], "runtime_ready": True, "retrieval_ready": True, "embedding_degraded": bool(vectors["error"]),
        "embedding_dimension": vectors["dimension"], "relation_vectors_enabled": False, "vector_rebuild_required": False,
        "available_channels": ["metadata", "sparse", "graph", *(["vector_read", "embedding"] if reads else [])],
        "vector_pools": {
            "configured_mode": "single", "effective_mode": "single", "ready": reads, "single_pool": {"num_vectors": vectors["done"]},
        },
    }  # fmt: skip


def self_check(answer: Answer) -> Answer:
    return {"success": answer["report"]["ok"]}


def rebuilt_vectors(answer: Answer) -> Answer:
    return {"counts": {"paragraphs": answer["paragraphs"], "entities": 0, "relations": 0}}


def vector_spaces(answer: Answer) -> Answer:
    serving = answer["embedding"]["serving_generation"]
    items = [
        {
            "space_id": str(one["id"]), "vector_count": one["vectors"], "size_bytes": 4 * one["vectors"] * one["dimension"],
            "state": "active" if one["id"] == serving else "syncing", "can_delete": False,
            "embedding_fingerprint": {"model_identifier": one["model"], **{key: one[key] for key in ("provider", "model", "dimension")}},
        }
        for one in answer["generations"]
    ]  # fmt: skip
    return {"items": items}

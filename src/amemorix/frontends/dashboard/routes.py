"""The calls that the pages of MaiBot's dashboard make, below `/api/webui/memory`, over the table of operations."""

from __future__ import annotations

from typing import NamedTuple

from . import edits, records, shapes
from .page_call import Handler, asks

__all__ = ["DASHBOARD_ROUTES", "DashboardRoute"]

CORRECTION, DELETE, EPISODE, FACT = "memory_correction_admin", "memory_delete_admin", "memory_episode_admin", "memory_fact_admin"  # fmt: skip
FEEDBACK, GRAPH, IMPORT, PROFILE = "memory_feedback_admin", "memory_graph_admin", "memory_import_admin", "memory_profile_admin"  # fmt: skip
RUNTIME, TUNING = "memory_runtime_admin", "memory_tuning_admin"


class DashboardRoute(NamedTuple):
    """A method and a path, and what answers there; its words in braces are arguments."""

    method: str
    path: str
    handle: Handler
    takes_files: bool = False


R = DashboardRoute
DASHBOARD_ROUTES: tuple[DashboardRoute, ...] = (
    # the graph
    R("GET", "/graph", asks(GRAPH, "get_graph", "limit", scoped=True, shape=shapes.graph)),
    R("GET", "/graph/search", asks(GRAPH, "search", "query", "limit", scoped=True, shape=shapes.found_in_graph)),
    R("GET", "/graph/node-detail", asks(
        GRAPH, "node_detail", "relation_limit", "paragraph_limit", "evidence_node_limit", node="node_id", scoped=True, shape=shapes.node)),
    R("GET", "/graph/edge-detail", asks(
        GRAPH, "edge_detail", "source", "target", "paragraph_limit", "evidence_node_limit", scoped=True, shape=shapes.edge)),
    R("GET", "/graph/paragraph-detail", records.paragraph_detail),
    # records and facts
    R("GET", "/records/search", records.search_records),
    R("GET", "/records/{type}/{id}", records.record),
    R("POST", "/facts", edits.add_fact),
    R("PATCH", "/facts/{id}", edits.change_fact),
    R("POST", "/facts/{id}/retract", asks(FACT, "retract", "reason", "requested_by", fact_id="id", shape=shapes.fact_change)),
    R("POST", "/facts/{id}/restore", edits.restore_fact),
    # chats, episodes
    R("GET", "/timeline", records.timeline),
    R("GET", "/import/chat-targets", asks("memory_text_admin", "chats", scoped=True, shape=shapes.chat_targets)),
    R("GET", "/sources", asks("memory_source_admin", "list", scoped=True, shape=shapes.sources)),
    R("GET", "/episodes", records.episodes),
    R("GET", "/episodes/status", asks(EPISODE, "status", "limit", shape=shapes.episode_status)),
    R("GET", "/episodes/migration-backfill", asks(EPISODE, "status", shape=shapes.episode_history)),
    R("POST", "/episodes/rebuild", asks(EPISODE, "rebuild", "source", "sources", "all", shape=shapes.rebuilt_episodes)),
    R("POST", "/episodes/process-pending", asks(EPISODE, "process_pending", "limit")),
    R("GET", "/episodes/{episode_id}", asks(EPISODE, "get", "episode_id", scoped=True, shape=shapes.episode)),
    # people
    R("GET", "/profiles", asks(PROFILE, "list", "limit", shape=shapes.profiles)),
    R("GET", "/profiles/search", records.search_profiles),
    R("GET", "/profiles/query", records.profile),
    R("GET", "/profiles/{person_id}/evidence", records.profile),
    R("POST", "/profiles/{person_id}/evidence/correct", asks(
        PROFILE, "correct_evidence", "person_id", "requested_by", "reason", "refresh", "limit", evidence_id="hash",
        shape=shapes.corrected_evidence)),
    R("POST", "/profiles/override", asks(PROFILE, "set_override", "person_id", "updated_by", "source", text="override_text")),
    R("DELETE", "/profiles/override/{person_id}", asks(PROFILE, "delete_override", "person_id")),
    R("GET", "/profiles/{person_id}/aliases", asks(PROFILE, "query", "person_id", shape=shapes.aliases)),
    R("PUT", "/profiles/{person_id}/aliases", edits.save_aliases),
    # deletion, upkeep, corrections
    R("POST", "/delete/preview", edits.deletes("preview")),
    R("POST", "/delete/execute", edits.deletes("execute", "reason", "requested_by")),
    R("POST", "/delete/restore", asks(DELETE, "restore", "operation_id")),
    R("GET", "/delete/operations", asks(DELETE, "list_operations", "limit", "mode", shape=shapes.deletions)),
    R("GET", "/delete/operations/{operation_id}", asks(DELETE, "get_operation", "operation_id", shape=shapes.deleted)),
    R("GET", "/maintenance/recycle-bin", asks("maintain_memory", "recycle_bin", "limit", scoped=True, shape=shapes.recycle_bin)),
    *(R("POST", f"/maintenance/{action}", asks("maintain_memory", action, "target")) for action in ("restore", "reinforce", "freeze")),
    R("POST", "/maintenance/protect", asks("maintain_memory", "protect", "target", "hours")),
    R("POST", "/corrections/preview", edits.preview_correction),
    R("POST", "/corrections/execute", asks(CORRECTION, "execute", "plan_id", "confirmed", shape=shapes.plan)),
    R("GET", "/corrections/plans", asks(CORRECTION, "list", "limit", "status", scoped=True, shape=shapes.plans)),
    R("GET", "/corrections/plans/{plan_id}", asks(CORRECTION, "get", "plan_id", shape=shapes.plan)),
    R("POST", "/corrections/plans/{plan_id}/rollback", asks(CORRECTION, "rollback", "plan_id", shape=shapes.plan)),
    R("GET", "/feedback-corrections", asks(FEEDBACK, "list", "limit", "query", shape=shapes.feedback)),
    R("GET", "/feedback-corrections/{task_id}", asks(FEEDBACK, "get", "task_id", shape=shapes.feedback_task)),
    R("POST", "/feedback-corrections/{task_id}/rollback", asks(
        FEEDBACK, "rollback", "task_id", "requested_by", "reason", shape=shapes.feedback_task)),
    # imports
    R("GET", "/import/settings", asks(IMPORT, "settings", shape=shapes.import_settings)),
    R("POST", "/import/resolve-path", asks(IMPORT, "resolve_path", "alias", "relative_path", "must_exist")),
    R("POST", "/import/upload", edits.create_import("upload"), takes_files=True),
    R("POST", "/import/paste", edits.create_import("paste")),
    R("POST", "/import/raw-scan", edits.create_import("raw_scan")),
    R("POST", "/import/lpmm-openie", edits.create_import("lpmm_openie")),
    R("POST", "/import/lpmm-convert", edits.create_import("lpmm_convert")),
    R("GET", "/import/tasks", asks(IMPORT, "list", "limit", shape=shapes.import_tasks)),
    R("GET", "/import/tasks/{task_id}", asks(IMPORT, "get", "task_id", "include_chunks", shape=shapes.import_task)),
    R("GET", "/import/tasks/{task_id}/chunks/{file_id}", asks(
        IMPORT, "chunks", "task_id", "file_id", "offset", "limit", shape=shapes.chunks)),
    R("POST", "/import/tasks/{task_id}/cancel", asks(IMPORT, "cancel", "task_id", shape=shapes.import_task)),
    R("POST", "/import/tasks/{task_id}/retry", edits.retry_import),
    # tuning, the state of the memory
    R("GET", "/retrieval_tuning/profile", edits.tuning_profile),
    R("GET", "/retrieval_tuning/tasks", asks(TUNING, "list_tasks", "limit", shape=shapes.tuning_tasks)),
    R("POST", "/retrieval_tuning/tasks", asks(TUNING, "create_task", "objective", "intensity", "sample_size", "top_k_eval")),
    R("POST", "/retrieval_tuning/tasks/{task_id}/apply-best", asks(TUNING, "apply_best", "task_id", strict="validate", shape=shapes.applied)),
    R("GET", "/runtime/config", asks(RUNTIME, "get_config", shape=shapes.runtime)),
    R("POST", "/runtime/self-check/refresh", asks(RUNTIME, "refresh_self_check", shape=shapes.self_check)),
    R("POST", "/runtime/vectors/rebuild", asks(RUNTIME, "rebuild_all_vectors", "dry_run", shape=shapes.rebuilt_vectors)),
    R("GET", "/runtime/vectors/spaces", asks(RUNTIME, "rebuild_status", shape=shapes.vector_spaces)),
)  # fmt: skip

"""The table of operations has every component and action that callers of the older memory know, under the same names."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import pytest

import amemorix
from amemorix.errors import InvalidRequest, UnknownComponent
from amemorix.host.operations import MODULES, OPERATIONS
from amemorix.ops import Operations

PLAIN = (
    "search_memory",
    "ingest_summary",
    "ingest_text",
    "get_person_profile",
    "memory_stats",
    "enqueue_feedback_task",
)
"""Components without actions."""
ACTIONS = {
    "maintain_memory": "reinforce protect restore freeze recycle_bin",
    "memory_graph_admin": "get_graph search node_detail edge_detail create_node delete_node rename_node create_edge delete_edge "
    "update_edge_weight",
    "memory_source_admin": "list delete batch_delete",
    "memory_episode_admin": "query list get status rebuild process_pending process_sources",
    "memory_profile_admin": "query evidence correct_evidence status process_pending list set_override delete_override",
    "memory_feedback_admin": "list get rollback",
    "memory_runtime_admin": "save get_config self_check refresh_self_check set_auto_save recover_embedding "
    "rebuild_all_vectors paragraph_backfill_once",
    "memory_import_admin": "settings get_settings get_guide path_aliases get_path_aliases resolve_path resolve create_upload "
    "create_paste create_raw_scan create_lpmm_openie create_lpmm_convert create_temporal_backfill create_maibot_migration list "
    "get chunks get_chunks cancel retry_failed",
    "memory_tuning_admin": "settings get_settings get_profile apply_profile rollback_profile export_profile create_task list_tasks "
    "get_task get_rounds cancel apply_best get_report",
    "memory_v5_admin": "status recycle_bin restore reinforce weaken remember_forever forget",
    "memory_delete_admin": "preview execute restore get_operation list_operations purge",
    "memory_correction_admin": "preview plan execute rollback get list",
    "memory_fuzzy_modify_admin": "preview plan execute rollback get list",
}
"""Component -> its actions, older names included."""
SAME = {
    ("memory_tuning_admin", "get_settings"): "settings",
    ("memory_import_admin", "get_settings"): "settings",
    ("memory_import_admin", "get_guide"): "settings",
    ("memory_import_admin", "get_path_aliases"): "path_aliases",
    ("memory_import_admin", "resolve"): "resolve_path",
    ("memory_import_admin", "get_chunks"): "chunks",
    ("memory_episode_admin", "query"): "list",
    ("memory_episode_admin", "process_sources"): "process_pending",
    ("memory_correction_admin", "plan"): "preview",
    ("memory_runtime_admin", "paragraph_backfill_once"): "recover_embedding",
}
"""Two names of one action."""
KNOWN = [(component, action) for component, actions in ACTIONS.items() for action in actions.split()]


def reached(component: str, action: str | None) -> tuple[str, str | None]:
    """Which operation a call without arguments comes to; what it lacks is its own affair."""
    try:
        op, _, _ = OPERATIONS.resolve(component, {"action": action} if action else {})
    except InvalidRequest as exc:
        assert exc.details["field"] != "action", exc
        meant = OPERATIONS.older_names.get(component, component)
        (op,) = (op for op in OPERATIONS if op.component == meant and (action in op.actions or not op.actions))
    return op.component, op.action


@pytest.mark.parametrize("component", PLAIN)
def test_every_plain_component_is_there(component: str) -> None:
    assert reached(component, None) == (component, None)


@pytest.mark.parametrize(("component", "action"), KNOWN)
def test_every_action_is_there(component: str, action: str) -> None:
    meant = OPERATIONS.older_names.get(component, component)
    assert reached(component, action) == (meant, SAME.get((meant, action), action))


def test_an_action_may_be_written_in_capitals_and_with_spaces_around() -> None:
    assert OPERATIONS.resolve("memory_source_admin", {"action": " LIST "})[0].action == "list"


def test_what_is_not_there_is_told_with_what_is() -> None:
    with pytest.raises(UnknownComponent) as wrong:
        OPERATIONS.resolve("memory_fuzzy_admin", {})
    assert wrong.value.details["known"] == OPERATIONS.components()
    with pytest.raises(UnknownComponent) as wrong:
        OPERATIONS.resolve("memory_fuzzy_modify_admin", {"action": "undo"})
    assert wrong.value.details["allowed"] == OPERATIONS.actions("memory_correction_admin")


def test_each_operation_is_named_once_and_says_what_it_does() -> None:
    names = [op.name for op in OPERATIONS]
    assert len(names) == len(set(names))
    for op in OPERATIONS:
        assert op.summary.endswith("."), op.name
        assert op.response().warnings == []
        assert not set(op.aliases) & {other.action for other in OPERATIONS if other.component == op.component}
    assert not set(OPERATIONS.older_names) & set(OPERATIONS.components())


def test_every_component_is_where_the_table_looks_for_it() -> None:
    found: dict[str, set[str]] = {}
    for info in walk_packages(amemorix.__path__, "amemorix."):
        table = getattr(import_module(info.name), "ops", None)
        for component in table.components() if isinstance(table, Operations) else ():
            found.setdefault(component, set()).add(info.name.removeprefix("amemorix."))
    assert {component: set(modules) for component, modules in MODULES.items()} == found

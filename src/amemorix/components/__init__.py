"""The API of the memory: one file per component, or per side of a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops import Operations

if TYPE_CHECKING:
    from ..kernel import SDKMemoryKernel

__all__ = ["MODULES", "OPERATIONS"]

MODULES = {
    "search_memory": ("search_memory",),
    "ingest_messages": ("ingest",),
    "ingest_summary": ("ingest",),
    "ingest_text": ("ingest",),
    "memory_stats": ("memory_stats",),
    "memory_source_admin": ("memory_source_admin",),
    "memory_runtime_admin": (
        "memory_runtime_admin", "runtime_backup", "runtime_portable", "runtime_audit", "runtime_checks",
    ),
    "get_person_profile": ("get_person_profile",),
    "memory_profile_admin": ("memory_profile_admin", "memory_profile_names", "memory_profile_deriving"),
    "memory_delete_admin": ("memory_delete_admin",),
    "memory_fact_admin": ("memory_fact_admin", "memory_fact_changes"),
    "maintain_memory": ("maintain_memory",),
    "memory_v5_admin": ("memory_v5_admin",),
    "memory_correction_admin": ("memory_correction_admin",),
    "enqueue_feedback_task": ("memory_feedback_admin",),
    "memory_feedback_admin": ("memory_feedback_admin",),
    "memory_episode_admin": ("memory_episode_admin", "memory_episode_deriving"),
    "memory_graph_admin": ("memory_graph_admin",),
    "memory_tuning_admin": ("memory_tuning_admin",),
    "memory_import_admin": ("memory_import_admin",),
}  # fmt: skip
"""Component -> the files that its operations are in."""
OPERATIONS: Operations[SDKMemoryKernel] = Operations(
    {component: [f"{__name__}.{module}" for module in modules] for component, modules in MODULES.items()}
)
OPERATIONS.older_name("memory_fuzzy_modify_admin", "memory_correction_admin")

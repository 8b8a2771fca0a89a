"""The API of the memory: one file per component, or per side of a large one."""

from ..kernel import SDKMemoryKernel
from ..ops import Operations
from . import (
    get_person_profile,
    ingest,
    maintain_memory,
    memory_correction_admin,
    memory_delete_admin,
    memory_episode_admin,
    memory_episode_deriving,
    memory_fact_admin,
    memory_fact_changes,
    memory_feedback_admin,
    memory_graph_admin,
    memory_import_admin,
    memory_profile_admin,
    memory_profile_deriving,
    memory_profile_names,
    memory_runtime_admin,
    memory_source_admin,
    memory_stats,
    memory_v5_admin,
    runtime_audit,
    runtime_backup,
    runtime_checks,
    runtime_portable,
    search_memory,
)

__all__ = ["OPERATIONS"]

OPERATIONS: Operations[SDKMemoryKernel] = Operations.merge(
    search_memory.ops,
    ingest.ops,
    memory_stats.ops,
    memory_source_admin.ops,
    memory_runtime_admin.ops,
    runtime_backup.ops,
    runtime_portable.ops,
    runtime_audit.ops,
    runtime_checks.ops,
    get_person_profile.ops,
    memory_profile_admin.ops,
    memory_profile_names.ops,
    memory_profile_deriving.ops,
    memory_delete_admin.ops,
    memory_fact_admin.ops,
    memory_fact_changes.ops,
    maintain_memory.ops,
    memory_v5_admin.ops,
    memory_correction_admin.ops,
    memory_feedback_admin.ops,
    memory_episode_admin.ops,
    memory_episode_deriving.ops,
    memory_graph_admin.ops,
    memory_import_admin.ops,
)

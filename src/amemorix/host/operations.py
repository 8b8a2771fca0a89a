"""The table of operations: the API of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops import Operations

if TYPE_CHECKING:
    from .kernel import SDKMemoryKernel

__all__ = ["MODULES", "OPERATIONS"]

MODULES = {
    "search_memory": ("search.operations",),
    "get_context": ("search.context_operations",),
    "embed_texts": ("search.embed_operations",),
    "ingest_messages": ("ingest.operations",),
    "ingest_summary": ("ingest.operations",),
    "ingest_text": ("ingest.operations",),
    "ingest_texts": ("ingest.operations",),
    "memory_stats": ("runtime.operations",),
    "memory_source_admin": ("forgetting.source_operations",),
    "memory_text_admin": ("ingest.text_operations",),
    "memory_document_admin": ("ingest.document_operations", "forgetting.document_operations"),
    "memory_vector_admin": ("spaces.operations",),
    "memory_runtime_admin": (
        "runtime.operations", "copies.operations", "runtime.audit", "runtime.checks", "runtime.document_changes",
        "runtime.configuration",
    ),
    "memory_key_admin": ("copies.key_operations",),
    "get_person_profile": ("profiles.person_operations",),
    "memory_profile_admin": ("profiles.operations",),
    "memory_delete_admin": ("forgetting.operations",),
    "memory_fact_admin": ("facts.operations",),
    "maintain_memory": ("lifecycle.operations",),
    "memory_v5_admin": ("lifecycle.operations",),
    "memory_correction_admin": ("corrections.operations",),
    "enqueue_feedback_task": ("corrections.feedback_operations",),
    "memory_feedback_admin": ("corrections.feedback_operations",),
    "memory_episode_admin": ("episodes.operations",),
    "memory_graph_admin": ("graph.operations",),
    "memory_tuning_admin": ("tuning.operations",),
    "memory_import_admin": ("importing.operations",),
}  # fmt: skip
"""Component -> the modules that its operations are in."""
OPERATIONS: Operations[SDKMemoryKernel] = Operations(
    {component: [f"amemorix.{module}" for module in modules] for component, modules in MODULES.items()}
)
OPERATIONS.older_name("memory_fuzzy_modify_admin", "memory_correction_admin")

"""The API of the memory: one file per component."""

from ..kernel import SDKMemoryKernel
from ..ops import Operations
from . import ingest, memory_delete_admin, memory_runtime_admin, memory_source_admin, memory_stats, search_memory

__all__ = ["OPERATIONS"]

OPERATIONS: Operations[SDKMemoryKernel] = Operations.merge(
    search_memory.ops,
    ingest.ops,
    memory_stats.ops,
    memory_source_admin.ops,
    memory_runtime_admin.ops,
    memory_delete_admin.ops,
)

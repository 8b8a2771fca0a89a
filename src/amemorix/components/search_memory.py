"""`search_memory`: find what the memory knows."""

from __future__ import annotations

from ..kernel import SDKMemoryKernel
from ..ops import Operations
from ..retrieval.request import KernelSearchRequest
from ..retrieval.result import RetrievalResult
from ..services.memory_targets import read_keys

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


@ops.operation("search_memory")
async def search_memory(kernel: SDKMemoryKernel, request: KernelSearchRequest) -> RetrievalResult:
    """Search long-term memory by words, meaning, time and person; every hit says why it was found."""
    if not kernel.config.plugin.enabled:
        return RetrievalResult(mode=request.mode, disabled=True)
    result = await kernel.recall.searches.search(request)
    if request.used:
        first = [hit.id for hit in result.hits[: kernel.config.lifecycle.access_top]]
        kernel.care.lifecycle.note_use(*read_keys(first))
    return result

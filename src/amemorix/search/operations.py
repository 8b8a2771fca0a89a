"""`search_memory`: find what the memory knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ops import Operations
from .request import KernelSearchRequest
from .result import RetrievalResult
from .target_resolver import read_keys

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


@ops.operation("search_memory")
async def search_memory(kernel: SDKMemoryKernel, request: KernelSearchRequest) -> RetrievalResult:
    """Search long-term memory by words, meaning, time and person; every hit says why it was found."""
    if not kernel.config.plugin.enabled:
        return RetrievalResult(mode=request.mode, disabled=True)
    result = await kernel.search.search(request)
    if request.used:
        first = [hit.id for hit in result.hits[: kernel.config.lifecycle.access_top]]
        kernel.lifecycle.note_use(*read_keys(first))
    return result

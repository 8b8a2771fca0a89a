"""Long-term memory for chatbots."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import MemoryFault
from .version import __version__

if TYPE_CHECKING:
    from .episodes.service import EpisodeService
    from .frontends.python.blocking import Client, Memory
    from .frontends.python.memory import AsyncClient, AsyncMemory
    from .host.kernel import SDKMemoryKernel
    from .host.service import AMemorixHostService
    from .importing.manager import ImportTaskManager
    from .indexes.graph.store import GraphStore
    from .indexes.sparse.bm25 import SparseBM25Index
    from .indexes.vectors.store import VectorStore
    from .ingest.relations import RelationWriteService
    from .profiles.service import PersonProfileService
    from .search.dual_path import DualPathRetriever
    from .search.hits import AggregateQueryService
    from .search.operations import KernelSearchRequest
    from .store.metadata_store import MetadataStore

__all__ = [
    "AsyncClient", "AsyncMemory", "Client", "Memory", "AMemorixHostService", "AggregateQueryService", "DualPathRetriever", "EpisodeService", "GraphStore",
    "ImportTaskManager", "KernelSearchRequest", "MetadataStore", "PersonProfileService", "RelationWriteService",
    "SDKMemoryKernel", "SparseBM25Index", "VectorStore", "MemoryFault", "__version__",
]  # fmt: skip

_ON_USE = {
    "AMemorixHostService": "host.service",
    "AggregateQueryService": "search.hits",
    "AsyncClient": "frontends.python.memory",
    "AsyncMemory": "frontends.python.memory",
    "Client": "frontends.python.blocking",
    "DualPathRetriever": "search.dual_path",
    "EpisodeService": "episodes.service",
    "GraphStore": "indexes.graph.store",
    "ImportTaskManager": "importing.manager",
    "KernelSearchRequest": "search.operations",
    "Memory": "frontends.python.blocking",
    "MetadataStore": "store.metadata_store",
    "PersonProfileService": "profiles.service",
    "RelationWriteService": "ingest.relations",
    "SDKMemoryKernel": "host.kernel",
    "SparseBM25Index": "indexes.sparse.bm25",
    "VectorStore": "indexes.vectors.store",
}
"""Where the public classes stand, imported on use: a command's help need not wait for them."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_ON_USE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""The memory by the names that MaiBot's documentation of A-Memorix gives to its parts."""

from __future__ import annotations

from ...episodes.service import EpisodeService
from ...host.kernel import SDKMemoryKernel
from ...host.service import AMemorixHostService
from ...importing.manager import ImportTaskManager
from ...indexes.graph.store import GraphStore
from ...indexes.sparse.bm25 import SparseBM25Index
from ...indexes.vectors.store import QuantizationType, VectorStore
from ...ingest.relations import RelationWriteService
from ...language.chunking import KnowledgeType
from ...profiles.service import PersonProfileService
from ...search.dual_path import DualPathRetriever
from ...search.hits import AggregateQueryService
from ...search.operations import KernelSearchRequest, RetrievalResult
from ...store.metadata_store import MetadataStore
from .episodes import EpisodeRetrievalService, EpisodeSegmentationService
from .strategies import BaseStrategy, FactualStrategy, NarrativeStrategy, QuoteStrategy, strategy_of

__all__ = [
    "AMemorixHostService", "AggregateQueryService", "BaseStrategy", "DualPathRetriever", "EpisodeRetrievalService",
    "EpisodeSegmentationService", "EpisodeService", "FactualStrategy", "GraphStore", "ImportTaskManager", "KernelSearchRequest",
    "KnowledgeType", "MetadataStore", "NarrativeStrategy", "PersonProfileService", "QuantizationType", "QuoteStrategy",
    "RelationWriteService", "RetrievalResult", "SDKMemoryKernel", "SparseBM25Index", "VectorStore", "strategy_of",
]  # fmt: skip

"""Exo's memories over this one: stores of items, short-term and long-term memory, and what is built around them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import (
        AIMemory,
        HumanMemory,
        MemoryCategory,
        MemoryError,
        MemoryItem,
        MemoryMetadata,
        MemoryStatus,
        MemoryStore,
        SystemMemory,
        ToolMemory,
    )
    from .dedup import MemUpdateChecker, UpdateAction, UpdateDecision
    from .encryption import EncryptedMemoryStore, derive_key
    from .events import EventBus, MemoryEventEmitter
    from .long_term import AgentMemory, LongTermMemory, SearchManager
    from .migrations import Migration, MigrationError, MigrationRunner
    from .orchestrator import (
        ExtractionTask,
        ExtractionType,
        Extractor,
        MemoryOrchestrator,
        OrchestratorConfig,
        TaskStatus,
    )
    from .postgres import PostgresStore
    from .short_term import ShortTermMemory
    from .store import KernelStore
    from .summary import (
        SummaryConfig,
        SummaryResult,
        SummaryTemplate,
        SummaryTrigger,
        check_trigger,
        generate_summary,
    )

_ON_USE = {
    "base": (
        "AIMemory", "HumanMemory", "MemoryCategory", "MemoryError", "MemoryItem", "MemoryMetadata", "MemoryStatus",
        "MemoryStore", "SystemMemory", "ToolMemory",
    ),
    "dedup": ("MemUpdateChecker", "UpdateAction", "UpdateDecision"),
    "encryption": ("EncryptedMemoryStore", "derive_key"),
    "events": ("EventBus", "MemoryEventEmitter"),
    "long_term": ("AgentMemory", "LongTermMemory", "SearchManager"),
    "migrations": ("Migration", "MigrationError", "MigrationRunner"),
    "orchestrator": (
        "ExtractionTask", "ExtractionType", "Extractor", "MemoryOrchestrator", "OrchestratorConfig", "TaskStatus",
    ),
    "postgres": ("PostgresStore",),
    "short_term": ("ShortTermMemory",),
    "store": ("KernelStore",),
    "summary": (
        "SummaryConfig", "SummaryResult", "SummaryTemplate", "SummaryTrigger", "check_trigger", "generate_summary",
    ),
}  # fmt: skip
"""Where the public names stand, imported on use: what one of them needs need not be installed for the others."""

__all__ = [
    "AIMemory", "AgentMemory", "EncryptedMemoryStore", "EventBus", "ExtractionTask", "ExtractionType", "Extractor",
    "HumanMemory", "KernelStore", "LongTermMemory", "MemUpdateChecker", "MemoryCategory", "MemoryError",
    "MemoryEventEmitter", "MemoryItem", "MemoryMetadata", "MemoryOrchestrator", "MemoryStatus", "MemoryStore",
    "Migration", "MigrationError", "MigrationRunner", "OrchestratorConfig", "PostgresStore", "SearchManager",
    "ShortTermMemory", "SummaryConfig", "SummaryResult", "SummaryTemplate", "SummaryTrigger", "SystemMemory",
    "TaskStatus", "ToolMemory", "UpdateAction", "UpdateDecision", "check_trigger", "derive_key", "generate_summary",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _ON_USE.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

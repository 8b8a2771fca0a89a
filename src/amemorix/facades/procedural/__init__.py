"""Procedures of an agent (flows): kept, found by what a user asks for, and kept the same as the program defines them."""

from __future__ import annotations

from .flows import Flow, flow, registered
from .memory import ProceduralMemory, QdrantManager
from .sync import SyncReport, sync_folder, sync_registry

__all__ = [
    "Flow", "ProceduralMemory", "QdrantManager", "SyncReport", "flow", "registered", "sync_folder", "sync_registry",
]  # fmt: skip

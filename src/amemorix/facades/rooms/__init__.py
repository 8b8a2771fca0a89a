"""Rooms: a memory of entries that belong to a room (a session, a context), may expire, and are found by meaning."""

from .adapters.in_memory import InMemoryAdapter
from .models import IMemory, IMemoryAdapter, MemoryEntry, MemoryInput, MemorySearchOptions
from .rooms import Rooms

__all__ = [
    "IMemory", "IMemoryAdapter", "InMemoryAdapter", "MemoryEntry", "MemoryInput", "MemorySearchOptions", "Rooms",
]  # fmt: skip

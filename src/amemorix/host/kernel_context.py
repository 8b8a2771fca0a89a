"""What every service of a kernel stands on."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from ..clock import Clock
from ..config.model import Config
from ..indexes.projections import Indexes
from ..ports import ChatModel
from ..store.metadata_store import MetadataStore
from ..store.time_zones import TimeZones

__all__ = ["Ground"]


@dataclass(frozen=True, slots=True)
class Ground:
    """The settings, the rows, the indexes, the time and its zones, the chat model, and the thread for heavy work."""

    config: Config
    store: MetadataStore
    indexes: Indexes
    clock: Clock
    zones: TimeZones
    background: Executor
    chat: ChatModel | None = None

"""What the environment of an embedder's factory offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedder import EmbedFunction

__all__ = ["EmbedderContext"]


@dataclass(frozen=True, slots=True)
class EmbedderContext:
    """Environment variables, and what the host handed over: an embedding function and its event loop."""

    environ: Mapping[str, str] = field(default_factory=dict)
    host_callable: EmbedFunction | None = None
    loop: asyncio.AbstractEventLoop | None = None

"""What a kernel is given by whoever hosts it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from ..clock import Clock, SystemClock
from ..language.times import local_zone
from ..models.host.embedder import EmbedFunction
from ..models.registry import GivenChat

__all__ = ["Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment, the clock and the time zone, and the models of the host's own."""

    environ: Mapping[str, str]
    clock: Clock
    zone: tzinfo
    embed: EmbedFunction | None = None
    chat: GivenChat | None = None
    """A chat model of the host's own, or a function; it outlives the kernel."""

    @classmethod
    def default(cls, embed: EmbedFunction | None = None, chat: GivenChat | None = None) -> Surroundings:
        """The process's own environment, clock and time zone."""
        return cls(os.environ, SystemClock(), local_zone(), embed, chat)

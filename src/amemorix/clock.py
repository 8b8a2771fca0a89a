"""The injected source of the present moment."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "FrozenClock", "SystemClock"]


class Clock(Protocol):
    """Anything that can tell the time."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return time.time()


class FrozenClock:
    """A clock that moves only when it is told to."""

    def __init__(self, at: float = 1_700_000_000.0) -> None:
        self._at = at

    def now(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return self._at

    def advance(self, seconds: float) -> None:
        self._at += seconds

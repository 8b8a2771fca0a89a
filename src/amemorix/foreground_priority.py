"""Who goes first where threads share one interpreter: the caller who waits for an answer, before work nobody waits for."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator

__all__ = ["RightOfWay"]

LONGEST_SECONDS = 0.05
"""A piece of background work waits no longer for one moment without callers, so that it goes on under any load."""
TURN_SECONDS = 0.025
"""After a wait that long was in vain the thread works undisturbed for this time."""


class RightOfWay:
    """Counts the calls that go first, and lets background threads wait between two small pieces of work until there are none.

    A thread that computes in Python gives the interpreter up only every few milliseconds; a search asks for it dozens of
    times, and would wait that long each time.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._lock = threading.Lock()
        self._free = threading.Event()
        self._free.set()
        self._turn = threading.local()

    @contextlib.contextmanager
    def taken(self) -> Generator[None]:
        """Go first until the block ends; from any thread, and any number at once."""
        with self._lock:
            self._calls += 1
            self._free.clear()
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                if not self._calls:
                    self._free.set()

    @property
    def is_taken(self) -> bool:
        """Whether somebody goes first at this moment."""
        return not self._free.is_set()

    def give_way(self, longest: float = LONGEST_SECONDS) -> None:
        """Wait until nobody goes first, at most so many seconds; blocking, for between pieces of a millisecond or so."""
        if self._free.is_set() or time.monotonic() < getattr(self._turn, "until", 0.0):
            return
        if not self._free.wait(longest):
            self._turn.until = time.monotonic() + TURN_SECONDS

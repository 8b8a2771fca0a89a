"""What a kernel is made of, shared with the next kernel where the settings behind it did not change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Shared", "reused"]

T = TypeVar("T")


class Shared(Generic[T]):
    """A part with the settings it was built from; closed when the last kernel that uses it lets go."""

    def __init__(self, key: Hashable, part: T, close: Callable[[T], None]) -> None:
        self.key = key
        self._lock = threading.Lock()
        self.part = part
        self._close = close
        self._users = 1

    def taken(self) -> Shared[T]:
        """The same part for one more user."""
        with self._lock:
            self._users += 1
        return self

    def release(self) -> None:
        """One user less; blocking if it was the last."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._close(self.part)


def reused(old: Shared[T] | None, key: Hashable, build: Callable[[], T], close: Callable[[T], None]) -> Shared[T]:
    """The old part if it was built from the same settings, else a new one."""
    if old is not None and old.key == key:
        return old.taken()
    return Shared(key, build(), close)

"""Changes of state that go on to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["Underway"]

T = TypeVar("T")


class Underway:
    """Holds what was begun, so that it ends also when the caller no longer waits for it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def carried(self, change: Coroutine[Any, Any, T]) -> T:
        """What the change comes to; it goes on without whoever awaits this."""
        task = asyncio.create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # looked at, so that one that nobody waits for any more is not reported as lost

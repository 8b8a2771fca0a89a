"""The watch over the configuration file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from .. import config as configuration
from ..background.run_to_completion import end_tasks

__all__ = ["FileWatch"]


class FileWatch:
    """Tells of every change of the file while it is on."""

    def __init__(self, path: Path, changed: Callable[[bytes], Awaitable[None]]) -> None:
        self._path = path
        self._changed = changed
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, seen: bytes | None) -> None:
        """Tell of what differs from the text that was seen, from now on."""
        self._stop.clear()
        self._task = asyncio.create_task(configuration.watch(self._path, self._changed, stop=self._stop, seen=seen))

    async def end(self) -> None:
        self._stop.set()
        if self._task is not None:
            await end_tasks([self._task])
            self._task = None

"""The services that copy whole memories."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from ..background.change_follower import Deriver
from ..copies.backups import BackupService
from ..copies.portable import PortableService
from ..copies.worker import CopyThread
from .kernel_context import Ground

__all__ = ["Copying"]


class Copying:
    """Backups, and what carries a memory to another place, on a thread of their own."""

    def __init__(self, ground: Ground, derivers: Collection[Deriver]) -> None:
        self.thread = CopyThread()
        self.backups = BackupService(ground.store, config=ground.config, clock=ground.clock, thread=self.thread)
        self.portable = PortableService(
            ground.store,
            config=ground.config,
            backups=self.backups.folder,
            derivers=derivers,
            clock=ground.clock,
            thread=self.thread,
        )

    async def run(self) -> None:
        """Clear away what a process that ended left unfinished, then make the backups that are due; for ever."""
        await asyncio.to_thread(self.portable.sweep)
        await self.backups.run()

    def close(self) -> None:
        """End what is under way. Blocking."""
        self.thread.close()

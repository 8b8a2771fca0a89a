"""The services that copy whole memories."""

from __future__ import annotations

from ..services.backups import BackupService
from ..services.copy_thread import CopyThread
from .ground import Ground

__all__ = ["Copying"]


class Copying:
    """Backups, and what carries a memory to another place, on a thread of their own."""

    def __init__(self, ground: Ground) -> None:
        self.thread = CopyThread()
        self.backups = BackupService(ground.store, config=ground.config, clock=ground.clock, thread=self.thread)

    def close(self) -> None:
        """End what is under way. Blocking."""
        self.thread.close()

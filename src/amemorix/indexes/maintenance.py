"""The maintenance of the indexes in the background: follow the change log, merge, save, prune."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

from ..background.change_follower import ChangeFollower, run_forever
from ..config.model import Advanced
from ..errors import StorageFailure
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from .projections import Indexes

__all__ = ["UpkeepService"]

T = TypeVar("T")
FOLLOW_SECONDS = 0.25
AUTO_SAVE = "auto_save"
PRUNE_AT = 50_000
"""Changes that may pile up before those that every snapshot holds are forgotten."""


class UpkeepService:
    """Keeps projections close to the rows, and their snapshots close to them."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Advanced,
        indexes: Indexes,
        derivers: Iterable[ChangeFollower],
        background: Executor,
    ) -> None:
        self._store = store
        self._settings = settings
        self._indexes = indexes
        self._derivers = tuple(derivers)
        self._background = background
        self._saved_at = time.monotonic()
        self._saving = asyncio.Lock()

    async def run(self) -> None:
        """Follow and save for ever; ends when cancelled."""

        async def step() -> bool:
            await self.follow()
            waited = time.monotonic() - self._saved_at >= self._settings.auto_save_interval_minutes * 60
            if waited and await self.auto_save():
                await self.save()
            return False

        await run_forever(step, what="index maintenance", pause=FOLLOW_SECONDS, idle_share=0.0)

    async def follow(self) -> None:
        """Take up what has changed."""
        await self._do(self._indexes.follow)

    async def save(self) -> list[str]:
        """Write the snapshots that are out of date, then forget the changes that all of them hold.

        Raises StorageFailure if a file cannot be written.
        """

        def prunable(db: Connection) -> tuple[int, int]:
            """(the last change that nobody needs any more, where the log begins)"""
            snapshots = min((p.saved or 0 for p in self._indexes if p.keeps_snapshot), default=0)
            return min([snapshots, *(deriver.cursor(db) for deriver in self._derivers)]), change_log.bounds(db)[0]

        async with self._saving:
            await self.follow()
            try:
                saved = await self._do(self._indexes.save)
            except OSError as exc:
                path = str(exc.filename or self._store.folder)
                raise StorageFailure(f"{path} cannot be written: {exc.strerror or exc}.", file=path) from exc
            self._saved_at = time.monotonic()
            upto, floor = await self._store.read(prunable)
            if upto - floor >= PRUNE_AT:
                await self._store.write(lambda db: change_log.prune(db, upto))
            if old := await self._store.read(change_log.documents_prunable):
                await self._store.write(lambda db: change_log.forget_documents(db, old))
            return saved

    async def auto_save(self) -> bool:
        """Whether snapshots are written by themselves."""
        kept = await self._store.read(lambda db: change_log.get(db, AUTO_SAVE))
        return self._settings.enable_auto_save if kept is None else kept == "on"

    async def set_auto_save(self, enabled: bool) -> None:
        """Switch it on or off; kept in the store, so that it outlives a restart."""
        await self._store.write(lambda db: change_log.put(db, AUTO_SAVE, "on" if enabled else "off"))

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._background, work)

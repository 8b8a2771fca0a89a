"""The maintenance of the indexes in the background: follow the change log, merge, save, prune."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

from ..background.change_follower import ChangeFollower
from ..config.model import Advanced
from ..errors import MemoryFault, StorageFailure
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from .projections import Indexes

__all__ = ["AUTO_SAVE", "UpkeepService"]

T = TypeVar("T")
log = logging.getLogger(__name__)
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
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await self.follow()
                waited = time.monotonic() - self._saved_at >= self._settings.auto_save_interval_minutes * 60
                if waited and await self.auto_save():
                    await self.save()
            except asyncio.CancelledError:
                raise
            except MemoryFault as exc:
                log.warning("index maintenance failed, retrying: %s", exc)
            except Exception:
                log.exception("index maintenance failed, retrying")

    async def follow(self) -> None:
        """Take up what has changed."""
        await self._do(self._indexes.follow)

    async def save(self) -> list[str]:
        """Write the snapshots that are out of date, then forget the changes that all of them hold.

        Raises StorageFailure if a file cannot be written.
        """
        async with self._saving:
            await self.follow()
            saved = await self._do(self._write)
            self._saved_at = time.monotonic()
            await self._prune()
            return saved

    async def auto_save(self) -> bool:
        """Whether snapshots are written by themselves."""
        kept = await self._store.read(lambda db: change_log.get(db, AUTO_SAVE))
        return self._settings.enable_auto_save if kept is None else kept == "on"

    async def set_auto_save(self, enabled: bool) -> None:
        """Switch it on or off; kept in the store, so that it outlives a restart."""
        await self._store.write(lambda db: change_log.put(db, AUTO_SAVE, "on" if enabled else "off"))

    def _write(self) -> list[str]:
        try:
            return self._indexes.save()
        except OSError as exc:
            path = str(exc.filename or self._store.folder)
            raise StorageFailure(f"{path} cannot be written: {exc.strerror or exc}.", file=path) from exc

    async def _prune(self) -> None:
        def safe(db: Connection) -> tuple[int, int]:
            read = min(deriver.cursor(db) for deriver in self._derivers)
            return min(self._indexes.safe_to_prune(), read), change_log.bounds(db)[0]

        upto, floor = await self._store.read(safe)
        if upto - floor >= PRUNE_AT:
            await self._store.write(lambda db: change_log.prune(db, upto))

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._background, work)

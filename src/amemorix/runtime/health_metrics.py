"""What somebody who runs a memory sets alarms on."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field

from ..clock import Clock
from ..copies.backup_folder import ON_PURPOSE, BackupFolder
from ..importing import rows as import_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import integrity

__all__ = ["Vitals", "VitalsService"]


@dataclass(frozen=True, slots=True)
class Vitals:
    """Figures of one moment."""

    imports: dict[str, int] = field(default_factory=dict[str, int])
    """State -> import tasks in it."""
    failed_work: dict[str, int] = field(default_factory=dict[str, int])
    """Kind of what is derived -> tasks that were given up."""
    backup_age: float | None = None
    """Seconds since the last good backup of this memory was made; None if there is none."""
    disk_free: int = 0
    """Bytes on the disk of the data directory."""


class VitalsService:
    """Reads them."""

    def __init__(self, store: MetadataStore, *, backups: BackupFolder, clock: Clock) -> None:
        self._store = store
        self._backups = backups
        self._clock = clock

    async def read(self) -> Vitals:
        """The figures now. Raises StorageFailure."""

        def unit(db: Connection) -> tuple[dict[str, int], dict[str, int]]:
            return import_rows.states(db), integrity.failed_by_kind(db)

        imports, failed = await self._store.read(unit)
        return await asyncio.to_thread(lambda: Vitals(imports, failed, self._backup_age(), self._disk_free()))

    def _backup_age(self) -> float | None:
        for one in self._backups.all():
            mine = one.manifest.database_id == self._store.database_id
            if mine and one.manifest.reason in ON_PURPOSE and one.whole:
                return max(0.0, self._clock.now() - one.manifest.created_at)
        return None

    def _disk_free(self) -> int:
        return shutil.disk_usage(self._store.folder).free

"""Health metrics: what somebody who runs a memory sets alarms on."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field

from ..clock import Clock
from ..copies.backup_folder import ON_PURPOSE, BackupFolder
from ..importing import rows as import_rows
from ..store.metadata_store import MetadataStore
from ..store.rows import integrity

__all__ = ["HealthMetrics", "HealthMetricsService"]


@dataclass(frozen=True, slots=True)
class HealthMetrics:
    """Figures of one moment."""

    imports: dict[str, int] = field(default_factory=dict[str, int])
    """State -> import tasks in it."""
    failed_work: dict[str, int] = field(default_factory=dict[str, int])
    """Kind of what is derived -> tasks that were given up."""
    backup_age: float | None = None
    """Seconds since the last good backup of this memory was made; None if there is none."""
    disk_free: int = 0
    """Bytes on the disk of the data directory."""


class HealthMetricsService:
    """Reads them."""

    def __init__(self, store: MetadataStore, *, backups: BackupFolder, clock: Clock) -> None:
        self._store = store
        self._backups = backups
        self._clock = clock

    async def read(self) -> HealthMetrics:
        """The figures now. Raises StorageFailure."""
        imports, failed = await self._store.read(lambda db: (import_rows.states(db), integrity.failed_by_kind(db)))

        def read_disk() -> HealthMetrics:
            ages = (
                max(0.0, self._clock.now() - one.manifest.created_at)
                for one in self._backups.all()
                if one.manifest.database_id == self._store.database_id
                and one.manifest.reason in ON_PURPOSE
                and one.whole
            )
            return HealthMetrics(imports, failed, next(ages, None), shutil.disk_usage(self._store.folder).free)

        return await asyncio.to_thread(read_disk)

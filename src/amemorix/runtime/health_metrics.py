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
from .integrity_check import IntegrityService

__all__ = ["HealthMetrics", "health_metrics"]


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
    damaged: bool = False
    """Whether the last integrity check found damage, or a call has met some since the memory was opened."""
    check_age: float | None = None
    """Seconds since the last integrity check; None if there was none."""


async def health_metrics(
    store: MetadataStore, backups: BackupFolder, integrity_service: IntegrityService, clock: Clock
) -> HealthMetrics:
    """The figures now. Raises StorageFailure."""
    last = await integrity_service.last()
    imports, failed = await store.read(lambda db: (import_rows.states(db), integrity.failed_by_kind(db)))

    def look() -> HealthMetrics:
        good = (one.manifest for one in backups.all() if one.manifest.reason in ON_PURPOSE and one.whole)
        made = next((one.created_at for one in good if one.database_id == store.database_id), None)
        age = None if made is None else max(0.0, clock.now() - made)
        return HealthMetrics(
            imports, failed, age, shutil.disk_usage(store.folder).free,
            damaged=bool(store.damage_met or (last and last.damage)),
            check_age=None if last is None else max(0.0, clock.now() - last.at),
        )  # fmt: skip

    return await asyncio.to_thread(look)

"""The services that look after what is stored."""

from __future__ import annotations

from collections.abc import Collection

from ..background.change_follower import Deriver
from ..copies.backup_folder import BackupFolder
from ..forgetting.purge import PurgeService
from ..forgetting.purge_worker import Erasing
from ..forgetting.service import DeletionService
from ..indexes.maintenance import UpkeepService
from ..indexes.vectors.embedding import EmbeddingService
from ..lifecycle.decay_job import LifecycleRounds
from ..lifecycle.service import LifecycleService
from ..runtime.audit import AuditService
from .kernel_context import Ground

__all__ = ["Care"]


class Care:
    """The care of the indexes, the fading of memories, deletion to the last byte, and the timeline of changes."""

    def __init__(self, ground: Ground, *, embedding: EmbeddingService, derivers: Collection[Deriver]) -> None:
        store, indexes, clock, background = ground.store, ground.indexes, ground.clock, ground.background
        settings = ground.config.lifecycle
        self.upkeep = UpkeepService(
            store, settings=ground.config.advanced, indexes=indexes, derivers=derivers, background=background
        )
        self.deletion = DeletionService(
            store, config=ground.config, indexes=indexes, embedding=embedding, clock=clock, background=background
        )
        erasing = Erasing(
            store, indexes=indexes, derivers=derivers, upkeep=self.upkeep, clock=clock,
            backups=BackupFolder(store.folder, ground.config.backup.roots),
        )  # fmt: skip
        self.purges = PurgeService(store, erasing=erasing, clock=clock)
        self.lifecycle = LifecycleService(store, settings=settings, clock=clock, on_revived=embedding.look_again)
        self.rounds = LifecycleRounds(
            store, lifecycle=self.lifecycle, settings=settings, clock=clock, background=background
        )
        self.audit = AuditService(store, settings=ground.config.observability, clock=clock)

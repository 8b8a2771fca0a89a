"""The checks that a kernel makes of itself."""

from __future__ import annotations

from collections.abc import Mapping

from ..copies.backup_folder import BackupFolder
from ..ingest.analyser import Analyser
from ..runtime.checks.derived import IndexCheck, ReadingCheck, VectorCheck, WorkCheck
from ..runtime.checks.environment import ChatCheck, ConfigCheck, DiskCheck, ModelCheck
from ..runtime.checks.recovery_hint import WayBack
from ..runtime.checks.rows import DatabaseCheck, ReferenceCheck, TermCheck
from ..runtime.checks.service import CheckService
from ..runtime_status import RuntimeStatus
from .kernel_context import Ground
from .vectors import Vectors

__all__ = ["checks"]


def checks(
    ground: Ground, *, vectors: Vectors, chat_notice: str, status: RuntimeStatus, environ: Mapping[str, str]
) -> CheckService:
    """Every check, those on which the others rest first."""
    store, config = ground.store, ground.config
    way_back = WayBack(BackupFolder(store.folder, config.backup.roots), ground.zones.general)
    return CheckService(
        (
            DatabaseCheck(store, way_back),
            ReferenceCheck(store),
            TermCheck(store, Analyser(config.ingest.chunk_chars), ground.zones),
            ReadingCheck(store),
            VectorCheck(store, vectors.embedding),
            IndexCheck(store, ground.indexes),
            WorkCheck(store, ground.clock),
            ModelCheck(config, vectors, environ),
            ChatCheck(ground.chat, chat_notice),
            ConfigCheck(config, status, environ),
            DiskCheck(store),
        ),
        clock=ground.clock,
    )

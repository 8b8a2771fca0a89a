"""The timeline of changes: reading it, and forgetting what is too old."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from ..audit_context import Act, acting_as, front_door
from ..clock import Clock
from ..config.model import Observability
from ..store.audit import AuditRow
from ..store.metadata_store import MetadataStore, noted
from ..store.ports import Connection

__all__ = ["AuditService"]

log = logging.getLogger(__name__)
DAY = 86_400.0
LOOK_SECONDS = 3600.0
BATCH = 2_000
"""Most rows that one transaction forgets."""


class AuditService:
    """Reads and prunes what every write has noted."""

    def __init__(self, store: MetadataStore, *, settings: Observability, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    async def page(self, *, limit: int, **wanted: Any) -> tuple[list[AuditRow], int | None]:
        """The newest changes first, at most `limit`, and where the next page begins; None on the last one."""

        def read(db: Connection) -> list[AuditRow]:
            return self._store.audit.page(db, limit=limit + 1, **wanted)

        rows = await self._store.read(read)
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None

    async def configured(self, changed: Sequence[str]) -> None:
        """Note that settings were changed: their names, not their values."""
        act = Act("config", "apply", "", front_door(), self._clock.now(), {"settings": ",".join(changed)})
        with acting_as(act):
            await noted(self._store)

    async def run(self) -> None:
        """Prune for ever; ends when cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.prune()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("old changes were not forgotten; it is tried again in an hour")

    async def prune(self) -> int:
        """Forget what is older than the configuration says; returns how many rows."""
        if not self._settings.audit_days:
            return 0
        before, gone = self._clock.now() - self._settings.audit_days * DAY, 0
        while done := await self._store.write(lambda db: self._store.audit.prune(db, before, BATCH)):
            gone += done
        return gone

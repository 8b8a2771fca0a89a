"""The timeline of changes: reading it, and forgetting what is too old."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..audit_context import Act, acting_as, front_door
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Observability
from ..store.audit import AuditRow
from ..store.metadata_store import MetadataStore, noted

__all__ = ["AuditService"]

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
        rows = await self._store.read(lambda db: self._store.audit.page(db, limit=limit + 1, **wanted))
        return rows[:limit], rows[limit - 1].id if len(rows) > limit else None

    async def configured(self, changed: Sequence[str]) -> None:
        """Note that settings were changed: their names, not their values."""
        act = Act("config", "apply", "", front_door(), self._clock.now(), {"settings": ",".join(changed)})
        with acting_as(act):
            await noted(self._store)

    async def run(self) -> None:
        """Prune for ever; ends when cancelled."""

        async def step() -> bool:
            await self.prune()
            return False

        await asyncio.sleep(LOOK_SECONDS)
        await run_forever(step, what="audit", pause=LOOK_SECONDS, idle_share=0.0)

    async def prune(self) -> int:
        """Forget what is older than the configuration says; returns how many rows."""
        if not self._settings.audit_days:
            return 0
        before, gone = self._clock.now() - self._settings.audit_days * DAY, 0
        while done := await self._store.write(lambda db: self._store.audit.prune(db, before, BATCH)):
            gone += done
        return gone

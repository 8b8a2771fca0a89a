"""`memory_runtime_admin audit`: the timeline of every change, and the forgetting of what is too old in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..audit_context import Act, acting_as, front_door
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Observability
from ..errors import InvalidRequest
from ..fields import Name, TimeInput
from ..language.times import read_bound, read_instant
from ..lazy_regex import lazy_regex
from ..ops import Operations, Request, Response
from ..store.audit import AuditRow
from ..store.metadata_store import MetadataStore, noted

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["AuditService"]

ops: Operations[SDKMemoryKernel] = Operations()
UNDONE_BY = {
    "undo": "{component} undo with this undo_id",
    "delete": "memory_delete_admin restore with this operation_id",
    "correction": "memory_correction_admin rollback with this plan_id",
    "maintenance": "memory_v5_admin restore, reinforce or weaken with the memory as target",
}
SET_ASIDE = lazy_regex(r"\bset_aside=(\S+)")
DAY = 86_400.0
LOOK_SECONDS = 3600.0
BATCH = 2_000
"""Most rows that one transaction forgets."""
LETTERS = {"undo": "u", "delete": "d", "correction": "c", "maintenance": ""}
"""What stands before the number of a record of each kind."""


class ListChanges(Request):
    """Which changes."""

    of_component: Name = Field("", description="Only changes by this component; `config` for those of settings.")
    of_action: Name = Field("", description="Only changes by this action.")
    requested_by: Name = ""
    since: TimeInput = Field(None, description="Changes from this time on.")
    until: TimeInput = Field(None, description="Changes up to this time.")
    before: Name = Field("", description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=500)


class UndoRef(BaseModel):
    """A record from which a change can be looked up or undone."""

    kind: str
    id: str
    how: str


class ChangeItem(BaseModel):
    """What one call did, or like calls within a minute; times in epoch seconds."""

    id: str
    at: float
    until: float
    when: str = Field("", description="`at` as local time.")
    component: str
    action: str
    requested_by: str
    door: str = Field(description="`host`, `python`, `http`, `mcp`, `cli`, or `memory` for what it does by itself.")
    calls: int
    rows: int = Field(description="Rows written, with those of indexes and logs that go with them.")
    target: str = Field(
        description="The records that it worked on, or the settings changed; what callers gave stands as JSON."
    )
    undo: list[UndoRef] = Field(default_factory=list)


class Changes(Response):
    """A page of changes, the newest first."""

    items: list[ChangeItem] = Field(default_factory=list)
    next: str = Field(default="", description="Give it as `before` for the next page; empty on the last one.")


@ops.operation("memory_runtime_admin", "audit", "timeline")
async def audit(kernel: SDKMemoryKernel, request: ListChanges) -> Changes:
    """Tell who changed what, and when, the newest first, and how to undo it."""
    now, zone = kernel.surroundings.clock.now(), kernel.zones.general
    since, until = read_bound("since", request.since, now, zone), read_instant("until", request.until, now, zone)
    if since is not None and until is not None and since > until:
        raise InvalidRequest("since is after until.", field="since")
    before = request.before.removeprefix("a")
    if request.before and (not before.isdecimal() or len(before) > 18):
        raise InvalidRequest(
            f"before: {request.before!r} is no page; give the `next` of the page before.", field="before"
        )
    found = await kernel.store.read(lambda db: kernel.store.audit.page(
        db, limit=request.limit + 1, before=int(before) if before else None, component=request.of_component or None,
        action=request.of_action or None, requested_by=request.requested_by or None, since=since, upto=until,
    ))  # fmt: skip
    rows, more = found[: request.limit], len(found) > request.limit
    kept = frozenset[str]()
    if any(SET_ASIDE.search(row.target) for row in rows):
        kept = frozenset(one.manifest.id for one in await kernel.backups.list())
    return Changes(items=[_item(row, zone, kept) for row in rows], next=f"a{rows[-1].id}" if more else "")


def _item(row: AuditRow, zone: tzinfo, kept: frozenset[str]) -> ChangeItem:
    """How to undo it: a restore by the backup of what was there before, while that is kept."""
    undo = [
        UndoRef(kind=kind, id=f"{LETTERS[kind]}{id_}", how=UNDONE_BY[kind].format(component=row.component))
        for kind, ids in row.records.items()
        for id_ in ids
    ]
    if (aside := SET_ASIDE.search(row.target)) and aside[1] in kept:
        undo.append(UndoRef(kind="backup", id=aside[1], how="memory_runtime_admin restore_backup with this backup"))
    when = datetime.fromtimestamp(row.at, zone).strftime("%Y-%m-%d %H:%M:%S")
    return ChangeItem.model_validate({**asdict(row), "id": f"a{row.id}", "when": when, "undo": undo})


class AuditService:
    """Notes changes of settings, and prunes what every write has noted."""

    def __init__(self, store: MetadataStore, *, settings: Observability, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    async def configured(self, changed: Sequence[str]) -> None:
        """Note that settings were changed: their names, not their values."""
        act = Act("config", "apply", "", front_door(), self._clock.now(), {"settings": ",".join(changed)})
        with acting_as(act):
            await noted(self._store)

    async def run(self) -> None:
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

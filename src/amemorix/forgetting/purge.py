"""Purges: asked for, begun and carried out one after the other, whatever interrupts them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from ..audit_context import naming
from ..clock import Clock
from ..copies.worker import ensure_not_restoring
from ..errors import Conflict, NotFound, StorageFailure
from ..store import operations as operation_rows
from ..store.metadata_store import MetadataStore
from ..store.operations import DELETED_BEFORE, Item, NewOperation, OperationRow
from ..store.ports import Connection
from ..store.reserve import make_room
from . import closure as closure_rows
from .purge_imports import end_imports, open_imports
from .purge_worker import PurgeWorker, write_receipt
from .responses import PurgeReceipt

__all__ = ["PurgeService"]

log = logging.getLogger(__name__)
AGAIN_SECONDS = 30.0
TAKE_OVER_SECONDS = 1.0
"""A call whose kernel is being replaced waits so long for the next kernel to go on, before it does the work itself."""


class PurgeService:
    """Has operations erased whose state is `purging`, one after the other.

    The state is written before anything is erased, so that a purge that a crash ended goes on when the memory is opened.
    """

    def __init__(self, store: MetadataStore, *, worker: PurgeWorker, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._worker = worker
        self._wake = asyncio.Event()
        self._failed: dict[int, str] = {}
        self._running = False

    # asking

    async def purge(self, operation: int) -> OperationRow:
        """Purge an executed operation; returns when it is done, also if another caller began it.

        Raises NotFound, Conflict for a wrong state, StorageFailure if a file cannot be written; it is tried again then.
        """
        return await self.finished(await self.begin(operation))

    async def begin(self, operation: int) -> int:
        """Have an executed operation purged; returns once that is written down, however the process ends."""
        ensure_not_restoring(self._store)
        naming()(operation_id=f"d{operation}")
        await asyncio.to_thread(make_room, self._store.folder, erasing=True)
        await self._store.write(lambda db: self._begun(db, operation))
        self._wake.set()
        return operation

    async def begun(self, operation: int) -> OperationRow:
        """Leave a purge to the background; the operation as it stands. Raises NotFound."""
        self._failed.pop(operation, None)
        self._wake.set()
        row = await self._store.read(lambda db: operation_rows.operation(db, operation))
        return row or self._missing(operation)

    async def older(self, days: float, limit: int, *, wait: bool = True) -> list[OperationRow]:
        """Purge the executed operations that are at least so old, the oldest first, and what is so long in the bin.

        Without `wait` they are all begun and left to the background.
        """
        ensure_not_restoring(self._store)
        now = self._clock.now()
        until = now - days * 86_400
        operations = await self._store.read(lambda db: operation_rows.older(db, until, limit))
        ended, name = self.finished if wait else self.begun, naming()
        rows = [await ended(await self.begin(operation)) for operation in operations]
        emptied = await self._store.write(lambda db: self._bin_emptied(db, until, now, name))
        return rows if emptied is None else [*rows, await ended(emptied)]

    def _bin_emptied(self, db: Connection, until: float, now: float, name: Callable[..., None]) -> int | None:
        """Begin the purge of what lies in the recycle bin since a time, forgotten or expired; None if there is nothing."""
        rows = {
            "paragraph": [row[0] for row in db.run("binned_paragraphs", until=until)],
            "relation": [row[0] for row in db.run("binned_relations", until=until)],
        }
        emptied = closure_rows.ids(db, "refs_left_empty", rows["paragraph"])
        rows["ref"] = closure_rows.ids(db, "refs_deleted", emptied)
        rows["paragraph"] = sorted({*rows["paragraph"], *closure_rows.ids(db, "wordings_of_refs", emptied)})
        items = [Item(kind, id_, {"why": DELETED_BEFORE}) for kind, ids in rows.items() for id_ in ids]
        if not items:
            return None
        counts = {"deleted_before": len(rows["paragraph"]), "relations": len(rows["relation"])}
        operation = operation_rows.record(db, NewOperation("mixed", "purging", items, counts), now)
        name(operation_id=f"d{operation}")
        return operation

    async def finished(self, operation: int) -> OperationRow:
        """Wait until the purge of an operation is done. Raises StorageFailure if it failed."""
        self._failed.pop(operation, None)
        self._wake.set()
        pause, alone_since = 0.005, time.monotonic()
        while True:
            row = await self._store.read(lambda db: operation_rows.operation(db, operation))
            if row is None or row.status != "purging":
                return row or self._missing(operation)
            if (error := self._failed.get(operation)) is not None:
                raise StorageFailure(f"The purge of d{operation} failed and is tried again: {error}")
            if self._running or self._store.purging.locked():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > TAKE_OVER_SECONDS:
                await self._stepped()
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.2)

    def _missing(self, operation: int) -> OperationRow:
        raise NotFound(f"operation_id: there is no deletion d{operation}.", field="operation_id")

    def _begun(self, db: Connection, operation: int) -> None:
        found = operation_rows.operation(db, operation)
        if found is None:
            self._missing(operation)
        elif found.status == "restored":
            raise Conflict(
                f"operation_id: d{operation} was restored, so there is nothing to purge: delete first.",
                field="operation_id", status=found.status,
            )  # fmt: skip
        elif found.status == "purged":
            raise Conflict(f"operation_id: d{operation} was purged already.", field="operation_id", status=found.status)
        elif found.status == "executed":  # which imports are open at this moment is written down with it
            items = operation_rows.open_items(db, operation)
            whole = [(item.kind, item.id) for item in items if not item.detail.get("limited")]
            chats, persons = ([id_ for kind, id_ in whole if kind == one] for one in ("chat", "person"))
            end_imports(db, chats=chats, persons=persons, now=self._clock.now())
            db.run("purge_begin_audit", id=operation)
            db.run("purge_begin", id=operation)
            write_receipt(db, operation, PurgeReceipt(incoming=open_imports(db, items)))

    # the background loop

    async def run(self) -> None:
        """Purge for ever; ends when cancelled."""
        self._running = True
        try:
            while True:
                await self._stepped()
                self._wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_SECONDS):
                        await self._wake.wait()
        finally:
            self._running = False

    async def _stepped(self) -> None:
        try:
            await self.drain()
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("purging failed, retrying")

    async def drain(self) -> None:
        """Finish every purge that was begun; one that fails is logged, and holds up no other."""
        failed = set[int]()
        async with self._store.purging:
            while left := [one for one in await self._store.read(operation_rows.purging) if one not in failed]:
                try:
                    await asyncio.to_thread(make_room, self._store.folder, erasing=True)
                    await self._worker.purge(left[0])
                except Exception as exc:
                    log.exception("the purge of d%d failed, retrying", left[0])
                    self._failed[left[0]] = str(exc)
                    failed.add(left[0])

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._worker.close()

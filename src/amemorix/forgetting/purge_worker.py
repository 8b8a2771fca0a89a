"""One purge: the rows, what quotes them, the indexes, copies, then the bytes of the files."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from ..background.change_follower import ChangeFollower, run_to_completion
from ..clock import Clock
from ..copies.backup_folder import BackupFolder
from ..importing import rows as import_rows
from ..indexes.maintenance import UpkeepService
from ..indexes.projections import Indexes
from ..store import operations as operation_rows
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from . import purge_records, purge_rows
from .purge_copies import CopyErasure
from .purge_files import UNPROVED, Looked, PurgeFiles, warnings_of
from .purge_records import ASKED, QUOTING, Marks, SearchPatterns, Vanishing
from .purge_rows import Erased, Targets
from .responses import PurgeReceipt

__all__ = ["PurgeWorker", "write_receipt"]

T = TypeVar("T")
log = logging.getLogger(__name__)
STEP = 200
"""Paragraphs erased in one transaction, so that other writes wait only briefly."""
SMALL_BYTES = 64 << 20
"""A database up to this size is always written anew, which takes a second; a larger one if something is found."""
FOLD_TRIES = 60
ATTEMPTS = 5
"""Searches of the files, each after what held something was written anew."""
ERASE = "erase"
CAME_SINCE = "memories came in after the deletion"
GONE = {"paragraph": "paragraphs", "relation": "relations", "entity": "entities", "fact": "facts"}
"""Kinds of what stays, and how the rows of each are called that are looked for."""


class PurgeWorker:
    """Carries purges out in steps that may be repeated: one that a crash ended goes on where it was."""

    def __init__(
        self, store: MetadataStore, *, indexes: Indexes, derivers: Iterable[ChangeFollower], upkeep: UpkeepService, clock: Clock,
        backups: BackupFolder,
    ) -> None:  # fmt: skip
        self._store = store
        self._indexes = indexes
        self._derivers = tuple(derivers)
        self._upkeep = upkeep
        self._clock = clock
        self._files = PurgeFiles(store, backups)
        self._thread = ThreadPoolExecutor(1, "amemorix-purge")

    async def purge(self, operation: int) -> None:
        """Erase an operation whose state is `purging`, to the end."""
        started = time.monotonic()
        self._tell(operation, "records", 0, len(QUOTING))
        receipt = await self._store.read(lambda db: _begun_receipt(db, operation))
        targets = await self._store.read(lambda db: _targets(db, operation))
        wanted, copies = await self._prepare(operation, targets, receipt)
        for deriver in self._derivers:
            await deriver.idle()
        units = purge_rows.erasing(targets, STEP)
        for done, unit in enumerate(units):
            self._tell(operation, "rows", done, len(units))
            await self._store.write(lambda db, unit=unit: self._erase(db, operation, unit, receipt))
            await asyncio.sleep(0)
        await self._store.write(lambda db: db.run("purge_items_cleared", id=operation))
        self._tell(operation, "indexes")
        receipt.indexes = await self._clean_indexes()
        await self._clean_files(operation, targets, wanted, copies, receipt)
        receipt.stays = await self._store.read(lambda db: _standing(db, receipt, targets))
        receipt.warnings = warnings_of(receipt.copies, receipt.unread)
        unproved = any(copy["done"] == UNPROVED for copy in receipt.copies)
        receipt.complete = not (receipt.found or receipt.unread or receipt.incoming or unproved)
        receipt.step, receipt.seconds = "", round(time.monotonic() - started, 3)
        values = {"id": operation, "receipt": _json(receipt), "now": self._clock.now()}
        await self._store.write(lambda db: db.run("purge_end", **values))
        self._store.purges.pop(operation, None)
        self._store.purge_progress.pop(operation, None)
        log.info("the purge of d%d is done after %.1f s: %s", operation, receipt.seconds, receipt.erased)

    def _tell(self, operation: int, phase: str, done: int = 0, of: int = 1) -> None:
        """Say how far the purge has come, to whoever asks for it and in the log."""
        if done == 0:
            log.info("the purge of d%d: %s", operation, phase)
        self._store.purge_progress[operation] = phase, done, of

    async def _prepare(
        self, operation: int, targets: Targets, receipt: PurgeReceipt
    ) -> tuple[SearchPatterns, dict[str, str]]:
        """What is looked for, and what was done about copies so far; the records are scrubbed first.

        Both are known still if the purge was interrupted within this process, since kernels that follow each other share
        the store.
        """
        going_on = receipt.step == ERASE
        if going_on and operation in self._store.purges:
            return self._store.purges[operation]

        def read(db: Connection) -> tuple[Vanishing, SearchPatterns, set[bytes], list[int]]:
            items = operation_rows.open_items(db, operation)
            whole = tuple(item.id for item in items if item.kind == "person" and not item.detail.get("limited"))
            aliases = [item.detail.get("row", {}).get("alias", "") for item in items if item.kind == "person_alias"]
            vanishing = purge_records.vanishing_with(db, replace(targets, persons=whole), aliases)
            moved = tuple((item.kind, item.detail["row"]) for item in items if "row" in item.detail)
            kept = [row for _, row in (*moved, *purge_records.rows_kept_of(db, operation, targets))]
            more = (value for row in kept for value in row.values())
            wanted = replace(purge_records.patterns_of(db, targets, vanishing, more), moved=moved)
            names = purge_records.names_staying(db, targets, vanishing)
            held = purge_rows.held(db, wanted.files, self._files.watched(names), but=targets.paragraphs)
            found = operation_rows.operation(db, operation)
            telling = import_rows.telling(db, targets.paragraphs, found.created_at if found else 0.0)
            return vanishing, wanted, held, telling

        vanishing, wanted, held, telling = await self._off(lambda: self._store.read_here(read))
        receipt.needles, receipt.too_short = len(wanted.files), wanted.files.too_short
        receipt.held_elsewhere = len(held)
        wanted, copies = wanted.without(held), dict[str, str]()
        if going_on:  # of rows that are gone already no name is known to be borne by nobody else
            receipt.complete = False
            return replace(wanted, marks=tuple(Marks(ids=one.ids) for one in wanted.marks)), copies
        self._store.purges[operation] = wanted, copies
        receipt.incoming += [task for task in (f"i{task}" for task in telling) if task not in receipt.incoming]
        await self._scrub(operation, targets, vanishing, wanted, receipt)
        return wanted, copies

    async def _scrub(
        self, operation: int, targets: Targets, vanishing: Vanishing, wanted: SearchPatterns, receipt: PurgeReceipt
    ) -> None:
        """Empty the rows that quote the texts or name who goes, while they can still be compared."""
        store = self._store
        for done, table in enumerate(QUOTING, 1):
            self._tell(operation, "records", done, len(QUOTING))

            def read(db: Connection, table: str = table) -> list[int | str]:
                return purge_records.to_scrub(db, table, operation, targets, vanishing, wanted)

            if keys := await self._off(lambda read=read: store.read_here(read)):
                await store.write(lambda db, table=table, keys=keys: purge_records.scrub(db, table, keys))
                name = "import_tasks" if table == "import_texts" else table
                receipt.scrubbed[name] = receipt.scrubbed.get(name, 0) + len(keys)
        for table, count in (await store.write(lambda db: purge_records.forget(db, targets))).items():
            receipt.scrubbed[table] = receipt.scrubbed.get(table, 0) + count
        for table in ASKED:
            ids = await store.read(lambda db, table=table: purge_records.asked_by(db, table, wanted))
            if ids:
                await store.write(lambda db, table=table, ids=ids: purge_records.unname(db, table, ids))
                receipt.unnamed[table] = len(ids)
        receipt.step = ERASE
        await store.write(lambda db: write_receipt(db, operation, receipt))

    def _erase(
        self, db: Connection, operation: int, unit: Callable[[Connection], Erased], receipt: PurgeReceipt
    ) -> None:
        """Erase some rows, and note what is gone so far in the same transaction."""
        done, now = unit(db), self._clock.now()
        self._store.forget()
        for person in done.profiles - done.persons:
            task_rows.enqueue(db, "profile", person, since=None, due_at=now, now=now)
        task_rows.forget(db, "profile", done.persons)
        task_rows.forget(db, "episodes", done.sources)
        for kind, count in done.counts.items():
            if count:
                receipt.erased[kind] = receipt.erased.get(kind, 0) + count
        write_receipt(db, operation, receipt)

    async def _clean_indexes(self) -> list[str]:
        """Let every index follow, and put snapshots without the rows in the place of the old ones; names them."""
        await self._upkeep.follow()
        await self._off(self._indexes.remove_unused)
        saved = await self._upkeep.save()
        await self._off(self._indexes.sweep)
        return saved

    async def _clean_files(
        self, operation: int, targets: Targets, wanted: SearchPatterns, copies: dict[str, str], receipt: PurgeReceipt
    ) -> None:
        copy = await self._store.read(lambda db: CopyErasure(*purge_rows.gone_of(db, targets)))

        def told(done: int, of: int) -> None:
            self._tell(operation, "copies", done, of)

        await self._off(lambda: self._files.mend_copies(copy, wanted, receipt.complete, copies, told))
        receipt.copies = [{"file": name, "done": what} for name, what in copies.items()]
        await self._folded()
        database = self._store.files[0]
        rewrite = not receipt.complete or database.stat().st_size <= SMALL_BYTES
        looked = Looked()
        for attempt in range(ATTEMPTS):
            self._tell(operation, "files", attempt, ATTEMPTS)
            if rewrite:
                await self._store.rewrite()
                receipt.rewritten += 1
            receipt.log_emptied = await self._folded()
            anew = {name for name, what in copies.items() if what == "rewritten"}
            if receipt.rewritten and receipt.log_emptied:
                anew.add(database.name)
            looked = await self._off(lambda anew=anew: self._files.look(wanted.files, anew))
            if not looked.found or attempt == ATTEMPTS - 1:
                break
            rewrite = self._files.in_database(looked)
            await asyncio.sleep(0.2 * attempt)
            await self._clean_indexes()
        receipt.held_elsewhere += looked.held_elsewhere
        receipt.files, receipt.bytes, receipt.found = looked.files, looked.bytes, looked.found
        receipt.unread = looked.unread
        if looked.found:
            log.error("the purge of d%d left something in %s", operation, ", ".join(looked.found))

    async def _folded(self) -> bool:
        """Empty the log; readers and writers go on between the tries."""
        for attempt in range(FOLD_TRIES):
            if await self._store.fold_log():
                return True
            await asyncio.sleep(min(0.02 * (attempt + 1), 0.5))
        return False

    async def _off(self, work: Callable[[], T]) -> T:
        """On the purge's thread; a cancellation waits for it, so that no two purges ever work on the files."""
        return await run_to_completion(self._thread, work)

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._files.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)


def write_receipt(db: Connection, operation: int, receipt: PurgeReceipt) -> None:
    """Write down how far the purge has come."""
    db.run("purge_note", id=operation, receipt=_json(receipt))


def _json(receipt: PurgeReceipt) -> str:
    return json.dumps(receipt.model_dump(), ensure_ascii=False)


def _begun_receipt(db: Connection, operation: int) -> PurgeReceipt:
    found = operation_rows.operation(db, operation)
    receipt = PurgeReceipt(**found.receipt) if found else PurgeReceipt()
    receipt.stays = [{"kind": kind, "id": id_, "why": why} for kind, id_, why in operation_rows.stays(db, operation)]
    return receipt


def _targets(db: Connection, operation: int) -> Targets:
    """The rows of the operation but paragraphs that have come back to life since."""
    items = [(item.kind, item.id) for item in operation_rows.open_items(db, operation)]
    ids = array(id_ for kind, id_ in items if kind == "paragraph")
    alive = {row[0] for row in db.run("paragraphs_alive", ids=ids)}
    return Targets.of((kind, id_) for kind, id_ in items if kind != "paragraph" or id_ not in alive)


def _standing(db: Connection, receipt: PurgeReceipt, targets: Targets) -> list[dict[str, Any]]:
    """What stays without what went after all, because nothing was left that speaks of it; chats that live again."""
    gone = {
        (kind, id_) for kind, kinds in GONE.items()
        for id_ in purge_rows.gone(db, kinds, [one["id"] for one in receipt.stays if one["kind"] == kind])
    }  # fmt: skip
    stays = [one for one in receipt.stays if (one["kind"], one["id"]) not in gone and one["why"] != CAME_SINCE]
    lively = sorted(row[0] for row in db.run("chats_lively", ids=array(targets.chats)))
    return [*stays, *({"kind": "chat", "id": chat, "why": CAME_SINCE} for chat in lively)]

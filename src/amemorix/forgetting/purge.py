"""A purge: rows erased, journals emptied, indexes built anew, the same in our own copies, the files searched for what went."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, Field, model_validator

from ..audit_context import naming
from ..background.change_follower import ChangeFollower, run_forever, run_to_completion
from ..clock import Clock
from ..copies.backup_folder import BackupFolder
from ..errors import Conflict, StorageFailure
from ..ids import operation_key, row_key
from ..importing import rows as import_rows
from ..indexes.maintenance import UpkeepService
from ..indexes.projections import Indexes
from ..runtime_status import RuntimeStatus
from ..store import operations as operation_rows
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.operations import DELETED_BEFORE, Item, NewOperation, OperationRow, row_ids
from ..store.ports import Connection
from ..store.reserve import make_room
from . import erasure, journals
from .erasure import Targets
from .files import LEFT, UNPROVED, CopyErasure, Looked, PurgeFiles, warnings_of
from .journals import JOURNALS, Ids, ImportNote, SearchPatterns, Vanishing
from .purge_file import PurgeFile

__all__ = ["KeyRotation", "PurgeService", "Receipt", "begin_receipt", "end_imports"]

T = TypeVar("T")
log = logging.getLogger(__name__)
AGAIN_SECONDS = 30.0
TAKE_OVER_SECONDS = 1.0
"""A call whose kernel is being replaced waits so long for the next kernel to go on, before it does the work itself."""
STEP = 200
"""Paragraphs erased in one transaction, so that other writes wait only briefly."""
SMALL_BYTES = 64 << 20
"""A database up to this size is always written anew, which takes a second; a larger one if something is found."""
ATTEMPTS = 5
"""Searches of the files, each after what held something was written anew."""
ERASE, LOOKED = "erase", "looked"
"""Steps of a purge: rows may be gone; nothing is left to do but to forget what was looked for."""
CAME_SINCE = "memories came in after the deletion"
GONE = {"paragraph": "paragraphs", "relation": "relations", "entity": "entities", "fact": "facts"}
"""Kinds of what stays, and how the rows of each are called that are looked for."""


class StayItem(BaseModel):
    """A row that one might have expected to go with a deletion."""

    item_type: str = ""
    item_key: str = ""
    why: str = ""

    @model_validator(mode="before")
    @classmethod
    def _as_stored(cls, value: Any) -> Any:
        if isinstance(value, dict) and "kind" in value:
            return {"item_type": value["kind"], "item_key": row_key(value["kind"], value["id"]), "why": value["why"]}
        return value


class KeyRotation(BaseModel):
    """The data key that is retired after a purge, so that copies made before cannot be read with the keys that are left."""

    retired: str = Field(default="", description="Known when the purge is done.")
    key: str = Field(default="", description="The key that took its place; empty until then.")
    needed_by: list[str] = Field(
        default_factory=list,
        description="Files that are encrypted with the retired key still, and keep it: once they are gone it is forgotten.",
    )


class Receipt(BaseModel):
    """What a purge erased, and what was looked at to be sure of it."""

    erased: dict[str, int] = Field(default_factory=dict, description="Rows gone, by kind.")
    scrubbed: dict[str, int] = Field(default_factory=dict, description="Records that quoted it, emptied, by table.")
    unnamed: dict[str, int] = Field(
        default_factory=dict, description="Records that no longer say who asked, by table, since it was who is gone."
    )
    copies: list[dict[str, Any]] = Field(
        default_factory=list, description="Other files that held it: `rewritten`, `removed`, or left and why."
    )
    indexes: list[str] = Field(default_factory=list, description="Snapshots written anew.")
    needles: int = Field(
        default=0, description="Pieces of texts, names and ids looked for, in UTF-8 and as JSON writes them."
    )
    held_elsewhere: int = Field(default=0, description="Those of them that rows which stay hold too.")
    too_short: int = Field(default=0, description="Texts of fewer than six bytes, which are not looked for.")
    incoming: list[str] = Field(
        default_factory=list,
        description="Imports that were open when a chat or a person was purged, or at work meanwhile, and that may bring, or "
        "have brought, more of it.",
    )
    complete: bool = Field(
        default=True,
        description="False with `incoming`, if something was found in the end, a file of somebody else holds some of it and was "
        "left, or one could not be looked through: after a crash for what had been erased before; `warnings` tell of both.",
    )
    warnings: list[str] = Field(
        default_factory=list,
        description="Files of somebody else below the data directory that are to be seen to, and why.",
    )
    files: int = Field(default=0, description="Files looked through, byte by byte.")
    bytes: int = 0
    found: dict[str, int] = Field(
        default_factory=dict, description="How many were found, by file: empty if all is gone."
    )
    unread: dict[str, str] = Field(
        default_factory=dict, description="Files that could not be looked through, and how they are packed."
    )
    rotation: KeyRotation | None = Field(default=None, description="With `rotate`.")
    rewritten: int = Field(default=0, description="How often the database was written anew (VACUUM).")
    log_emptied: bool = Field(default=False, description="The write-ahead log was emptied.")
    seconds: float = 0.0
    stays: list[StayItem] = Field(
        default_factory=list[StayItem], description="What one might have expected to go, and why it stayed; no texts."
    )


class _Progress(Receipt):
    """The receipt as it is written down while the purge goes on."""

    step: str = ""
    looked_for: str = ""
    """SHA-256 of the file that says what is looked for, until the purge ends."""
    imports: list[int] = Field(default_factory=list[int])
    """Files of imports that were to bring what goes: in copies, what is noted of them is emptied too."""


class PurgeService:
    """Has operations erased whose state is `purging`, one after the other.

    The state is written before anything is erased, and every step may be repeated, so that a purge that a crash ended goes
    on where it was when the memory is opened.
    """

    def __init__(
        self, store: MetadataStore, *, indexes: Indexes, derivers: Iterable[ChangeFollower], upkeep: UpkeepService,
        clock: Clock, backups: BackupFolder, status: RuntimeStatus,
    ) -> None:  # fmt: skip
        self._store = store
        self._indexes = indexes
        self._derivers = tuple(derivers)
        self._upkeep = upkeep
        self._clock = clock
        self._status = status
        self._files = PurgeFiles(store, backups)
        self._file = PurgeFile(store)
        self._thread = ThreadPoolExecutor(1, "amemorix-purge")
        self._wake = asyncio.Event()
        self._failed: dict[int, str] = {}
        self._running = False

    # asking

    async def begin(self, operation: int, *, rotate: bool = False) -> int:
        """Have an executed operation purged; returns once that is written down, however the process ends.

        With `rotate`, the data key is rotated afterwards. Raises NotFound, Conflict for a wrong state, StorageFailure if a
        file cannot be written; it is tried again then.
        """
        self._store.ensure_not_restoring()
        naming()(operation_id=operation_key(operation))
        await asyncio.to_thread(make_room, self._store.folder, erasing=True)

        def unit(db: Connection) -> None:
            found = operation_rows.operation(db, operation)
            if found.status == "restored":
                raise Conflict(
                    f"operation_id: d{operation} was restored, so there is nothing to purge: delete first.",
                    field="operation_id", status=found.status,
                )  # fmt: skip
            if found.status == "purged":
                message = f"operation_id: d{operation} was purged already."
                raise Conflict(message, field="operation_id", status=found.status)
            if found.status == "executed":  # which imports are open at this moment is written down with it
                items = operation_rows.open_items(db, operation)
                whole = [(item.kind, item.id) for item in items if not item.detail.get("limited")]
                chats, persons = ([id_ for kind, id_ in whole if kind == one] for one in ("chat", "person"))
                end_imports(db, chats=chats, persons=persons, now=self._clock.now())
                db.run("purge_begin_audit", id=operation)
                db.run("purge_begin", id=operation)
                begin_receipt(db, operation, items, rotate=rotate)

        await self._store.write(unit)
        self._wake.set()
        return operation

    async def begun(self, operation: int) -> OperationRow:
        """Leave a purge to the background; the operation as it stands. Raises NotFound."""
        self._failed.pop(operation, None)
        self._wake.set()
        return await self._store.read(lambda db: operation_rows.operation(db, operation))

    async def older(self, days: float, limit: int, *, wait: bool = True, rotate: bool = False) -> list[OperationRow]:
        """Purge the executed operations that are at least so old, the oldest first, and what is so long in the bin.

        Without `wait` they are all begun and left to the background.
        """
        self._store.ensure_not_restoring()
        now = self._clock.now()
        until, name = now - days * 86_400, naming()
        found = await self._store.read(lambda db: db.run("operations_older", until=until, limit=limit).fetchall())
        ended = self.finished if wait else self.begun
        rows = [await ended(await self.begin(operation, rotate=rotate)) for (operation,) in found]

        def empty_bin(db: Connection) -> int | None:
            """Begin the purge of what lies in the recycle bin since then, forgotten or expired; None if nothing does."""
            paragraphs = [row[0] for row in db.run("binned_paragraphs", until=until)]
            emptied = row_ids(db, "refs_left_empty", paragraphs)
            gone = {
                "paragraph": sorted({*paragraphs, *row_ids(db, "wordings_of_refs", emptied)}),
                "relation": [row[0] for row in db.run("binned_relations", until=until)],
                "ref": row_ids(db, "refs_deleted", emptied),
            }
            items = [Item(kind, id_, {"why": DELETED_BEFORE}) for kind, ids in gone.items() for id_ in ids]
            if not items:
                return None
            counts = {"deleted_before": len(gone["paragraph"]), "relations": len(gone["relation"])}
            operation = operation_rows.record(db, NewOperation("mixed", "purging", items, counts), now)
            begin_receipt(db, operation, items, rotate=rotate)
            name(operation_id=operation_key(operation))
            return operation

        binned = await self._store.write(empty_bin)
        return rows if binned is None else [*rows, await ended(binned)]

    async def finished(self, operation: int) -> OperationRow:
        """Wait until the purge of an operation is done. Raises StorageFailure if it failed."""
        self._failed.pop(operation, None)
        self._wake.set()
        pause, alone_since = 0.005, time.monotonic()
        while True:
            row = await self._store.read(lambda db: operation_rows.operation(db, operation))
            if row.status != "purging":
                return row
            if (error := self._failed.get(operation)) is not None:
                raise StorageFailure(f"The purge of d{operation} failed and is tried again: {error}")
            if self._running or self._store.purging.locked():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > TAKE_OVER_SECONDS:
                await self._drain_logged()
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.2)

    # the background loop

    async def run(self) -> None:
        """Purge for ever; ends when cancelled."""

        async def step() -> bool:
            await self._drain_logged()
            await self._rotate_logged()
            return False

        self._running = True
        try:
            await run_forever(step, what="purging", pause=AGAIN_SECONDS, idle_share=0.0, wake=self._wake)
        finally:
            self._running = False

    async def _drain_logged(self) -> None:
        try:
            await self.drain()
        except Exception:
            log.exception("purging failed, retrying")

    async def _rotate_logged(self) -> None:
        """Have the key rotated that a purge has ended with, if no caller does."""
        keys, rotate = self._store.keys, self._status.rotate
        if keys is None or rotate is None or self._store.rotations_awaited or self._store.exchanging:
            return
        try:
            if await self._store.read(lambda db: operation_rows.wants_rotation(db, keys.current)):
                await rotate()
        except Exception:
            log.exception("the key could not be rotated after a purge, retrying")

    async def drain(self) -> None:
        """Finish every purge that was begun; one that fails is logged, and holds up no other."""
        failed = set[int]()
        async with self._store.purging:
            while left := [one for one in await self._store.read(operation_rows.purging) if one not in failed]:
                try:
                    await asyncio.to_thread(make_room, self._store.folder, erasing=True)
                    await self._purge(left[0])
                except Exception as exc:
                    log.exception("the purge of d%d failed, retrying", left[0])
                    self._failed[left[0]] = str(exc)
                    failed.add(left[0])
            await self._off(lambda: self._file.keep_only(failed))

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._files.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)

    # one purge

    async def _purge(self, operation: int) -> None:
        """Erase an operation whose state is `purging`, to the end."""
        started = time.monotonic()
        self._tell(operation, "records", 0, len(JOURNALS))
        found = await self._store.read(lambda db: operation_rows.operation(db, operation))
        receipt = _Progress.model_validate(found.receipt)
        if receipt.step != LOOKED:
            await self._erase(found, receipt, started)
        await self._off(lambda: self._file.remove(operation))
        receipt.step, receipt.looked_for = "", ""
        values = {"id": operation, "receipt": _json(receipt), "now": self._clock.now()}
        await self._store.write(lambda db: db.run("purge_end", **values))
        self._store.purges.pop(operation, None)
        self._store.purge_progress.pop(operation, None)
        log.info("the purge of d%d is done after %.1f s: %s", operation, receipt.seconds, receipt.erased)

    async def _erase(self, found: OperationRow, receipt: _Progress, started: float) -> None:
        """Erase rows, records, indexes and copies, and write down what came of it."""
        operation = found.id
        targets = await self._store.read(lambda db: _targets(db, operation))
        wanted, copies = await self._prepare(found, targets, receipt)
        targets = replace(targets, imports=tuple(receipt.imports))
        for deriver in self._derivers:
            await deriver.idle()
        await self._erase_rows(operation, targets, receipt)
        self._tell(operation, "indexes")
        receipt.indexes = await self._clean_indexes()
        await self._clean_files(operation, targets, wanted, copies, receipt)
        receipt.stays = await self._store.read(lambda db: _standing(db, operation, targets))
        receipt.warnings = warnings_of(receipt.copies, receipt.unread)
        left = any(copy["done"] in (LEFT, UNPROVED) for copy in receipt.copies)
        receipt.complete = not (receipt.found or receipt.unread or receipt.incoming or left)
        if receipt.rotation and (keys := self._store.keys):
            receipt.rotation.retired = keys.current.id
        receipt.step, receipt.seconds = LOOKED, round(time.monotonic() - started, 3)
        await self._store.write(lambda db: _note(db, operation, receipt))

    def _tell(self, operation: int, phase: str, done: int = 0, of: int = 1) -> None:
        """Say how far the purge has come, to whoever asks for it and in the log."""
        if done == 0:
            log.info("the purge of d%d: %s", operation, phase)
        self._store.purge_progress[operation] = phase, done, of

    async def _prepare(
        self, operation: OperationRow, targets: Targets, receipt: _Progress
    ) -> tuple[SearchPatterns, dict[str, str]]:
        """What is looked for, and what was done about copies so far; the journals are emptied first.

        Of a purge that was interrupted the former stands in a file; the latter is known still within the same process, since
        kernels that follow each other share the store.
        """
        going_on, id_ = receipt.step == ERASE, operation.id
        if going_on and id_ in self._store.purges:
            return self._store.purges[id_]
        if going_on and (known := await self._off(lambda: self._file.read(id_, receipt.looked_for))) is not None:
            self._store.purges[id_] = known, {}
            return self._store.purges[id_]

        def read(db: Connection) -> tuple[Vanishing, SearchPatterns, set[bytes], list[int], list[ImportNote]]:
            items = operation_rows.open_items(db, id_)
            whole = tuple(item.id for item in items if item.kind == "person" and not item.detail.get("limited"))
            aliases = [item.detail.get("row", {}).get("alias", "") for item in items if item.kind == "person_alias"]
            vanishing = journals.vanishing_with(db, replace(targets, persons=whole), aliases)
            moved = tuple((item.kind, item.detail["row"]) for item in items if "row" in item.detail)
            kept = [row for _, row in (*moved, *journals.rows_kept_of(db, id_, targets))]
            more = (value for row in kept for value in row.values())
            wanted = replace(journals.patterns_of(db, targets, vanishing, more), moved=moved)
            names = journals.names_staying(db, targets, vanishing)
            held = erasure.held(db, wanted.files, self._files.watched(names), but=targets.paragraphs)
            telling = import_rows.telling(db, targets.paragraphs, operation.created_at)
            return vanishing, wanted, held, telling, journals.imports_noted(db)

        vanishing, wanted, held, telling, noted = await self._off(lambda: self._store.read_here(read))
        receipt.needles, receipt.too_short = len(wanted.files), wanted.files.too_short
        receipt.held_elsewhere = len(held)
        wanted, copies = wanted.without(held), dict[str, str]()
        if going_on:  # of rows that are gone already no name is known to be borne by nobody else
            receipt.complete = False
            return wanted.by_ids_alone(), copies
        self._store.purges[id_] = wanted, copies
        receipt.incoming += [task for task in (f"i{task}" for task in telling) if task not in receipt.incoming]
        receipt.looked_for = await self._off(lambda: self._file.write(id_, wanted))
        about, staged = await self._off(lambda: self._files.imports_about(wanted, noted, targets, receipt.imports))
        receipt.imports = [note.id for note in about]
        await self._store.write(
            lambda db: _note(db, id_, receipt)
        )  # before their files go, which tell of whom they were
        copies |= await self._off(lambda: self._files.remove_staged(staged))
        targets = replace(targets, imports=tuple(receipt.imports))
        if about:
            await self._store.write(lambda db: journals.empty(db, "import_texts", {note.task for note in about}))
        await self._empty_journals(id_, targets, vanishing, wanted, receipt)
        return wanted, copies

    async def _empty_journals(
        self, operation: int, targets: Targets, vanishing: Vanishing, wanted: SearchPatterns, receipt: _Progress
    ) -> None:
        """Empty what quotes the texts or names who goes, while they can still be compared."""
        store = self._store
        for done, table in enumerate(JOURNALS, 1):
            self._tell(operation, "records", done, len(JOURNALS))

            def read(db: Connection, table: str = table) -> list[int | str]:
                return journals.to_empty(db, table, operation, targets, vanishing, wanted)

            if keys := await self._off(lambda read=read: store.read_here(read)):
                await store.write(lambda db, table=table, keys=keys: journals.empty(db, table, keys))
                name = "import_tasks" if table == "import_texts" else table
                receipt.scrubbed[name] = receipt.scrubbed.get(name, 0) + len(keys)
        for table, count in (await store.write(lambda db: journals.forget(db, targets))).items():
            receipt.scrubbed[table] = receipt.scrubbed.get(table, 0) + count
        for table, ids in (await store.read(lambda db: journals.asked_by(db, wanted))).items():
            await store.write(lambda db, table=table, ids=ids: journals.unname(db, table, ids))
            receipt.unnamed[table] = len(ids)
        receipt.step = ERASE
        await store.write(lambda db: _note(db, operation, receipt))

    async def _erase_rows(self, operation: int, targets: Targets, receipt: _Progress) -> None:
        """Erase rows step by step, and note what is gone so far in the same transaction."""
        units = erasure.erasing(targets, STEP)
        for number, unit in enumerate(units):
            self._tell(operation, "rows", number, len(units))

            def step(db: Connection, unit: Callable[[Connection], erasure.Erased] = unit) -> None:
                done = unit(db)
                self._store.forget()
                task_rows.forget(db, "episodes", done.sources)
                receipt.erased = dict(Counter(receipt.erased) + done.counts)
                _note(db, operation, receipt)

            await self._store.write(step)
            await asyncio.sleep(0)
        await self._store.write(lambda db: db.run("purge_items_cleared", id=operation))

    async def _clean_indexes(self) -> list[str]:
        """Let every index follow, and put snapshots without the rows in the place of the old ones; names them."""
        await self._upkeep.follow()
        await self._off(self._indexes.remove_unused)
        saved = await self._upkeep.save()
        await self._off(self._indexes.sweep)
        return saved

    async def _clean_files(
        self, operation: int, targets: Targets, wanted: SearchPatterns, copies: dict[str, str], receipt: _Progress
    ) -> None:
        """Erase the same from our own copies, write the database anew, and search every file, until nothing is found."""
        copy = await self._store.read(lambda db: CopyErasure(*erasure.gone_of(db, targets)))

        def told(done: int, of: int) -> None:
            self._tell(operation, "copies", done, of)

        await self._off(lambda: self._files.mend_copies(copy, wanted, receipt.complete, copies, told))
        receipt.copies = [{"file": name, "done": what} for name, what in copies.items()]
        await self._store.empty_log()
        database = self._store.files[0]
        rewrite = not receipt.complete or database.stat().st_size <= SMALL_BYTES
        looked = Looked()
        for attempt in range(ATTEMPTS):
            self._tell(operation, "files", attempt, ATTEMPTS)
            if rewrite:
                await self._store.rewrite()
                receipt.rewritten += 1
            receipt.log_emptied = await self._store.empty_log()
            anew = {name for name, what in copies.items() if what == "rewritten"}
            if receipt.rewritten and receipt.log_emptied:
                anew.add(database.name)
            looked = await self._off(lambda anew=anew: self._files.look(wanted.files, anew))
            if not looked.found or attempt == ATTEMPTS - 1:
                break
            rewrite = any(path.name in looked.found for path in self._store.files)
            await asyncio.sleep(0.2 * attempt)
            await self._clean_indexes()
        receipt.held_elsewhere += looked.held_elsewhere
        receipt.files, receipt.bytes, receipt.found = looked.files, looked.bytes, looked.found
        receipt.unread = looked.unread
        if looked.found:
            log.error("the purge of d%d left something in %s", operation, ", ".join(looked.found))

    async def _off(self, work: Callable[[], T]) -> T:
        """On the purge's thread; a cancellation waits for it, so that no two purges ever work on the files."""
        return await run_to_completion(self._thread, work)


def begin_receipt(db: Connection, operation: int, items: Sequence[Item], *, rotate: bool) -> None:
    """Write down that a purge begins, and which imports are open that may bring more of what goes.

    Where a chat or a person goes that is every one that is not at its end, since its records may name any. Those into a chat
    that goes were ended before, so one that is closed to a chat is closed to another. What is only tried stores nothing.
    """
    kinds, incoming = {item.kind for item in items}, list[str]()
    for task, params in import_rows.open_params(db) if kinds & {"chat", "person"} else ():
        if not params.get("dry_run") and ("person" in kinds or params.get("scope_type") != "chat"):
            incoming.append(f"i{task}")
    _note(db, operation, _Progress(incoming=incoming, rotation=KeyRotation() if rotate else None))


def end_imports(db: Connection, *, chats: Iterable[int], persons: Iterable[int], now: float) -> None:
    """Cancel every import under way that says it is into one of these chats, or of these persons.

    A chunk is stored only while its task is not cancelled, so nothing comes in after the transaction in which this is done.
    """
    ids = Ids(journals.record_ids(db, chats=chats, persons=persons))
    for task, params in import_rows.open_params(db):
        if ids.among(journals.leaves(params)):
            import_rows.cancel(db, task, now)


def _note(db: Connection, operation: int, receipt: Receipt) -> None:
    """Write down how far the purge has come."""
    db.run("purge_note", id=operation, receipt=_json(receipt))


def _json(receipt: Receipt) -> str:
    return json.dumps(receipt.model_dump(), ensure_ascii=False)


def _targets(db: Connection, operation: int) -> Targets:
    """The rows of the operation but paragraphs that have come back to life since."""
    items = [(item.kind, item.id) for item in operation_rows.open_items(db, operation)]
    alive = row_ids(db, "paragraphs_alive", (id_ for kind, id_ in items if kind == "paragraph"))
    return Targets.of((kind, id_) for kind, id_ in items if kind != "paragraph" or id_ not in alive)


def _standing(db: Connection, operation: int, targets: Targets) -> list[StayItem]:
    """What one might have expected to go, but for what went after all, as nothing was left that speaks of it; chats that
    live again.
    """
    stays = operation_rows.stays(db, operation)
    gone = {
        (kind, id_) for kind, kinds in GONE.items()
        for id_ in row_ids(db, f"{kinds}_gone", [id_ for one, id_, _ in stays if one == kind])
    }  # fmt: skip
    lively = row_ids(db, "chats_lively", targets.chats)
    left = [*(one for one in stays if one[:2] not in gone), *(("chat", chat, CAME_SINCE) for chat in lively)]
    return [StayItem(item_type=kind, item_key=row_key(kind, id_), why=why) for kind, id_, why in left]

"""One purge: the rows, what quotes them, the indexes, copies, then the bytes of the files."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache
from typing import Any, TypeVar

from ..background.change_follower import Deriver
from ..background.run_to_completion import to_its_end
from ..clock import Clock
from ..copies.backup_folder import BackupFolder
from ..importing import rows as import_rows
from ..indexes.maintenance import UpkeepService
from ..indexes.projections import Indexes
from ..store import operations as operation_rows
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import text_references
from .byte_search import Needles
from .purge_copies import CopyErasing
from .purge_files import UNPROVED, Looked, PurgeFiles, warnings_of
from .purge_rows import Erased, ErasureRepository, Targets
from .receipt import PurgeReceipt
from .record_scrubber import NO_MARKS, PurgeRecords, Sought, sought
from .text_references import ASKED, QUOTING, Going

__all__ = ["Erasing"]

T = TypeVar("T")
log = logging.getLogger(__name__)
STEP = 200
"""Paragraphs erased in one transaction, so that other writes wait only briefly."""
SMALL_BYTES = 64 << 20
"""A database up to this size is always written anew, which takes a second; a larger one if something is found."""
FOLD_TRIES = 60
ATTEMPTS = 5
"""Looks through the files, each after what held something was written anew."""
ERASE = "erase"
CAME_SINCE = "memories came in after the deletion"
GONE = {"paragraph": "paragraphs", "relation": "relations", "entity": "entities", "fact": "facts"}
"""Kinds of what stays, and how the rows of each are called that are looked for."""


class Erasing:
    """Carries purges out in steps that may be repeated: one that a crash ended goes on where it was."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        indexes: Indexes,
        derivers: Iterable[Deriver],
        upkeep: UpkeepService,
        clock: Clock,
        backups: BackupFolder,
    ) -> None:
        self._store = store
        self._rows = ErasureRepository(store.forget)
        self._indexes = indexes
        self._derivers = tuple(derivers)
        self._upkeep = upkeep
        self._clock = clock
        self._files = PurgeFiles(store, backups)
        self._records = PurgeRecords(store)
        self._thread = ThreadPoolExecutor(1, "amemorix-purge")

    async def purge(self, operation: int) -> None:
        """Erase an operation whose state is `purging`, to the end."""
        started = time.monotonic()
        self._tell(operation, "records", 0, len(QUOTING))
        receipt = await self._store.read(lambda db: self._receipt(db, operation))
        targets = await self._store.read(lambda db: self._targets(db, operation))
        wanted, copies = await self._prepared(operation, targets, receipt)
        for deriver in self._derivers:
            await deriver.at_rest()
        await self._erase(operation, targets, receipt)
        self._tell(operation, "indexes")
        receipt.indexes = await self._clean_indexes()
        await self._clean_files(operation, targets, wanted, copies, receipt)
        receipt.stays = await self._store.read(lambda db: self._standing(db, receipt, targets))
        receipt.warnings = warnings_of(receipt.copies, receipt.unread)
        unproved = any(copy["done"] == UNPROVED for copy in receipt.copies)
        receipt.complete = not (receipt.found or receipt.unread or receipt.incoming or unproved)
        receipt.step, receipt.seconds = "", round(time.monotonic() - started, 3)
        now = self._clock.now()
        await self._store.write(lambda db: self._rows.end(db, operation, asdict(receipt), now))
        self._store.purges.pop(operation, None)
        self._store.purge_progress.pop(operation, None)
        log.info("the purge of d%d is done after %.1f s: %s", operation, receipt.seconds, receipt.erased)

    def _tell(self, operation: int, phase: str, done: int = 0, of: int = 1) -> None:
        """Say how far the purge has come, to whoever asks for it and in the log."""
        if done == 0:
            log.info("the purge of d%d: %s", operation, phase)
        self._store.purge_progress[operation] = phase, done, of

    async def _prepared(self, operation: int, targets: Targets, receipt: PurgeReceipt) -> tuple[Sought, dict[str, str]]:
        """What is looked for, and what was done about copies so far; the records are scrubbed first.

        Both are known still if the purge was interrupted within this process, since kernels that follow each other share
        the store.
        """
        going_on = receipt.step == ERASE
        if going_on and operation in self._store.purges:
            return self._store.purges[operation]
        going = await self._off(lambda: self._going(operation, targets))
        wanted = await self._off(lambda: self._sought(operation, targets, going, not going_on))
        copies: dict[str, str] = {}
        if going_on:
            receipt.complete = False
        else:
            self._store.purges[operation] = wanted, copies
            telling = await self._store.read(lambda db: self._telling(db, operation, targets))
            receipt.incoming += [task for task in telling if task not in receipt.incoming]
            await self._scrub(operation, targets, going, wanted, receipt)
        return wanted, copies

    def _telling(self, db: Connection, operation: int, targets: Targets) -> list[str]:
        found = operation_rows.operation(db, operation)
        since = found.created_at if found else 0.0
        return [f"i{task}" for task in import_rows.telling(db, targets.paragraphs, since)]

    def _receipt(self, db: Connection, operation: int) -> PurgeReceipt:
        found = operation_rows.operation(db, operation)
        receipt = PurgeReceipt(**found.receipt) if found else PurgeReceipt()
        receipt.stays = [
            {"kind": kind, "id": id_, "why": why} for kind, id_, why in operation_rows.stays(db, operation)
        ]
        return receipt

    def _standing(self, db: Connection, receipt: PurgeReceipt, targets: Targets) -> list[dict[str, Any]]:
        """What stays without what went after all, because nothing was left that speaks of it; chats that live again."""
        lively = set(self._rows.chats_lively(db, targets.chats))
        told: dict[str, list[int]] = {}
        for one in receipt.stays:
            told.setdefault(one["kind"], []).append(one["id"])
        gone = {
            (kind, id_) for kind, ids in told.items() if kind in GONE for id_ in self._rows.gone(db, GONE[kind], ids)
        }
        stays = [one for one in receipt.stays if (one["kind"], one["id"]) not in gone and one["why"] != CAME_SINCE]
        return [*stays, *({"kind": "chat", "id": chat, "why": CAME_SINCE} for chat in sorted(lively))]

    def _targets(self, db: Connection, operation: int) -> Targets:
        """The rows of the operation but paragraphs that have come back to life since."""
        items = [(item.kind, item.id) for item in operation_rows.open_items(db, operation)]
        alive = set(self._rows.alive(db, [id_ for kind, id_ in items if kind == "paragraph"]))
        return Targets.of((kind, id_) for kind, id_ in items if kind != "paragraph" or id_ not in alive)

    def _going(self, operation: int, targets: Targets) -> Going:
        items = self._store.read_here(lambda db: operation_rows.open_items(db, operation))
        return self._records.going(items, targets)

    def _sought(self, operation: int, targets: Targets, going: Going, known: bool) -> Sought:
        """Fragments, names and ids of everything that is to be erased; the names are `known` while the rows are all there."""

        def read(db: Connection) -> Sought:
            moved = [
                (one.kind, one.detail["row"]) for one in operation_rows.open_items(db, operation) if "row" in one.detail
            ]
            held = [row for _, row in (*moved, *text_references.kept_of(db, operation, targets))]
            found = sought(db, self._rows, targets, going, (value for row in held for value in row.values()))
            return replace(found, moved=tuple(moved))

        found = self._store.read_here(read)
        return found if known else replace(found, marks=replace(NO_MARKS, ids=found.marks.ids))

    async def _scrub(
        self, operation: int, targets: Targets, going: Going, wanted: Sought, receipt: PurgeReceipt
    ) -> None:
        """Empty the rows that quote the texts or name who goes, while they can still be compared."""

        @cache
        def kept() -> Needles:
            return self._files.kept_beside(wanted.quotes, targets, going)

        for done, table in enumerate(QUOTING, 1):
            self._tell(operation, "records", done, len(QUOTING))
            keys = await self._off(
                lambda table=table: self._records.about(operation, table, targets, going, wanted, kept)
            )
            if keys:
                await self._store.write(lambda db, table=table, keys=keys: text_references.scrub(db, table, keys))
                name = table.partition(".")[0]
                receipt.scrubbed[name] = receipt.scrubbed.get(name, 0) + len(keys)
        for table, count in (await self._store.write(lambda db: text_references.forget(db, targets))).items():
            receipt.scrubbed[table] = receipt.scrubbed.get(table, 0) + count
        for table in ASKED:
            ids = await self._off(lambda table=table: self._records.asked(table, wanted.marks))
            if ids:
                await self._store.write(lambda db, table=table, ids=ids: text_references.unname(db, table, ids))
                receipt.unnamed[table] = len(ids)
        receipt.step = ERASE
        await self._store.write(lambda db: self._rows.note(db, operation, asdict(receipt)))

    async def _erase(self, operation: int, targets: Targets, receipt: PurgeReceipt) -> None:
        """Erase the rows in short transactions, each with the count of what is gone so far."""
        rows = self._rows
        units: list[Callable[[Connection], Erased]] = [
            *_in_steps(targets.paragraphs, rows.paragraphs), *_in_steps(targets.relations, rows.relations),
            *_in_steps(targets.entities, rows.entities), *_in_steps(targets.facts, rows.facts),
            lambda db: rows.persons(db, targets.persons), lambda db: rows.chats(db, targets.chats),
        ]  # fmt: skip
        for done, unit in enumerate(units):
            self._tell(operation, "rows", done, len(units))
            await self._store.write(lambda db, unit=unit: self._erased(db, operation, unit, receipt))
            await asyncio.sleep(0)
        await self._store.write(lambda db: rows.clear_items(db, operation))

    def _erased(
        self,
        db: Connection,
        operation: int,
        unit: Callable[[Connection], Erased],
        receipt: PurgeReceipt,
    ) -> None:
        done, now = unit(db), self._clock.now()
        for person in done.profiles - done.persons:
            task_rows.want(db, "profile", person, since=None, due_at=now, now=now)
        task_rows.forget(db, "profile", done.persons)
        task_rows.forget(db, "episodes", done.sources)
        for kind, count in done.counts.items():
            if count:
                receipt.erased[kind] = receipt.erased.get(kind, 0) + count
        self._rows.note(db, operation, asdict(receipt))

    async def _clean_indexes(self) -> list[str]:
        """Let every index follow, and put snapshots without the rows in the place of the old ones; names them."""
        await self._upkeep.follow()
        await self._off(self._indexes.remove_unused)
        saved = await self._upkeep.save()
        await self._off(self._indexes.sweep)
        return saved

    async def _clean_files(
        self, operation: int, targets: Targets, wanted: Sought, copies: dict[str, str], receipt: PurgeReceipt
    ) -> None:
        gone = await self._store.read(lambda db: self._gone(db, targets))
        receipt.needles, receipt.too_short = len(wanted.files), wanted.files.too_short
        persons, chats = await self._store.read(
            lambda db: (self._rows.gone(db, "persons", gone.persons), self._rows.gone(db, "chats", gone.chats))
        )
        copy = CopyErasing(gone, persons, chats)
        left = await self._off(lambda: self._files.strange(wanted))

        def told(done: int, of: int) -> None:
            self._tell(operation, "copies", done, of)

        await self._off(lambda: self._files.mend_copies(copy, left, receipt.complete, copies, told))
        receipt.copies = [{"file": name, "done": what} for name, what in copies.items()]
        await self._folded()
        rewrite = not receipt.complete or await self._off(self._files.size) <= SMALL_BYTES
        looked = Looked()
        for attempt in range(ATTEMPTS):
            self._tell(operation, "files", attempt, ATTEMPTS)
            if rewrite:
                await self._store.rewrite()
                receipt.rewritten += 1
            receipt.log_emptied = await self._folded()
            anew = {name for name, what in copies.items() if what == "rewritten"}
            if receipt.rewritten and receipt.log_emptied:
                anew |= {path.name for path in self._store.files}
            looked = await self._off(lambda anew=anew: self._files.look(left, copy, anew))
            if not looked.remnants or attempt == ATTEMPTS - 1:
                break
            rewrite = self._files.in_database(looked)
            await asyncio.sleep(0.2 * attempt)
            await self._clean_indexes()
        receipt.held_elsewhere = len(wanted.files) - len(left.files) + looked.held_elsewhere
        receipt.files, receipt.bytes, receipt.found = looked.files, looked.bytes, looked.found
        receipt.unread = looked.unread
        if looked.remnants:
            log.error("the purge of d%d left %d fragments in %s", operation, looked.remnants, ", ".join(looked.found))

    def _gone(self, db: Connection, targets: Targets) -> Targets:
        """The rows that are to be gone from copies as well: those that have come back to life stay there too."""
        rows = self._rows
        return Targets(
            targets.paragraphs, targets.refs, rows.gone(db, "relations", targets.relations),
            rows.gone(db, "entities", targets.entities), rows.gone(db, "facts", targets.facts),
            targets.persons, targets.chats,
        )  # fmt: skip

    async def _folded(self) -> bool:
        """Empty the log; readers and writers go on between the tries."""
        for attempt in range(FOLD_TRIES):
            if await self._store.fold_log():
                return True
            await asyncio.sleep(min(0.02 * (attempt + 1), 0.5))
        return False

    async def _off(self, work: Callable[[], T]) -> T:
        """On the purge's thread; a cancellation waits for it, so that no two purges ever work on the files."""
        return await to_its_end(self._thread, work)

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._files.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)


def _in_steps(
    ids: Sequence[int], erase: Callable[[Connection, Sequence[int]], Erased]
) -> list[Callable[[Connection], Erased]]:
    parts = [ids[start : start + STEP] for start in range(0, len(ids), STEP)]
    return [lambda db, part=part: erase(db, part) for part in parts]

"""The erasing of what was deleted, for good, and the proof that nothing of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, cast

from ..clock import Clock
from ..errors import Conflict, NotFound, StorageFailure
from ..storage.deletions import OperationRow
from ..storage.erasure import Erased, Targets
from ..storage.metadata_store import MetadataStore
from ..storage.quoting import ASKED, QUOTING, Going
from .backup_folder import BackupFolder
from .deriver import Deriver
from .indexes import Indexes
from .purge_files import Looked, PurgeFiles
from .purge_records import NO_MARKS, Marks, PurgeRecords
from .remnants import Needles
from .upkeep import UpkeepService

__all__ = ["PurgeReceipt", "PurgeService"]

T = TypeVar("T")
log = logging.getLogger(__name__)
STEP = 200
"""Paragraphs erased in one transaction, so that other writes wait only briefly."""
SMALL_BYTES = 64 << 20
"""A database up to this size is always written anew, which takes a second; a larger one if something is found."""
FOLD_TRIES = 60
ATTEMPTS = 5
"""Looks through the files, each after what held something was written anew."""
AGAIN_SECONDS = 30.0
TAKE_OVER_SECONDS = 1.0
"""A call whose kernel is being replaced waits so long for the next kernel to go on, before it does the work itself."""
ERASE = "erase"
OWN_WORD = re.compile(r"[a-z_]+")
"""Words such as the program writes into JSON of its own."""


@dataclass(slots=True)
class PurgeReceipt:
    """What a purge did, and what was looked at to be sure of it."""

    step: str = ""
    erased: dict[str, int] = field(default_factory=dict[str, int])
    """Rows gone, by kind."""
    scrubbed: dict[str, int] = field(default_factory=dict[str, int])
    """Rows that quoted what is erased and were emptied, by table."""
    unnamed: dict[str, int] = field(default_factory=dict[str, int])
    """Rows that no longer say that a person who is gone asked for something, by table."""
    copies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Other files that held it, and what was done about each."""
    indexes: list[str] = field(default_factory=list[str])
    """Snapshots written anew."""
    needles: int = 0
    """Fragments looked for, as UTF-8 and as JSON writes them."""
    held_elsewhere: int = 0
    """Fragments that rows which stay hold as well, and which say nothing therefore."""
    too_short: int = 0
    """Texts of fewer than six bytes, which cannot be told from chance."""
    complete: bool = True
    """False if a crash came between: what had been erased before could not be looked for, and the database was written
    anew whatever was found."""
    files: int = 0
    bytes: int = 0
    found: dict[str, int] = field(default_factory=dict[str, int])
    """Fragments found in the last look through the files, by file: empty, or something is left."""
    rewritten: int = 0
    """How often the database was written anew."""
    log_emptied: bool = False
    seconds: float = 0.0


class PurgeService:
    """Erases operations whose state is `purging`, one after the other, in steps that may be repeated.

    The state is written before anything is erased, so that a purge that a crash ended goes on when the memory is opened.
    Order: what quotes the texts, the rows, the indexes, copies, then the bytes of the files.
    """

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
        self._rows = store.erasure
        self._indexes = indexes
        self._derivers = tuple(derivers)
        self._upkeep = upkeep
        self._clock = clock
        self._files = PurgeFiles(store, backups)
        self._records = PurgeRecords(store)
        self._thread = ThreadPoolExecutor(1, "amemorix-purge")
        self._wake = asyncio.Event()
        self._failed: dict[int, str] = {}
        self._running = False

    # asking

    async def purge(self, operation: int) -> OperationRow:
        """Purge an executed operation; returns when it is done, also if another caller began it.

        Raises NotFound, Conflict for a wrong state, StorageFailure if a file cannot be written; it is tried again then.
        """
        await self._store.write(lambda db: self._begun(db, operation))
        return await self.finished(operation)

    async def older(self, days: float, limit: int) -> list[OperationRow]:
        """Purge the executed operations that are at least so old, the oldest first, and what is so long in the bin."""
        now = self._clock.now()
        until = now - days * 86_400
        operations = await self._store.read(lambda db: self._store.deletions.older(db, until, limit))
        rows = [await self.purge(operation) for operation in operations]
        emptied = await self._store.write(lambda db: self._bin_emptied(db, until, now))
        return rows if emptied is None else [*rows, await self.finished(emptied)]

    def _bin_emptied(self, db: sqlite3.Connection, until: float, now: float) -> int | None:
        """Begin the purge of what was forgotten or has expired; None if there is nothing."""
        items = self._store.deletions.binned(db, until)
        if not items:
            return None
        counts = Counter(item.kind for item in items)
        return self._store.deletions.record(
            db, mode="mixed", selector={}, counts={"deleted_before": counts["paragraph"], "relations": counts["relation"]},
            items=items, requested_by="", reason="", status="purging", now=now,
        )  # fmt: skip

    async def finished(self, operation: int) -> OperationRow:
        """Wait until the purge of an operation is done. Raises StorageFailure if it stumbled."""
        self._failed.pop(operation, None)
        self._wake.set()
        pause, alone_since = 0.005, time.monotonic()
        while True:
            row = await self._store.read(lambda db: self._store.deletions.operation(db, operation))
            if row is None or row.status != "purging":
                return row or self._missing(operation)
            if (error := self._failed.get(operation)) is not None:
                raise StorageFailure(f"The purge of d{operation} stumbled and is tried again: {error}")
            if self._running or self._store.purging.locked():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > TAKE_OVER_SECONDS:
                await self._stepped()
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.2)

    def _missing(self, operation: int) -> OperationRow:
        raise NotFound(f"operation_id: there is no deletion d{operation}.", field="operation_id")

    def _begun(self, db: sqlite3.Connection, operation: int) -> None:
        found = self._store.deletions.operation(db, operation)
        if found is None:
            self._missing(operation)
        elif found.status == "restored":
            raise Conflict(
                f"operation_id: d{operation} was restored, so there is nothing to purge: delete first.",
                field="operation_id", status=found.status,
            )  # fmt: skip
        elif found.status == "purged":
            raise Conflict(f"operation_id: d{operation} was purged already.", field="operation_id", status=found.status)
        elif found.status == "executed":
            self._rows.begin(db, operation)

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
            log.exception("a purge stumbled; it goes on in a while")

    async def drain(self) -> None:
        """Finish every purge that was begun; one that stumbles is logged, and holds up no other."""
        stumbled: set[int] = set()
        async with self._store.purging:
            while (waiting := await self._waiting(stumbled)) is not None:
                if not await self._tried(waiting):
                    stumbled.add(waiting)

    async def _tried(self, operation: int) -> bool:
        try:
            await self._purge(operation)
        except Exception as exc:
            log.exception("the purge of d%d stumbled; it goes on in a while", operation)
            self._failed[operation] = str(exc)
            return False
        return True

    async def _waiting(self, but: Container[int]) -> int | None:
        """The first purge to go on with."""
        waiting = await self._store.read(self._store.deletions.purging)
        return next((operation for operation in waiting if operation not in but), None)

    # one purge

    async def _purge(self, operation: int) -> None:
        started = time.monotonic()
        receipt = await self._store.read(lambda db: self._receipt(db, operation))
        targets = await self._store.read(lambda db: self._targets(db, operation))
        receipt.complete = receipt.complete and receipt.step != ERASE
        needles = await self._off(lambda: self._needles(operation, targets))
        marks = NO_MARKS
        if receipt.step != ERASE:
            going = await self._off(lambda: self._going(operation, targets))
            marks = self._records.marks(going, targets)
            await self._scrub(operation, targets, needles, going, marks, receipt)
        for deriver in self._derivers:
            await deriver.at_rest()
        await self._erase(operation, targets, receipt)
        receipt.indexes = await self._clean_indexes()
        await self._clean_files(operation, targets, needles, marks, receipt)
        receipt.step, receipt.seconds = "", round(time.monotonic() - started, 3)
        now = self._clock.now()
        await self._store.write(lambda db: self._rows.end(db, operation, asdict(receipt), now))

    def _receipt(self, db: sqlite3.Connection, operation: int) -> PurgeReceipt:
        found = self._store.deletions.operation(db, operation)
        return PurgeReceipt(**found.receipt) if found else PurgeReceipt()

    def _targets(self, db: sqlite3.Connection, operation: int) -> Targets:
        """The rows of the operation but paragraphs that have come back to life since."""
        items = [(item.kind, item.id) for item in self._store.deletions.open_items(db, operation)]
        alive = set(self._rows.alive(db, [id_ for kind, id_ in items if kind == "paragraph"]))
        return Targets.of((kind, id_) for kind, id_ in items if kind != "paragraph" or id_ not in alive)

    def _going(self, operation: int, targets: Targets) -> Going:
        items = self._store.read_here(lambda db: self._store.deletions.open_items(db, operation))
        return self._records.going(items, targets)

    def _needles(self, operation: int, targets: Targets) -> Needles:
        """Fragments of everything that is to be erased, kept in memory only."""

        def read(db: sqlite3.Connection) -> list[str | bytes]:
            items = self._store.deletions.open_items(db, operation)
            held = [item.detail.get("row", {}) for item in items]
            held += [row for _, row in self._store.quoting.kept_of(db, operation, targets)]
            rows = (value for row in held for value in row.values())
            kept = [text for value in rows for text in _said(value)]
            return [*self._rows.traces(db, targets), *kept]

        return Needles.of(self._store.read_here(read))

    async def _scrub(
        self, operation: int, targets: Targets, needles: Needles, going: Going, marks: Marks, receipt: PurgeReceipt
    ) -> None:
        """Empty the rows that quote the texts or name who goes, while they can still be compared."""
        rows = self._store.quoting

        def by_others(of: Needles) -> Needles:
            return self._files.said_by_others(of, targets.paragraphs)

        for table in QUOTING:
            keys = await self._off(
                lambda table=table: self._records.about(operation, table, targets, going, marks, needles, by_others)
            )
            if keys:
                await self._store.write(lambda db, table=table, keys=keys: rows.scrub(db, table, keys))
                receipt.scrubbed[table] = len(keys)
        for table in ASKED:
            ids = await self._off(lambda table=table: self._records.asked(table, marks))
            if ids:
                await self._store.write(lambda db, table=table, ids=ids: rows.unname(db, table, ids))
                receipt.unnamed[table] = len(ids)
        receipt.step = ERASE
        await self._store.write(lambda db: self._rows.note(db, operation, asdict(receipt)))

    async def _erase(self, operation: int, targets: Targets, receipt: PurgeReceipt) -> None:
        """Erase the rows in short transactions, each with the count of what is gone so far."""
        rows = self._rows
        units: list[Callable[[sqlite3.Connection], Erased]] = [
            *_in_steps(targets.paragraphs, rows.paragraphs), *_in_steps(targets.relations, rows.relations),
            *_in_steps(targets.entities, rows.entities), *_in_steps(targets.facts, rows.facts),
            lambda db: rows.persons(db, targets.persons), lambda db: rows.chats(db, targets.chats),
        ]  # fmt: skip
        for unit in units:
            await self._store.write(lambda db, unit=unit: self._erased(db, operation, unit, receipt))
            await asyncio.sleep(0)
        await self._store.write(lambda db: rows.clear_items(db, operation))

    def _erased(
        self,
        db: sqlite3.Connection,
        operation: int,
        unit: Callable[[sqlite3.Connection], Erased],
        receipt: PurgeReceipt,
    ) -> None:
        done, now, tasks = unit(db), self._clock.now(), self._store.derive_tasks
        for person in done.profiles - done.persons:
            tasks.want(db, "profile", person, since=None, due_at=now, now=now)
        tasks.forget(db, "profile", done.persons)
        tasks.forget(db, "episodes", done.sources)
        for kind, count in done.counts.items():
            if count:
                receipt.erased[kind] = receipt.erased.get(kind, 0) + count
        self._rows.note(db, operation, asdict(receipt))

    async def _clean_indexes(self) -> list[str]:
        """Let every index follow, and put snapshots without the rows in the place of the old ones; names them."""
        await self._upkeep.follow()
        for _ in range(FOLD_TRIES):
            if await self._off(self._indexes.erase):
                break
            await asyncio.sleep(0.05)
        saved = await self._upkeep.save()
        await self._off(self._indexes.sweep)
        return saved

    async def _clean_files(
        self, operation: int, targets: Targets, needles: Needles, marks: Marks, receipt: PurgeReceipt
    ) -> None:
        gone = await self._store.read(lambda db: self._gone(db, targets))
        receipt.needles, receipt.too_short = len(needles), needles.too_short
        receipt.copies = await self._off(lambda: self._files.mend_copies(gone, needles, marks, receipt.complete))
        await self._folded()
        rewrite = not receipt.complete or await self._off(self._files.size) <= SMALL_BYTES
        looked = Looked()
        for attempt in range(ATTEMPTS):
            if rewrite:
                await self._store.rewrite()
                receipt.rewritten += 1
            receipt.log_emptied = await self._folded()
            looked = await self._off(lambda: self._files.look(needles))
            if not looked.remnants or attempt == ATTEMPTS - 1:
                break
            rewrite = self._files.in_database(looked)
            await asyncio.sleep(0.2 * attempt)
            await self._clean_indexes()
        receipt.held_elsewhere = looked.held_elsewhere
        receipt.files, receipt.bytes, receipt.found = looked.files, looked.bytes, looked.found
        if looked.remnants:
            log.error("the purge of d%d left %d fragments in %s", operation, looked.remnants, ", ".join(looked.found))

    def _gone(self, db: sqlite3.Connection, targets: Targets) -> Targets:
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
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """End what is under way; it goes on when the memory is opened again. Blocking."""
        self._files.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)


def _in_steps(
    ids: Sequence[int], erase: Callable[[sqlite3.Connection, Sequence[int]], Erased]
) -> list[Callable[[sqlite3.Connection], Erased]]:
    parts = [ids[start : start + STEP] for start in range(0, len(ids), STEP)]
    return [lambda db, part=part: erase(db, part) for part in parts]


def _said(value: object) -> Iterator[str]:
    """The texts of a value of a row that was moved away; of JSON those within it, without the program's own words."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            yield from (text for text in _leaves(json.loads(value)) if not OWN_WORD.fullmatch(text))
            return
    if isinstance(value, str) and value:
        yield value


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in cast("dict[str, object]", value).values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value

"""The work on one import task: file after file, chunk after chunk, each in one transaction with its mark."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import tzinfo
from typing import TypeVar

from ..background.run_to_completion import to_its_end
from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest, MemoryFault, NotReady, StorageFailure
from ..ingest.requests import NO_CHAT
from ..ingest.service import IngestService
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as import_rows
from .roots import Places
from .rows import ImportChunk, ImportFile, ImportTask, Problem
from .source_file import SourceFile, Stopped
from .validation import Chunk, Preparer, Unwritable, Writer

__all__ = ["Ended", "ImportWork", "Lease"]

T = TypeVar("T")
MOST_PROBLEMS = 50
"""Reasons kept of one chunk."""
MEGABYTE = 1_000_000


class Ended(Exception):
    """The task is no longer to be worked on: it was cancelled, or another worker has it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on a task, and how long without a sign."""

    task: int
    worker: str
    seconds: float


class ImportWork:
    """Reads and analyses on a thread of its own, and writes in short transactions with a rest after each.

    A chunk is stored together with its row and the file's new position, so whatever ends the process, the next one goes on
    where this one was. A chunk that holds something that cannot be stored fails alone, with the reasons.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        clock: Clock,
        zone: tzinfo,
        ingest: IngestService,
        places: Places,
        thread: Executor,
    ) -> None:
        self._store = store
        self._config = config
        self._settings = config.imports
        self._clock = clock
        self._zone = zone
        self._ingest = ingest
        self._places = places
        self._thread = thread
        self._writer = Writer(store, config)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Let what runs on the thread end soon."""
        self._stopping.set()

    def go_on(self) -> None:
        """Work may be done again."""
        self._stopping.clear()

    async def file(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Store a file; what is wrong with it as a whole is written to its row. Raises Ended."""
        try:
            source = await self.off(lambda: self._open(task, file))
        except (NotReady, StorageFailure):
            raise
        except MemoryFault as exc:
            await self._file_ended(file, lease, "failed", str(exc))
            return
        try:
            if await self._begun(task, file, source, lease):
                await self._chunks(task, file.id, source, lease)
                await self._file_ended(file, lease, "completed")
        except (NotReady, StorageFailure):
            raise
        except MemoryFault as exc:
            await self._file_ended(file, lease, "failed", str(exc))
        finally:
            await self.off(source.close)

    def _open(self, task: ImportTask, file: ImportFile) -> SourceFile:
        most = self._settings.max_file_size_mb * MEGABYTE
        return SourceFile(
            file, task.params, places=self._places, most_bytes=most, go_on=lambda: not self._stopping.is_set(),
            right_of_way=self._store.right_of_way, zone=self._zone,
        )  # fmt: skip

    async def _begun(self, task: ImportTask, file: ImportFile, source: SourceFile, lease: Lease) -> bool:
        """Note what the file is; False if the same was imported before and is still there."""

        def unit(db: Connection) -> ImportFile | None:
            self.hold(db, lease)
            import_rows.file_begin(
                db, file.id, format_=source.format, size=source.size, sha256=source.sha256, options=source.options
            )
            fresh = self._fresh(db, file.id)
            wanted = bool(task.params.get("force")) or task.parent is not None or fresh.position > 0
            known = None if wanted else import_rows.known(db, fresh, self._clock.now())
            return import_rows.file(db, known[0]) if known else None

        known = await self._store.write(unit)
        if known is not None:
            gone = await self._gone(task, known, source, lease)
            await self._passed_over(file, known, gone, lease)
        return known is None

    async def _gone(self, task: ImportTask, known: ImportFile, source: SourceFile, lease: Lease) -> int:
        """How many texts are not there any more of those that a file has told."""
        if not await self._store.read(lambda db: import_rows.may_lack(db, known.id)):
            return 0
        preparer = Preparer(self._ingest, name=known.name, params=task.params, clock=self._clock)
        await self.off(lambda: source.begin(0))
        gone, last = 0, False
        while not last:
            started = time.monotonic()
            chunk = await self.off(lambda: source.next(preparer, self._settings.chunk_records))
            told = [text.external_id for item in chunk.items if isinstance(item.what, tuple) for text in item.what]
            gone += await self._store.read(lambda db, told=told: import_rows.lacking(db, known.id, told))
            await self._store.write(lambda db: self.hold(db, lease))
            last = chunk.last
            await self._rest(started)
        return max(gone - known.counts["filtered"], 0)

    async def _passed_over(self, file: ImportFile, known: ImportFile, gone: int, lease: Lease) -> None:
        """Say of a file that was imported before what of it is still there."""
        there = known.counts["stored"] + known.counts["existing"] + known.counts["revised"]
        error = f"The same file was imported before, as i{known.task}."
        if gone:
            error += f" {gone:,} of its {there:,} texts are not there any more; `force` (`--force`) stores them again."
        counts = +Counter(existing=max(there - gone, 0), gone=gone)

        def unit(db: Connection) -> None:
            self.hold(db, lease)
            import_rows.file_told(
                db, self._fresh(db, file.id), position=0, share=0.0, records=0, counts=counts, seconds=0.0
            )
            import_rows.file_end(db, file.id, "skipped", error)

        await self._store.write(unit)

    async def _chunks(self, task: ImportTask, file: int, source: SourceFile, lease: Lease) -> None:
        fresh = await self._store.read(lambda db: self._fresh(db, file))
        preparer = Preparer(self._ingest, name=fresh.name, params=task.params, clock=self._clock)
        mark = await self._store.read(lambda db: import_rows.mark(db, file))
        for queued in await self._store.read(lambda db: import_rows.chunks(db, file, status="queued")):
            await self.off(lambda queued=queued: source.begin(queued.start))
            await self._again(task, fresh, queued, source, preparer, lease)
        if not fresh.rest:
            return
        await self.off(lambda: source.begin(fresh.position, mark))
        number = await self._store.read(lambda db: import_rows.next_chunk(db, file))
        last, told = False, time.monotonic()
        while not last:
            started = time.monotonic()
            chunk = await self.off(lambda: source.next(preparer, self._settings.chunk_records))
            without = chunk.problems and all(one.reason == NO_CHAT for one in chunk.problems)
            if number == 0 and without and not any(item.what for item in chunk.items):
                raise InvalidRequest(
                    "file: none of its messages names a chat: import it with `chat_id` (`--chat`).", field="chat_id"
                )
            if chunk.records:
                told = await self._stored(task, file, number, chunk, lease, told)
                number += 1
            last = chunk.last
            await self._rest(started)

    async def _again(
        self,
        task: ImportTask,
        file: ImportFile,
        queued: ImportChunk,
        source: SourceFile,
        preparer: Preparer,
        lease: Lease,
    ) -> None:
        """Store a chunk that failed before, however many records one chunk holds now."""
        started = time.monotonic()
        chunk = await self.off(lambda: source.next(preparer, 1_000_000, queued.stop))
        chunk.share = file.share
        await self._stored(task, file.id, queued.number, chunk, lease, started, position=file.position)
        await self._rest(started)

    async def _stored(
        self,
        task: ImportTask,
        file: int,
        number: int,
        chunk: Chunk,
        lease: Lease,
        since: float,
        position: int | None = None,
    ) -> float:
        """Write the chunk with its row; a record that the rows refuse is left out, with the reason.

        The time since `since` is counted as spent on it; returns until when.
        """
        while True:
            try:
                return await self._store.write(
                    lambda db: self._chunk(db, task, file, number, chunk, lease, since, position)
                )
            except Unwritable as exc:
                chunk.without(exc.problem)

    def _chunk(
        self,
        db: Connection,
        task: ImportTask,
        file: int,
        number: int,
        chunk: Chunk,
        lease: Lease,
        since: float,
        position: int | None,
    ) -> float:
        self.hold(db, lease)
        now = self._clock.now()
        counts = self._outcome(db, task, file, chunk, now)
        failed = counts["failed"] > 0 and not task.params.get("skip_bad")
        row = ImportChunk(
            file, number, chunk.start, chunk.stop, "failed" if failed else "completed", chunk.records, counts,
            _shortened(chunk.problems), now,
        )  # fmt: skip
        import_rows.put_chunk(db, row)
        if chunk.mark and position is None:
            import_rows.put_mark(db, file, chunk.mark)
        import_rows.file_told(
            db, self._fresh(db, file), position=chunk.stop if position is None else position, share=chunk.share,
            records=chunk.records, counts=counts, notes=None if failed else chunk.notes, seconds=(until := time.monotonic()) - since,
        )  # fmt: skip
        return until

    def _outcome(self, db: Connection, task: ImportTask, file: int, chunk: Chunk, now: float) -> Counter[str]:
        """What became of the records; nothing is stored of a chunk that fails, or when it is only tried."""
        if chunk.problems and not task.params.get("skip_bad"):
            return Counter(failed=chunk.records)
        counts = Counter(failed=len(chunk.problems)) if chunk.problems else Counter[str]()
        if task.params.get("dry_run"):
            return counts + Counter(readable=len(chunk.items))
        told, sources = self._writer.write(db, chunk.items, now)
        import_rows.met(db, file, sources)
        return counts + told

    # what all of it stands on

    def hold(self, db: Connection, lease: Lease) -> None:
        """Go on with the lease. Raises Ended if the task is cancelled or another's."""
        status = import_rows.hold(db, lease.task, worker=lease.worker, now=self._clock.now(), lease=lease.seconds)
        if status is None or status == "cancel_requested":
            raise Ended

    async def off(self, work: Callable[[], T]) -> T:
        """On the thread of imports; a cancellation waits for it. Raises Ended if it was told to stop."""
        try:
            return await to_its_end(self._thread, work, when_cancelled=self.stop)
        except Stopped as exc:
            raise Ended from exc

    async def _rest(self, started: float) -> None:
        await asyncio.sleep((time.monotonic() - started) * self._settings.idle_share)

    async def _file_ended(self, file: ImportFile, lease: Lease, status: str, error: str = "") -> None:
        def unit(db: Connection) -> None:
            self.hold(db, lease)
            if status == "completed" and not (fresh := self._fresh(db, file.id)).records:
                import_rows.file_told(
                    db,
                    fresh,
                    position=fresh.position,
                    share=1.0,
                    records=0,
                    counts={},
                    notes={"nothing": 1},
                    seconds=0.0,
                )
            import_rows.file_end(db, file.id, status, error)

        await self._store.write(unit)

    def _fresh(self, db: Connection, file: int) -> ImportFile:
        found = import_rows.file(db, file)
        if found is None:
            raise Ended
        return found


def _shortened(problems: list[Problem]) -> tuple[Problem, ...]:
    more = len(problems) - MOST_PROBLEMS
    return (*problems[:MOST_PROBLEMS], *([Problem("", f"and {more} more")] if more > 0 else ()))

"""The work on one import task: file after file, chunk after chunk, each in one transaction with its position."""

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

from ..background.change_follower import run_to_completion
from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest, MemoryFault, NotReady, StorageFailure
from ..ingest.operations import NO_CHAT
from ..ingest.service import IngestService
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.tasks import Claim, TaskWorker
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
    """A task that is held."""

    tasks: TaskWorker
    claim: Claim

    def renew(self, db: Connection, *, progress: bool = True) -> None:
        """Go on with it, now that something of it is stored. Raises Ended if the task is cancelled or another's."""
        if self.tasks.hold(db, self.claim, progress=progress) in (None, "cancel_requested"):
            raise Ended


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
        self._settings = config.imports
        self._clock = clock
        self._zone = zone
        self._ingest = ingest
        self._places = places
        self._thread = thread
        self._writer = Writer(store, ingest)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Let what runs on the thread end soon."""
        self._stopping.set()

    def go_on(self) -> None:
        """Work may be done again."""
        self._stopping.clear()

    async def off(self, work: Callable[[], T]) -> T:
        """On the thread of imports; a cancellation waits for it. Raises Ended if it was told to stop."""
        try:
            return await run_to_completion(self._thread, work, when_cancelled=self.stop)
        except Stopped as exc:
            raise Ended from exc

    async def file(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Store a file; what is wrong with it as a whole is written to its row. Raises Ended."""
        source, error = None, ""
        try:
            source = await self.off(lambda: self._open(task, file))
            if not await self._is_new(task, file, source, lease):
                return
            await self._store_chunks(task, file.id, source, lease)
        except (NotReady, StorageFailure):
            raise
        except MemoryFault as exc:
            error = str(exc)
        finally:
            if source is not None:
                await self.off(source.close)

        def unit(db: Connection) -> None:
            lease.renew(db)
            if not error and not (now := import_rows.file(db, file.id)).records:
                import_rows.add_progress(db, now, position=now.position, share=1.0, notes={"nothing": 1})
            import_rows.file_end(db, file.id, "failed" if error else "completed", error)

        await self._store.write(unit)

    def _open(self, task: ImportTask, file: ImportFile) -> SourceFile:
        return SourceFile(
            file, task.params, places=self._places, most_bytes=self._settings.max_file_size_mb * MEGABYTE,
            go_on=lambda: not self._stopping.is_set(), right_of_way=self._store.right_of_way, zone=self._zone,
        )  # fmt: skip

    async def _is_new(self, task: ImportTask, file: ImportFile, source: SourceFile, lease: Lease) -> bool:
        """Note what the file is; False if the same was imported before, of which its row then says what is still there."""

        def begin(db: Connection) -> ImportFile | None:
            lease.renew(db, progress=False)
            about = {"format": source.format, "size": source.size, "sha256": source.sha256, "options": source.options}
            db.run("import_file_begin", id=file.id, **about)
            now = import_rows.file(db, file.id)
            if task.params.get("force") or task.parent is not None or now.position > 0:
                return None
            return import_rows.known(db, now, self._clock.now())

        known = await self._store.write(begin)
        if known is None:
            return True
        there, gone = sum(known.counts[one] for one in ("stored", "existing", "revised")), 0
        if await self._store.read(lambda db: db.run("import_may_lack", file=known.id).fetchone()[0]):
            gone = await self._count_gone(task, known, source, lease)
        error = f"The same file was imported before, as i{known.task}."
        if gone:
            error += f" {gone:,} of its {there:,} texts are not there any more; `force` (`--force`) stores them again."

        def end(db: Connection) -> None:
            lease.renew(db)
            counts = +Counter(existing=max(there - gone, 0), gone=gone)
            import_rows.add_progress(db, import_rows.file(db, file.id), position=0, share=0.0, counts=counts)
            import_rows.file_end(db, file.id, "skipped", error)

        await self._store.write(end)
        return False

    async def _count_gone(self, task: ImportTask, known: ImportFile, source: SourceFile, lease: Lease) -> int:
        """How many texts are not there any more of those that a file has told."""
        preparer = Preparer(self._ingest, name=known.name, params=task.params, clock=self._clock)
        gone, at, last = 0, 0, False
        while not last:
            started = time.monotonic()
            chunk = await self.off(lambda at=at: source.chunk(preparer, at, most=self._settings.chunk_records))
            ids = array(text.external_id for item in chunk.items if isinstance(item.what, tuple) for text in item.what)
            gone += await self._store.read(
                lambda db, ids=ids: db.run("import_lacking", file=known.id, ids=ids).fetchone()[0]
            )
            await self._store.write(lambda db: lease.renew(db, progress=False))
            at, last = chunk.stop, chunk.last
            await self._rest(started)
        return max(gone - known.counts["filtered"], 0)

    async def _store_chunks(self, task: ImportTask, file_id: int, source: SourceFile, lease: Lease) -> None:
        """First the chunks that failed in the task before this one, then what was not read yet."""

        def read(db: Connection) -> tuple[ImportFile, list[ImportChunk], int]:
            queued = import_rows.chunks(db, file_id, status="queued")
            return import_rows.file(db, file_id), queued, import_rows.next_chunk(db, file_id)

        file, queued, number = await self._store.read(read)
        preparer = Preparer(self._ingest, name=file.name, params=task.params, clock=self._clock)
        for one in queued:
            started = time.monotonic()
            chunk = await self.off(lambda one=one: source.chunk(preparer, one.start, stop=one.stop))
            chunk.share = file.share
            await self._write(task, file_id, one.number, chunk, lease, started, position=file.position)
            await self._rest(started)
        at, last, written = file.position, not file.rest, time.monotonic()
        while not last:
            started = time.monotonic()
            chunk = await self.off(lambda at=at: source.chunk(preparer, at, most=self._settings.chunk_records))
            without = chunk.problems and all(one.reason == NO_CHAT for one in chunk.problems)
            if number == 0 and without and not any(item.what for item in chunk.items):
                raise InvalidRequest(
                    "file: none of its messages names a chat: import it with `chat_id` (`--chat`).", field="chat_id"
                )
            if chunk.records:
                written = await self._write(task, file_id, number, chunk, lease, written, position=chunk.stop)
                number += 1
            at, last = chunk.stop, chunk.last
            await self._rest(started)

    async def _write(
        self, task: ImportTask, file: int, number: int, chunk: Chunk, lease: Lease, since: float, *, position: int
    ) -> float:
        """Write a chunk with its row; a record that the rows refuse is left out, with the reason.

        The time since `since` is counted as spent on it; returns until when.
        """
        dry, skip_bad = task.params.get("dry_run"), task.params.get("skip_bad")

        def unit(db: Connection) -> float:
            lease.renew(db)
            now, failed = self._clock.now(), bool(chunk.problems) and not skip_bad
            counts = Counter(failed=chunk.records if failed else len(chunk.problems))
            if dry and not failed:
                counts["readable"] = len(chunk.items)
            elif not failed:
                told, sources = self._writer.write(db, chunk.items, now)
                counts.update(told)
                for source in sources:
                    db.run("import_source_met", file=file, source=source)
            problems, more = chunk.problems[:MOST_PROBLEMS], len(chunk.problems) - MOST_PROBLEMS
            row = ImportChunk(
                file, number, chunk.start, chunk.stop, "failed" if failed else "completed", chunk.records, +counts,
                (*problems, *([Problem("", f"and {more} more")] if more > 0 else ())), now,
            )  # fmt: skip
            until = time.monotonic()
            import_rows.keep_chunk(
                db, import_rows.file(db, file), row, position=position, share=chunk.share,
                seconds=until - since, notes={} if failed else chunk.notes,
            )  # fmt: skip
            return until

        while True:
            try:
                return await self._store.write(unit)
            except Unwritable as exc:
                chunk.without(exc.problem)

    async def _rest(self, started: float) -> None:
        await asyncio.sleep((time.monotonic() - started) * self._settings.idle_share)

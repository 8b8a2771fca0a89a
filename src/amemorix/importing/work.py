"""The work on the files of import tasks: chunk after chunk, each in one transaction with its position."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TypeVar

from ..background.change_follower import run_to_completion
from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest, MemoryFault, NotReady, StorageFailure
from ..ingest.operations import NO_CHAT
from ..ingest.service import IngestService, new_paragraph
from ..language.times import find_span
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.tasks import Claim, TaskWorker
from . import rows as import_rows
from .records import Bad
from .roots import Places
from .rows import ChunkItem, ImportFile, ImportTask
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

    `stopping`: whether what runs on the thread should end soon.
    """

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones, ingest: IngestService,
        places: Places,
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = config.imports
        self._clock = clock
        self._zones = zones
        self._ingest = ingest
        self._places = places
        self._thread = ThreadPoolExecutor(1, "amemorix-import")
        self._writer = Writer(store, ingest)
        self.stopping = threading.Event()

    def close(self) -> None:
        """End what is under way. Blocking."""
        self.stopping.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def _off(self, work: Callable[[], T]) -> T:
        """On the thread of imports; a cancellation waits for it. Raises Ended if it was told to stop."""
        try:
            return await run_to_completion(self._thread, work, when_cancelled=self.stopping.set)
        except Stopped as exc:
            raise Ended from exc

    async def backfill(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Give up to `limit` paragraphs the first time that their text names, as seen from when it was recorded, else that
        moment itself. Raises Ended.

        The cursor moves in the transaction that dates, so nothing is done twice; the words that find a paragraph by its
        day come with its time.
        """
        params, most = task.params, int(task.params["limit"])
        total = max(min(most, file.size), 1)

        def dated(id_: int, content: str, at: float, chat_id: str) -> tuple[str, int, float, float, bytes] | None:
            """(how the time was found, paragraph, start, end, terms)."""
            zone = self._zones.of(chat_id)
            if spans := find_span(content, now=at, zone=zone):
                how, start, end = "by_text", spans[0][1].start, spans[0][1].end
            elif params.get("no_created_fallback"):
                return None
            else:
                how, start, end = "by_recorded_time", at, at
            return how, id_, start, end, new_paragraph(content, start, zone).terms

        def unit(db: Connection) -> ImportFile:
            lease.renew(db)
            counts = Counter[str]()
            for how, id_, start, end, terms in times:
                if not params.get("dry_run"):
                    if db.run("import_date", id=id_, start=start, end=end).fetchone() is None:
                        continue  # it has a time by now, or is gone
                    db.run("import_terms", id=id_, v=terms)
                counts[how] += 1
            counts["left_undated"] = len(found) - counts.total()
            number, stop, now = import_rows.next_chunk(db, file.id), found[-1][0], self._clock.now()
            import_rows.keep_chunk(
                db, file, ChunkItem(number, "completed", file.position, stop, len(found), +counts, [], now),
                position=stop, share=min((file.records + len(found)) / total, 1.0),
                seconds=(time.monotonic() - started) * (1 + self._settings.idle_share),
            )  # fmt: skip
            return import_rows.file(db, file.id)

        while limit := min(self._settings.chunk_records, most - file.records):
            started, asked = time.monotonic(), {"after": file.position, "limit": limit}
            found = await self._store.read(lambda db, asked=asked: db.run("import_undated", **asked).fetchall())
            if not found:
                break
            times = await self._off(lambda found=found: [one for row in found if (one := dated(*row)) is not None])
            file = await self._store.write(unit)
            await self._rest(started)

        def end(db: Connection) -> None:
            lease.renew(db)
            import_rows.file_end(db, file.id, "completed")

        await self._store.write(end)

    async def file(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Store a file; what is wrong with it as a whole is written to its row. Raises Ended."""
        source, error = None, ""
        try:
            source = await self._off(lambda: self._open(task, file))
            if not await self._is_new(task, file, source, lease):
                return
            await self._store_chunks(task, file.id, source, lease)
        except (NotReady, StorageFailure):
            raise
        except MemoryFault as exc:
            error = str(exc)
        finally:
            if source is not None:
                await self._off(source.close)

        def unit(db: Connection) -> None:
            lease.renew(db)
            if not error and not (now := import_rows.file(db, file.id)).records:
                import_rows.add_progress(db, now, position=now.position, share=1.0, notes={"nothing": 1})
            import_rows.file_end(db, file.id, "failed" if error else "completed", error)

        await self._store.write(unit)

    def _open(self, task: ImportTask, file: ImportFile) -> SourceFile:
        return SourceFile(
            file, task.params, places=self._places, most_bytes=self._settings.max_file_size_mb * MEGABYTE,
            go_on=lambda: not self.stopping.is_set(), right_of_way=self._store.right_of_way, zone=self._zones.general,
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
        gone = 0
        async for chunk in self._chunks(source, preparer, 0):
            ids = array(text.external_id for item in chunk.items if isinstance(item.what, tuple) for text in item.what)
            gone += await self._store.read(
                lambda db, ids=ids: db.run("import_lacking", file=known.id, ids=ids).fetchone()[0]
            )
            await self._store.write(lambda db: lease.renew(db, progress=False))
        return max(gone - known.counts["filtered"], 0)

    async def _store_chunks(self, task: ImportTask, file_id: int, source: SourceFile, lease: Lease) -> None:
        """First the chunks that failed in the task before this one, then what was not read yet."""

        def read(db: Connection) -> tuple[ImportFile, list[ChunkItem], int]:
            queued = import_rows.chunks(db, file_id, status="queued")
            return import_rows.file(db, file_id), queued, import_rows.next_chunk(db, file_id)

        file, queued, number = await self._store.read(read)
        preparer = Preparer(self._ingest, name=file.name, params=task.params, clock=self._clock)
        for one in queued:
            started = time.monotonic()
            chunk = await self._off(lambda one=one: source.chunk(preparer, one.start, stop=one.stop))
            chunk.share = file.share
            await self._write(task, file_id, one.index, chunk, lease, started, position=file.position)
            await self._rest(started)
        if not file.rest:
            return
        written = time.monotonic()
        async for chunk in self._chunks(source, preparer, file.position):
            without = chunk.problems and all(one.reason == NO_CHAT for one in chunk.problems)
            if number == 0 and without and not any(item.what for item in chunk.items):
                raise InvalidRequest(
                    "file: none of its messages names a chat: import it with `chat_id` (`--chat`).", field="chat_id"
                )
            if chunk.records:
                written = await self._write(task, file_id, number, chunk, lease, written, position=chunk.stop)
                number += 1

    async def _chunks(self, source: SourceFile, preparer: Preparer, at: int) -> AsyncIterator[Chunk]:
        """A file from a position on, with a rest after each chunk."""
        last = False
        while not last:
            started = time.monotonic()
            chunk = await self._off(lambda at=at: source.chunk(preparer, at, most=self._settings.chunk_records))
            yield chunk
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
            errors = [asdict(one) for one in (*problems, *([Bad("", f"and {more} more")] if more > 0 else ()))]
            status = "failed" if failed else "completed"
            row = ChunkItem(number, status, chunk.start, chunk.stop, chunk.records, +counts, errors, now)
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

"""The dating of paragraphs that have no time of their own."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..clock import Clock
from ..config.model import Config
from ..ingest.analyser import Analyser
from ..language.times import find_span
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.time_zones import TimeZones
from . import rows as import_rows
from .rows import ImportChunk, ImportFile, ImportTask, Undated
from .work import Ended, ImportWork, Lease

__all__ = ["TemporalBackfill"]


@dataclass(frozen=True, slots=True)
class Dated:
    """A paragraph with the time found for it, and how."""

    id: int
    start: float
    end: float
    terms: bytes
    how: str


class TemporalBackfill:
    """Gives each paragraph the first time that its text names, as seen from when it was recorded, else that moment itself.

    The cursor moves in the transaction that dates, so nothing is done twice; the words that find a paragraph by its day
    come with its time.
    """

    def __init__(
        self, store: MetadataStore, *, work: ImportWork, config: Config, clock: Clock, zones: TimeZones
    ) -> None:
        self._store = store
        self._work = work
        self._settings = config.imports
        self._clock = clock
        self._zones = zones
        self._analyser = Analyser(config.ingest.chunk_chars)

    async def run(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Date up to `limit` paragraphs. Raises Ended."""
        most, number = int(task.params["limit"]), await self._store.read(lambda db: import_rows.next_chunk(db, file.id))
        total = min(most, file.size)
        while file.records < most:
            started = time.monotonic()
            limit, after = min(self._settings.chunk_records, most - file.records), file.position
            found = await self._store.read(lambda db, a=after, n=limit: import_rows.undated(db, a, n))
            if not found:
                break
            dated = await self._work.off(lambda found=found: self._dated(task, found))
            file = await self._store.write(
                lambda db, f=file, d=dated, r=found, n=number, s=started: self._stored(
                    db, task, f, r, d, n, lease, s, total
                )
            )
            number += 1
            await asyncio.sleep((time.monotonic() - started) * self._settings.idle_share)
        await self._store.write(lambda db: self._end(db, file, lease))

    def _end(self, db: Connection, file: ImportFile, lease: Lease) -> None:
        self._work.hold(db, lease)
        import_rows.file_end(db, file.id, "completed")

    def _dated(self, task: ImportTask, found: Sequence[Undated]) -> list[Dated]:
        return [dated for one in found if (dated := self._one(task, one)) is not None]

    def _one(self, task: ImportTask, one: Undated) -> Dated | None:
        zone = self._zones.of(one.chat_id)
        spans = find_span(one.content, now=one.recorded_at, zone=zone)
        if spans:
            start, end, how = spans[0][1].start, spans[0][1].end, "by_text"
        elif task.params.get("no_created_fallback"):
            return None
        else:
            start, end, how = one.recorded_at, one.recorded_at, "by_recorded_time"
        return Dated(one.id, start, end, self._analyser.paragraph(one.content, start, zone).terms, how)

    def _stored(
        self,
        db: Connection,
        task: ImportTask,
        file: ImportFile,
        read: Sequence[Undated],
        dated: Sequence[Dated],
        number: int,
        lease: Lease,
        started: float,
        total: int,
    ) -> ImportFile:
        self._work.hold(db, lease)
        dry, counts = bool(task.params.get("dry_run")), Counter[str]()
        for one in dated:
            if dry or import_rows.date(db, one.id, one.start, one.end, one.terms):
                counts[one.how] += 1
        counts["left_undated"] += len(read) - counts.total()
        stop = read[-1].id
        chunk = ImportChunk(
            file.id, number, file.position, stop, "completed", len(read), +counts, (), self._clock.now()
        )
        import_rows.put_chunk(db, chunk)
        seconds = (time.monotonic() - started) * (1 + self._settings.idle_share)
        share = min((file.records + len(read)) / max(total, 1), 1.0)
        import_rows.file_told(db, file, position=stop, share=share, records=len(read), counts=+counts, seconds=seconds)
        fresh = import_rows.file(db, file.id)
        if fresh is None:
            raise Ended
        return fresh

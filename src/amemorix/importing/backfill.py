"""The dating of paragraphs that have no time of their own."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from ..clock import Clock
from ..config.model import Config
from ..ingest.service import new_paragraph
from ..language.times import find_span
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as import_rows
from .rows import ImportChunk, ImportFile, ImportTask
from .work import ImportWork, Lease

__all__ = ["TemporalBackfill"]


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

    async def run(self, task: ImportTask, file: ImportFile, lease: Lease) -> None:
        """Date up to `limit` paragraphs. Raises Ended."""
        most, done = int(task.params["limit"]), file
        while done is not None and done.records < most:
            started = time.monotonic()
            done = await self._date_some(task, done, lease, min(self._settings.chunk_records, most - done.records))
            await asyncio.sleep((time.monotonic() - started) * self._settings.idle_share)

        def end(db: Connection) -> None:
            lease.renew(db)
            import_rows.file_end(db, file.id, "completed")

        await self._store.write(end)

    async def _date_some(self, task: ImportTask, file: ImportFile, lease: Lease, limit: int) -> ImportFile | None:
        """The file as it stands then; None if no paragraph is left."""
        started, after = time.monotonic(), file.position
        found = await self._store.read(lambda db: db.run("import_undated", after=after, limit=limit).fetchall())
        if not found:
            return None
        dated = await self._work.off(lambda: [one for row in found if (one := self._dated(task, *row)) is not None])
        total = max(min(int(task.params["limit"]), file.size), 1)

        def unit(db: Connection) -> ImportFile:
            lease.renew(db)
            dry, counts = bool(task.params.get("dry_run")), Counter[str]()
            for how, id_, start, end, terms in dated:
                if not dry:
                    if db.run("import_date", id=id_, start=start, end=end).fetchone() is None:
                        continue  # it has a time by now, or is gone
                    db.run("import_terms", id=id_, v=terms)
                counts[how] += 1
            counts["left_undated"] = len(found) - counts.total()
            number, stop, now = import_rows.next_chunk(db, file.id), found[-1][0], self._clock.now()
            import_rows.keep_chunk(
                db, file, ImportChunk(file.id, number, after, stop, "completed", len(found), +counts, (), now),
                position=stop, share=min((file.records + len(found)) / total, 1.0),
                seconds=(time.monotonic() - started) * (1 + self._settings.idle_share),
            )  # fmt: skip
            return import_rows.file(db, file.id)

        return await self._store.write(unit)

    def _dated(
        self, task: ImportTask, id_: int, content: str, recorded_at: float, chat_id: str
    ) -> tuple[str, int, float, float, bytes] | None:
        """(how the time was found, paragraph, start, end, terms)."""
        zone = self._zones.of(chat_id)
        if spans := find_span(content, now=recorded_at, zone=zone):
            how, start, end = "by_text", spans[0][1].start, spans[0][1].end
        elif task.params.get("no_created_fallback"):
            return None
        else:
            how, start, end = "by_recorded_time", recorded_at, recorded_at
        return how, id_, start, end, new_paragraph(content, start, zone).terms

"""Checks of the database: its file and rows, and what is made from them: words, vectors, indexes, background work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from ..clock import Clock
from ..copies import cursor_check
from ..errors import StorageFailure
from ..indexes.projections import Indexes
from ..indexes.vectors.embedding import EmbeddingService
from ..ingest.service import new_paragraph
from ..lazy_regex import lazy_regex
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.migrations import migrations
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import integrity
from ..store.rows.embeddings import Generation
from ..version import program
from .checks import Check, FindingItem
from .integrity_check import IntegrityCheck, IntegrityService
from .recovery_hint import RecoveryHint

__all__ = [
    "DatabaseCheck",
    "IndexCheck",
    "ReadingCheck",
    "ReferenceCheck",
    "SpaceCheck",
    "TermCheck",
    "VectorCheck",
    "WorkCheck",
]

INDEX_DAMAGE = lazy_regex(r"row \d+ missing from index|wrong # of entries in index|non-unique entry in index")
"""What SQLite says of an index that does not fit its table: it can be made anew from the table."""
TEXTS, VECTORS = 200, 2_000
"""Rows that are read at once."""
WORK = ("episodes",)


@dataclass
class DatabaseCheck(Check):
    """SQLite's own check of the file, and the last look through all of its pages; `deep` looks through them now."""

    store: MetadataStore
    integrity: IntegrityService
    recovery: RecoveryHint
    zone: tzinfo

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        last = await (self.integrity.look(paced=False) if deep else self.integrity.last())
        damage = [*await asyncio.to_thread(self._damage), *(last.damage if deep and last else ())]
        return [
            await self._finding("database", damage, f"damaged: {'; '.join(damage)}")
            if damage else
            FindingItem("database", True, f"intact, schema {migrations()[-1][0]}, opened by amemorix {program()}"),
            *await self._of_pages(last),
        ]  # fmt: skip

    def _damage(self) -> list[str]:
        try:
            return self.store.examine_here(integrity.damage)
        except StorageFailure as exc:
            if not exc.details.get("damaged"):
                raise
            return [str(exc.__cause__)]

    async def _of_pages(self, last: IntegrityCheck | None) -> list[FindingItem]:
        """What was found when all pages were looked through, and what calls have met since the memory was opened."""
        found, met = list[FindingItem](), self.store.damage_met
        day = f"{datetime.fromtimestamp(last.at, self.zone):%Y-%m-%d %H:%M}" if last else ""
        if last and last.damage:
            told = f"looked through on {day}, and damaged: {'; '.join(last.damage)}"
            found.append(await self._finding("pages", last.damage, told))
        elif last:
            told = f"every page was looked through on {day}, in {last.seconds:,.1f} s: none is damaged"
            found.append(FindingItem("pages", True, told))
        elif not self.integrity.days:
            told = "the look through all pages is switched off (advanced.integrity_check_days)"
            found.append(FindingItem("pages", True, told))
        else:
            told = f"they have not been looked through yet; it is done every {self.integrity.days:g} days while the memory is open"
            found.append(FindingItem("pages", True, told))
        if met:
            told = f"{met:,} calls have met a damaged page since the memory was opened"
            found.append(await self._finding("damage", [], told))
        return found

    async def _finding(self, name: str, damage: Sequence[str], detail: str) -> FindingItem:
        if damage and all(INDEX_DAMAGE.search(line) for line in damage):
            return FindingItem(name, False, detail, "Run the check with repair: the indexes are made anew.", True)
        return FindingItem(name, False, detail, await asyncio.to_thread(self.recovery.sentence))

    async def repair(self) -> str:
        await self.store.reindex()
        return "every index of the database was made anew"


@dataclass
class ReferenceCheck(Check):
    """Rows whose foreign key points to nothing: they come from outside, the memory itself refuses them."""

    store: MetadataStore

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        broken = await asyncio.to_thread(self.store.read_here, integrity.broken_references)
        if not broken:
            return [FindingItem("references", True, "every row that is pointed to is there")]
        detail = ", ".join(f"{count:,} of {table} to {parent}" for (table, parent), count in broken.items())
        return [FindingItem("references", False, f"rows point to nothing: {detail}", "Restore a backup.")]


@dataclass
class TermCheck(Check):
    """Live paragraphs without the words by which they are found."""

    store: MetadataStore
    zones: TimeZones

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        missing = await asyncio.to_thread(self.store.read_here, integrity.without_terms)
        if not missing:
            return [FindingItem("words", True, "every live paragraph has its words")]
        detail = f"{missing:,} live paragraphs are not found by their words"
        return [FindingItem("words", False, detail, "Run the check with repair: they are read again.", repairable=True)]

    async def repair(self) -> str:

        def analysed(texts: Iterable[tuple[int, str, float | None, str]]) -> list[tuple[int, bytes]]:
            zone = self.zones.of
            return [(id_, new_paragraph(text, at, zone(chat)).terms) for id_, text, at, chat in texts]

        done = 0
        while texts := await self.store.read(lambda db: integrity.texts_without_terms(db, TEXTS)):
            terms = await asyncio.to_thread(analysed, texts)
            await self.store.write(lambda db, terms=terms: integrity.put_terms(db, terms))
            done += len(texts)
        return f"the words of {done:,} paragraphs were read again"


@dataclass
class IndexCheck(Check):
    """Every index holds as many rows as it should."""

    store: MetadataStore
    indexes: Indexes

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002

        def unit(db: Connection) -> list[FindingItem]:
            expected = integrity.expected(db)
            found: list[FindingItem] = []
            for projection in self.indexes:
                projection.catch_up(db)
                if projection.name in expected:
                    rows, held = expected[projection.name], len(projection.index)
                    mend = "" if rows == held else "Run the check with repair: it is made anew from the rows."
                    detail = f"{held:,} of {rows:,} rows"
                    found.append(FindingItem(projection.name, rows == held, detail, mend, repairable=rows != held))
            return found

        return await asyncio.to_thread(self.store.read_here, unit)

    async def repair(self) -> str:

        def unit(db: Connection) -> str:
            expected, renewed = integrity.expected(db), list[str]()
            for projection in self.indexes:
                if projection.name in expected and expected[projection.name] != len(projection.index):
                    projection.renew(db)
                    renewed.append(projection.name)
            return f"made anew from the rows: {', '.join(renewed) or 'none'}"

        return await asyncio.to_thread(self.store.read_here, unit)


@dataclass
class VectorCheck(Check):
    """Every live paragraph has a vector of the generation in use, and every vector is one."""

    store: MetadataStore
    embedding: EmbeddingService

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002

        def unit(db: Connection) -> list[FindingItem]:
            progress = self.embedding.progress(db)
            told = "no model at work: searching by words and structure"
            if progress.error:  # one is set, and does not answer
                serving = embedding_rows.serving(db)
                waiting = embedding_rows.pending_count(db, serving.id if serving else 0, 0)
                told = f"{told}; texts that wait to be embedded: {waiting:,}"
            found = [FindingItem("embedding", True, told)]
            if progress.state != "off":
                doing = "vectors are being made" if progress.state in ("embedding", "rebuilding") else "nothing to do"
                detail = f"{doing}; {progress.pending:,} paragraphs wait, {progress.failed:,} failed."
                ok = not progress.error and not progress.failed
                mend = "" if ok else "Mend the endpoint, then run the check with repair: what failed is tried again."
                found = [FindingItem("embedding", ok, f"{detail} {progress.error}".strip(), mend, repairable=not ok)]
            for generation, vectors in embedding_rows.every_generation(db):
                bad, lost = len(self._bad(db, generation, deep)), self._lost(db, generation)
                waiting = progress.pending if generation.id == progress.generation else 0
                use = _use_of(generation, vectors, waiting, is_served=generation.id == progress.serving_generation)
                detail = f"{vectors:,} vectors of {generation.model or generation.provider}; {use}"
                if bad or lost:
                    detail += f"; {bad:,} cannot be read, {lost:,} are missing"
                wrong = bool(bad or lost)
                mend = "Run the check with repair: they are made again." if wrong else ""
                found.append(FindingItem(f"vectors-{generation.id}", not wrong, detail, mend, repairable=wrong))
            return found

        return await asyncio.to_thread(self.store.read_here, unit)

    def _lost(self, db: Connection, generation: Generation) -> int:
        """Paragraphs without a vector, of the generation being filled, for which the filling does not look any more."""
        progress = self.embedding.progress(db)
        if generation.id != progress.generation:
            return 0
        return max(0, embedding_rows.pending_count(db, generation.id, 0) - progress.pending)

    def _bad(self, db: Connection, generation: Generation, deep: bool) -> list[int]:
        """Paragraphs whose vector has not the length of the generation or, looked at deeply, is no vector."""
        bad = set(integrity.misshapen_vectors(db, generation.id, generation.dimension))
        after = 0
        while deep and (rows := integrity.vectors(db, generation.id, after, VECTORS)):
            bad.update(id_ for id_, v in rows if id_ not in bad and not np.isfinite(np.frombuffer(v, "<f2")).all())
            after = rows[-1][0]
        return sorted(bad)

    async def repair(self) -> str:

        def unit(db: Connection) -> tuple[int, int]:
            bad = lost = 0
            for generation, _ in embedding_rows.every_generation(db):
                lost += self._lost(db, generation)
                gone = self._bad(db, generation, True)
                integrity.drop_vectors(db, generation.id, gone)
                bad += len(gone)
            return bad, lost

        bad, lost = await self.store.write(unit)
        if bad or lost:
            self.embedding.look_again(1)
        retried = await self.embedding.recover()
        return f"{bad + lost:,} vectors are made again, {retried:,} that failed are tried again"


def _use_of(generation: Generation, vectors: int, waiting: int, *, is_served: bool) -> str:
    """Say for what the vectors of a generation are used, and how many texts have none of it yet."""
    if is_served and vectors:
        use = "search goes by them, and by words for the rest" if waiting else "search goes by them"
    elif is_served:
        use = "search goes by words so far" if waiting else "no text waits to be embedded"
    elif generation.status == "building":
        use = "search will go by them when all are made"
    elif generation.status == "serving":
        use = "their model is not at work, so search does not go by them"
    else:
        use = "of an earlier model"
    return f"{use}; texts that wait to be embedded: {waiting:,}" if waiting else use


@dataclass
class SpaceCheck(Check):
    """Every vector that a caller has brought is one of its space."""

    store: MetadataStore

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        count, bad = await asyncio.to_thread(self.store.read_here, integrity.misshapen_of_callers)
        detail = f"{count:,} vectors of callers" + (f"; {bad:,} cannot be read" if bad else "")
        return [FindingItem("spaces", not bad, detail, "Restore a backup, or add them again." if bad else "")]


@dataclass
class WorkCheck(Check):
    """Work in the background that was given up."""

    store: MetadataStore
    clock: Clock

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        failed = await self.store.read(lambda db: {kind: integrity.failed_work(db, kind) for kind in WORK})
        mend = "Run the check with repair: they are tried again."
        return [
            FindingItem(f"work-{kind}", False, f"{one[0]:,} tasks failed, the last with: {one[1]}", mend, repairable=True)
            if one else FindingItem(f"work-{kind}", True, "nothing was given up")
            for kind, one in failed.items()
        ]  # fmt: skip

    async def repair(self) -> str:
        now = self.clock.now()
        count = await self.store.write(lambda db: integrity.retry_work(db, now))
        return f"{count:,} tasks are tried again"


@dataclass
class ReadingCheck(Check):
    """How far the change log has been read lies within it."""

    store: MetadataStore

    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:  # noqa: ARG002
        wrong = await self.store.read(cursor_check.impossible)
        if not wrong:
            return [FindingItem("reading", True, "all that was written is read, or will be")]
        detail = "; ".join(f"{key}: {why}" for key, why in wrong.items())
        return [FindingItem("reading", False, detail, "Run the check with repair: it is read again.", repairable=True)]

    async def repair(self) -> str:
        begun = await self.store.write(cursor_check.begin_anew)
        return f"reading begins anew: {', '.join(begun)}"

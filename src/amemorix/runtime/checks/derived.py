"""Checks of what is made from the rows: indexes, vectors, and the work that makes them."""

from __future__ import annotations

import asyncio

import numpy as np

from ...clock import Clock
from ...copies import cursor_check
from ...indexes.projections import Indexes
from ...indexes.vectors.embedding import EmbeddingService
from ...store import integrity
from ...store.metadata_store import MetadataStore
from ...store.ports import Connection
from ...store.rows import embeddings as embedding_rows
from ...store.rows.embeddings import Generation
from .finding import Check, Finding

__all__ = ["IndexCheck", "ReadingCheck", "VectorCheck", "WorkCheck"]

BATCH = 2_000
WORK = ("episodes", "profile")


class IndexCheck(Check):
    """Every index holds as many rows as it should."""

    def __init__(self, store: MetadataStore, indexes: Indexes) -> None:
        self._store = store
        self._indexes = indexes

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """One finding for each index."""
        return await asyncio.to_thread(self._store.read_here, self._all)

    def _all(self, db: Connection) -> list[Finding]:
        expected = integrity.expected(db)
        found: list[Finding] = []
        for projection in self._indexes:
            projection.catch_up(db)
            if projection.name in expected:
                rows, held = expected[projection.name], len(projection.index)
                mend = "" if rows == held else "Run the check with repair: it is made anew from the rows."
                detail = f"{held:,} of {rows:,} rows"
                found.append(Finding(projection.name, rows == held, detail, mend, repairable=rows != held))
        return found

    async def mend(self) -> str:
        """Make those anew that do not fit."""
        return await asyncio.to_thread(self._store.read_here, self._renew)

    def _renew(self, db: Connection) -> str:
        expected, renewed = integrity.expected(db), list[str]()
        for projection in self._indexes:
            if projection.name in expected and expected[projection.name] != len(projection.index):
                projection.renew(db)
                renewed.append(projection.name)
        return f"made anew from the rows: {', '.join(renewed) or 'none'}"


class VectorCheck(Check):
    """Every live paragraph has a vector of the generation in use, and every vector is one."""

    def __init__(self, store: MetadataStore, embedding: EmbeddingService) -> None:
        self._store = store
        self._embedding = embedding

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """One finding for each generation; `deep` reads every vector."""
        return await asyncio.to_thread(self._store.read_here, lambda db: self._all(db, deep))

    def _all(self, db: Connection, deep: bool) -> list[Finding]:
        found = [self._progress(db)]
        for generation, vectors in embedding_rows.every_generation(db):
            bad, lost = len(self._bad(db, generation, deep)), self._lost(db, generation)
            detail = f"{vectors:,} vectors of {generation.model or generation.provider}, {generation.status}"
            if bad or lost:
                detail += f"; {bad:,} cannot be read, {lost:,} are missing"
            mend = "Run the check with repair: they are made again." if bad or lost else ""
            found.append(
                Finding(f"vectors-{generation.id}", not (bad or lost), detail, mend, repairable=bool(bad or lost))
            )
        return found

    def _progress(self, db: Connection) -> Finding:
        progress = self._embedding.progress(db)
        if progress.state == "off":
            return Finding("embedding", True, "no model at work: searching by words and structure")
        detail = f"{progress.state}; {progress.pending:,} pending, {progress.failed:,} failed. {progress.error}".strip()
        ok = not progress.error and not progress.failed
        mend = "" if ok else "Mend the endpoint, then run the check with repair: what failed is tried again."
        return Finding("embedding", ok, detail, mend, repairable=not ok)

    def _lost(self, db: Connection, generation: Generation) -> int:
        """Paragraphs without a vector, of the generation being filled, for which the filling does not look any more."""
        progress = self._embedding.progress(db)
        if generation.id != progress.generation:
            return 0
        return max(0, embedding_rows.pending_count(db, generation.id, 0) - progress.pending)

    def _bad(self, db: Connection, generation: Generation, deep: bool) -> list[int]:
        """Paragraphs whose vector has not the length of the generation or, looked at deeply, is no vector."""
        bad = set(integrity.misshapen_vectors(db, generation.id, generation.dimension))
        after = 0
        while deep and (rows := integrity.vectors(db, generation.id, after, BATCH)):
            bad.update(id_ for id_, vector in rows if id_ not in bad and not _finite(vector))
            after = rows[-1][0]
        return sorted(bad)

    async def mend(self) -> str:
        """Forget what is no vector, and have it and what is missing made again."""

        def unit(db: Connection) -> tuple[int, int]:
            bad = lost = 0
            for generation, _ in embedding_rows.every_generation(db):
                lost += self._lost(db, generation)
                gone = self._bad(db, generation, True)
                integrity.drop_vectors(db, generation.id, gone)
                bad += len(gone)
            return bad, lost

        bad, lost = await self._store.write(unit)
        if bad or lost:
            self._embedding.look_again(1)
        retried = await self._embedding.recover()
        return f"{bad + lost:,} vectors are made again, {retried:,} that failed are tried again"


def _finite(vector: bytes) -> bool:
    return bool(np.isfinite(np.frombuffer(vector, "<f2")).all())


class WorkCheck(Check):
    """Work in the background that was given up."""

    def __init__(self, store: MetadataStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """One finding for each kind of work."""
        return await self._store.read(lambda db: [self._one(db, kind) for kind in WORK])

    def _one(self, db: Connection, kind: str) -> Finding:
        failed = integrity.failed_work(db, kind)
        if not failed:
            return Finding(f"work-{kind}", True, "nothing was given up")
        detail = f"{failed[0]:,} tasks failed, the last with: {failed[1]}"
        return Finding(
            f"work-{kind}", False, detail, "Run the check with repair: they are tried again.", repairable=True
        )

    async def mend(self) -> str:
        """Try again what failed."""
        now = self._clock.now()
        count = await self._store.write(lambda db: integrity.retry_work(db, now))
        return f"{count:,} tasks are tried again"


class ReadingCheck(Check):
    """How far the change log has been read lies within it."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """One finding for all marks."""
        wrong = await self._store.read(cursor_check.impossible)
        if not wrong:
            return [Finding("reading", True, "all that was written is read, or will be")]
        detail = "; ".join(f"{key}: {why}" for key, why in wrong.items())
        return [Finding("reading", False, detail, "Run the check with repair: it is read again.", repairable=True)]

    async def mend(self) -> str:
        """Let it be read from the beginning."""
        begun = await self._store.write(cursor_check.begin_anew)
        return f"reading begins anew: {', '.join(begun)}"

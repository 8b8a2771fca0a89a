"""Checks of the rows: the database file, what points to nothing, and what every paragraph must have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...ingest.analyser import Analyser
from ...lazy_regex import lazy_regex
from ...store.metadata_store import MetadataStore
from ...store.migrations import migrations
from ...store.ports import Connection
from ...store.rows import integrity
from ...store.time_zones import TimeZones
from ...version import program
from .finding import Check, Finding
from .recovery_hint import WayBack

__all__ = ["DatabaseCheck", "ReferenceCheck", "TermCheck"]

INDEX_DAMAGE = lazy_regex(r"row \d+ missing from index|wrong # of entries in index|non-unique entry in index")
"""What SQLite says of an index that does not fit its table: it can be made anew from the table."""
BATCH = 200


class DatabaseCheck(Check):
    """SQLite's own check of the file; `deep` also compares each of its indexes with the table."""

    def __init__(self, store: MetadataStore, way_back: WayBack) -> None:
        self._store = store
        self._way_back = way_back

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """Whether the file is whole."""
        damage = await asyncio.to_thread(self._store.read_here, lambda db: integrity.damage(db, deep=deep))
        if not damage:
            return [Finding("database", True, f"intact, schema {migrations()[-1][0]}, opened by amemorix {program()}")]
        repairable = all(INDEX_DAMAGE.search(line) for line in damage)
        if repairable:
            mend = "Run the check with repair: the indexes are made anew."
            return [Finding("database", False, "; ".join(damage), mend, repairable)]
        mend = await asyncio.to_thread(self._way_back.sentence)
        return [Finding("database", False, f"damaged: {'; '.join(damage)}", mend)]

    async def mend(self) -> str:
        """Make SQLite's indexes anew."""
        await self._store.reindex()
        return "every index of the database was made anew"


class ReferenceCheck(Check):
    """Rows whose foreign key points to nothing: they come from outside, the memory itself refuses them."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """How many, by table."""
        broken = await asyncio.to_thread(self._store.read_here, integrity.broken_references)
        if not broken:
            return [Finding("references", True, "every row that is pointed to is there")]
        detail = ", ".join(f"{count:,} of {table} to {parent}" for (table, parent), count in broken.items())
        return [Finding("references", False, f"rows point to nothing: {detail}", "Restore a backup.")]


class TermCheck(Check):
    """Live paragraphs without the words by which they are found."""

    def __init__(self, store: MetadataStore, analyser: Analyser, zones: TimeZones) -> None:
        self._store = store
        self._analyser = analyser
        self._zones = zones

    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:  # noqa: ARG002
        """How many."""
        missing = await asyncio.to_thread(self._store.read_here, integrity.without_terms)
        if not missing:
            return [Finding("words", True, "every live paragraph has its words")]
        detail = f"{missing:,} live paragraphs are not found by their words"
        return [Finding("words", False, detail, "Run the check with repair: they are read again.", repairable=True)]

    async def mend(self) -> str:
        """Read them again, some at a time."""
        done = 0
        while texts := await self._store.read(lambda db: integrity.texts_without_terms(db, BATCH)):
            await self._write(texts)
            done += len(texts)
        return f"the words of {done:,} paragraphs were read again"

    async def _write(self, texts: Sequence[tuple[int, str, float | None, str]]) -> None:
        def analyse() -> list[tuple[int, bytes]]:
            zone = self._zones.of
            return [(id_, self._analyser.paragraph(text, at, zone(chat)).terms) for id_, text, at, chat in texts]

        terms = await asyncio.to_thread(analyse)

        def unit(db: Connection) -> None:
            integrity.put_terms(db, terms)

        await self._store.write(unit)

"""The examination of a running memory, with a way to mend each finding."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from dataclasses import dataclass

from ..storage.metadata_store import MetadataStore
from .embedding import EmbeddingService
from .indexes import Indexes

__all__ = ["Finding", "examine"]

LOW_DISK_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    mend: str = ""


async def examine(store: MetadataStore, indexes: Indexes, embedding: EmbeddingService) -> list[Finding]:
    """Look at the database, the indexes against the rows, the vectors and the disk."""
    return await asyncio.to_thread(_examine, store, indexes, embedding)


def _examine(store: MetadataStore, indexes: Indexes, embedding: EmbeddingService) -> list[Finding]:
    return store.read_here(
        lambda db: [
            _database(store, db),
            _references(store, db),
            *_projections(store, indexes, db),
            _vectors(embedding, db),
            _disk(store),
        ]
    )


def _database(store: MetadataStore, db: sqlite3.Connection) -> Finding:
    damage = store.health.damage(db)
    return Finding("database", not damage, damage or "intact", "Restore the database from a backup." if damage else "")


def _references(store: MetadataStore, db: sqlite3.Connection) -> Finding:
    broken = store.health.broken_references(db)
    return Finding("references", broken == 0, f"{broken} rows point to nothing")


def _projections(store: MetadataStore, indexes: Indexes, db: sqlite3.Connection) -> list[Finding]:
    expected = store.health.expected(db)
    found: list[Finding] = []
    for projection in indexes:
        projection.catch_up(db)
        if projection.name in expected:
            rows, held = expected[projection.name], len(projection.index)
            mend = "" if rows == held else f"Stop, delete {store.folder}/indexes, and start again: it is rebuilt."
            found.append(Finding(projection.name, rows == held, f"{held} of {rows} rows", mend))
    return found


def _vectors(embedding: EmbeddingService, db: sqlite3.Connection) -> Finding:
    progress = embedding.progress(db)
    if progress.state == "off":
        return Finding("embedding", True, "no model at work: searching by words and structure")
    detail = f"{progress.state}; {progress.pending} pending, {progress.failed} failed"
    mend = "Mend the endpoint, then call memory_runtime_admin recover_embedding." if progress.error else ""
    return Finding("embedding", not progress.error, f"{detail}. {progress.error}".strip(), mend)


def _disk(store: MetadataStore) -> Finding:
    free = shutil.disk_usage(store.folder).free
    return Finding(
        "disk", free > LOW_DISK_BYTES, f"{free / 1e9:.1f} GB free", "" if free > LOW_DISK_BYTES else "Make room."
    )

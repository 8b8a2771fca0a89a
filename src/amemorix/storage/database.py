"""One SQLite database: a writer thread that groups commits, and a few reader threads."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from ..errors import MemoryFault, NotReady, StorageFailure
from .migrations import migrate

__all__ = ["Database"]

T = TypeVar("T")
Unit = Callable[[sqlite3.Connection], T]

WAL_PAGES = 10_000
"""Pages in the write-ahead log before the writer checkpoints it: about 40 MB."""


@dataclass(slots=True)
class _Job(Generic[T]):
    unit: Unit[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    outcome: tuple[T | None, BaseException | None] = (None, None)


class Database:
    """Units of work on their own threads; an acknowledged write has been synced.

    A unit of work is one function that takes a connection: it runs whole on one thread, so a call costs one hop
    however many statements it makes. Writes that wait at the same time share a transaction, each under its own
    savepoint, so one that fails takes nothing with it.
    """

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Literal["full", "normal"] = "full",
        readers: int = 2,
        group_commit_max: int = 256,
        on_rollback: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self._synchronous = synchronous
        self._group = group_commit_max
        self._on_rollback = on_rollback
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closing = False
        writer = self._open_writer()
        self.database_id: str = writer.execute("select value from meta where key = 'database_id'").fetchone()[0]
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(readers, "amemorix-read")
        self._writer = threading.Thread(target=self._serve, args=(writer,), name="amemorix-write", daemon=True)
        self._writer.start()

    async def write(self, unit: Unit[T]) -> T:
        """Run `unit` in a transaction on the writer thread; returns after the commit is durable."""
        if self._closing:
            raise NotReady("The database is closed.")
        loop = asyncio.get_running_loop()
        job: _Job[T] = _Job(unit, loop, loop.create_future())
        self._jobs.put(job)
        return await job.future

    async def read(self, unit: Unit[T]) -> T:
        """Run `unit` on a reader thread, within one snapshot of the database."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_here, unit)

    def read_here(self, unit: Unit[T]) -> T:
        """Run `unit` on the calling thread, within one snapshot of the database."""
        db = self._connection()
        db.execute("begin")
        try:
            return unit(db)
        except sqlite3.Error as exc:
            raise _failure(exc) from exc
        finally:
            db.execute("rollback")

    def close(self) -> None:
        """Finish what waits, fold the log into the database and let go of every connection."""
        if self._closing:
            return
        self._closing = True
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown(wait=True)
        for db in self._opened:
            db.close()

    # connections

    def _open_writer(self) -> sqlite3.Connection:
        try:
            db = _connect(self.path, self._synchronous)
            migrate(db, self.path.with_suffix(".before-migration"))
        except sqlite3.Error as exc:
            raise _failure(exc) from exc
        return db

    def _connection(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = _connect(self.path, self._synchronous)
            self._opened.append(db)
        return db

    # the writer thread

    def _serve(self, db: sqlite3.Connection) -> None:
        open_ = True
        while open_:
            jobs, open_ = self._take()
            if jobs:
                self._commit(db, jobs)
                _answer(jobs)
        db.execute("pragma wal_checkpoint(truncate)")
        db.close()

    def _take(self) -> tuple[list[_Job[Any]], bool]:
        """Wait for a job, then take what else is there; False when the last one has been taken."""
        jobs: list[_Job[Any]] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) >= self._group:
                return jobs, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, True
        return jobs, False

    def _commit(self, db: sqlite3.Connection, jobs: list[_Job[Any]]) -> None:
        try:
            db.execute("begin immediate")
            for job in jobs:
                job.outcome = self._savepoint(db, job.unit)
            db.execute("commit")
        except sqlite3.Error as exc:
            if db.in_transaction:
                db.execute("rollback")
            self._on_rollback()
            for job in jobs:
                job.outcome = (None, _failure(exc))

    def _savepoint(self, db: sqlite3.Connection, unit: Unit[T]) -> tuple[T | None, BaseException | None]:
        """Run one unit; whatever it raises undoes that unit alone and belongs to its caller."""
        db.execute("savepoint unit")
        try:
            result = unit(db)
        except BaseException as exc:  # noqa: BLE001 - carried to the caller, who sees it raised
            db.execute("rollback to unit")
            db.execute("release unit")
            self._on_rollback()
            return None, _failure(exc) if isinstance(exc, sqlite3.Error) else exc
        db.execute("release unit")
        return result, None


def _connect(path: Path, synchronous: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30, cached_statements=512)
    db.execute("pragma secure_delete = on")
    db.execute("pragma journal_mode = wal")
    db.execute(f"pragma synchronous = {synchronous}")
    db.execute("pragma foreign_keys = on")
    db.execute(f"pragma wal_autocheckpoint = {WAL_PAGES}")
    db.execute("pragma temp_store = memory")
    return db


def _failure(exc: BaseException) -> MemoryFault:
    return StorageFailure(f"The database refused: {exc}.")


def _answer(jobs: list[_Job[Any]]) -> None:
    """Resolve every future of a group with one wake-up per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job[Any]]] = {}
    for job in jobs:
        loops.setdefault(job.loop, []).append(job)
    for loop, mine in loops.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_resolve, mine)


def _resolve(jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        result, error = job.outcome
        if error is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(error)

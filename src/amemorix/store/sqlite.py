"""One SQLite database: a writer thread that groups commits, and a few reader threads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from ..errors import MemoryFault, NotReady, StorageFailure
from ..version import program
from . import cipher_pages
from .compaction import RawFiles
from .driver import DatabaseError, PageKey, is_damage
from .file_swap import finish_exchange
from .keys import Keyring
from .migrations import check, migrate, sign
from .ports import Connection, Unit
from .private_files import create_private
from .queries import SqliteConnection, connect, of_file
from .reserve import has_room, is_full, size_of

__all__ = ["INCARNATION", "Database", "remains_beside"]

log = logging.getLogger(__name__)
T = TypeVar("T")

INCARNATION = "incarnation"
"""Key of the random name that a database gets with each restore: indexes of the rows before do not fit it."""
_HEADER_BYTES = 100
_LOG_HEADER, _FRAME = 32, 24 + cipher_pages.PAGE
"""Bytes at the beginning of a write-ahead log, and of each frame."""
_SIGNS = {"indexes": "indexes/*/current.json", "backups": "backups/*/manifest.json"}
"""What a memory leaves beside its database, and where."""
COPY_PAGES = 512
"""Pages copied between two looks for writes that wait, about 2 MB."""
WAL_PAGES = 10_000
"""Pages in the write-ahead log before the writer checkpoints it: about 40 MB."""


@dataclass(slots=True)
class _Job(Generic[T]):
    unit: Unit[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    outcome: tuple[T | None, BaseException | None] = (None, None)
    alone: bool = False
    """Runs outside any transaction."""


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
        keys: Keyring | None = None,
        synchronous: Literal["full", "normal"] = "full",
        readers: int = 2,
        group_commit_max: int = 256,
        on_rollback: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        finish_exchange(path)
        self._keys = keys
        self._key = keys and keys.page_key(path)
        self._synchronous = synchronous
        self._group = group_commit_max
        self._on_rollback = on_rollback
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._queueing = threading.Lock()
        self._closing = False
        self._put_off: _Job[Any] | None = None
        self._giving_up = threading.Event()
        self._log, self._folds = path.with_name(f"{path.name}-wal"), True
        """The write-ahead log, and whether SQLite brings it into the database when it is long."""
        self.raw = RawFiles()
        self.damage_met = 0
        """Calls that met a damaged page since the database was opened."""
        self._spoilt = False
        writer, self.database_id, self.incarnation = self._open_writer()
        self._lending = threading.Lock()
        self._idle: list[SqliteConnection] = []
        self._closed = False
        self._readers = ThreadPoolExecutor(readers, "amemorix-read")
        self._writer = threading.Thread(target=self._serve, args=(writer,), name="amemorix-write", daemon=True)
        self._writer.start()

    async def write(self, unit: Unit[T]) -> T:
        """Run `unit` in a transaction on the writer thread; returns after the commit is durable."""
        return await self._queued(unit)

    async def alone(self, unit: Unit[T]) -> T:
        """Run `unit` on the writer thread outside any transaction: for what SQLite refuses to do within one."""
        return await self._queued(unit, alone=True)

    async def _queued(self, unit: Unit[T], *, alone: bool = False) -> T:
        loop = asyncio.get_running_loop()
        job: _Job[T] = _Job(unit, loop, loop.create_future(), alone=alone)
        with self._queueing:
            self._refuse_if_closed()
            self._jobs.put(job)
        return await job.future

    async def read(self, unit: Unit[T]) -> T:
        """Run `unit` on a reader thread, within one snapshot of the database."""
        self._refuse_if_closed()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_here, unit)

    def read_here(self, unit: Unit[T]) -> T:
        """Run `unit` on the calling thread, within one snapshot of the database."""
        try:
            with self._reading() as db:
                return _in_snapshot(db, unit)
        except DatabaseError as exc:
            raise self._failure(exc) from exc

    def examine_here(self, unit: Unit[T]) -> T:
        """The same for what looks for damage: with a connection of its own, since one that has met some reads nothing any more.

        What it meets does not count as met by a call.
        """
        try:
            with contextlib.closing(self._connected()) as db:
                return _in_snapshot(db, unit)
        except DatabaseError as exc:
            raise self._failure(exc, counted=False) from exc

    def unsound_pages(self, rest: Callable[[], None]) -> list[int]:
        """Numbers of the pages of an encrypted file that are not what was written; `rest` is called between pieces. Blocking.

        A page that is written meanwhile may be among them: `still_unsound` tells.
        """
        if not (self._key and self._key.raw):
            return []

        def chunks() -> Iterator[bytes]:
            for chunk in self.raw.chunks(self.path):
                yield chunk
                rest()

        return list(cipher_pages.unsound_pages(chunks(), self._key.raw))

    async def still_unsound(self, pages: Sequence[int]) -> list[int]:
        """Those of the pages that are so while nothing is written, and are in use."""
        raw = self._key and self._key.raw
        if not (pages and raw):
            return []

        def unit(db: Connection) -> list[int]:
            held = of_file(db).execute("pragma page_count").fetchone()[0]
            mac = cipher_pages.mac_key(self.raw.read(self.path, 0), raw)
            at = {n: self.raw.read(self.path, (n - 1) * cipher_pages.PAGE)[: cipher_pages.PAGE] for n in pages}
            return [n for n, page in at.items() if n <= held and not cipher_pages.is_sound(page, n, mac)]

        return await self.alone(unit)

    async def copy_until_closed(self, to: Path, key: PageKey) -> None:
        """Copy the database into a new file with another key; returns when all but its last pages are there.

        Writes go on meanwhile and into the copy, since the connection that writes is the one that copies
        (sqlite.org/c3ref/backup_finish.html). The copy is whole when the database is closed; `give_up_copy` ends it before.
        """
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        self._giving_up.clear()

        def tell() -> None:
            loop.call_soon_threadsafe(lambda: ready.done() or ready.set_result(None))

        copying = asyncio.ensure_future(self.alone(lambda db: self._copy_until_closed(db, to, key, tell)))
        await asyncio.wait({copying, ready}, return_when=asyncio.FIRST_COMPLETED)
        if copying.done():
            await copying  # it failed, or the database was closed in the midst of it
            raise NotReady("The database is closed.")
        copying.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def give_up_copy(self) -> None:
        """End a copy that is under way; nothing of it is used."""
        self._giving_up.set()
        with contextlib.suppress(MemoryFault):
            await self.write(lambda _: None)  # wakes the thread that waits for writes

    def _copy_until_closed(self, db: Connection, to: Path, key: PageKey, ready: Callable[[], None]) -> None:
        source = of_file(db)
        pages = max(1, min(COPY_PAGES, source.execute("pragma page_count").fetchone()[0] // 2))
        open_, nearly_done = True, False

        def between(_status: int, remaining: int, _total: int) -> None:
            """Run the writes that wait; before the last step, those that come until the database is closed."""
            nonlocal open_, nearly_done
            if remaining and remaining <= pages and not nearly_done:
                nearly_done = True
                ready()
            while open_ and remaining and (nearly_done or not self._jobs.empty()):
                jobs, open_ = self._take()
                self._run(source, jobs)
                if self._spoilt:
                    raise StorageFailure(
                        f"{self.path} is damaged: it cannot be copied.", file=str(self.path), damaged=True
                    )
                if self._giving_up.is_set():
                    raise NotReady("The copy was given up.")
                if not nearly_done:
                    break  # a page is copied between two transactions, however many wait
            if not (open_ or nearly_done):
                raise NotReady("The memory is being closed.")

        try:
            with contextlib.closing(connect(to, key=key)) as target:
                target.execute("pragma synchronous = off")
                source.backup(target, pages=pages, progress=between)
        finally:
            if not open_:
                self._jobs.put(None)  # for the loop that this was called from

    def close(self) -> None:
        """Finish what waits, fold the log into the database and let go of every connection."""
        with self._queueing:
            if self._closing:
                return
            self._closing = True
            self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown(wait=True)
        with self._lending:
            self._closed = True
        for db in self._idle:
            db.close()
        self.raw.close()

    def _refuse_if_closed(self) -> None:
        if self._closing:
            raise NotReady("The database is closed.")

    def _failure(self, exc: BaseException, *, counted: bool = True) -> MemoryFault:
        if is_damage(exc):
            told = (
                f"{self.path} is damaged: a page that is needed cannot be read ({exc}). `amemorix check` tells what is wrong and "
                "which backup is sound, `amemorix restore` puts it back."
            )
            if counted and not self.damage_met:
                log.error("%s Further calls that meet it are counted.", told)
            self.damage_met += counted
            return StorageFailure(told, file=str(self.path), damaged=True)
        why = "; its disk is full: make room" if is_full(self.path.parent) else ""
        return StorageFailure(f"The database {self.path} refused: {exc}{why}.", file=str(self.path))

    # connections

    def _open_writer(self) -> tuple[SqliteConnection, str, str]:
        """(connection, the database's id, its incarnation); a file that is not ours, or is damaged, is closed as it was found."""
        _refuse_if_cut_short(self.path, self._key)
        create_private(self.path)
        log_file = self.path.with_name(f"{self.path.name}-wal")
        frames, db = _last_commit(log_file), None
        try:
            db = connect(self.path, key=self._key)
            check(db)
            # On a full disk the log stays as it is, and is read from: the room is kept for purges.
            room = has_room(log_file.parent, size_of(log_file))
            if frames and room and 0 <= (read := db.execute("pragma wal_checkpoint(passive)").fetchone()[1]) < frames:
                log.error(
                    "%s is damaged: of %d pages that were written last, those after %d cannot be read, and what was stored "
                    "with them is lost", log_file, frames, read,
                )  # fmt: skip
            _tune(db, self._synchronous)
            migrate(db, self.path.with_suffix(".before-migration"), self._key)
            sign(db, program())
            if (database_id := _meta(db, "database_id")) is None:
                raise StorageFailure("The database has no id: it is damaged.", damaged=True)
            return db, database_id, _meta(db, INCARNATION) or ""
        except (DatabaseError, MemoryFault) as exc:
            if db is not None:
                db.close()
            raise exc if isinstance(exc, MemoryFault) else self._failure(exc) from exc

    def _connected(self) -> SqliteConnection:
        db = connect(self.path, key=self._key)
        try:
            _tune(db, self._synchronous)
        except BaseException:
            db.close()
            raise
        return db

    @contextlib.contextmanager
    def _reading(self) -> Generator[SqliteConnection]:
        """A connection for the time of the block: there are as many as were ever needed at once, whatever thread asks.

        One that has met a damaged page is not lent again: SQLCipher refuses it every other page as well.
        """
        with self._lending:
            db = self._idle.pop() if self._idle else None
        db, spoilt = db or self._connected(), False
        try:
            yield db
        except DatabaseError as exc:
            spoilt = is_damage(exc)
            raise
        finally:
            with self._lending:
                if self._closed or spoilt:
                    db.close()
                else:
                    self._idle.append(db)

    # the writer thread

    def _serve(self, db: SqliteConnection) -> None:
        open_ = True
        while open_:
            jobs, open_ = self._take()
            if self._spoilt:  # through the connection that has met a damaged page nothing could be written any more
                try:
                    fresh = self._connected()
                except DatabaseError as exc:
                    for job in jobs:
                        job.outcome = (None, self._failure(exc))
                    _answer(jobs)
                    continue
                db.close()
                db, self._spoilt, self._folds = fresh, False, True
            self._run(db, jobs)
        try:
            if self._may_fold(db):
                db.execute("pragma wal_checkpoint(truncate)")
            else:
                log.warning("the disk is full: the write-ahead log of %s stays as it is until there is room", self.path)
        except DatabaseError as exc:
            log.warning("the write-ahead log of %s was not folded in (%s); the next opening does it", self.path, exc)
        db.close()

    def _run(self, db: SqliteConnection, jobs: list[_Job[Any]]) -> None:
        if jobs and jobs[0].alone:
            try:
                jobs[0].outcome = (jobs[0].unit(db), None)
            except BaseException as exc:  # noqa: BLE001 - carried to the caller, who sees it raised
                self._spoilt |= is_damage(exc)
                jobs[0].outcome = (None, self._failure(exc) if isinstance(exc, DatabaseError) else exc)
        elif jobs:
            self._commit(db, jobs)
        _answer(jobs)

    def _take(self) -> tuple[list[_Job[Any]], bool]:
        """Wait for a job, then take what else is there; False when the last one has been taken.

        One that runs outside a transaction is taken alone, and those before it first.
        """
        jobs: list[_Job[Any]] = []
        job, self._put_off = self._put_off or self._jobs.get(), None
        while job is not None:
            if job.alone and jobs:
                self._put_off = job
                return jobs, True
            jobs.append(job)
            if job.alone or len(jobs) >= self._group:
                return jobs, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, True
        return jobs, False

    def _commit(self, db: SqliteConnection, jobs: list[_Job[Any]]) -> None:
        try:
            if (folds := self._may_fold(db)) is not self._folds:
                # On a full disk SQLite would spend the room that is kept on a part of the log.
                db.execute(f"pragma wal_autocheckpoint = {WAL_PAGES if folds else 0}")
                self._folds = folds
            db.execute("begin immediate")
            for job in jobs:
                job.outcome = self._savepoint(db, job.unit)
            if self._keys:
                self._keys.ensure_on_disk()
            db.execute("commit")
        except (DatabaseError, MemoryFault) as exc:
            self._spoilt |= is_damage(exc)
            if db.in_transaction and not self._spoilt:  # closing a connection that is spoilt undoes it as well
                db.execute("rollback")
            self._on_rollback()
            for job in jobs:
                job.outcome = (None, exc if isinstance(exc, MemoryFault) else self._failure(exc))

    def _may_fold(self, db: SqliteConnection) -> bool:
        """Whether the disk has room for what the log would add to the database; asked for exactly only where it may not."""
        if has_room(self.path.parent, size_of(self._log)):
            return True
        pages, page = (db.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return has_room(self.path.parent, pages * page - size_of(self.path))

    def _savepoint(self, db: SqliteConnection, unit: Unit[T]) -> tuple[T | None, BaseException | None]:
        """Run one unit; whatever it raises undoes that unit alone and belongs to its caller."""
        db.execute("savepoint unit")
        try:
            result = unit(db)
        except BaseException as exc:
            if isinstance(exc, DatabaseError) and (is_damage(exc) or not db.in_transaction):
                raise  # SQLite itself has undone the whole transaction, as it does on a full disk, or will commit none of it
            db.execute("rollback to unit")
            db.execute("release unit")
            self._on_rollback()
            return None, self._failure(exc) if isinstance(exc, DatabaseError) else exc
        db.execute("release unit")
        return result, None


def _in_snapshot(db: SqliteConnection, unit: Unit[T]) -> T:
    db.execute("begin")
    try:
        return unit(db)
    finally:
        if db.in_transaction:
            db.execute("rollback")


def _tune(db: SqliteConnection, synchronous: str) -> None:
    db.execute("pragma secure_delete = on")
    db.execute("pragma journal_mode = wal")
    db.execute(f"pragma synchronous = {synchronous}")
    db.execute("pragma foreign_keys = on")
    db.execute(f"pragma wal_autocheckpoint = {WAL_PAGES}")
    db.execute(f"pragma journal_size_limit = {2 * WAL_PAGES * cipher_pages.PAGE}")
    db.execute("pragma temp_store = memory")


def _meta(db: SqliteConnection, key: str) -> str | None:
    row = db.run("meta_get", key=key).fetchone()
    return None if row is None else row[0]


def _answer(jobs: list[_Job[Any]]) -> None:
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


def _last_commit(log_file: Path) -> int:
    """The number of the last frame of a write-ahead log that ends a transaction, as the frames say; 0 without a log.

    SQLite reads a log up to the first frame that is damaged and says nothing (sqlite.org/fileformat2.html, 4.1 and 4.4). Frames
    with another salt are of before the log was begun anew; so is the first one if the salt has only been counted on.
    """
    try:
        with log_file.open("rb", buffering=0) as file:
            header, heads = file.read(_LOG_HEADER), list[bytes]()
            while head := file.read(16):
                heads.append(head)
                file.seek(_FRAME - len(head), os.SEEK_CUR)
    except OSError:
        return 0
    if not heads:
        return 0
    salts, first = {header[16:24]}, heads[0][8:16]
    if int.from_bytes(first[:4], "big") + 1 != int.from_bytes(header[16:20], "big"):
        salts.add(first)
    return max((n for n, head in enumerate(heads, 1) if head[4:8] > bytes(4) and head[8:16] in salts), default=0)


def _refuse_if_cut_short(path: Path, key: PageKey | None) -> None:
    """Raise StorageFailure if the file ends before the last page that its header counts, or lost all that it held.

    SQLite reads missing pages as empty ones and notices only when it needs them. With a write-ahead log beside it the
    file may end early for good reasons, and nothing is said. (Database header: sqlite.org/fileformat2.html, 1.3.)
    """
    try:
        with path.open("rb") as file:
            header = file.read(cipher_pages.PAGE)
        size, log = path.stat().st_size, path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            return
        if not header:
            _refuse_if_lost(path, "empty")
            return
    except FileNotFoundError:
        _refuse_if_lost(path, "not there")
        return
    except OSError as exc:
        raise StorageFailure(f"{path} cannot be read: {exc.strerror}.", file=str(path)) from exc
    if key and key.raw and len(header) == cipher_pages.PAGE:
        if not cipher_pages.fits(header, key.raw):
            raise StorageFailure(
                f"No key in memory.keys is that of {path}: the file is of another memory, or its first page is damaged. "
                "Restore it from a backup.",
                file=str(path), damaged=True,
            )  # fmt: skip
        header = cipher_pages.first_page(header, key.raw)
    header = header[:_HEADER_BYTES]
    # Page size times pages; 0 where the header does not vouch for its count, because an older writer left it.
    page = int.from_bytes(header[16:18], "big")
    vouched = len(header) == _HEADER_BYTES and header[24:28] == header[92:96]
    wanted = (65_536 if page == 1 else page) * int.from_bytes(header[28:32], "big") if vouched else 0
    if size < max(wanted, _HEADER_BYTES):
        raise StorageFailure(
            f"{path} is cut short: {size} of {wanted or 'an unknown number of'} bytes are there. Restore it from a backup.",
            file=str(path), damaged=True,
        )  # fmt: skip


def remains_beside(path: Path) -> str:
    """What of a memory stands beside its database, `indexes` or `backups`; nothing beside one that was never begun."""
    return next((kind for kind, sign in _SIGNS.items() if next(path.parent.glob(sign), None) is not None), "")


def _refuse_if_lost(path: Path, state: str) -> None:
    if beside := remains_beside(path):
        raise StorageFailure(
            f"{path} is {state}, and {beside} of a memory stand beside it: what it held is lost. Restore it from a backup; "
            f"to begin anew, move {path.parent} away.", file=str(path), damaged=True,
        )  # fmt: skip

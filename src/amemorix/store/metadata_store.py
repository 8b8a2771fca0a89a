"""The truth: one database with its repositories, owned by one process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..audit_context import Act, acting
from ..errors import Conflict, MemoryFault
from ..foreground_priority import RightOfWay
from . import changes as change_log
from . import compaction
from .audit import AuditRepository
from .driver import PageKey
from .file_swap import DATABASE_FILE
from .keys import Keyring
from .ports import Unit
from .reserve import make_room
from .rows.documents import NameRepository, TextRepository
from .sqlite import Database

__all__ = ["MetadataStore", "noted"]

T = TypeVar("T")
log = logging.getLogger(__name__)


class MetadataStore:
    """Repositories over one database."""

    def __init__(
        self,
        folder: Path,
        *,
        keys: Keyring | None = None,
        synchronous: Literal["full", "normal"] = "full",
        readers: int = 2,
        group_commit_max: int = 256,
    ) -> None:
        self.folder = folder
        self.keys = keys
        """What the data directory is encrypted with; None if it is not."""
        self.purging = asyncio.Lock()
        """Held by whoever erases rows and rewrites files: kernels that follow each other share the store."""
        self.purges: dict[int, Any] = {}
        """What purges under way look for, by operation: kept in memory only, for the kernel that goes on with them."""
        self.purge_progress: dict[int, tuple[str, int, int]] = {}
        """(phase, how much of it is done, of how much) of purges under way, by operation."""
        self.rotations_awaited = 0
        """Callers of purges who have the key rotated themselves afterwards; the background does it for all others."""
        self.exchanging = False
        """Whether other rows are about to take the place of these."""
        self.importing = False
        """Whether files are being imported: what derives in the background gives way."""
        self.news = asyncio.Event()
        """Set when something is written next; another one takes its place then."""
        self.right_of_way = RightOfWay()
        """Searches take it; what works in the background gives way."""
        self.names = NameRepository()
        self.texts = TextRepository(self.names)
        self.audit = AuditRepository()
        make_room(folder)
        self._database = Database(
            folder / DATABASE_FILE,
            keys=keys,
            synchronous=synchronous,
            readers=readers,
            group_commit_max=group_commit_max,
            on_rollback=self.forget,
        )

    @property
    def database_id(self) -> str:
        """A random name given to the database when it was made."""
        return self._database.database_id

    @property
    def history(self) -> str:
        """A name for the database and the restores it went through: an index is of one history only."""
        return f"{self._database.database_id}{self._database.incarnation}"

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit of work in a transaction; returns after the commit is durable."""
        act = acting()
        try:
            return await self._database.write(unit if act is None else self.audit.noting(unit, act))
        finally:
            self.tell()

    def tell(self) -> None:
        """Wake everybody who waits for news."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    async def note(self, act: Act) -> None:
        """Note an act that changes something else than rows."""
        await self._database.write(lambda db: self.audit.put(db, act))

    async def keep(self, key: str, value: str) -> None:
        """Set a value of the store about itself, in nobody's name."""
        await self._database.write(lambda db: change_log.put(db, key, value))

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit of work on a reader thread, within one snapshot."""
        return await self._database.read(unit)

    def read_here(self, unit: Unit[T]) -> T:
        """Run a unit of work on the calling thread, within one snapshot."""
        return self._database.read_here(unit)

    def examine_here(self, unit: Unit[T]) -> T:
        """Run a unit of work that looks for damage on the calling thread, with a connection of its own."""
        return self._database.examine_here(unit)

    @property
    def damage_met(self) -> int:
        """Calls that met a damaged page since the database was opened."""
        return self._database.damage_met

    def unsound_pages(self, rest: Callable[[], None]) -> list[int]:
        """Numbers of the pages of an encrypted database that may not be what was written. Blocking."""
        return self._database.unsound_pages(rest)

    async def still_unsound(self, pages: Sequence[int]) -> list[int]:
        """Those of the pages that are not, now that nothing is written."""
        return await self._database.still_unsound(pages)

    async def copy_until_closed(self, to: Path, key: PageKey) -> None:
        """Copy the database with another key; returns when all but the last pages are there, which follow when it is closed."""
        await self._database.copy_until_closed(to, key)

    async def give_up_copy(self) -> None:
        """End such a copy; nothing of it is used."""
        await self._database.give_up_copy()

    async def empty_log(self, tries: int = 60) -> bool:
        """Bring the write-ahead log into the database and empty it, with the pages as they were before what was deleted.

        Readers and writers go on between the tries; False if a reader was always in the way.
        """
        for attempt in range(tries):
            if await self._database.alone(compaction.fold):
                return True
            await asyncio.sleep(min(0.02 * (attempt + 1), 0.5))
        return False

    async def rewrite(self) -> None:
        """Write the database file anew; nothing else is written meanwhile."""
        size = self._database.path.stat().st_size
        await self._database.alone(lambda db: compaction.rewrite(db, size))

    async def reindex(self) -> None:
        """Make the database's own indexes anew; nothing else is written meanwhile."""
        await self._database.alone(lambda db: db.run("reindex"))

    @asynccontextmanager
    async def using_files(self) -> AsyncGenerator[None]:
        """Wait for the turn. Raises Conflict beside an exchange.

        The exchange waits for the calls under way: one that waited for it would hold it up, and all others with it.
        """
        self.ensure_not_restoring()
        async with self.purging:
            yield

    @asynccontextmanager
    async def exchanging_files(self) -> AsyncGenerator[None]:
        """Let those that wait already have their turn, refuse others until the block ends. Raises Conflict beside another."""
        self.ensure_not_restoring()
        self.exchanging = True
        try:
            async with self.purging:
                yield
        finally:
            self.exchanging = False

    def ensure_not_restoring(self) -> None:
        """Raises Conflict while a restore or the import of an export is under way."""
        if self.exchanging:
            raise Conflict("A restore, or the import of an export, is under way: try again when it is done.")

    @property
    def files(self) -> tuple[Path, Path]:
        """The database file and its write-ahead log."""
        path = self._database.path
        return path, path.with_name(f"{path.name}-wal")

    def raw_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of one of `files`, a chunk at a time."""
        return self._database.raw.chunks(path)

    def close(self) -> None:
        """Finish pending writes and let go of the files."""
        self._database.close()

    def forget(self) -> None:
        """Let go of what is remembered of rows that may be gone."""
        self.names.forget()
        self.texts.forget()
        self.audit.forget()


async def noted(store: MetadataStore, given: dict[str, Any] | None = None, **known: str) -> None:
    """Note the act under way, and what it worked on, though it changed no row; what was done stays done if that fails."""
    act = acting()
    if act is None:
        return
    act.name(given, **known)
    try:
        await store.note(act)
    except MemoryFault as exc:
        log.warning("%s %s was not noted in the audit: %s", act.component, act.action, exc)

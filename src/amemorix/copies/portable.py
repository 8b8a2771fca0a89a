"""The export of a whole memory into one file, and its import into an empty one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..errors import Conflict, InvalidRequest, NotFound, StorageFailure
from ..indexes.snapshot import process_mark
from ..lazy_regex import lazy_regex
from ..runtime_status import RuntimeStatus
from ..store import copies as copy_rows
from ..store import tasks as task_rows
from ..store.compaction import in_memory, open_copy
from ..store.copies import HIGHEST_NUMBER, Inventory, building
from ..store.data_directory import EXPORTS
from ..store.file_swap import DATABASE_FILE, incoming
from ..store.keys import Keyring
from ..store.metadata_store import MetadataStore, noted
from ..store.migrations import build, migrations, written_by
from ..store.ports import Connection
from ..store.private_files import make_private, private_opener
from ..store.queries import DatabaseError, OperationalError, of_file
from ..store.rows import embeddings as embedding_rows
from . import cursor_check
from .age_files import ExportKey
from .backup_folder import BackupFolder
from .backups import carried_out, hosted
from .database_swap import DatabaseTakeover, PurgeAgain
from .portable_file import IN_THE_CLEAR, PortableHeader, PortableWriter, TableShape, header_of, rows_of_file
from .worker import CopyThread

__all__ = ["Exported", "PortableService", "built", "export_older", "refuse_unless_empty"]

VECTORS = ("embedding_generations", "embeddings", "paragraph_tokens", "relation_embeddings", "embedding_failures")
WATERMARKS = "embedded_upto:"
"""What the keys begin with under which the store keeps how far the vectors are."""
LEFT_BEHIND = (
    "meta", "changes", "audit", "import_tasks", "import_files", "import_chunks", "import_sources",
)  # fmt: skip
"""Tables that are carried otherwise, or speak of the files and calls of this installation."""
ALWAYS_THERE = ("meta", "changes", "document_changes", "embedding_generations", "chat_usage", "audit")
"""Tables that have rows in an empty memory too."""
_DRAFT = lazy_regex(r"\..+\.portable\.([0-9a-f]+-[0-9a-f]+)\.part")
"""An export that is being written, and by which process."""
PORTION = 1_000


@dataclass(frozen=True, slots=True)
class Exported:
    """The file that was written."""

    path: Path
    header: PortableHeader
    bytes: int
    sha256: str


class PortableService:
    """Writes rows as they are, ids included, so that a memory made of them answers as this one does."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        backups: BackupFolder,
        derivers: Iterable[ChangeFollower],
        clock: Clock,
        thread: CopyThread,
        purge_again: PurgeAgain,
    ) -> None:
        self._store = store
        self._backups = backups
        self._derivers = tuple(derivers)
        self._clock = clock
        self._purge_again = purge_again
        self._thread = thread
        self._home = store.folder / EXPORTS

    async def export(self, path: str, vectors: bool, key: ExportKey = IN_THE_CLEAR, *, plain: bool = False) -> Exported:
        """Write everything into a file below the folder of exports, or within a root; others go on meanwhile.

        Raises InvalidRequest for a path outside or in a backup, Conflict if there is such a file, StorageFailure if the
        disk refuses.
        """
        if self._store.keys and not key and not plain:
            raise InvalidRequest(
                "recipients: an encrypted memory is exported to age public keys (recipients) or by a passphrase "
                "(passphrase_env); in the clear only with `plain`.",
                field="recipients",
            )
        suffix = ".jsonl.age" if key else ".jsonl"
        own = self._home / f"memory-{int(self._clock.now() * 1000)}-{token_hex(4)}{suffix}"
        place = self._place(path) if path else own
        self._backups.beside_backups(place, "path")
        async with self._store.using_files():
            with self._thread.doing("export"):
                done = await self._thread.run(lambda: self._exported(place, vectors, key))
            await noted(self._store, {"file": done.path.name, "encrypted": bool(key)})
        return done

    async def take_in(
        self, path: str, status: RuntimeStatus, kernel: object, key: ExportKey = IN_THE_CLEAR
    ) -> PortableHeader:
        """Fill this memory, which is empty, with an export; it is closed and opened again at the end.

        `kernel` and all of its services must not be used afterwards. Raises Conflict if the memory is not empty or calls
        do not end, NotFound, and InvalidRequest for a file that is no whole export; nothing is changed then.
        """
        reopen = hosted(status)
        await self._store.read(refuse_unless_empty)
        place = self._place(path)
        if not place.is_file():
            raise NotFound(f"path: there is no file {place}.", field="path")
        takeover = DatabaseTakeover(
            self._store.folder, self._backups, "import_export", now=self._clock.now(), file=place.name,
            purge_again=self._purge_again, check=lambda: self._store.read_here(refuse_unless_empty),
        )  # fmt: skip

        def make_ready() -> PortableHeader:
            return built(self._store.folder, place, self._thread, self._store.keys, key)

        header = await carried_out(
            make_ready, reopen, kernel, takeover, store=self._store, thread=self._thread, what="import"
        )
        await asyncio.to_thread(takeover.forget_old)
        return header

    def sweep(self) -> None:
        """Remove exports that another process left unfinished. Blocking."""
        for path in self._home.glob(".*.part"):
            if (draft := _DRAFT.fullmatch(path.name)) and draft[1] != process_mark():
                path.unlink(missing_ok=True)

    def _place(self, path: str) -> Path:
        """The file that is meant. Raises InvalidRequest."""
        try:
            relative = not Path(path).expanduser().is_absolute()
        except RuntimeError as exc:
            raise InvalidRequest(f"path: {path!r} is no path: {exc}.", field="path") from exc
        said = str(self._home / path) if relative else path
        place = self._backups.permitted(said, "path", self._home)
        if place.is_dir():
            raise InvalidRequest(f"path: {place} is a folder.", field="path")
        return place

    # on the thread

    def _exported(self, place: Path, vectors: bool, key: ExportKey) -> Exported:
        if place.exists():
            raise _taken(place)
        return self._store.read_here(lambda db: _exported(db, self._header(db, vectors), place, self._thread, key))

    def _header(self, db: Connection, vectors: bool) -> PortableHeader:
        """The change log is carried from where something that is derived has not read it yet."""
        found = copy_rows.inventory(db)
        floor = max(found.floor, min([found.last, *(deriver.cursor(db) for deriver in self._derivers)]))
        out = (*LEFT_BEHIND, *(() if vectors else VECTORS))
        columns = {name: cols for name, cols in copy_rows.tables(db).items() if name not in out}
        serving = embedding_rows.serving(db) if vectors else None
        model = serving.fingerprint if serving else ""
        return _described(db, found, columns, found.schema, self._clock.now(), floor, vectors=vectors, model=model)


def refuse_unless_empty(db: Connection) -> None:
    """Raises Conflict if the database holds anything."""
    if held := [name for name, count in copy_rows.counts(db).items() if count and name not in ALWAYS_THERE]:
        raise Conflict(
            "The memory is not empty: an export is only taken into a new one, so that its ids stay what they were.",
            tables=held,
        )


def export_older(
    database: Path, place: Path, thread: CopyThread, keys: Keyring | None, key: ExportKey = IN_THE_CLEAR
) -> Exported:
    """Export a database that another state of the program wrote and nobody has open: what there is a place for in this
    one, without vectors, and with all that is derived anew from the change log. Blocking.

    Raises StorageFailure if rows lack what this program needs of them, or the disk refuses.
    """
    wanted = dict[str, list[str]]()
    with open_copy(database, keys) as db, in_memory() as own:
        schema = migrations()[-1][0]
        build(own, schema)
        of_file(db).execute("begin")
        found, there = copy_rows.inventory(db), copy_rows.tables(db)
        for table, columns in copy_rows.tables(own).items():
            if table not in there or table in LEFT_BEHIND or table in VECTORS:
                continue
            if missing := copy_rows.required(own, table) - set(there[table]):
                raise StorageFailure(
                    f"{database} cannot be exported by this program: its {table} have no {', '.join(sorted(missing))}. "
                    f"Export it with the program that wrote it ({written_by(db) or 'it does not say which'}).",
                    file=str(database),
                )
            wanted[table] = [name for name in columns if name in there[table]]
        return _exported(db, _described(db, found, wanted, schema, time.time(), found.floor), place, thread, key)


def _described(
    db: Connection, found: Inventory, columns: Mapping[str, list[str]], schema: int, now: float, floor: int, *,
    vectors: bool = False, model: str = "",
) -> PortableHeader:  # fmt: skip
    """The header of an export of these tables, and of the change log from a number on."""
    tables = {name: _shape(db, name, some, found.counts[name]) for name, some in columns.items()}
    pending = sum(1 for _ in copy_rows.changes(db, floor))
    return PortableHeader(
        schema, now, found.database_id, vectors, model, floor,
        {name: highest for name, highest in found.numbers.items() if name in columns or name == "changes"},
        {key: value for key, value in copy_rows.meta(db).items() if vectors or not key.startswith(WATERMARKS)},
        {**tables, "changes": TableShape(["seq", "kind", "id"], pending)},
    )  # fmt: skip


def _shape(db: Connection, table: str, columns: list[str], rows: int) -> TableShape:
    """The columns of a table and how many of its rows are carried: of tasks not those of imports, which are left behind."""
    return TableShape(columns, rows - task_rows.counts(db, "import").total() if table == "tasks" else rows)


def _exported(
    db: Connection, header: PortableHeader, place: Path, thread: CopyThread, key: ExportKey = IN_THE_CLEAR
) -> Exported:
    """Write the rows that the header names, within the connection's snapshot, under the file's name when they are synced."""
    draft = place.with_name(f".{place.name}.portable.{process_mark()}.part")
    thread.step("writing", header.rows)
    try:
        make_private(place.parent)
        with open(draft, "wb", opener=private_opener) as file:
            with key.writing(file) as plain:
                writer = PortableWriter(plain, header)
                for table, shape in header.tables.items():
                    found = (
                        copy_rows.changes(db, header.floor)
                        if table == "changes"
                        else copy_rows.rows(db, table, shape.columns)
                    )
                    if table == "tasks":
                        found = (row for row in found if row[shape.columns.index("kind")] != "import")
                    for row in found:
                        writer.row(table, row)
                        if writer.rows % PORTION == 0:
                            thread.so_far(writer.rows, header.rows)
                seal = writer.end()
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, place)
        except OSError as exc:
            if place.exists():
                raise _taken(place) from exc
            os.replace(draft, place)  # a file system without links
    except OSError as exc:
        raise StorageFailure(f"{place} cannot be written: {exc.strerror or exc}.", file=str(place)) from exc
    finally:
        with suppress(OSError):
            draft.unlink()
    return Exported(place, header, place.stat().st_size, seal)


def _taken(place: Path) -> Conflict:
    return Conflict(f"path: {place} is there already.", field="path")


def built(
    data: Path, path: Path, thread: CopyThread, keys: Keyring | None, key: ExportKey = IN_THE_CLEAR
) -> PortableHeader:
    """Make the database that an export describes ready to be that of a data directory. Blocking.

    Raises InvalidRequest if the file is no whole export, StorageFailure if the disk refuses.
    """
    header, to = header_of(path, key), incoming(data / DATABASE_FILE)
    if not 1 <= header.schema <= migrations()[-1][0]:
        raise InvalidRequest(
            f"path: {path} has schema {header.schema}, this program knows {migrations()[-1][0]}: a newer version wrote it.",
            field="path",
        )
    if any(highest > HIGHEST_NUMBER for highest in header.numbers.values()):
        raise InvalidRequest(f"path: {path} says of a table that it has no numbers left.", field="path")
    thread.step("reading", path.stat().st_size)
    to.unlink(missing_ok=True)
    try:
        with building(to, header.schema, keys) as db, key.reading(path) as file:
            _fill(db, header, file, path, thread)
        copy_rows.make_ready(to, keys)
    except (DatabaseError, OSError, OverflowError, ValueError) as exc:
        to.unlink(missing_ok=True)
        if isinstance(exc, (OSError, OperationalError)):
            raise StorageFailure(f"{to} cannot be written: {exc}.", file=str(to)) from exc
        raise InvalidRequest(f"path: {path} holds a row that cannot be stored: {exc}.", field="path") from exc
    except BaseException:
        to.unlink(missing_ok=True)
        raise
    return header


def _fill(db: Connection, header: PortableHeader, file: BinaryIO, path: Path, thread: CopyThread) -> None:
    known = copy_rows.tables(db)
    for table, shape in header.tables.items():
        if not set(shape.columns) <= set(known.get(table, ())) or table == "meta":
            raise InvalidRequest(f"path: {path} has a table {table!r} that this program does not know.", field="path")
    total = path.stat().st_size
    for table, some in groupby(rows_of_file(file, path), key=lambda row: row[1]):
        if table not in header.tables:
            raise InvalidRequest(f"path: {path} has rows of {table!r}, which its header does not name.", field="path")
        batch: list[list[Any]] = []
        for read, _, values in some:
            batch.append(values)
            if len(batch) == PORTION:
                copy_rows.write(db, table, header.tables[table].columns, batch)
                batch.clear()
                thread.so_far(read, total)
        copy_rows.write(db, table, header.tables[table].columns, batch)
    copy_rows.finish(db, header.floor, header.meta, header.numbers)
    if wrong := cursor_check.impossible(db):
        told = "; ".join(f"{key}: {why}" for key, why in wrong.items())
        raise InvalidRequest(f"path: the header of {path} cannot be right: {told}.", field="path")

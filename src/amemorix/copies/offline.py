"""The restore of a backup, and the import of an export, where no memory is open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import Conflict, StorageFailure
from ..store import operations as operation_rows
from ..store.compaction import open_copy
from ..store.file_swap import DATABASE_FILE, finish_exchange
from ..store.keys import Keyring
from ..store.queries import DatabaseError
from .age_files import ExportKey
from .backup_folder import BackupFolder
from .backups import Restoration, put_in_place
from .database_swap import DatabaseTakeover, PurgeAgain
from .portable import Exported, built, export_older, refuse_unless_empty
from .portable_file import PortableHeader, header_of
from .worker import CopyThread

__all__ = ["OfflineMemory"]


class OfflineMemory:
    """A data directory that this process has locked; everything here is blocking.

    The database in it may be missing or damaged: it is set aside as it is.
    """

    def __init__(
        self,
        folder: Path,
        roots: Sequence[str],
        *,
        thread: CopyThread,
        now: float,
        purge_again: PurgeAgain,
        keys: Keyring | None,
    ) -> None:
        self._folder, self._keys = folder, keys
        self._roots = roots
        self._thread = thread
        self._now = now
        self._purge_again = purge_again
        self._database = folder / DATABASE_FILE
        finish_exchange(self._database)

    def restore(self, which: str) -> Restoration:
        """Put a backup in the place of the rows; `which` is an id, or any path.

        Raises NotFound, Conflict if the backup is damaged or a purge is not finished, StorageFailure.
        """
        path = Path(which).expanduser()
        is_path = path.is_dir() and len(path.parts) > 1
        backups = BackupFolder(self._folder, [*self._roots, *([path.resolve().parent] if is_path else [])], self._keys)
        backups.sweep()
        backup = backups.find(str(path.resolve()) if is_path else which)
        if self._database.exists():
            with (
                suppress(DatabaseError),
                open_copy(self._database, self._keys) as db,
            ):  # a damaged one tells of no purge
                if operation_rows.purging(db):
                    raise Conflict(
                        "A purge is not finished: what it erases would come back. Start the memory, which finishes it, and try again."
                    )
        put_in_place(self._folder, backup, self._keys, self._thread)
        takeover = DatabaseTakeover(
            self._folder, backups, "restore_backup", now=self._now, purge_again=self._purge_again,
            backup=backup.manifest.id, door="cli",
        )  # fmt: skip
        takeover.perform()
        return Restoration(backup, takeover.aside, takeover.erased)

    def export(self, file: Path, key: ExportKey) -> Exported:
        """Export a database that this program cannot open because another state of it wrote it. Raises StorageFailure."""
        return export_older(self._database, file, self._thread, self._keys, key)

    def take_in(self, path: Path, key: ExportKey) -> PortableHeader:
        """Fill a memory that is empty, or not there yet. Raises Conflict, InvalidRequest, StorageFailure."""
        header_of(path, key)
        try:
            if self._database.exists():
                with open_copy(self._database, self._keys) as db:
                    refuse_unless_empty(db)
        except DatabaseError as exc:
            raise StorageFailure(f"{self._database} cannot be read: {exc}.", file=str(self._database)) from exc
        backups = BackupFolder(self._folder, self._roots, self._keys)
        header = built(self._folder, path, self._thread, self._keys, key)
        takeover = DatabaseTakeover(
            self._folder, backups, "import_export", now=self._now, purge_again=self._purge_again, file=path.name, door="cli"
        )  # fmt: skip
        takeover.perform()
        takeover.forget_old()
        return header

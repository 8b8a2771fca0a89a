"""The taking of the memory's place by a database that was made ready beside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from ..audit_context import Act, acting, front_door
from ..errors import StorageFailure
from ..indexes import snapshot
from ..store import compaction
from ..store import copies as copy_rows
from ..store.audit import AuditRepository
from ..store.compaction import one_transaction, open_copy
from ..store.copies import Inventory
from ..store.data_directory import index_folders
from ..store.file_swap import DATABASE_FILE, decide, finish_exchange, incoming, link_or_copy
from ..store.keys import Keyring
from ..store.private_files import sync_folder
from ..store.queries import DatabaseError
from .backup_folder import Backup, BackupFolder, Manifest, Reason, take_keys_along

__all__ = ["DatabaseTakeover", "PurgeAgain"]

PurgeAgain = Callable[[Path, Path, Keyring | None], int]
"""Erases from a copy what was purged from the memory since, and tells how many rows."""


class DatabaseTakeover:
    """Exchanges the database of a closed memory; everything here is blocking.

    The old database is set aside as a backup first. A crash at any moment leaves the old one or the new one, whole.
    """

    def __init__(
        self,
        data: Path,
        backups: BackupFolder,
        action: Literal["restore_backup", "import_export"],
        *,
        now: float,
        purge_again: PurgeAgain,
        check: Callable[[], None] = lambda: None,
        backup: str = "",
        file: str = "",
        door: str = "",
    ) -> None:
        """`backup` or `file` is where the new rows come from, for the audit; `check` raises if it may not be done now."""
        self._database = data / DATABASE_FILE
        self._backups, self._keys = backups, backups.keys
        self._reason: Reason = "before_restore" if action == "restore_backup" else "before_import"
        self._now = now
        by = acting()
        self._act = Act("memory_runtime_admin", action, by.requested_by if by else "", door or front_door(), now)
        self._act.name({"file": file}, backup=backup)
        self._purge_again = purge_again
        self.ready = check
        """Look once more, while the memory is open and nobody calls it."""
        self.aside: Backup | None = None
        self.done = False
        """Whether it was decided on."""
        self.erased = 0
        """Rows that had been purged since the copy was made, and went from it too."""

    def perform(self) -> None:
        """Set the old database aside and let the new one take its place. Raises StorageFailure; nothing is changed then."""
        try:
            self._perform()
        except (OSError, DatabaseError) as exc:
            raise StorageFailure(f"{self._database} could not be exchanged: {exc}.", file=str(self._database)) from exc

    def _perform(self) -> None:
        finish_exchange(self._database)
        log = self._database.with_name(f"{DATABASE_FILE}-wal")
        if log.exists() and log.stat().st_size:  # of a killed process; a damaged one is left as it is
            with suppress(DatabaseError), open_copy(self._database, self._keys) as db:
                compaction.fold(db)
        new, keys = incoming(self._database), self._keys
        old, mine = _inventory(self._database, keys), _inventory(new, keys)
        if old and mine and old.database_id == mine.database_id:
            self.erased = self._purge_again(self._database, new, keys)
        copy_rows.skip_numbers(new, self._numbers(mine, old), keys)
        aside = self._set_aside(old)
        if self._reason == "before_restore":
            self._act.name(set_aside=aside[1].id if aside else "")
        with open_copy(new, keys) as db, one_transaction(db):
            AuditRepository().put(db, self._act)
        decide(self._database)
        self.done = True
        for place in index_folders(self._database.parent):  # they are of another history
            snapshot.remove(place)
        if aside:
            self.aside = self._backups.publish(*aside)

    def forget_old(self) -> None:
        """Keep nothing of the old database: it was empty."""
        if self.aside:
            self._backups.remove(self.aside)

    def undo(self) -> None:
        """Put the old database back: the new one could not be opened."""
        if self.aside is None:
            return
        again = incoming(self._database)
        again.unlink(missing_ok=True)
        with open_copy(self.aside.database, self._keys, unchanged=True) as db:
            copy_rows.copy(db, again, lambda *_: None, self._keys)
        decide(self._database)

    def _numbers(self, mine: Inventory | None, old: Inventory | None) -> dict[str, int]:
        """The highest numbers that this database has given out in any of its histories."""
        wanted = mine.database_id if mine else ""
        known = [
            copy_rows.numbers(one.database, self._keys)
            for one in self._backups.all()
            if one.manifest.database_id == wanted
        ]
        known += [dict(old.numbers)] if old and old.database_id == wanted else []
        return {name: max(one.get(name, 0) for one in known) for name in {name for one in known for name in one}}

    def _set_aside(self, old: Inventory | None) -> tuple[Path, Manifest] | None:
        """The old database in a folder that is to be a backup: under a second name, so it costs no time and no space."""
        if not self._database.exists():
            return None
        folder = self._backups.begin(self._backups.home, aside=True)
        link_or_copy(self._database, folder / DATABASE_FILE)
        log = self._database.with_name(f"{DATABASE_FILE}-wal")
        if log.exists() and log.stat().st_size:
            link_or_copy(log, folder / log.name)
        take_keys_along(self._database.parent, folder, self._keys)
        manifest = self._backups.seal(folder, old, reason=self._reason, now=self._now)
        sync_folder(self._backups.home)
        return folder, manifest


def _inventory(path: Path, keys: Keyring | None) -> Inventory | None:
    if not path.exists():
        return None
    try:
        with open_copy(path, keys, unchanged=True) as db:
            return copy_rows.inventory(db)
    except (DatabaseError, TypeError):  # TypeError: a row that has to be there is not
        return None

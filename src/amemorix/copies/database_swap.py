"""The taking of the memory's place by a database that was made ready beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..audit_context import Act, acting, front_door
from ..errors import StorageFailure
from ..forgetting import operation_rows
from ..forgetting.operation_rows import Item
from ..forgetting.purge_copies import CopyErasing
from ..forgetting.purge_rows import ErasureRepository, Targets
from ..store import compaction
from ..store import copies as copy_rows
from ..store import portable as portable_rows
from ..store.audit import AuditRepository
from ..store.compaction import one_transaction, open_copy
from ..store.connection import DatabaseError, SqliteConnection
from ..store.copies import Inventory
from ..store.file_swap import DATABASE_FILE, decide, finish_exchange, incoming, link_or_copy, sync_folder
from .backup_folder import Backup, BackupFolder, Manifest, Reason
from .restore_indexes import take_indexes

__all__ = ["DatabaseTakeover", "takeover_act"]

RECORDS = {"delete_operations": "id", "delete_operation_items": "operation"}
"""Tables of what was purged, and the column that holds the operation."""


class DatabaseTakeover:
    """Exchanges the database of a closed memory; everything here is blocking.

    The old database is set aside as a backup first. A crash at any moment leaves the old one or the new one, whole.
    """

    def __init__(
        self,
        data: Path,
        backups: BackupFolder,
        *,
        reason: Reason,
        now: float,
        act: Act,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = data / DATABASE_FILE
        self._backups = backups
        self._reason: Reason = reason
        self._now = now
        self._act = act
        self._check = check
        self.aside: Backup | None = None
        self.done = False
        """Whether it was decided on."""
        self.erased = 0
        """Rows that had been purged since the copy was made, and went from it too."""

    def ready(self) -> None:
        """Look once more, while the memory is open and nobody calls it. Raises Conflict."""
        self._check()

    def perform(self) -> None:
        """Set the old database aside and let the new one take its place. Raises StorageFailure; nothing is changed then."""
        try:
            self._perform()
        except (OSError, DatabaseError) as exc:
            raise StorageFailure(f"{self._database} could not be exchanged: {exc}.", file=str(self._database)) from exc

    def _perform(self) -> None:
        finish_exchange(self._database)
        self._fold()
        new, old = incoming(self._database), self._inventory(self._database)
        mine = self._inventory(new)
        if old and mine and old.database_id == mine.database_id:
            self.erased = self._purged_again(new)
        copy_rows.skip_numbers(new, self._numbers(mine, old))
        aside = self._set_aside(old)
        self._note(new, aside[1].id if aside else "")
        decide(self._database)
        self.done = True
        take_indexes(self._database.parent, fit=not self.erased)
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
        with open_copy(self.aside.database, unchanged=True) as db:
            copy_rows.copy(db, again, lambda *_: None)
        decide(self._database)

    def _note(self, path: Path, aside: str) -> None:
        """Let the audit of the new rows say how they came here, and where those before them are."""
        if self._reason == "before_restore":
            self._act.name(set_aside=aside)
        with open_copy(path) as db, one_transaction(db):
            AuditRepository().put(db, self._act)

    def _fold(self) -> None:
        """Bring what a killed process left in the log into the database; a damaged one is left as it is."""
        log = self._database.with_name(f"{DATABASE_FILE}-wal")
        if log.exists() and log.stat().st_size:
            with suppress(DatabaseError), open_copy(self._database) as db:
                compaction.fold(db)

    def _inventory(self, path: Path) -> Inventory | None:
        if not path.exists():
            return None
        try:
            with open_copy(path, unchanged=True) as db:
                return copy_rows.inventory(db)
        except (DatabaseError, TypeError):  # TypeError: a row that has to be there is not
            return None

    def _numbers(self, mine: Inventory | None, old: Inventory | None) -> dict[str, int]:
        """The highest numbers that this database has given out in any of its histories."""
        wanted = mine.database_id if mine else ""
        known = [copy_rows.numbers(one.database) for one in self._backups.all() if one.manifest.database_id == wanted]
        known += [dict(old.numbers)] if old and old.database_id == wanted else []
        return {name: max(one.get(name, 0) for one in known) for name in {name for one in known for name in one}}

    def _purged_again(self, path: Path) -> int:
        """Erase from the copy what has been purged since it was made, and take over the records of it."""
        with open_copy(self._database, unchanged=True) as db:
            purged = operation_rows.purged(db)
            gone = self._gone(db, [item for operation in purged for item in operation_rows.open_items(db, operation)])
            persons = ErasureRepository().gone(db, "persons", gone.persons)
            columns = {table: portable_rows.tables(db)[table] for table in RECORDS}
            records = {table: list(_of(portable_rows.rows(db, table, columns[table]), columns[table].index(key), purged))
                       for table, key in RECORDS.items()}  # fmt: skip
        if not purged:
            return 0
        with open_copy(path) as db:
            with one_transaction(db):
                operation_rows.forget(db, purged)
                for table, rows in records.items():
                    portable_rows.write(db, table, columns[table], rows)
            erased = CopyErasing(gone, persons).erase(db)
            if erased:
                compaction.rewrite(db, path.stat().st_size)
        return erased.rows

    def _gone(self, db: SqliteConnection, items: Iterable[Item]) -> Targets:
        """Those of the items that have no row: what came back to life since stays."""
        rows = ErasureRepository()
        asked = Targets.of(dict.fromkeys((item.kind, item.id) for item in items))
        return Targets(
            rows.gone(db, "paragraphs", asked.paragraphs), (), rows.gone(db, "relations", asked.relations),
            rows.gone(db, "entities", asked.entities), rows.gone(db, "facts", asked.facts), asked.persons, asked.chats,
        )  # fmt: skip

    def _set_aside(self, old: Inventory | None) -> tuple[Path, Manifest] | None:
        """The old database in a folder that is to be a backup: under a second name, so it costs no time and no space."""
        if not self._database.exists():
            return None
        folder = self._backups.begin(self._backups.home, aside=True)
        link_or_copy(self._database, folder / DATABASE_FILE)
        log = self._database.with_name(f"{DATABASE_FILE}-wal")
        if log.exists() and log.stat().st_size:
            link_or_copy(log, folder / log.name)
        manifest = self._backups.seal(folder, old, reason=self._reason, now=self._now)
        sync_folder(self._backups.home)
        return folder, manifest


def takeover_act(action: str, now: float, *, backup: str = "", file: str = "", door: str = "") -> Act:
    """In whose name the rows are exchanged, and for what."""
    by = acting()
    act = Act("memory_runtime_admin", action, by.requested_by if by else "", door or front_door(), now)
    act.name({"file": file}, backup=backup)
    return act


def _of(rows: Iterable[tuple[Any, ...]], column: int, wanted: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    held = frozenset(wanted)
    return (row for row in rows if row[column] in held)

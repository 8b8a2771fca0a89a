"""The taking of a database's place by another file: after a crash at any moment it is the one or the other."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from ..errors import StorageFailure
from .private_files import sync_folder

__all__ = ["DATABASE_FILE", "REPLACED", "decide", "finish_exchange", "forget_incoming", "incoming", "link_or_copy"]

DATABASE_FILE = "memory.db"
REPLACED = "memory.replaced"
"""A second name of the database that another one takes the place of, until that was opened."""
_LOGS = ("-wal", "-shm", "-journal")
"""How the names of the files end that SQLite puts beside a database."""


def incoming(database: Path) -> Path:
    """Where a file is made ready that is to take the database's place."""
    return database.with_name(f"{database.name}.incoming")


def forget_incoming(database: Path) -> None:
    """Remove what a process that ended had made ready, and not decided on, or had not removed after it."""
    database.with_name(REPLACED).unlink(missing_ok=True)
    for suffix in ("", *_LOGS):
        database.with_name(f"{incoming(database).name}{suffix}").unlink(missing_ok=True)


def decide(database: Path) -> None:
    """The incoming file is the database from now on; the database has to be closed. Blocking."""
    os.replace(incoming(database), _decided(database))
    sync_folder(database.parent)
    finish_exchange(database)


def finish_exchange(database: Path) -> None:
    """Carry out what was decided, also before a crash; nothing happens if nothing was.

    The log of the database before goes first: SQLite would apply it to whatever file has the name.
    """
    decided = _decided(database)
    if not decided.exists():
        return
    try:
        for suffix in _LOGS:
            database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
        sync_folder(database.parent)
        os.replace(decided, database)
        sync_folder(database.parent)
    except OSError as exc:
        raise StorageFailure(f"{database} cannot be exchanged: {exc.strerror}.", file=str(database)) from exc


def link_or_copy(file: Path, to: Path) -> None:
    """Give the file a second name, or copy it where the file system has no such names."""
    with contextlib.suppress(OSError):
        os.link(file, to)
        return
    shutil.copyfile(file, to)


def _decided(database: Path) -> Path:
    return database.with_name(f"{database.name}.decided")

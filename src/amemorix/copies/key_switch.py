"""Encryption switched on or off, where no memory is open; everything here is blocking."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..errors import Conflict, StorageFailure
from ..importing.roots import IMPORTS, STAGING
from ..store import compaction
from ..store import copies as copy_rows
from ..store.compaction import open_copy
from ..store.driver import PageKey
from ..store.file_swap import DATABASE_FILE, REPLACED, decide, finish_exchange, incoming, link_or_copy
from ..store.keys import Keyring, is_plain
from ..store.sealed_files import SealedWriter, is_sealed, opened_chunks
from .backups import room
from .database_swap import INDEXES

__all__ = ["decrypt", "encrypt"]

BLOCK = 1 << 20
PLAIN = PageKey(None)


def encrypt(folder: Path, keys: Keyring) -> bool:
    """Put an encrypted copy in the place of a plain database; False if it is encrypted already.

    What was in the clear is overwritten and removed, which the medium need not honour. Raises StorageFailure, Conflict.
    """
    database = folder / DATABASE_FILE
    finish_exchange(database)
    switched = is_plain(database)
    if switched:
        _exchange(database, PLAIN, keys.page_key(), keys)
    _wipe(folder / REPLACED, folder / "memory.before-migration", *(folder / INDEXES).rglob("*"))
    shutil.rmtree(folder / INDEXES, ignore_errors=True)
    for path in _staged(folder):
        if not is_sealed(path):
            draft, old = path.with_name(f".{path.name}.draft"), path.with_name(f".{path.name}.old")
            with SealedWriter(draft, keys, as_=path) as sealed, path.open("rb") as file:
                while block := file.read(BLOCK):
                    sealed.write(block)
            link_or_copy(path, old)
            os.replace(draft, path)
            _wipe(old)
    return switched


def decrypt(folder: Path, keys: Keyring) -> bool:
    """The opposite; the keys stay, for backups that are encrypted with them."""
    database = folder / DATABASE_FILE
    finish_exchange(database)
    switched = database.exists() and not is_plain(database)
    if switched:
        _exchange(database, keys.page_key(database), PLAIN, keys)
    (folder / REPLACED).unlink(missing_ok=True)
    (folder / "memory.before-migration").unlink(missing_ok=True)
    shutil.rmtree(folder / INDEXES, ignore_errors=True)
    for path in _staged(folder):
        if is_sealed(path):
            draft = path.with_name(f".{path.name}.draft")
            with draft.open("wb") as file:
                for chunk in opened_chunks(path, keys):
                    file.write(chunk)
            os.replace(draft, path)
    return switched


def _exchange(database: Path, read: PageKey, write: PageKey, keys: Keyring) -> None:
    """Let a copy that is encrypted otherwise take the database's place; a crash leaves the one or the other."""
    log = database.with_name(f"{DATABASE_FILE}-wal")
    if log.exists() and log.stat().st_size:
        with open_copy(database, keys) as db:
            if not compaction.fold(db):
                raise Conflict(f"{database} is in use.")
    to, replaced = incoming(database), database.with_name(REPLACED)
    try:
        room(database.parent, database.stat().st_size)
        to.unlink(missing_ok=True)
        copy_rows.convert(database, to, read, write)
        replaced.unlink(missing_ok=True)
        link_or_copy(database, replaced)
    except OSError as exc:
        to.unlink(missing_ok=True)
        raise StorageFailure(f"{to} cannot be written: {exc.strerror}.", file=str(to)) from exc
    decide(database)


def _staged(folder: Path) -> list[Path]:
    """The files that wait to be imported, without what a crash left beside them."""
    found = sorted((folder / IMPORTS / STAGING).glob("u*/*"))
    whole = [path for path in found if not path.name.startswith(".")]
    for left in (path for path in found if path.name.startswith(".")):
        if any(left.samefile(path) for path in whole):
            left.unlink()  # a second name of what is there still
        _wipe(left)
    return whole


def _wipe(*paths: Path) -> None:
    """Overwrite files and remove them."""
    for path in paths:
        if path.is_file() and not path.is_symlink():
            size = path.stat().st_size
            with path.open("rb+") as file:
                for at in range(0, size, BLOCK):
                    file.write(os.urandom(min(BLOCK, size - at)))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()

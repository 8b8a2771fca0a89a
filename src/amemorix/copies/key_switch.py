"""Encryption switched on or off, where no memory is open; everything here is blocking."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from ..config.model import Encryption
from ..errors import Conflict, StorageFailure
from ..importing.staging import is_staged_id
from ..indexes import snapshot
from ..store import changes as change_log
from ..store import compaction
from ..store import copies as copy_rows
from ..store.compaction import open_copy
from ..store.data_directory import BEFORE_MIGRATION, STAGED, index_folders, kind_by_name, purge_files
from ..store.driver import PageKey
from ..store.file_swap import DATABASE_FILE, REPLACED, decide, finish_exchange, incoming, link_or_copy
from ..store.keys import KEYS_FILE, Keyring, is_plain, read_secret
from ..store.lock import DirectoryLock
from ..store.private_files import private_opener, replace_text
from ..store.sealed_files import SealedWriter, is_sealed, opened_chunks
from .backup_folder import BACKED_UP, SETTINGS, Backup, BackupFolder, take_keys_along
from .backups import examined, room
from .database_swap import PurgeAgain
from .worker import CopyThread

__all__ = ["BackupSwitch", "decrypt", "encrypt", "resume_switch"]

log = logging.getLogger(__name__)
BLOCK = 1 << 20
PLAIN = PageKey(None)


@dataclass(frozen=True, slots=True)
class _Switch:
    """A switch under way: how the database is from then on, and the SHA-256 of that file, wherever the memory is by now.

    It is noted beside the settings, for whoever may write there may switch encryption off; the data directory alone has
    no say in it, nor has any other file that is laid there.
    """

    encrypted: bool
    sha256: str


_SWITCH = TypeAdapter(_Switch)


def encrypt(folder: Path, keys: Keyring, note: Path | None = None) -> bool:
    """Put an encrypted copy in the place of a plain database; False if it is encrypted already.

    What was in the clear is overwritten and removed, which the medium need not honour. With a `note`, a file beside the
    settings that are to say so, `resume_switch` finishes what a crash cut short. Raises StorageFailure, Conflict.
    """
    database = folder / DATABASE_FILE
    finish_exchange(database)
    switched = is_plain(database)
    if switched:
        _exchange(database, PLAIN, keys.page_key(), keys, note)
    _wipe(folder / REPLACED, folder / BEFORE_MIGRATION)
    for place in index_folders(folder):
        snapshot.remove(place, _wipe)
    for path in _staged(folder):
        if not is_sealed(path):
            draft, old = path.with_name(f".{path.name}.draft"), path.with_name(f".{path.name}.old")
            _seal(path, draft, keys, as_=path)
            link_or_copy(path, old)
            os.replace(draft, path)
            _wipe(old)
    return switched


def decrypt(folder: Path, keys: Keyring, note: Path | None = None) -> bool:
    """The opposite; the keys stay, for backups that are encrypted with them."""
    database = folder / DATABASE_FILE
    finish_exchange(database)
    switched = database.exists() and not is_plain(database)
    if switched:
        _exchange(database, keys.page_key(database), PLAIN, keys, note)
    (folder / REPLACED).unlink(missing_ok=True)
    (folder / BEFORE_MIGRATION).unlink(missing_ok=True)
    for place in index_folders(folder):
        snapshot.remove(place)
    for path in _staged(folder):
        if is_sealed(path):
            draft = path.with_name(f".{path.name}.draft")
            try:
                _unseal(path, draft, keys)
            except (
                ValueError
            ) as exc:  # what a purge looked for is done without, and an import says that it cannot read its file
                draft.unlink(missing_ok=True)
                log.warning("%s stays encrypted: %s", path, exc)
                continue
            os.replace(draft, path)
    return switched


def resume_switch(note: Path, settings: Encryption, folder: Path, environ: Mapping[str, str]) -> bool | None:
    """Finish a switch that a crash cut short after its files were exchanged; whether the memory is encrypted from now on.

    None if the database is not the file that the switch made: nothing was exchanged, or somebody laid another there.
    Raises StorageFailure, which names the command, and DirectoryInUse.
    """
    try:
        switch = _SWITCH.validate_json(note.read_bytes())
    except (OSError, ValueError):
        return None
    lock = DirectoryLock(folder)
    try:
        database = folder / DATABASE_FILE
        finish_exchange(database)
        if not database.exists() or _sha256(database) != switch.sha256:
            return None
        finish, command = (encrypt, "enable") if switch.encrypted else (decrypt, "disable")
        try:
            secret = read_secret(settings, folder, environ)
            finish(folder, Keyring.read(folder / KEYS_FILE, secret, cache_mb=settings.cache_mb))
        except StorageFailure as exc:
            raise StorageFailure(
                f"`amemorix key {command}` was cut short, and cannot be finished: {exc}", **exc.details
            ) from exc
        return switch.encrypted
    finally:
        lock.release()


class BackupSwitch:
    """Encrypts the backups of a memory too, or decrypts them: all of them, or none.

    What was purged while a backup could not be read goes from it on the way.
    """

    def __init__(
        self, folder: Path, backups: BackupFolder, keys: Keyring, *, encrypted: bool, purge_again: PurgeAgain
    ) -> None:
        """Choose what is not so yet, elsewhere too if it is of this memory. Raises Conflict if one cannot be switched."""
        self._backups, self._keys, self._encrypted = backups, keys, encrypted
        self._database, self._purge_again = folder / DATABASE_FILE, purge_again
        backups.sweep()
        own, database = None, self._database
        if database.exists():
            with open_copy(database, keys, unchanged=True) as db:
                own = change_log.get(db, "database_id")
        self._own = own
        self._wanted = [
            one for one in backups.all()
            if is_plain(one.database) is encrypted and (backups.home in one.folder.parents or one.manifest.database_id == own)
        ]  # fmt: skip
        thread = CopyThread()
        try:
            for one in self._wanted:
                log = one.database.with_name(f"{DATABASE_FILE}-wal")
                problems = ["its write-ahead log lies beside it"] if log.exists() else examined(one, keys, thread)
                if problems:
                    raise Conflict(f"The backup {one.folder} cannot be taken along: {problems[0]}. Delete it, or leave the "
                                   "backups as they are.", backup=one.manifest.id, problems=problems)  # fmt: skip
                room(one.folder.parent, one.bytes)
        finally:
            thread.close()

    def carry_out(self) -> int:
        """Write them anew, one after the other, and remove what they were; how many. What is left of a crash goes on with
        another call."""
        for one in self._wanted:
            try:
                old = self._backups.exchange(one, lambda new, one=one: self._fill(one, new))
                _wipe(*(path for path in old.iterdir() if kind_by_name(path.name) in BACKED_UP))
                shutil.rmtree(old, ignore_errors=True)
            except OSError as exc:
                path = str(exc.filename or one.folder)
                raise StorageFailure(f"{path} cannot be written: {exc.strerror or exc}.", file=path) from exc
        return len(self._wanted)

    def _fill(self, backup: Backup, new: Path) -> int:
        keys, database, erased = self._keys, new / DATABASE_FILE, 0
        write = keys.page_key() if self._encrypted else PLAIN
        copy_rows.convert(backup.database, database, keys.page_key(backup.database), write)
        if backup.manifest.database_id == self._own:
            erased = self._purge_again(self._database, database, keys)
        if (settings := backup.folder / SETTINGS).exists():
            if self._encrypted:
                _seal(settings, new / SETTINGS, keys)
            else:
                _unseal(settings, new / SETTINGS, keys)
        if self._encrypted:
            take_keys_along(keys.folder, new, keys)
        return erased


def _exchange(database: Path, read: PageKey, write: PageKey, keys: Keyring, note: Path | None) -> None:
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
        if note:
            switch = _Switch(write.raw is not None, _sha256(to))
            replace_text(note, json.dumps(asdict(switch)))
    except OSError as exc:
        to.unlink(missing_ok=True)
        path = str(exc.filename or to)
        raise StorageFailure(f"{path} cannot be written: {exc.strerror}.", file=path) from exc
    decide(database)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal(path: Path, to: Path, keys: Keyring, *, as_: Path | None = None) -> None:
    with SealedWriter(to, keys, as_=as_) as sealed, path.open("rb") as file:
        while block := file.read(BLOCK):
            sealed.write(block)


def _unseal(path: Path, to: Path, keys: Keyring) -> None:
    with open(to, "wb", opener=private_opener) as file:
        for chunk in opened_chunks(path, keys):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _staged(folder: Path) -> list[Path]:
    """The files that wait to be imported, and what purges under way look for, without what a crash left beside them."""
    staged = (path for path in sorted((folder / STAGED).glob("u*/*")) if is_staged_id(path.parent.name))
    found = [path for path in (*staged, *purge_files(folder), *folder.glob(".memory.purge-d*")) if path.is_file()]
    drafts = [
        path for path in found if path.name.startswith((".", "memory.purge-")) and path.suffix in (".draft", ".old")
    ]
    whole = [path for path in found if path not in drafts]
    for left in drafts:
        if any(left.samefile(path) for path in whole):
            left.unlink()  # a second name of what is there still
        _wipe(left)
    return whole


def _wipe(*paths: Path) -> None:
    """Overwrite files and remove them."""
    for path in paths:
        if path.is_file() and not path.is_symlink():
            found = path.stat()
            if found.st_nlink == 1:  # what has another name is somebody's copy
                with path.open("rb+") as file:
                    for at in range(0, found.st_size, BLOCK):
                        file.write(os.urandom(min(BLOCK, found.st_size - at)))
                    file.flush()
                    os.fsync(file.fileno())
            path.unlink()

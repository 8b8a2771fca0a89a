"""The keys of a running memory: which there are and what needs them, another secret, another data key."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..audit_context import acting
from ..clock import Clock
from ..config.model import Encryption
from ..errors import Conflict, InvalidRequest, StorageFailure
from ..importing.roots import IMPORTS, STAGING
from ..runtime_status import RuntimeStatus
from ..store import copies as copy_rows
from ..store import operations as operation_rows
from ..store.compaction import open_copy
from ..store.data_directory import INDEXES, FileKind, kind_of
from ..store.file_swap import DATABASE_FILE, REPLACED, decide, forget_incoming, incoming, link_or_copy
from ..store.keys import DataKey, Keyring, is_plain, read_secret
from ..store.metadata_store import MetadataStore, noted
from ..store.private_files import sync_file
from ..store.queries import DatabaseError
from ..store.sealed_files import is_sealed, key_of, opened_chunks
from .age_files import is_age
from .backup_folder import MANIFEST, BackupFolder
from .backups import hosted, no_purge, room
from .worker import CopyThread

__all__ = ["FilesByKey", "KeyService", "Rotation"]

READABLE = (MANIFEST, "current.json")
"""Files of numbers and ids."""


@dataclass(frozen=True, slots=True)
class FilesByKey:
    """The files below the data directory, and backups elsewhere, by what they are encrypted with."""

    of_key: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Id of a key -> files; those of keys that are not there under an empty one."""
    plain: list[str] = field(default_factory=list[str])
    """Databases and files of texts in the clear."""
    age: list[str] = field(default_factory=list[str])
    """Exports that are encrypted to somebody, or by a passphrase."""

    @classmethod
    def found(cls, folder: Path, backups: BackupFolder, keys: Keyring) -> FilesByKey:
        """Look at every file but the database in use. Blocking."""
        made = cls()
        elsewhere = [one.folder for one in backups.all() if folder not in one.folder.parents]
        # not rglob: before Python 3.13 it fails where an index is written anew meanwhile
        walked = (walk for place in (folder, *elsewhere) for walk in os.walk(place))
        for path in sorted(Path(at, name) for at, _, names in walked for name in names):
            kind = kind_of(folder, path)
            if not path.is_file() or kind in (FileKind.LIVE, FileKind.NOTE):
                continue
            name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
            with suppress(FileNotFoundError):
                if is_sealed(path):
                    key = key_of(path, keys)
                elif kind == FileKind.DATABASE and not is_plain(path):
                    key = keys.fitting(path)
                else:
                    if path.name not in READABLE and kind != FileKind.KEYS:
                        (made.age if is_age(path) else made.plain).append(name)
                    continue
                made.of_key.setdefault(key.id if key else "", []).append(name)
        return made


@dataclass(frozen=True, slots=True)
class Rotation:
    """One data key that took the place of another, and the files that are encrypted with that still, but for indexes."""

    key: DataKey
    retired: DataKey
    needed_by: list[str]


class KeyService:
    """Everything here raises Conflict for a memory that is not encrypted."""

    def __init__(
        self, store: MetadataStore, *, backups: BackupFolder, settings: Encryption, environ: Mapping[str, str], clock: Clock,
        thread: CopyThread,
    ) -> None:  # fmt: skip
        self._store = store
        self._backups = backups
        self._settings = settings
        self._environ = environ
        self._clock = clock
        self._thread = thread

    @property
    def keys(self) -> Keyring:
        if self._store.keys is None:
            raise Conflict("The memory is not encrypted: `amemorix key enable` encrypts it.")
        return self._store.keys

    async def files(self) -> FilesByKey:
        """Which files are encrypted with which key."""
        return await asyncio.to_thread(FilesByKey.found, self._store.folder, self._backups, self.keys)

    async def change(self, key_env: str, key_file: str) -> None:
        """Wrap the keys by the secret that the variable or file holds. Raises Conflict, InvalidRequest, StorageFailure."""
        keys = self.keys
        if bool(key_env) == bool(key_file):
            raise InvalidRequest(
                "key_env: name the variable that holds the new secret, or in its place key_file.", field="key_env"
            )
        where = self._settings.model_copy(update={"key_env": key_env, "key_file": key_file, "key_command": ()})
        secret = await asyncio.to_thread(read_secret, where, self._store.folder, self._environ)
        async with self._store.using_files():
            await asyncio.to_thread(keys.change, secret)
            await noted(self._store)

    async def verify(self) -> list[str]:
        """Read the database and every encrypted file from end to end; what is wrong with them."""
        keys, problems = self.keys, await self._store.read(copy_rows.faults)

        def look() -> None:
            found = FilesByKey.found(self._store.folder, self._backups, keys)
            problems.extend(
                f"{name}: no key that is there fits it, or it is damaged" for name in found.of_key.pop("", [])
            )
            for name in (name for names in found.of_key.values() for name in names):
                self._thread.go_on()
                path = self._store.folder / name
                try:
                    if is_sealed(path):
                        for _ in opened_chunks(path, keys):
                            pass
                    else:
                        with open_copy(path, keys, unchanged=True) as db:
                            problems.extend(f"{name}: {wrong}" for wrong in copy_rows.faults(db))
                except FileNotFoundError:
                    continue
                except (DatabaseError, OSError, ValueError) as exc:
                    problems.append(f"{name}: {exc}")

        with self._thread.doing("verify"):
            await self._thread.run(look)
        return problems

    async def rotate(self, status: RuntimeStatus, kernel: object) -> Rotation:
        """Encrypt the memory with a new random key; calls go on until the new file takes the place of the old one.

        `kernel` and all of its services must not be used afterwards. Raises Conflict beside a purge, a restore or another
        rotation, StorageFailure; nothing is changed then.
        """
        reopen, keys, store = hosted(status), self.keys, self._store
        database = store.folder / DATABASE_FILE

        async def given_up() -> None:
            await store.give_up_copy()
            await asyncio.to_thread(forget_incoming, database)

        async with store.exchanging_files():
            with self._thread.doing("rotation"):
                await self._thread.run(lambda: no_purge(store))
                self._thread.step("copying")
                retired, found = keys.current, await self.files()
                room(store.folder, database.stat().st_size)
                key = await asyncio.to_thread(keys.add, self._clock.now())
                done = Rotation(key, retired, _lasting(found.of_key.get(retired.id, ())))
                takeover = _Rekeyed(database, keys, key, now=self._clock.now())
                try:
                    await noted(store)  # before the copy is whole: it is in there
                    await store.write(
                        lambda db: operation_rows.note_rotation(db, retired=retired, key=key, needed_by=done.needed_by)
                    )
                    await store.copy_until_closed(incoming(database), keys.page_key_of(key))
                    if act := acting():
                        act.over = True
                    await reopen(kernel, takeover)
                except BaseException:
                    if not takeover.done:
                        await asyncio.shield(given_up())
                    raise
        await asyncio.to_thread((store.folder / REPLACED).unlink, missing_ok=True)
        return done

    async def prune(self) -> None:
        """Forget retired keys that no file needs; none while there are files whose key cannot be told."""
        keys, store = self._store.keys, self._store
        if keys is None or store.exchanging:
            return
        async with store.using_files():
            needed = (await self.files()).of_key
            if "" not in needed:
                await asyncio.to_thread(keys.forget_retired, needed)


def _lasting(names: Iterable[str]) -> list[str]:
    """Without indexes, which are written anew; a file that waits to be imported goes by its id, for its name may quote somebody."""
    staged = f"{IMPORTS}/{STAGING}/"
    shown = (str(PurePosixPath(name).parent) if name.startswith(staged) else name for name in names)
    return [name for name in shown if not name.startswith(f"{INDEXES}/")]


class _Rekeyed:
    """The exchange of the database for its copy with another key."""

    def __init__(self, database: Path, keys: Keyring, key: DataKey, *, now: float) -> None:
        self._database = database
        self._keys = keys
        self._old, self._new = keys.current, key
        self._now = now
        self.done = False

    def ready(self) -> None:
        """The copy follows every write until the memory is closed."""

    def perform(self) -> None:
        """Compare the copy with the database and let it take the place. Raises StorageFailure; nothing is changed then."""
        new = incoming(self._database)
        try:
            held = []
            for path in (self._database, new):
                with open_copy(path, self._keys, unchanged=True) as db:
                    held.append((copy_rows.inventory(db), copy_rows.kept(db)))
            if held[0] != held[1]:
                raise StorageFailure("The copy with the new key does not hold what the database holds.", file=str(new))
            sync_file(new)
            replaced = self._database.with_name(REPLACED)
            replaced.unlink(missing_ok=True)
            link_or_copy(self._database, replaced)
            decide(self._database)
            self.done = True
            self._keys.make_current(self._new, self._now)
        except (OSError, DatabaseError) as exc:
            raise StorageFailure(f"{self._database} could not be exchanged: {exc}.", file=str(self._database)) from exc

    def undo(self) -> None:
        """Put the database with the old key back."""
        os.replace(self._database.with_name(REPLACED), incoming(self._database))
        decide(self._database)
        self._keys.make_current(self._old, self._now)

"""Backups of the running memory: made, checked, put back, thrown away."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

from ..audit_context import Act, acting, acting_as
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config import patched
from ..config.model import Config
from ..errors import Conflict, NotReady, StorageFailure
from ..runtime_status import Reopen, RuntimeStatus
from ..store import copies as copy_rows
from ..store import operations as operation_rows
from ..store.compaction import open_copy
from ..store.copies import HIGHEST_NUMBER
from ..store.file_swap import DATABASE_FILE, forget_incoming, incoming
from ..store.keys import KEYS_FILE, Keyring, is_plain
from ..store.metadata_store import MetadataStore, noted
from ..store.migrations import check
from ..store.queries import DatabaseError
from ..store.sealed_files import new_file
from .backup_folder import MANIFEST, SETTINGS, Backup, BackupFolder, Reason, sealed, take_keys_along
from .database_swap import DatabaseTakeover, PurgeAgain
from .worker import CopyThread

__all__ = ["BackupService", "Restoration", "carried_out", "examined", "hosted", "no_purge", "put_in_place", "room"]

T = TypeVar("T")
LOOK_SECONDS = 30.0
SPARE_BYTES = 16 << 20
"""What has to be left on the disk beside a copy."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """What was put back, and where the rows before it are."""

    backup: Backup
    aside: Backup | None
    erased: int


class BackupService:
    """Copies the database while it is in use, and exchanges it for a copy.

    A copy is one snapshot: it holds every write that was acknowledged before it began, and nothing of a write by half.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        clock: Clock,
        thread: CopyThread,
        purge_again: PurgeAgain,
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._purge_again = purge_again
        self._thread = thread
        self.folder = BackupFolder(store.folder, config.backup.roots, store.keys)

    async def make(self, reason: Reason = "manual", to: str = "") -> Backup:
        """Back the memory up, into the data directory or a folder within a root.

        Raises InvalidRequest for a path that is outside or in another backup, StorageFailure if the disk refuses.
        """
        permitted = self.folder.permitted(to, "path") if to else self.folder.home
        place = self.folder.beside_backups(permitted, "path") if to else permitted
        async with self._store.using_files():
            with self._thread.doing("backup"):
                made = await self._thread.run(lambda: self._made(place, reason))
                if reason == "scheduled":
                    await self._thread.run(lambda: self.folder.prune(reason, self._config.backup.keep))
            await noted(self._store, backup=made.manifest.id)
        return made

    async def list(self) -> list[Backup]:
        """Every backup that is within reach, the newest first."""
        return await asyncio.to_thread(self.folder.all)

    async def verify(self, which: str) -> tuple[Backup, list[str]]:
        """Read a backup from end to end: (the backup, what is wrong with it). Raises NotFound, InvalidRequest."""
        backup = await asyncio.to_thread(self.folder.find, which)
        with self._thread.doing("verify"):
            problems = await self._thread.run(lambda: examined(backup, self._store.keys, self._thread))
        if problems:  # it may have gone meanwhile
            await asyncio.to_thread(self.folder.find, which)
        return backup, problems

    async def delete(self, which: str) -> Backup:
        """Remove a backup. Raises NotFound, InvalidRequest, StorageFailure."""
        backup = await asyncio.to_thread(self.folder.find, which)
        async with self._store.using_files():
            try:
                await self._thread.run(lambda: self.folder.remove(backup))
            except OSError as exc:
                told = f"{backup.folder} cannot be removed: {exc.strerror}."
                raise StorageFailure(told, file=str(backup.folder)) from exc
            await noted(self._store, backup=backup.manifest.id)
        return backup

    async def restore(self, which: str, status: RuntimeStatus, kernel: object) -> Restoration:
        """Put a backup in the place of the rows that are there; these are set aside as a backup.

        The memory is closed and opened again meanwhile: `kernel` and all of its services must not be used afterwards.
        Raises NotFound, InvalidRequest; Conflict if the backup is damaged, a purge or another
        restore is under way or calls do not end.
        """
        reopen = hosted(status)
        backup = await asyncio.to_thread(self.folder.find, which)
        takeover = DatabaseTakeover(
            self._store.folder, self.folder, "restore_backup", now=self._clock.now(), backup=backup.manifest.id,
            purge_again=self._purge_again, check=lambda: no_purge(self._store),
        )  # fmt: skip
        await carried_out(
            lambda: put_in_place(self._store.folder, backup, self._store.keys, self._thread), reopen, kernel, takeover,
            store=self._store, thread=self._thread, what="restore",
        )  # fmt: skip
        await asyncio.to_thread(self.folder.prune, "before_restore", self._config.backup.keep)
        return Restoration(backup, takeover.aside, takeover.erased)

    async def run(self) -> None:
        """Back up as often as configured, for ever; ends when cancelled."""
        await asyncio.to_thread(self.folder.sweep)
        every = self._config.backup.every_hours * 3600
        if every:
            await run_forever(self.due, what="the backup", pause=min(LOOK_SECONDS, every), idle_share=0)

    async def due(self) -> bool:
        """Make the scheduled backup if it is time; whether one was made."""
        last = next((one for one in await self.list() if one.manifest.reason == "scheduled"), None)
        every = self._config.backup.every_hours * 3600
        if self._store.exchanging or (last and self._clock.now() - last.manifest.created_at < every):
            return False
        with acting_as(Act("background", "backup", "", "memory", self._clock.now())):
            await self.make("scheduled")
        return True

    # on the thread

    def _made(self, place: Path, reason: Reason) -> Backup:
        try:
            folder = self.folder.begin(place)
            try:
                self._thread.step("copying")
                room(folder, self._store.files[0].stat().st_size)
                to, now, keys = folder / DATABASE_FILE, self._clock.now(), self._store.keys
                found = self._store.read_here(lambda db: copy_rows.copy(db, to, self._thread.so_far, keys))
                with new_file(folder / SETTINGS, keys) as file:
                    file.write(settings_text(self._config).encode())
                take_keys_along(self._store.folder, folder, keys)
                self._thread.step("sealing", to.stat().st_size)
                manifest = self.folder.seal(folder, found, reason=reason, now=now, watch=self._thread.more)
                return self.folder.publish(folder, manifest)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as exc:
            path = str(exc.filename or place)
            raise StorageFailure(f"{path} cannot be written: {exc.strerror or exc}.", file=path) from exc


def no_purge(store: MetadataStore) -> None:
    """Raises Conflict while a purge is under way. Blocking."""
    if store.read_here(operation_rows.purging):
        raise Conflict("A purge is under way: what it erases would come back. Wait until it is done.")


def hosted(status: RuntimeStatus) -> Reopen:
    """How the memory is opened anew. Raises Conflict if nobody hosts it."""
    if status.reopen is None:
        raise Conflict("Nobody hosts this memory, so it cannot be opened anew over other rows.")
    return status.reopen


async def carried_out(
    make_ready: Callable[[], T],
    reopen: Reopen,
    kernel: object,
    takeover: DatabaseTakeover,
    *,
    store: MetadataStore,
    thread: CopyThread,
    what: str,
) -> T:
    """Make the rows ready and exchange them; what was made ready goes if nothing came of it.

    A purge that was begun before is seen here: the exchange would wait for the call that waits for it.
    """
    async with store.exchanging_files():
        with thread.doing(what):
            try:
                await thread.run(lambda: no_purge(store))
                ready = await thread.run(make_ready)
                await thread.run(lambda: no_purge(store))
                if act := acting():
                    act.over = True  # the exchange notes itself; what opening the memory writes is nobody's doing
                await reopen(kernel, takeover)
            except BaseException:
                if not takeover.done:
                    await asyncio.shield(asyncio.to_thread(forget_incoming, store.folder / DATABASE_FILE))
                raise
    return ready


def examined(backup: Backup, keys: Keyring | None, thread: CopyThread) -> list[str]:
    """Compare the files with the manifest and look through the database; without problems it can be restored. Blocking."""
    try:
        thread.step("checksums", backup.bytes)
        wanted, found = backup.manifest.files, sealed(backup.folder, thread.more)
        problems = [f"{name} is missing" for name in wanted if name not in found]
        if backup.database.name not in wanted:
            problems.append("the manifest names no database")
        problems += [
            f"{name} is not what was written" for name in wanted if found.get(name, wanted[name]) != wanted[name]
        ]
        thread.step("contents")
        changed = [] if backup.manifest.intact else [f"{MANIFEST} is not what was written"]
        return [*problems, *_damage(backup, keys), *changed]
    except OSError as exc:
        return [f"{exc.filename or backup.folder} cannot be read: {exc.strerror}"]


def _damage(backup: Backup, keys: Keyring | None) -> list[str]:
    if not backup.manifest.sound:
        return ["the database was damaged when it was set aside"]
    if not backup.database.exists():
        return []
    if (backup.folder / KEYS_FILE).exists() and not is_plain(backup.database):
        if keys is None:
            return ["it is encrypted, and this memory is not"]
        if keys.fitting(backup.database) is None:
            return [
                f"its key is not there, or the first page is damaged: the secret does not fit {KEYS_FILE} beside it"
            ]
    try:
        with open_copy(backup.database, keys, unchanged=True) as db:
            check(db)
            found, problems = copy_rows.inventory(db), copy_rows.faults(db)
    except (DatabaseError, StorageFailure, TypeError) as exc:
        return [f"the database cannot be read: {exc}"]
    held = backup.manifest
    for name, count in held.counts.items():
        if found.counts.get(name, 0) != count:
            problems.append(f"{name} holds {found.counts.get(name, 0)} rows, not {count}")
    if (found.database_id, found.schema, found.last) != (held.database_id, held.schema, held.change_seq):
        problems.append("the database is another one than the manifest describes")
    if dict(found.numbers) != held.numbers or max(held.numbers.values(), default=0) > HIGHEST_NUMBER:
        problems.append("the database has given out other numbers than the manifest says")
    return problems


def put_in_place(data: Path, backup: Backup, keys: Keyring | None, thread: CopyThread) -> None:
    """Check a backup, and make the copy of it that is to be the database. Blocking.

    Raises Conflict if the backup is damaged, StorageFailure if the disk refuses.
    """
    if problems := examined(backup, keys, thread):
        told = f"backup: {backup.manifest.id} cannot be restored: {problems[0]}."
        raise Conflict(told, field="backup", problems=problems)
    to = incoming(data / backup.database.name)
    try:
        room(data, backup.bytes)
        to.unlink(missing_ok=True)
        thread.step("copying")
        if keys and is_plain(backup.database):
            copy_rows.convert(backup.database, to, keys.page_key(backup.database), keys.page_key())
        else:
            with open_copy(backup.database, keys, unchanged=True) as db:
                copy_rows.copy(db, to, thread.so_far, keys)
        copy_rows.make_ready(to, keys)
    except (OSError, DatabaseError, NotReady, StorageFailure) as exc:
        to.unlink(missing_ok=True)
        if isinstance(exc, (NotReady, StorageFailure)):
            raise
        raise StorageFailure(f"{to} cannot be written: {exc}.", file=str(to)) from exc


def room(folder: Path, wanted: int) -> None:
    """Raises StorageFailure if the disk has not so much room."""
    free = shutil.disk_usage(folder).free
    if free < wanted + SPARE_BYTES:
        raise StorageFailure(
            f"The disk of {folder} has {free >> 20} MB left, and {wanted >> 20} MB are wanted.", file=str(folder)
        )


def settings_text(config: Config) -> str:
    """The settings that are not the defaults, without what addresses may hold of names and passwords."""
    values = config.model_dump(mode="json", exclude_defaults=True)
    for section in ("embedding", "chat"):
        if url := values.get(section, {}).get("base_url"):
            parts = urlsplit(url)
            bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="")
            values[section]["base_url"] = urlunsplit(bare)
    return patched("", values)

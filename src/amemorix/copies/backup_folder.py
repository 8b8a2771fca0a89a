"""The backups of a memory on disk: a folder each, whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from ..errors import InvalidRequest, NotFound
from ..indexes.snapshot import process_mark, seal_of
from ..lazy_regex import lazy_regex
from ..store import copies as copy_rows
from ..store.compaction import open_copy
from ..store.copies import Inventory
from ..store.data_directory import BACKUPS, FileKind, kind_by_name
from ..store.file_swap import DATABASE_FILE
from ..store.keys import KEYS_FILE, Keyring
from ..store.private_files import make_private, replace_text, sync_folder

__all__ = [
    "BACKED_UP",
    "MANIFEST",
    "ON_PURPOSE",
    "SETTINGS",
    "Backup",
    "BackupFolder",
    "Manifest",
    "Reason",
    "sealed",
    "take_keys_along",
]

log = logging.getLogger(__name__)
MANIFEST = "manifest.json"
SETTINGS = "memory.toml"
"""The settings at work when the backup was made."""
FORMAT = "amemorix-backup"
UNFINISHED, ASIDE = ".partial-", ".aside-"
BLOCK = 1 << 20
BACKED_UP = (FileKind.DATABASE, FileKind.SETTINGS, FileKind.KEYS)
"""What a backup is made of beside its manifest."""
Reason = Literal["manual", "scheduled", "before_restore", "before_import"]
ON_PURPOSE = ("manual", "scheduled")
"""Reasons of backups that were made to be restored; the others are of what was set aside."""
_LEFT = lazy_regex(rf"{re.escape(UNFINISHED)}[0-9a-f]+-[0-9a-f]+-[0-9a-f]{{12}}")
_SET_ASIDE = lazy_regex(rf"{re.escape(ASIDE)}[0-9a-f]{{12}}")
_ID = lazy_regex(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
Watch = Callable[[int], None]
"""Told of so many more bytes; raises to end the work."""


@dataclass(frozen=True, slots=True)
class FileSeal:
    """What tells that a file is the one that was written."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds; it tells numbers and ids only, never a text."""

    id: str
    created_at: float
    reason: Reason
    database_id: str
    schema: int
    change_seq: int
    counts: dict[str, int]
    numbers: dict[str, int]
    files: dict[str, FileSeal]
    sound: bool = True
    """False for a database that was set aside because it could not be read."""
    purged: int = 0
    """How often rows were erased from it since."""
    format: Literal["amemorix-backup"] = FORMAT
    version: Literal[1, 2] = 1
    seal: int = 0
    """Checksum of all the other fields, from version 2 on."""

    @property
    def intact(self) -> bool:
        """Whether no value is another than was written."""
        return (self.version == 1 and not self.seal) or self.seal == seal_of(asdict(replace(self, seal=0)))


_MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True, slots=True)
class Backup:
    """A folder with its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        return self.folder / DATABASE_FILE

    @property
    def whole(self) -> bool:
        """Whether it was sound when it was made and its files have their sizes; `verify` looks further."""
        return (
            self.manifest.sound
            and self.manifest.intact
            and all(_size(self.folder / name) == seal.bytes for name, seal in self.manifest.files.items())
        )

    @property
    def bytes(self) -> int:
        return sum(seal.bytes for seal in self.manifest.files.values())


class BackupFolder:
    """Finds, makes and removes backups below the data directory and below other roots; everything here is blocking."""

    def __init__(self, data: Path, roots: Sequence[str | Path] = (), keys: Keyring | None = None) -> None:
        self.keys = keys
        """What the memory is encrypted with; its backups may be with others."""
        self.home = data / BACKUPS
        self.roots = tuple(Path(root).expanduser().resolve() for root in roots)
        self._live = data / DATABASE_FILE

    # finding

    def all(self) -> list[Backup]:
        found = {backup.folder.resolve(): backup for place in (*self.roots, self.home) for backup in _within(place)}
        aged: list[tuple[float, int, int, Backup]] = []
        for backup in found.values():
            with contextlib.suppress(OSError):  # it has gone meanwhile
                written = (backup.folder / MANIFEST).stat().st_mtime_ns
                aged.append((backup.manifest.created_at, backup.manifest.change_seq, written, backup))
        return [backup for *_, backup in sorted(aged, key=lambda one: one[:3], reverse=True)]

    def find(self, which: str, field: str = "backup") -> Backup:
        """The backup of an id, or of a path within a root. Raises NotFound, InvalidRequest for a path outside."""
        if _ID.fullmatch(which):
            known = [backup for backup in self.all() if backup.folder.name == which]
            if known:
                return known[0]
            for place in (self.home, *self.roots):
                if (file := place / which / MANIFEST).exists():
                    raise NotFound(f"{field}: {file} is damaged, so it is no backup.", field=field)
        elif "/" in which or os.sep in which:
            found = read(self.permitted(which, field))
            if found:
                return found
        raise NotFound(f"{field}: there is no backup {which!r}.", field=field)

    def permitted(self, path: str, field: str, home: Path | None = None) -> Path:
        """The path without links and dots, if it is within a root or `home`, the folder of backups. Raises InvalidRequest."""
        try:
            real = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as exc:
            raise InvalidRequest(f"{field}: {path!r} is no path: {exc}.", field=field) from exc
        roots = ((home or self.home).resolve(), *self.roots)
        if not any(real == root or root in real.parents for root in roots):
            wanted = json.dumps(
                [*map(str, self.roots), str(real if real.is_dir() else real.parent)], ensure_ascii=False
            )
            raise InvalidRequest(
                f"{field}: {path!r} is neither below {roots[0]} nor in one of the folders of `backup.roots`. "
                f"`amemorix config set backup.roots '{wanted}'` allows it.",
                field=field, allowed=[str(root) for root in roots],
            )  # fmt: skip
        root = next(root for root in roots if real == root or root in real.parents)
        if any(map(_is_draft, real.relative_to(root).parts)):
            raise InvalidRequest(f"{field}: {path!r} is in a folder that is not a backup yet.", field=field)
        return real

    def beside_backups(self, place: Path, field: str) -> Path:
        """The place, if it is in no backup: it would go with it. Raises InvalidRequest."""
        for folder in (place, *place.parents):
            if folder.name.startswith((UNFINISHED, ASIDE)) or read(folder):
                raise InvalidRequest(f"{field}: {folder} is a backup; nothing else may be in it.", field=field)
        return place

    def elsewhere(self, database_id: str) -> list[Path]:
        """Folders within the roots that hold copies of a database: its backups, and what was left unfinished."""
        backups = [one.folder for one in self.all() if one.manifest.database_id == database_id]
        unfinished = [folder for root in self.roots for folder in _left_behind(root, _LEFT)]
        home = self.home.resolve()
        return [folder for folder in (*backups, *unfinished) if home not in folder.resolve().parents]

    def exports(self) -> list[Path]:
        """Files within the roots that may be exports."""
        walks = (os.walk(root) for root in self.roots)
        found = (Path(folder, name) for walk in walks for folder, _, files in walk for name in files)
        return [path for path in found if path.is_file() and not path.is_symlink()]

    def holds(self, path: Path) -> bool:
        return any(place in path.parent.parents for place in (self.home, *self.roots))

    # making

    def begin(self, place: Path, *, aside: bool = False) -> Path:
        """An empty folder to fill, which `publish` turns into a backup."""
        mark = ASIDE if aside else f"{UNFINISHED}{process_mark()}-"
        folder = place / f"{mark}{secrets.token_hex(6)}"
        make_private(folder)
        return folder

    def seal(
        self, folder: Path, found: Inventory | None, *, reason: Reason, now: float, watch: Watch = lambda _: None
    ) -> Manifest:
        """Write the manifest of what is in the folder; the checksums are taken from the disk."""
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        known = found or Inventory("", 0, 0, 0, {}, {})
        manifest = Manifest(
            f"{stamp}-{secrets.token_hex(4)}", now, reason, known.database_id, known.schema, known.last,
            dict(known.counts), dict(known.numbers), sealed(folder, watch), found is not None,
        )  # fmt: skip
        write(folder, manifest)
        return manifest

    def publish(self, folder: Path, manifest: Manifest) -> Backup:
        final = folder.with_name(manifest.id)
        os.replace(folder, final)
        sync_folder(final.parent)
        return Backup(final, manifest)

    def sweep(self) -> None:
        """Remove what another process left unfinished; what was set aside is kept if another file is in its place."""
        for place in (self.home, *self.roots):
            for folder in _left_behind(place, _LEFT):
                if not folder.name.startswith(f"{UNFINISHED}{process_mark()}-"):
                    shutil.rmtree(folder, ignore_errors=True)
            for folder in _left_behind(place, _SET_ASIDE):
                left, database = read(folder), folder / DATABASE_FILE
                try:
                    needless = not database.exists() or database.samefile(self._live)
                except OSError:
                    needless = False
                if needless or (left and read(folder.with_name(left.manifest.id))):
                    shutil.rmtree(folder, ignore_errors=True)
                elif left:
                    self.publish(folder, left.manifest)
                else:
                    log.warning("%s was set aside, and its manifest cannot be read: it is left as it is", folder)

    # changing

    def reseal(self, folder: Path, found: Inventory | None, *, purged: bool) -> None:
        """The backup's files were written anew, as its manifest says from now on; one without a database is no backup any more.

        Its keys stay, and so does a folder whose manifest cannot be read.
        """
        held = read(folder)
        if held is None:
            return
        if found is None:
            for name in (MANIFEST, SETTINGS):
                (folder / name).unlink(missing_ok=True)
            return
        changed = replace(
            held.manifest, counts=dict(found.counts), numbers=dict(found.numbers), change_seq=found.last,
            files=sealed(folder), purged=held.manifest.purged + purged,
        )  # fmt: skip
        write(folder, changed)

    def exchange(self, backup: Backup, fill: Callable[[Path], int]) -> Path:
        """Put a folder that `fill` writes in a backup's place; returns where the old one was set aside, for the caller to remove.

        It holds the same rows but so many as `fill` says that it has erased. After a crash `sweep` finds the one or the other.
        """
        new = self.begin(backup.folder.parent)
        aside = new.with_name(f"{ASIDE}{secrets.token_hex(6)}")
        try:
            erased = fill(new)
            for path in backup.folder.iterdir():
                if path.name != MANIFEST and kind_by_name(path.name) not in BACKED_UP:  # of somebody else
                    if path.is_dir() and not path.is_symlink():
                        shutil.copytree(path, new / path.name, symlinks=True)
                    else:
                        shutil.copy2(path, new / path.name, follow_symlinks=False)
            manifest = replace(backup.manifest, files=sealed(new))
            with open_copy(new / DATABASE_FILE, self.keys, unchanged=True) as db:
                found = copy_rows.inventory(db)  # records of purges come along even where no row went
            manifest = replace(
                manifest, counts=dict(found.counts), numbers=dict(found.numbers), change_seq=found.last,
                purged=manifest.purged + bool(erased),
            )  # fmt: skip
            write(new, manifest)
            os.replace(backup.folder, aside)
            os.replace(new, backup.folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            if aside.exists():
                os.replace(aside, backup.folder)
            raise
        sync_folder(aside.parent)
        return aside

    def remove(self, backup: Backup) -> None:
        """Remove a backup: its manifest first, so that half of one is never taken for a whole; what others put into it stays.

        Raises NotFound if it has gone meanwhile.
        """
        held = read(backup.folder)
        if held is None:
            raise NotFound(f"backup: there is no backup {backup.manifest.id!r} any more.", field="backup")
        (backup.folder / MANIFEST).unlink(missing_ok=True)
        for path in list(backup.folder.iterdir()):
            ours = path.name in held.manifest.files or kind_by_name(path.name) in BACKED_UP
            if ours and (path.is_symlink() or path.is_file()):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds something of somebody else
            backup.folder.rmdir()

    def prune(self, reason: Reason, keep: int) -> list[str]:
        """Remove all but the newest of those made for this reason; names them.

        The newest that holds texts stays for every database, whatever came after it: it may be all that is left of one.
        """
        here = [one for one in self.all() if one.folder.parent == self.home]
        last = {one.manifest.database_id: one for one in reversed(here) if one.manifest.counts.get("paragraphs")}
        old = [one for one in here if one.manifest.reason == reason][keep:]
        gone = [one for one in old if one is not last.get(one.manifest.database_id)]
        for backup in gone:
            with contextlib.suppress(NotFound):
                self.remove(backup)
        return [backup.manifest.id for backup in gone]


def sealed(folder: Path, watch: Watch = lambda _: None) -> dict[str, FileSeal]:
    """Size and checksum of each file that a backup is made of, but the manifest."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and kind_by_name(path.name) in BACKED_UP)
    seals: dict[str, FileSeal] = {}
    for path in files:
        digest, size = hashlib.sha256(), 0
        with path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
                watch(len(block))
        seals[path.name] = FileSeal(size, digest.hexdigest())
    return seals


def take_keys_along(data: Path, folder: Path, keys: Keyring | None) -> None:
    """Put the wrapped keys of a memory beside a copy of it; also those that it had, if it is not encrypted any more."""
    if keys:
        keys.copy_to(folder)
    elif (file := data / KEYS_FILE).exists():
        replace_text(folder / KEYS_FILE, file.read_text("utf-8"))


def read(folder: Path) -> Backup | None:
    """The backup in this folder; None if there is none, or its manifest cannot be read."""
    try:
        return Backup(folder, _MANIFEST.validate_json((folder / MANIFEST).read_bytes()))
    except (OSError, ValidationError):
        return None


def write(folder: Path, manifest: Manifest) -> None:
    unsealed = replace(manifest, version=2, seal=0)
    sealed_too = asdict(replace(unsealed, seal=seal_of(asdict(unsealed))))
    replace_text(folder / MANIFEST, json.dumps(sealed_too, indent=1))


def _within(place: Path) -> Iterator[Backup]:
    """The backups in a folder, however deep: they may be made into any folder within a root."""
    for folder, below, files in os.walk(place):  # a folder that goes meanwhile is passed over
        below[:] = sorted(name for name in below if not _is_draft(name))
        found = read(Path(folder)) if MANIFEST in files and Path(folder) != place else None
        if found:
            yield found


def _is_draft(name: str) -> bool:
    """Whether a folder is called like one that is to become a backup; nothing in it counts as one before."""
    return bool(_LEFT.fullmatch(name) or _SET_ASIDE.fullmatch(name))


def _left_behind(place: Path, named: re.Pattern[str]) -> list[Path]:
    """Folders of such a name that a crash left, however deep; others may call theirs nearly so."""
    found = [Path(folder, name) for folder, below, _ in os.walk(place) for name in below if named.fullmatch(name)]
    return [path for path in found if not path.is_symlink()]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1

"""A folder of index files that is either whole or not there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..lazy_regex import lazy_regex
from ..store.private_files import make_private, replace_text, sync_file, sync_folder

__all__ = [
    "Pointer",
    "begin",
    "discard",
    "process_mark",
    "publish",
    "read_pointer",
    "remove",
    "seal_of",
    "sweep",
    "verified_folder",
]

POINTER = "current.json"
_FOLDER = lazy_regex(r"snapshot-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+")
BLOCK = 1 << 20
_BORN = secrets.token_hex(4)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which files hold an index, what they were made from, and how far."""

    folder: str
    cursor: int
    fingerprint: str
    database_id: str
    files: dict[str, tuple[int, int]]
    """name -> (size in bytes, CRC-32)"""

    def to_json(self) -> str:
        """The text of a pointer file: the fields, and a seal over them."""
        fields = asdict(self)
        return json.dumps(fields | {"seal": seal_of(fields)})

    @classmethod
    def from_json(cls, text: str) -> Pointer:
        """What `to_json` wrote; ValueError for any other text, also if a single value is another."""
        try:
            fields = json.loads(text)
            if fields.pop("seal") != seal_of(fields):
                raise ValueError("the pointer is damaged")
            files = {name: (size, crc) for name, (size, crc) in fields.pop("files").items()}
            return cls(files=files, **fields)
        except (AttributeError, KeyError, RecursionError, TypeError) as exc:
            raise ValueError(f"not a pointer: {exc}") from exc


def process_mark() -> str:
    """A part of file names that tells the files of this process from those that an earlier one left behind: the process
    id, and a random number because ids come back, in containers at every start."""
    return f"{os.getpid():x}-{_BORN}"


def read_pointer(home: Path) -> Pointer | None:
    """The published snapshot of this index, None if there is none or it cannot be read."""
    try:
        return Pointer.from_json((home / POINTER).read_text("utf-8"))
    except (OSError, ValueError):
        return None


def discard(home: Path) -> None:
    """Take the pointer away: the snapshot does not fit the rows, and must not seem to when they have grown."""
    try:
        (home / POINTER).unlink(missing_ok=True)
    except NotADirectoryError:
        home.unlink()


def verified_folder(home: Path, pointer: Pointer) -> Path:
    """The snapshot's folder, once every file is there with its size and checksum; ValueError or OSError otherwise."""
    folder = home / pointer.folder
    if not _FOLDER.fullmatch(pointer.folder) or folder.is_symlink():
        raise ValueError(f"the snapshot points outside its folder: {pointer.folder}")
    for name, (size, crc) in pointer.files.items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{name} has {(folder / name).stat().st_size} bytes, not {size}")
        if _checksum(folder / name) != crc:
            raise ValueError(f"{name} is damaged")
    return folder


def begin(home: Path) -> Path:
    """An empty folder to write a snapshot into."""
    folder = home / f"snapshot-{process_mark()}-{secrets.token_hex(6)}"
    make_private(folder)
    return folder


def publish(home: Path, folder: Path, *, cursor: int, fingerprint: str, database_id: str) -> None:
    """Make the folder the current snapshot: data first, the pointer last; then what it replaces is removed."""
    replaced = read_pointer(home)
    files: dict[str, tuple[int, int]] = {}
    for path in sorted(folder.iterdir()):
        sync_file(path)
        files[path.name] = path.stat().st_size, _checksum(path)
    sync_folder(folder)
    pointer = Pointer(folder.name, cursor, fingerprint, database_id, files)
    replace_text(home / POINTER, pointer.to_json(), home / f"{POINTER}.{folder.name}")
    # What was replaced goes, and what other processes left; this one may be writing another snapshot just now.
    ours = f"snapshot-{process_mark()}-"
    for path in [*home.glob(f"{POINTER}.*"), *home.glob("snapshot-*")]:
        name = path.name.removeprefix(f"{POINTER}.")
        if (
            not _FOLDER.fullmatch(name)
            or name == folder.name
            or (name.startswith(ours) and (replaced is None or name != replaced.folder))
        ):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def remove(home: Path, wipe: Callable[[Path], None] = lambda _: None) -> None:
    """Remove an index's snapshots and their pointer; what others have put beside them stays. `wipe` is given each file before."""
    for path in [*home.glob(f"{POINTER}*"), *home.glob("snapshot-*")]:
        if path.is_symlink() or (path.name != POINTER and not _FOLDER.fullmatch(path.name.removeprefix(f"{POINTER}."))):
            continue
        for file in path.rglob("*") if path.is_dir() else (path,):
            wipe(file)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # it was never made, or holds something of somebody else
        home.rmdir()


def sweep(home: Path) -> None:
    """Remove every snapshot but the current one, also one that is being written: its writer begins anew some time."""
    pointer = read_pointer(home)
    for path in home.glob("snapshot-*"):
        if _FOLDER.fullmatch(path.name) and (pointer is None or path.name != pointer.folder):
            shutil.rmtree(path, ignore_errors=True)


def seal_of(fields: dict[str, Any]) -> int:
    """A checksum that tells whether a single value is another."""
    return zlib.crc32(json.dumps(fields, sort_keys=True).encode())


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc

"""A folder of index files that is either whole or not there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Pointer", "begin", "publish", "read_pointer", "verified_folder"]

POINTER = "current.json"
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which files hold an index, what they were made from, and how far."""

    folder: str
    cursor: int
    fingerprint: str
    database_id: str
    files: dict[str, tuple[int, int]]
    """name -> (size in bytes, CRC-32)"""


def read_pointer(home: Path) -> Pointer | None:
    """The published snapshot of this index, None if there is none or it cannot be read."""
    try:
        raw = json.loads((home / POINTER).read_text("utf-8"))
        files = {str(name): (int(size), int(crc)) for name, (size, crc) in raw.pop("files").items()}
        return Pointer(files=files, **raw)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def verified_folder(home: Path, pointer: Pointer) -> Path:
    """The snapshot's folder, once every file is there with its size and checksum; ValueError or OSError otherwise."""
    folder = home / pointer.folder
    if folder.parent != home:
        raise ValueError(f"the snapshot points outside its folder: {pointer.folder}")
    for name, (size, crc) in pointer.files.items():
        if (folder / name).stat().st_size != size:
            raise ValueError(f"{name} has {(folder / name).stat().st_size} bytes, not {size}")
        if _checksum(folder / name) != crc:
            raise ValueError(f"{name} is damaged")
    return folder


def begin(home: Path) -> Path:
    """An empty folder to write a snapshot into."""
    folder = home / f"snapshot-{secrets.token_hex(6)}"
    folder.mkdir(parents=True)
    return folder


def publish(home: Path, folder: Path, *, cursor: int, fingerprint: str, database_id: str) -> None:
    """Make the folder the current snapshot: data first, the pointer last, older snapshots removed after."""
    files = {path.name: _seal(path) for path in sorted(folder.iterdir())}
    _sync_folder(folder)
    pointer = Pointer(folder.name, cursor, fingerprint, database_id, files)
    draft = home / f"{POINTER}.{folder.name}"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(pointer), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, home / POINTER)
    _sync_folder(home)
    for old in home.glob("snapshot-*"):
        if old.name != folder.name:
            shutil.rmtree(old, ignore_errors=True)


def _seal(path: Path) -> tuple[int, int]:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    return path.stat().st_size, _checksum(path)


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # pragma: no cover - folders cannot be opened there
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

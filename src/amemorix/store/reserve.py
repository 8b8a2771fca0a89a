"""Room on the disk that is kept for when there is no other: to open the memory, to read it, and to erase."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from pathlib import Path

from .private_files import private_opener

__all__ = ["RESERVE", "has_room", "is_full", "make_room", "size_of"]

log = logging.getLogger(__name__)
RESERVE = ".reserve"
RESERVE_BYTES = 4 << 20
"""For the log's index, without which SQLite cannot read, and for a purge of some thousand rows."""
OPENING_BYTES = 1 << 19
"""What is to be free for opening: the rest stays for purges, and is not for ordinary writes."""
PLENTY = 16
"""The room is kept where so many times as much is free."""


def make_room(folder: Path, *, erasing: bool = False) -> None:
    """Give up room that was kept if the disk is full, all of it for erasing; keep some where there is plenty. Blocking."""
    file = folder / RESERVE
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
        if free < RESERVE_BYTES and file.exists():
            wanted = RESERVE_BYTES if erasing else max(0, OPENING_BYTES - free)
            os.truncate(file, max(0, file.stat().st_size - wanted))
            log.warning(
                "the disk of %s is full: it is read and purged in the room that was kept, until there is more", folder
            )
        elif free > RESERVE_BYTES * PLENTY and not (file.exists() and file.stat().st_size == RESERVE_BYTES):
            draft = folder / f"{RESERVE}.part"
            try:
                with open(draft, "wb", opener=private_opener) as kept:
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(kept.fileno(), 0, RESERVE_BYTES)
                    else:
                        kept.write(os.urandom(RESERVE_BYTES))  # zeros would take no room where files are compressed
                draft.replace(file)
            finally:
                draft.unlink(missing_ok=True)


def has_room(folder: Path, wanted: int) -> bool:
    """Whether so many bytes more can be written there; True where the disk does not say."""
    try:
        return shutil.disk_usage(folder).free >= wanted
    except OSError:
        return True


def size_of(file: Path) -> int:
    """The size of a file in bytes, 0 of one that is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def is_full(folder: Path) -> bool:
    """Whether there is no room for the index of a log, which takes 32 kB."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < 1 << 15
    return False

"""The note that a running daemon leaves in its data directory, so that commands find it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import DirectoryInUse
from ..storage.lock import DirectoryLock

__all__ = ["NAME", "Daemon", "announced", "find_daemon"]

log = logging.getLogger(__name__)
NAME = "daemon.json"
"""The note's name in the data directory."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """Where a daemon answers, and which process it is."""

    url: str
    pid: int


@contextmanager
def announced(folder: Path, url: str) -> Generator[Path, None, None]:
    """Keep the note `<folder>/daemon.json` of this process while the block runs."""
    path, fresh = folder / NAME, folder / f".{NAME}.{os.getpid()}"
    try:
        fresh.write_text(json.dumps(asdict(Daemon(url, os.getpid()))) + "\n", "utf-8")
        os.replace(fresh, path)
    except OSError as exc:
        fresh.unlink(missing_ok=True)
        log.warning("%s cannot be written (%s): commands will not find this daemon", path, exc.strerror)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def find_daemon(folder: Path) -> Daemon | None:
    """The daemon that has a data directory open; None if nobody has, or a process that left no note."""
    try:
        note = Daemon(**json.loads((folder / NAME).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    try:
        DirectoryLock(folder).release()
    except DirectoryInUse as exc:
        return note if note.pid == exc.details["pid"] else None
    return None

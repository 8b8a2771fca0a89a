"""The note that a running daemon leaves in its data directory, so that commands find it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ..location import DATA_DIR, data_folder, locate, remembered_folder
from ..store.lock import holder

__all__ = ["Daemon", "announced", "daemon_of"]

log = logging.getLogger(__name__)
NAME = "daemon.json"
"""The note's name in the data directory."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """Where a daemon answers, which process it is, and the configuration file that it was started with."""

    url: str
    pid: int
    config: str = ""


@contextmanager
def announced(folder: Path, url: str, config: Path) -> Generator[Path, None, None]:
    """Keep the note `<folder>/daemon.json` of this process while the block runs."""
    path, fresh = folder / NAME, folder / f".{NAME}.{os.getpid()}"
    try:
        fresh.write_text(json.dumps(asdict(Daemon(url, os.getpid(), str(config.absolute())))) + "\n", "utf-8")
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
    return note if note.pid == holder(folder) else None


def daemon_of(config: Path) -> Daemon | None:
    """The daemon that has the memory of a configuration file open.

    It is found also where the file has come to name another folder, which that daemon takes when it is started again.
    """
    config = config.absolute()
    place = locate(config)
    if place and (daemon := find_daemon(place.folder)):
        return daemon
    for given in {remembered_folder(config), DATA_DIR} - {""}:
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if (daemon := find_daemon(data_folder(config, given))) and daemon.config == str(config):
                return daemon
    return None

"""Files that only their owner may read, in folders that keep their names through a crash."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = [
    "UMASK",
    "create_private",
    "make_private",
    "private_opener",
    "replace_text",
    "sync_file",
    "sync_folder",
    "tighten",
]

FOLDER, FILE = 0o700, 0o600
UMASK = 0o077
"""For a process of our own that holds a memory: whatever else it writes is for its owner alone, too."""
OURS = ("memory.", ".lock", "daemon.json", ".reserve")
"""What the names of files in a data directory begin with that nobody else is to read."""
FOLDERS = ("indexes", "backups", "exports", "imports/staging")
"""Our own folders in it; what others have put beside them is theirs."""


def private_opener(path: str, flags: int) -> int:
    """An opener for `open` whose new files nobody else may read."""
    return os.open(path, flags, FILE)


def create_private(path: Path) -> None:
    """Make an empty file that nobody else may read, if there is none; what opens it says what is wrong."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))


def make_private(folder: Path) -> None:
    """Make a folder, that nobody else may enter, and those above it that are missing. Raises OSError."""
    folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)


def replace_text(path: Path, text: str, draft: Path | None = None) -> None:
    """Write a file anew, so that after a crash at any moment it is the old or the new one; the draft stands beside it."""
    draft = draft or path.with_name(f"{path.name}.draft")
    with open(draft, "w", encoding="utf-8", opener=private_opener) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Make what a file holds durable."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make new and changed names in the folder durable."""
    if os.name == "nt":  # pragma: no cover - folders cannot be opened there
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def tighten(folder: Path) -> None:
    """Take from others what they may do with a data directory and with our own files in it."""
    _restrict(folder, FOLDER)
    for path in _ours(folder):
        _restrict(path, FOLDER if path.is_dir() and not path.is_symlink() else FILE)


def _ours(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from (path for path in folder.iterdir() if path.name.startswith(OURS))
    for name in FOLDERS:
        for at, below, files in os.walk(folder / name):
            yield Path(at)
            yield from (Path(at, one) for one in (*files, *below))


def _restrict(path: Path, most: int) -> None:
    """Take the rights beyond `most` away, where the path is ours to change and no link."""
    with suppress(OSError):
        found = path.lstat()
        mode = stat.S_IMODE(found.st_mode)
        if (
            not stat.S_ISLNK(found.st_mode)
            and mode & ~most & 0o077
            and (os.name == "nt" or found.st_uid == os.geteuid())
        ):
            path.chmod(mode & ~0o077)

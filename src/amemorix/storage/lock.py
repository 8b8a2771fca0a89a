"""The claim of one process on a data directory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import IO

from ..errors import DirectoryInUse, StorageFailure
from .private_files import make_private, private_opener, tighten

__all__ = ["DirectoryLock"]

LOCKS = Path("/proc/locks")
"""Where Linux tells who holds what (man 5 proc_locks)."""

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(folder: int, file: IO[str]) -> None:  # noqa: ARG001 - a file that is open cannot be removed there
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        file.seek(0)

    def _opened(folder: Path) -> int:  # noqa: ARG001
        return -1
else:
    import fcntl

    def _lock(folder: int, file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            if exc.errno == errno.EWOULDBLOCK:
                raise
            # a network file system that locks no folders: the file's lock is all there is

    def _opened(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY)


class DirectoryLock:
    """Operating-system locks on `<folder>/.lock` and, lest that is removed, on the folder; released when the process dies however it dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with contextlib.ExitStack() as held:
            try:
                make_private(folder)
                self._file = held.enter_context(open(folder / ".lock", "a+", encoding="utf-8", opener=private_opener))
                self._folder = _opened(folder)
            except OSError as exc:
                raise StorageFailure(
                    f"storage.data_dir {folder} cannot be used: {exc.strerror}.", field="storage.data_dir"
                ) from exc
            if self._folder >= 0:
                held.callback(os.close, self._folder)
            try:
                _lock(self._folder, self._file)
            except OSError as exc:
                owner = self._owner()
                raise DirectoryInUse(
                    f"{folder} is in use by process {owner or 'unknown'}. Stop it, or call it instead: a running daemon "
                    "answers over HTTP (`amemorix serve` prints its address).",
                    data_dir=str(folder), pid=owner,
                ) from exc  # fmt: skip
            tighten(folder)
            with contextlib.suppress(OSError):  # on a full disk the lock holds without the number
                self._file.truncate(0)
                os.write(self._file.fileno(), json.dumps({"pid": os.getpid()}).encode())
            self._held = held.pop_all()

    def release(self) -> None:
        """Let another process have the directory."""
        self._held.close()

    def _owner(self) -> int | None:
        """The process that holds the folder; where the system does not tell, the one that the file names."""
        with contextlib.suppress(OSError, ValueError):
            at = os.fstat(self._folder)
            mine = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
            for line in LOCKS.read_text("ascii").splitlines():
                _, kind, _, _, pid, file, *_ = line.split()
                if kind == "FLOCK" and file == mine and int(pid) > 0:
                    return int(pid)
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            self._file.seek(0)
            return int(json.loads(self._file.read())["pid"])
        return None

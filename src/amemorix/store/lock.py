"""The claim of one process on a data directory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import IO, Any

from ..errors import DirectoryInUse, StorageFailure
from ..location import LOCK_FILE, config_opened_with
from .private_files import make_private, private_opener, tighten

__all__ = ["DirectoryLock", "holder"]

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

    def _lives(pid: int) -> bool:
        import ctypes

        system: Any = ctypes.windll.kernel32  # type: ignore[attr-defined]
        handle, code = system.OpenProcess(0x1000, False, pid), ctypes.c_ulong()  # to ask for limited information
        if not handle:
            return False
        system.GetExitCodeProcess(handle, ctypes.byref(code))
        system.CloseHandle(handle)
        return code.value == 259  # still active
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

    def _lives(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        except (OSError, OverflowError):
            return False
        return True


class DirectoryLock:
    """Operating-system locks on `<folder>/.lock` and, lest that is removed, on the folder; released when the process dies however it dies."""

    def __init__(self, folder: Path, config: Path | None = None) -> None:
        """Lock a folder, and note in it the configuration file that names it. Raises DirectoryInUse, StorageFailure."""
        self.folder = folder
        with contextlib.ExitStack() as held:
            try:
                make_private(folder)
                self._file = held.enter_context(open(folder / LOCK_FILE, "a+", encoding="utf-8", opener=private_opener))
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
                owner = _locking(folder) or _noted(folder)
                raise DirectoryInUse(
                    f"{folder} is in use by process {owner or 'unknown'}. Stop it first. For several processes to share the "
                    "folder, let `amemorix serve` open it before they do: they ask it then by themselves.",
                    data_dir=str(folder), pid=owner,
                ) from exc  # fmt: skip
            tighten(folder)
            opened_with = str(config) if config else config_opened_with(folder)
            self._kept = {"config": opened_with} if opened_with else {}
            self._note({"pid": os.getpid(), **self._kept})
            self._held = held.pop_all()

    def release(self) -> None:
        """Let another process have the directory."""
        self._note(self._kept)
        self._held.close()

    def _note(self, told: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # on a full disk the lock holds without it
            self._file.truncate(0)
            os.write(self._file.fileno(), json.dumps(told).encode())


def holder(folder: Path) -> int | None:
    """The process that has a directory; None if nobody has. Nothing is locked or written to find out."""
    if owner := _locking(folder):
        return owner
    noted = _noted(folder)
    return noted if noted and _lives(noted) else None


def _locking(folder: Path) -> int | None:
    """The process that holds a lock on the folder, where the system tells."""
    with contextlib.suppress(OSError, ValueError):
        at = folder.stat()
        mine = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
        for line in LOCKS.read_text("ascii").splitlines():
            _, kind, _, _, pid, file, *_ = line.split()
            if kind == "FLOCK" and file == mine and int(pid) > 0:
                return int(pid)
    return None


def _noted(folder: Path) -> int | None:
    """The process that `.lock` names; one that has let go of the directory takes its name out."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return max(0, int(json.loads((folder / LOCK_FILE).read_text("utf-8"))["pid"])) or None
    return None

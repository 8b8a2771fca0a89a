"""The claim of one process on a data directory."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import IO

from ..errors import DirectoryInUse, StorageFailure
from .private_files import make_private, private_opener, tighten

__all__ = ["DirectoryLock"]

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        file.seek(0)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class DirectoryLock:
    """An operating-system lock on `<folder>/.lock`, released when the process dies however it dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            make_private(folder)
            self._file = open(folder / ".lock", "a+", encoding="utf-8", opener=private_opener)  # noqa: SIM115 - held for the life of the lock
        except OSError as exc:
            raise StorageFailure(
                f"storage.data_dir {folder} cannot be used: {exc.strerror}.", field="storage.data_dir"
            ) from exc
        try:
            _lock(self._file)
        except OSError as exc:
            owner = self._owner()
            self._file.close()
            raise DirectoryInUse(
                f"{folder} is in use by process {owner or 'unknown'}. Stop it, or call it instead: a running daemon "
                "answers over HTTP (`amemorix serve` prints its address).",
                data_dir=str(folder), pid=owner,
            ) from exc  # fmt: skip
        tighten(folder)
        self._file.truncate(0)
        self._file.write(json.dumps({"pid": os.getpid()}))
        self._file.flush()

    def release(self) -> None:
        """Let another process have the directory."""
        self._file.close()

    def _owner(self) -> int | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            self._file.seek(0)
            return int(json.loads(self._file.read())["pid"])
        return None

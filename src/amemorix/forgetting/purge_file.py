"""The search patterns of a purge under way, in a file beside the database, for the process that goes on after a crash."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..store.data_directory import purge_files
from ..store.metadata_store import MetadataStore
from ..store.private_files import sync_file, sync_folder
from ..store.sealed_files import new_file, opened_chunks
from .journals import SearchPatterns

__all__ = ["PurgeFile"]

log = logging.getLogger(__name__)
ROOM = 8
"""The file is written where so many times its size is free: a purge on a full disk wants what is left for itself."""


class PurgeFile:
    """Writes, reads and removes these files; they are sealed in an encrypted memory. Everything here is blocking."""

    def __init__(self, store: MetadataStore) -> None:
        self._folder = store.folder
        self._store = store

    def write(self, operation: int, wanted: SearchPatterns) -> str:
        """Write down what a purge looks for, durably; returns the SHA-256 of what was written.

        Where there is no room nothing is written, and that is logged; the answer is empty then.
        """
        path, keys = self._path(operation), self._store.keys
        data = zlib.compress(json.dumps({"wanted": wanted.to_json()}).encode(), 1)
        draft = path.with_name(f"{path.name}.draft")
        try:
            if shutil.disk_usage(self._folder).free < ROOM * len(data):
                raise OSError("the disk is nearly full")
            draft.unlink(missing_ok=True)
            with new_file(draft, keys, as_=path) as file:
                file.write(data)
            sync_file(draft)
            draft.replace(path)
            sync_folder(self._folder)
            return hashlib.sha256(data).hexdigest()
        except OSError as exc:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            log.warning(
                "what the purge of d%d looks for was not written down (%s): if it is interrupted now, it cannot be proved "
                "afterwards that nothing of it is left", operation, exc,
            )  # fmt: skip
            return ""

    def read(self, operation: int, sha256: str) -> SearchPatterns | None:
        """Return what an interrupted purge was looking for; None if that is not known, or the file is not the one written."""
        path, keys = self._path(operation), self._store.keys
        try:
            data = b"".join(opened_chunks(path, keys)) if keys else path.read_bytes()
            if not sha256 or hashlib.sha256(data).hexdigest() != sha256:
                raise ValueError("it is not the file that was written")
            return SearchPatterns.from_json(json.loads(zlib.decompress(data))["wanted"])
        except (OSError, ValueError) as exc:
            log.warning("what the purge of d%d looked for cannot be read: %s", operation, exc)
            return None

    def remove(self, operation: int) -> None:
        """Remove the file of a purge."""
        with suppress(IsADirectoryError):  # of somebody else
            self._path(operation).unlink(missing_ok=True)

    def keep_only(self, operations: Iterable[int]) -> None:
        """Remove the files of all purges but these."""
        kept = {self._path(operation) for operation in operations}
        for path in purge_files(self._folder):
            if path not in kept and path.is_file():
                path.unlink(missing_ok=True)

    def _path(self, operation: int) -> Path:
        return self._folder / f"memory.purge-d{operation}"

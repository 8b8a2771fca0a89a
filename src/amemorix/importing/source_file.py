"""A file that is being imported: held open, known by its content, read in chunks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import tzinfo
from typing import Any

from ..errors import Conflict, InvalidRequest, MemoryFault
from ..foreground_priority import RightOfWay
from .readers.formats import FORMATS, detect, reader_for
from .records import Bad, Record
from .roots import Opened, Places
from .rows import ImportFile
from .validation import Chunk, Preparer

__all__ = ["SourceFile", "Stopped"]

PORTION = 1 << 20
MOST_CHARS = 500_000
"""A chunk ends after so many characters, however few records they are."""
WHAT_COUNTS = (
    "chat_id", "scope_type", "strategy_override", "chat_reference_time", "columns", "respect_filter", "filters", "dry_run",
)  # fmt: skip
"""Parameters on which the outcome depends."""


class Stopped(Exception):
    """Nobody waits for the work any more."""


class SourceFile:
    """Everything here is blocking. Raises InvalidRequest or NotFound for what is no file to import."""

    def __init__(
        self,
        file: ImportFile,
        params: Mapping[str, Any],
        *,
        places: Places,
        most_bytes: float,
        go_on: Callable[[], bool],
        right_of_way: RightOfWay,
        zone: tzinfo,
    ) -> None:
        self._file = file
        self._params = params
        self._go_on = go_on
        self._right_of_way = right_of_way
        self._zone = zone
        self._rows: Iterator[tuple[int, Record | Bad]] | None = None
        self._at = 0
        self._broken: MemoryFault | None = None
        with ExitStack() as stack:
            opened = stack.enter_context(places.opened(file.root, file.path))
            self.size = opened.size
            if most_bytes and self.size > most_bytes:
                raise InvalidRequest(
                    f"file: it has {self.size} bytes, at most {most_bytes:.0f} (`imports.max_file_size_mb`).",
                    field="file", limit=most_bytes,
                )  # fmt: skip
            self.format = file.format or detect(file.name, opened.path)
            live = FORMATS[self.format].live
            self._path = opened.beside if live else opened.path
            self.sha256 = _hash(opened, go_on)
            if file.sha256 and file.sha256 != self.sha256 and not live:
                raise Conflict("file: it has changed since its import began.", field="file")
            self._held = stack.pop_all()

    @property
    def options(self) -> str:
        """What the outcome depends on besides the content."""
        given = {key: self._params[key] for key in WHAT_COUNTS if key in self._params}
        return hashlib.sha256(json.dumps([self.format, given], sort_keys=True).encode()).hexdigest()[:32]

    def chunk(self, preparer: Preparer, start: int, *, most: int = 1_000_000, stop: int | None = None) -> Chunk:
        """The records from a position on: `most` at most, or up to a position."""
        if self._broken is not None and self._at == start:
            raise self._broken
        if self._rows is None or self._broken is not None or self._at > start:
            params = self._params
            options = {
                **params.get("filters", {}), "columns": params.get("columns"), "chat_id": params.get("chat_id"),
                "reference_time": params.get("chat_reference_time"), "zone": self._zone,
            }  # fmt: skip
            self._reader = reader_for(self.format, options)
            self._rows, self._broken = self._reader.read(self._path, start), None
        chunk = Chunk(start, start)
        self._at = start
        while chunk.records < most and (chunk.chars < MOST_CHARS if stop is None else chunk.stop < stop):
            if not self._go_on():
                raise Stopped
            self._right_of_way.give_way()
            try:
                found = self._next(self._rows)
            except MemoryFault as exc:
                self._broken = exc
                if chunk.records:
                    break  # what stands before a place that cannot be read is stored first
                raise
            if found is None:
                chunk.last = True
                break
            if found[0] > start:
                chunk.stop, record = found
                preparer.add(chunk, record)
        self._at = chunk.stop
        read = self._reader.share
        chunk.share = 1.0 if chunk.last else min(self._at / max(self.size, 1) if read is None else read, 1.0)
        return chunk

    def _next(self, rows: Iterator[tuple[int, Record | Bad]]) -> tuple[int, Record | Bad] | None:
        try:
            return next(rows, None)
        except InvalidRequest as exc:
            text = str(exc).replace(f"{self._path.name} ", f"{self._file.name} ")
            raise InvalidRequest(text, **exc.details) from exc
        except OSError as exc:
            raise InvalidRequest(f"file: it cannot be read: {exc.strerror or exc}.", field="file") from exc
        except RecursionError as exc:
            raise InvalidRequest("file: it is nested too deep.", field="file") from exc

    def close(self) -> None:
        """Let go of the file."""
        self._rows = None
        self._held.close()


def _hash(opened: Opened, go_on: Callable[[], bool]) -> str:
    """SHA-256 of a file; of a folder, of the names, sizes and times of what is in it. Raises InvalidRequest for links."""
    found = hashlib.sha256()
    if opened.is_folder:
        for folder, folders, names, here in os.fwalk(".", dir_fd=opened.descriptor, follow_symlinks=False):
            folders.sort()
            for name in (*folders, *sorted(names)):
                about = os.stat(name, dir_fd=here, follow_symlinks=False)
                if stat.S_ISLNK(about.st_mode):
                    raise InvalidRequest("file: the folder holds symbolic links, which are not followed.", field="file")
                if stat.S_ISDIR(about.st_mode) or name.endswith("-shm"):
                    continue  # the latter is written by whoever reads a SQLite database
                told = f"{folder}/{name}:{about.st_size}:{about.st_mtime_ns}\n"
                found.update(told.encode("utf-8", "surrogateescape"))
        return found.hexdigest()
    offset = 0
    while portion := os.pread(opened.descriptor, PORTION, offset):
        if not go_on():
            raise Stopped
        found.update(portion)
        offset += len(portion)
    with contextlib.suppress(OSError):
        about = os.stat(f"{opened.beside}-wal")
        found.update(f"{about.st_size}:{about.st_mtime_ns}".encode())  # what a database has not folded in yet
    return found.hexdigest()

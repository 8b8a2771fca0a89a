"""A file that is being imported: held open, known by its content, read in chunks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import tzinfo
from typing import Any, Protocol, runtime_checkable

from ..errors import Conflict, InvalidRequest, MemoryFault
from ..foreground_priority import RightOfWay
from .readers.formats import FORMATS, detect, reader_for
from .records import Bad, Record
from .resume_points import Mark, Marking
from .roots import Opened, Places, holds_links
from .rows import ImportFile
from .validation import Chunk, Preparer

__all__ = ["SourceFile", "Stopped"]

PORTION = 1 << 20
MARK_EVERY = 32 << 20
"""Bytes after which the place of a reader is kept anew: so much is read again after an interruption."""
MOST_CHARS = 500_000
"""A chunk ends after so many characters, however few records they are."""
WHAT_COUNTS = (
    "chat_id", "scope_type", "strategy_override", "chat_reference_time", "columns", "respect_filter", "filters", "dry_run",
)  # fmt: skip
"""Parameters on which the outcome depends."""


class Stopped(Exception):
    """Nobody waits for the work any more."""


@runtime_checkable
class Measured(Protocol):
    """A reader that tells how much of the file it has read, where positions do not."""

    share: float


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
        self._stack = ExitStack()
        self._rows: Iterator[tuple[int, Record | Bad]] = iter(())
        self._at = file.position
        self._broken: MemoryFault | None = None
        self._marked = self._passed = 0
        self._reading = False
        try:
            self._opened = self._stack.enter_context(places.opened(file.root, file.path))
            if most_bytes and self._opened.size > most_bytes:
                raise InvalidRequest(
                    f"file: it has {self._opened.size} bytes, at most {most_bytes:.0f} (`imports.max_file_size_mb`).",
                    field="file", limit=most_bytes,
                )  # fmt: skip
            self.size = self._opened.size
            if self._opened.is_folder and holds_links(self._opened.descriptor):
                raise InvalidRequest("file: the folder holds symbolic links, which are not followed.", field="file")
            self.format = file.format or detect(file.name, self._opened.path)
            self._path = self._opened.beside if FORMATS[self.format].live else self._opened.path
            self.sha256 = _hash(self._opened, go_on)
        except BaseException:
            self._stack.close()
            raise
        if file.sha256 and file.sha256 != self.sha256 and not FORMATS[self.format].live:
            self._stack.close()
            raise Conflict("file: it has changed since its import began.", field="file")

    @property
    def options(self) -> str:
        """What the outcome depends on besides the content."""
        given = {key: self._params[key] for key in WHAT_COUNTS if key in self._params}
        return hashlib.sha256(json.dumps([self.format, given], sort_keys=True).encode()).hexdigest()[:32]

    def begin(self, position: int, mark: bytes = b"") -> None:
        """Read from a position on; by a mark that was kept of the file, what stands before it is not read again."""
        known = Mark.unpacked(mark) if mark else None
        upto = known.position if known else 0
        if self._reading and self._broken is None and upto <= self._at <= position:
            self._at = self._passed = position  # the same reading goes on
            return
        self._end_reading()
        params = self._params
        options = {
            **params.get("filters", {}), "columns": params.get("columns"), "chat_id": params.get("chat_id"),
            "reference_time": params.get("chat_reference_time"), "zone": self._zone,
        }  # fmt: skip
        self._reader = reader_for(self.format, options)
        self._marked, self._passed, self._reading = upto, 0, True
        if known and isinstance(self._reader, Marking):
            self._reader.resume(known)
        self._rows = self._reader.read(self._path, position)
        self._at, self._broken = position, None

    def next(self, preparer: Preparer, most: int, upto: int | None = None) -> Chunk:
        """The next records, up to a position if one is given."""
        chunk = Chunk(self._at, self._at)
        while chunk.records < most and (chunk.chars < MOST_CHARS if upto is None else chunk.stop < upto):
            if not self._go_on():
                raise Stopped
            self._right_of_way.give_way()
            try:
                found = self._row()
            except MemoryFault as exc:
                self._broken = exc
                if chunk.records:
                    break
                raise
            if found is None:
                chunk.last = True
                break
            chunk.stop, record = found
            preparer.add(chunk, record)
        self._at = chunk.stop
        chunk.mark = self._mark(chunk)
        chunk.share = 1.0 if chunk.last else self._share(chunk.stop)
        return chunk

    def _row(self) -> tuple[int, Record | Bad] | None:
        """The next record; what stands before a place that cannot be read is stored first."""
        if self._broken is not None:
            raise self._broken
        try:
            return self._next_row()
        except InvalidRequest as exc:
            text = str(exc).replace(f"{self._path.name} ", f"{self._file.name} ")
            raise InvalidRequest(text, **exc.details) from exc
        except OSError as exc:
            raise InvalidRequest(f"file: it cannot be read: {exc.strerror or exc}.", field="file") from exc
        except RecursionError as exc:
            raise InvalidRequest("file: it is nested too deep.", field="file") from exc

    def _next_row(self) -> tuple[int, Record | Bad] | None:
        found = next(self._rows, None)
        while found is not None and found[0] <= self._passed:
            if not self._go_on():
                raise Stopped
            found = next(self._rows, None)
        return found

    def _mark(self, chunk: Chunk) -> bytes:
        """The reader's place, now and then."""
        mark = self._reader.mark if isinstance(self._reader, Marking) else None
        if mark is None or chunk.last or mark.position != chunk.stop or chunk.stop - self._marked < MARK_EVERY:
            return b""
        self._marked = chunk.stop
        return mark.packed()

    def _share(self, position: int) -> float:
        if FORMATS[self.format].by_bytes:
            return min(position / max(self.size, 1), 1.0)
        return min(self._reader.share, 1.0) if isinstance(self._reader, Measured) else 0.0

    def close(self) -> None:
        """Let go of the file."""
        self._end_reading()
        self._stack.close()

    def _end_reading(self) -> None:
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()


def _hash(opened: Opened, go_on: Callable[[], bool]) -> str:
    """SHA-256 of a file; of a folder, of the names, sizes and times of what is in it."""
    found = hashlib.sha256()
    if opened.is_folder:
        for folder, folders, names, here in os.fwalk(".", dir_fd=opened.descriptor, follow_symlinks=False):
            folders.sort()
            for name in sorted(names):
                if name.endswith("-shm"):
                    continue  # written by whoever reads a SQLite database
                about = os.stat(name, dir_fd=here, follow_symlinks=False)
                found.update(
                    f"{folder}/{name}:{about.st_size}:{about.st_mtime_ns}\n".encode("utf-8", "surrogateescape")
                )
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

"""A SQLite database of another program, which is read and never changed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import InvalidRequest, StorageFailure
from .driver import PLAIN_HEADER, UNREADABLE, DatabaseError, Row
from .queries import FOREIGN, SqliteConnection, connect

__all__ = ["ReadOnlyDatabase"]

Values = dict[str, Any]
PAGE = 200
"""Rows that are read at once: between two pages nobody who writes is held up."""
_HEADER, _WAL = 20, 2
_WRITE_VERSION, _READ_VERSION = 18, 19
_IN_MEMORY = Path("/proc/self/fd")
"""Files that were decrypted into memory; SQLite cannot open these by a path."""


class ReadOnlyDatabase:
    """Reads a database as it stands, also while its own program writes; neither it nor its folder is changed.

    `tables` has the columns of each table, `indexed` those that an index begins with. Raises InvalidRequest for a file
    that is no SQLite database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path if path.parent == _IN_MEMORY else path.resolve()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._db = self._opened()
        except DatabaseError as exc:
            self.close()
            raise InvalidRequest(f"{path.name} cannot be read as a SQLite database ({exc}).", field="path") from exc
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ReadOnlyDatabase:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if db := getattr(self, "_db", None):
            db.close()
        if self._copy is not None:
            self._copy.cleanup()

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is such a table with these columns."""
        return set(columns) <= self.tables.get(table, frozenset()) and table in self.tables

    def rows(self, query: str, **values: Any) -> list[Values]:
        """What the named statement finds, with text that is not UTF-8 mended."""
        try:
            return [dict(row) for row in self._db.run(query, **values)]
        except DatabaseError as exc:
            told = f"{self._path.name} cannot be read any further ({exc})."
            if getattr(exc, "sqlite_errorcode", 0) & 0xFF in UNREADABLE:
                raise InvalidRequest(told, field="path") from exc
            raise StorageFailure(told) from exc

    def prepare(self, *statements: str) -> None:
        """Run named statements on the connection's own temporary tables."""
        for name in statements:
            self.rows(name)

    def last(self, query: str) -> int:
        """The highest row that the named statement finds; 1 if there is none."""
        return self.rows(query)[0]["row_"] or 1

    def pages(self, query: str, after: int, **values: Any) -> Iterator[list[Values]]:
        """The rows of a table beyond a row, page by page; `row_` of each is its place."""
        while page := self.rows(query, after=after, limit=PAGE, **values):
            yield page
            after = page[-1]["row_"]

    def _opened(self) -> SqliteConnection:
        with self._path.open("rb") as file:
            header = file.read(_HEADER)
        if not header.startswith(PLAIN_HEADER) or len(header) < _HEADER:
            raise InvalidRequest(f"{self._path.name} is no SQLite database.", field="path")
        if self._path.parent == _IN_MEMORY:
            db = _deserialized(self._path.read_bytes())
        else:
            db = connect(self._address(header), folders=FOREIGN, uri=True)
        db.row_factory = Row
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._db = db
        db.execute("pragma trusted_schema = off")
        self.tables = self._grouped("foreign_columns")
        self.indexed = self._grouped("foreign_indexed")
        if self._copy is not None:
            self._copy.cleanup()
        return db

    def _address(self, header: bytes) -> str:
        """Where to read it so that SQLite makes no file beside it.

        Whoever reads a database with a log needs the log's index: where its program runs there is one. A log without an
        index was left by a crash or came along in a copy, and is read in a copy. Without a log nothing can change.
        """
        log, index = self._beside("-wal"), self._beside("-shm")
        if index.exists() and log.exists():
            return f"{self._path.as_uri()}?mode=ro"
        if not any(file.exists() and file.stat().st_size for file in (log, self._beside("-journal"))):
            kept = header[_WRITE_VERSION] == _WAL
            return f"{self._path.as_uri()}?mode=ro{'&immutable=1' if kept else ''}"
        # a copy with its log folded in; its file is unlinked as soon as it is open, so that a crash leaves nothing
        self._copy = tempfile.TemporaryDirectory(prefix="amemorix-import-", ignore_cleanup_errors=True)
        target = Path(self._copy.name) / self._path.name
        for end in ("", "-wal", "-journal"):
            if (file := self._beside(end)).exists():
                shutil.copyfile(file, target.with_name(target.name + end))
        with closing(connect(target)) as db:
            db.execute("pragma journal_mode = delete")
        return f"{target.as_uri()}?mode=ro&immutable=1"

    def _beside(self, end: str) -> Path:
        return self._path.with_name(self._path.name + end)

    def _grouped(self, query: str) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for table, column in self._db.run(query):
            found.setdefault(table, set()).add(column)
        return {table: frozenset(columns) for table, columns in found.items()}


def _deserialized(raw: bytes) -> SqliteConnection:
    """A database in memory; one that was kept with a log is taken as one without, for there is none."""
    content = bytearray(raw)
    content[_WRITE_VERSION] = content[_READ_VERSION] = 1
    db = connect(":memory:", folders=FOREIGN)
    db.deserialize(bytes(content))
    return db

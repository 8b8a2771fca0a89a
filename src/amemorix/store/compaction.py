"""The database's files: folded, rewritten, and read as bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from .keys import Keyring
from .ports import Connection
from .private_files import create_private
from .queries import SqliteConnection, connect

__all__ = ["RawFiles", "file_chunks", "in_memory", "one_transaction", "open_copy"]

CHUNK = 1 << 20
IN_MEMORY_BYTES = 256 << 20
"""A larger database is rewritten by way of a temporary file."""
BREATH_SECONDS = 0.0005


def fold(db: Connection) -> bool:
    """Bring the log into the database and empty it; False if a reader was in the way."""
    db.run("wait_briefly")
    try:
        busy = db.run("log_fold").fetchone()[0]
    finally:
        db.run("wait_long")
    return busy == 0


def rewrite(db: Connection, size: int) -> None:
    """Write the whole database anew, without what its pages held before."""
    if size > IN_MEMORY_BYTES:
        db.run("temporary_in_file")
    try:
        db.run("rewrite_file")
    finally:
        db.run("temporary_in_memory")


def version(db: Connection) -> int:
    """The number of the schema."""
    return db.run("schema_version").fetchone()[0]


class RawFiles:
    """Reads the bytes of database files that are in use.

    Each is opened once and stays open until the database is closed: closing any handle of a file drops the locks that
    this process holds on it (sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self) -> None:
        self._open: dict[Path, BinaryIO] = {}
        self._closed = False
        self._lock = threading.Lock()

    def chunks(self, path: Path) -> Iterator[bytes]:
        """The file as it stands, a chunk at a time."""
        at = 0
        while chunk := self.read(path, at):
            yield chunk
            at += len(chunk)
            time.sleep(BREATH_SECONDS)

    def read(self, path: Path, at: int) -> bytes:
        """A chunk of the file from there on, as it stands; less at its end."""
        with self._lock:
            if self._closed:
                raise FileNotFoundError(path)
            if path not in self._open:
                self._open[path] = path.open("rb", buffering=0)
            file = self._open[path]
            file.seek(at)
            return file.read(CHUNK)

    def close(self) -> None:
        """Let go of the files; only when no connection is open."""
        with self._lock:
            self._closed = True
            for file in self._open.values():
                file.close()
            self._open.clear()


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file that no database of this process has open."""
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            yield chunk
            time.sleep(BREATH_SECONDS)


@contextmanager
def open_copy(path: Path, keys: Keyring | None, *, unchanged: bool = False) -> Generator[SqliteConnection]:
    """A database that this process does not use otherwise; `unchanged`: nothing is written, no log and no lock either.

    It is opened with the key that fits, a new one is encrypted with the current key.
    """
    where = f"{path.absolute().as_uri()}?immutable=1" if unchanged else path
    if not unchanged:
        create_private(path)
    with closing(connect(where, key=keys and keys.page_key(path), uri=unchanged)) as db:
        yield db


@contextmanager
def in_memory() -> Generator[SqliteConnection]:
    """An empty database without a file."""
    with closing(connect(":memory:")) as db:
        yield db


@contextmanager
def one_transaction(db: SqliteConnection) -> Generator[None]:
    """A transaction that checks references and leaves nothing of what it deletes; the file is left without a log."""
    db.execute("pragma secure_delete = on")
    db.execute("pragma foreign_keys = on")
    db.execute("pragma journal_mode = delete")
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")

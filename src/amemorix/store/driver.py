"""The SQLite libraries: Python's own for plain files, SQLCipher (`amemorix[encryption]`) for encrypted ones.

One process never opens one file with both: closing a descriptor of one drops the locks of the other. What belongs to an
encrypted memory is opened with SQLCipher, plain files too; what belongs to a plain one never is.
"""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from sqlite3 import Error as DatabaseError
from sqlite3 import IntegrityError, OperationalError, Row
from typing import Any, cast

from ..errors import StorageFailure
from ..extras import require

__all__ = ["INTERRUPT", "PLAIN_HEADER", "UNREADABLE", "DatabaseError", "IntegrityError", "NamedStatements", "OperationalError", "PageKey", "Row", "SqliteConnection", "cipher", "cipher_is_loaded", "connect", "is_damage"]  # fmt: skip

DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of a file that is damaged; of SQLCipher also where the HMAC of a page does not fit."""
UNREADABLE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
"""Codes that no second try mends."""
INTERRUPT = sqlite3.SQLITE_INTERRUPT
PLAIN_HEADER = b"SQLite format 3\0"
"""First bytes of a database that is not encrypted."""
CIPHER_VERSION = 4
"""The settings of SQLCipher that files are written with, whatever a later version of it has as its own."""
_ERRORS = (
    "DatabaseError", "InterfaceError", "OperationalError", "IntegrityError", "ProgrammingError", "InternalError", "DataError",
    "NotSupportedError",
)  # fmt: skip


class NamedStatements:
    """A Connection of the store's ports, as a part of a library's own connection."""

    statements: Mapping[str, str]

    def run(self: Any, name: str, /, **values: Any) -> sqlite3.Cursor:
        """Run the statement of this name with these values for its parameters."""
        return self.execute(self.statements[name], values)

    def run_many(self: Any, name: str, rows: Iterable[Mapping[str, Any]], /) -> sqlite3.Cursor:
        """Run the statement of this name once for each row of values."""
        return self.executemany(self.statements[name], rows)


class SqliteConnection(NamedStatements, sqlite3.Connection):
    """A connection of a plain file; `execute` stays for what SQLite alone has (pragmas, savepoints).

    One of an encrypted file has the same methods.
    """


@dataclass(frozen=True, slots=True)
class PageKey:
    """How to open a file with SQLCipher: 32 bytes, or none for a file that is plain."""

    raw: bytes | None = field(repr=False)
    cache_mb: int = 64

    @property
    def literal(self) -> str:
        """The key as SQLCipher reads it; of a plain file an empty one."""
        return f"x'{self.raw.hex()}'" if self.raw else ""


def connect(path: Path | str, *, key: PageKey | None = None, uri: bool = False) -> SqliteConnection:
    """A connection that begins and ends no transaction by itself; SQLCipher's with a key. Raises StorageFailure without it."""
    library, kind = cipher() if key else (sqlite3, SqliteConnection)
    db: SqliteConnection = library.connect(
        path, isolation_level=None, check_same_thread=False, timeout=30, cached_statements=512, uri=uri, factory=kind
    )
    if key:
        db.execute("pragma cipher_log_level = none")
        if key.raw:
            db.execute(f'pragma key = "{key.literal}"')
            db.execute(f"pragma cipher_compatibility = {CIPHER_VERSION}")
        db.execute(f"pragma cache_size = {-key.cache_mb << 10}")
    return db


@cache
def cipher() -> tuple[Any, type[SqliteConnection]]:
    """SQLCipher and its connections. Its errors become kinds of Python's own: whoever handles one need not know which it is."""
    require("encryption", "An encrypted memory", fault=StorageFailure)
    library: Any = importlib.import_module("sqlcipher3.dbapi2")
    with_key = library.connect(":memory:")
    found = with_key.execute("pragma cipher_version").fetchone()
    with_key.close()
    if found is None or int(found[0].split(".")[0]) < CIPHER_VERSION:
        told = (
            f"Encryption needs SQLCipher {CIPHER_VERSION} or later, and sqlcipher3 has {found[0] if found else 'none'}."
        )
        raise StorageFailure(told)
    for name in _ERRORS:
        kind, ours = getattr(library, name), getattr(sqlite3, name)
        if ours not in kind.__mro__:
            kind.__bases__ = (*kind.__bases__, ours)
    return library, cast("type[SqliteConnection]", type("CipherConnection", (NamedStatements, library.Connection), {}))


def is_damage(exc: BaseException) -> bool:
    """Whether the error says that a file is damaged."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF in DAMAGE


def cipher_is_loaded() -> bool:
    """Whether this process has opened an encrypted memory."""
    return cipher.cache_info().currsize > 0

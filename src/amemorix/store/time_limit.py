"""Statements that give up."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Generator

from .connection import of_file
from .ports import Connection

__all__ = ["time_limit"]

STEPS = 5_000
"""Steps of SQLite's machine between two looks at the clock: some tens of microseconds."""


@contextlib.contextmanager
def time_limit(db: Connection, seconds: float) -> Generator[None, None, None]:
    """Raises TimeoutError out of a statement that is still running after so long."""
    until = time.monotonic() + seconds
    of_file(db).set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        yield
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise TimeoutError(f"not done within {seconds * 1000:g} ms") from exc
        raise
    finally:
        of_file(db).set_progress_handler(None, 0)

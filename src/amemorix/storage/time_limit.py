"""Statements that give up."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Generator

__all__ = ["time_limit"]

STEPS = 5_000
"""Steps of SQLite's machine between two looks at the clock: some tens of microseconds."""


@contextlib.contextmanager
def time_limit(db: sqlite3.Connection, seconds: float) -> Generator[None, None, None]:
    """Statements that are still running after so long raise sqlite3.OperationalError."""
    until = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        yield
    finally:
        db.set_progress_handler(None, 0)

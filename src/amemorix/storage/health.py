"""The database's view of its own condition."""

from __future__ import annotations

import sqlite3

from .queries import queries

__all__ = ["HealthRepository"]


class HealthRepository:
    """Asks the database whether it is whole."""

    def __init__(self) -> None:
        self._q = queries()

    def damage(self, db: sqlite3.Connection) -> str:
        """What SQLite's own check found; empty if it found nothing."""
        answer = db.execute(self._q["integrity"]).fetchone()[0]
        return "" if answer == "ok" else str(answer)

    def broken_references(self, db: sqlite3.Connection) -> int:
        """Rows whose foreign key points to nothing."""
        return len(db.execute(self._q["foreign_keys"]).fetchall())

    def expected(self, db: sqlite3.Connection) -> dict[str, int]:
        """How many rows each index should hold."""
        found = dict(db.execute(self._q["expected_rows"]).fetchall())
        return {name: int(count) for name, count in found.items()}

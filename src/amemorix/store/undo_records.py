"""Records from which a change can be undone."""

from __future__ import annotations

import sqlite3

from .queries import queries

__all__ = ["UndoRepository"]


class UndoRepository:
    """Keeps and reads undo records; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    def keep(self, db: sqlite3.Connection, kind: str, detail: str, requested_by: str, reason: str, now: float) -> int:
        """A record from which something can be undone; returns its row."""
        values = {"kind": kind, "detail": detail, "requested_by": requested_by, "reason": reason, "now": now}
        return db.execute(self._q["undo_insert"], values).fetchone()[0]

    def one(self, db: sqlite3.Connection, row: int) -> tuple[str, str, float | None] | None:
        """(kind, detail, when it was undone), None if there is no such record."""
        return db.execute(self._q["undo_one"], {"id": row}).fetchone()

    def done(self, db: sqlite3.Connection, row: int, now: float) -> None:
        """The record has been used."""
        db.execute(self._q["undo_done"], {"id": row, "now": now})

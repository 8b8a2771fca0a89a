"""Records from which a change can be undone."""

from __future__ import annotations

from ..ports import Connection


def keep(db: Connection, kind: str, detail: str, requested_by: str, reason: str, now: float) -> int:
    """A record from which something can be undone; returns its row."""
    values = {"kind": kind, "detail": detail, "requested_by": requested_by, "reason": reason, "now": now}
    return db.run("undo_insert", **values).fetchone()[0]


def one(db: Connection, row: int) -> tuple[str, str, float | None] | None:
    """(kind, detail, when it was undone), None if there is no such record."""
    return db.run("undo_one", id=row).fetchone()


def done(db: Connection, row: int, now: float) -> None:
    """The record has been used."""
    db.run("undo_done", id=row, now=now)

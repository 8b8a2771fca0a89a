"""Copies of the database: made while it is in use, looked at, and made ready to take its place."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import changes as change_log
from . import compaction
from .compaction import one_transaction, open_copy
from .connection import DatabaseError, of_file
from .ports import Connection
from .sqlite import INCARNATION

__all__ = ["HIGHEST_NUMBER", "Inventory", "Step"]

PAGES = 512
"""Pages copied at a time, about 2 MB."""
HIGHEST_NUMBER = 1 << 53
"""A table that says it has given out more is damaged: nothing could be stored any more."""
BREATH_SECONDS = 0.001
Step = Callable[[int, int], None]
"""Told how much of how much is done; raises to end the work."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a database says of itself at one moment."""

    database_id: str
    schema: int
    floor: int
    last: int
    """The change log's first and last number, as `ChangeRepository.bounds` gives them."""
    counts: Mapping[str, int]
    """Table -> its rows."""
    numbers: Mapping[str, int]
    """Table -> the highest number that it has given out."""


def inventory(db: Connection) -> Inventory:
    """What the database holds, within the connection's snapshot."""
    floor, last = change_log.bounds(db)
    return Inventory(
        change_log.get(db, "database_id") or "", compaction.version(db), floor, last,
        counts(db), given(db),
    )  # fmt: skip


def counts(db: Connection) -> dict[str, int]:
    statements = db.run("statements_counting").fetchall()
    return {name: of_file(db).execute(sql).fetchone()[0] for name, sql in statements}


def given(db: Connection) -> dict[str, int]:
    """Table -> the highest number that it has given out."""
    return dict(db.run("number_counters").fetchall())


def numbers(path: Path) -> dict[str, int]:
    """Table -> the highest number that a copy has given out; none of one that cannot be read, and thus not restored."""
    try:
        with open_copy(path, unchanged=True) as db:
            given = db.run("number_counters").fetchall()
        return {name: seq for name, seq in given if isinstance(seq, int) and seq <= HIGHEST_NUMBER}
    except DatabaseError:
        return {}


def copy(db: Connection, to: Path, step: Step) -> Inventory:
    """Copy what the connection's snapshot sees into one new file, synced; writers go on meanwhile.

    The snapshot is held by the first statement, so the copy never begins anew however much is written
    (sqlite.org/c3ref/backup_finish.html: a read transaction that is open already stays open).
    """
    found = inventory(db)

    def progress(_: int, remaining: int, total: int) -> None:
        step(total - remaining, total)
        time.sleep(BREATH_SECONDS)

    with open_copy(to) as target:
        target.execute("pragma synchronous = off")
        of_file(db).backup(target, pages=PAGES, progress=progress)
        target.execute("pragma journal_mode = delete")
    _synced(to)
    return found


def faults(db: Connection) -> list[str]:
    """What SQLite's own whole check finds, and rows that point to nothing; empty if all is well."""
    said = [str(row[0]) for row in db.run("integrity_whole")]
    broken = len(db.run("foreign_keys").fetchall())
    found = [] if said == ["ok"] else said
    return [*found, *([f"{broken} rows point to rows that are not there"] if broken else [])]


def begin_history(path: Path) -> None:
    """Let a copy be a database with a history of its own: no index that was made of other rows fits it."""
    with open_copy(path) as db, one_transaction(db):
        change_log.put(db, INCARNATION, secrets.token_hex(8))
    _synced(path)


def skip_numbers(path: Path, numbers: Mapping[str, int]) -> None:
    """Let a copy give out only higher numbers: so no id ever means two things, in backups either."""
    with open_copy(path) as db, one_transaction(db):
        tables = {row[0] for row in db.run("tables_listed")}
        for name, highest in numbers.items():
            if name in tables:
                db.run("number_counter_raise", name=name, seq=highest)
                db.run("number_counter_add", name=name, seq=highest)
    _synced(path)


def _synced(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())

"""The database's view of its own condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..ports import Connection
from ..queries import array

CATALOGUE = "sqlite_schema"


def damage(db: Connection) -> list[str]:
    """What SQLite's own quick check found, at most 20 lines."""
    return _faults(db.run("integrity"))


def tables(db: Connection) -> list[str]:
    """Every table whose damage can be looked for, the database's own catalogue first."""
    return [CATALOGUE, *(row[0] for row in db.run("tables_listed"))]


def damage_of(db: Connection, table: str) -> list[str]:
    """What SQLite's own whole check found in a table, and where its indexes differ from it; at most 20 lines."""
    return _faults(db.run("integrity_of_table", table=table))


def _faults(lines: Iterable[Any]) -> list[str]:
    told = [str(line[0]) for line in lines]
    return [] if told == ["ok"] else told


def broken_references(db: Connection) -> dict[tuple[str, str], int]:
    """(table, table pointed to) -> rows whose foreign key points to nothing."""
    return dict(Counter((row[0], row[2]) for row in db.run("foreign_keys")))


def expected(db: Connection) -> dict[str, int]:
    """How many rows each index should hold."""
    found = dict(db.run("expected_rows").fetchall())
    return {name: int(count) for name, count in found.items()}


def without_terms(db: Connection) -> int:
    """Live paragraphs without terms."""
    return db.run("terms_missing_count").fetchone()[0]


def texts_without_terms(db: Connection, limit: int) -> list[tuple[int, str, float | None, str]]:
    """(paragraph, text, when it happened, chat) of some of them."""
    return db.run("terms_missing", limit=limit).fetchall()


def put_terms(db: Connection, terms: Iterable[tuple[int, bytes]]) -> None:
    """Give paragraphs their terms, and let the indexes know."""
    for id_, packed in terms:
        db.run("terms_insert", id=id_, v=packed)
        db.run("paragraph_changed", id=id_)


def misshapen_vectors(db: Connection, generation: int, dimension: int) -> list[int]:
    """Paragraphs whose vector of a generation has another length than it should."""
    return [row[0] for row in db.run("vectors_misshapen", generation=generation, bytes=2 * dimension)]


def misshapen_of_callers(db: Connection) -> tuple[int, int]:
    """(vectors that callers have brought, those of them that cannot be read)."""
    return db.run("space_vectors_misshapen").fetchone()


def vectors(db: Connection, generation: int, after: int, limit: int) -> list[tuple[int, bytes]]:
    """(paragraph, vector) by paragraph."""
    return db.run("vectors_page", generation=generation, after=after, limit=limit).fetchall()


def drop_vectors(db: Connection, generation: int, paragraphs: Iterable[int]) -> None:
    db.run("vectors_forget", generation=generation, ids=array(paragraphs))


def failed_work(db: Connection, kind: str) -> tuple[int, str] | None:
    """How many tasks of a kind failed, and the error of the last; None if none did."""
    count, error = db.run("work_failed", kind=kind).fetchone()
    return (count, error or "") if count else None


def failed_by_kind(db: Connection) -> dict[str, int]:
    """How many tasks of each kind failed."""
    return dict(db.run("work_failed_by_kind").fetchall())


def retry_work(db: Connection, now: float) -> int:
    """Let every failed task be tried again now; returns how many."""
    return db.run("work_retry", now=now).rowcount

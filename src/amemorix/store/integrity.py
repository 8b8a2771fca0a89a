"""The database's view of its own condition."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable

from .queries import array, queries

__all__ = ["HealthRepository"]


class HealthRepository:
    """Asks the database whether it is whole."""

    def __init__(self) -> None:
        self._q = queries()

    def damage(self, db: sqlite3.Connection, *, deep: bool = False) -> list[str]:
        """What SQLite's own check found, at most 20 lines; `deep` compares its indexes with the tables as well."""
        lines = [str(row[0]) for row in db.execute(self._q["integrity_deep" if deep else "integrity"])]
        return [] if lines == ["ok"] else lines

    def broken_references(self, db: sqlite3.Connection) -> dict[tuple[str, str], int]:
        """(table, table pointed to) -> rows whose foreign key points to nothing."""
        return dict(Counter((row[0], row[2]) for row in db.execute(self._q["foreign_keys"])))

    def reindex(self, db: sqlite3.Connection) -> None:
        """Make every index of the database anew; outside any transaction."""
        db.execute(self._q["reindex"])

    def expected(self, db: sqlite3.Connection) -> dict[str, int]:
        """How many rows each index should hold."""
        found = dict(db.execute(self._q["expected_rows"]).fetchall())
        return {name: int(count) for name, count in found.items()}

    # words

    def without_terms(self, db: sqlite3.Connection) -> int:
        """Live paragraphs without terms."""
        return db.execute(self._q["terms_missing_count"]).fetchone()[0]

    def texts_without_terms(self, db: sqlite3.Connection, limit: int) -> list[tuple[int, str, float | None, str]]:
        """(paragraph, text, when it happened, chat) of some of them."""
        return db.execute(self._q["terms_missing"], {"limit": limit}).fetchall()

    def put_terms(self, db: sqlite3.Connection, terms: Iterable[tuple[int, bytes]]) -> None:
        """Give paragraphs their terms, and let the indexes know."""
        for id_, packed in terms:
            db.execute(self._q["terms_insert"], {"id": id_, "v": packed})
            db.execute(self._q["paragraph_changed"], {"id": id_})

    # vectors

    def misshapen_vectors(self, db: sqlite3.Connection, generation: int, dimension: int) -> list[int]:
        """Paragraphs whose vector of a generation has another length than it should."""
        values = {"generation": generation, "bytes": 2 * dimension}
        return [row[0] for row in db.execute(self._q["vectors_misshapen"], values)]

    def vectors(self, db: sqlite3.Connection, generation: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        """(paragraph, vector) by paragraph."""
        values = {"generation": generation, "after": after, "limit": limit}
        return db.execute(self._q["vectors_page"], values).fetchall()

    def drop_vectors(self, db: sqlite3.Connection, generation: int, paragraphs: Iterable[int]) -> None:
        """Forget these vectors."""
        db.execute(self._q["vectors_forget"], {"generation": generation, "ids": array(paragraphs)})

    # work

    def failed_work(self, db: sqlite3.Connection, kind: str) -> tuple[int, str] | None:
        """How many tasks of a kind failed, and the error of the last; None if none did."""
        count, error = db.execute(self._q["work_failed"], {"kind": kind}).fetchone()
        return (count, error or "") if count else None

    def failed_by_kind(self, db: sqlite3.Connection) -> dict[str, int]:
        """How many tasks of each kind failed."""
        return dict(db.execute(self._q["work_failed_by_kind"]).fetchall())

    def retry_work(self, db: sqlite3.Connection, now: float) -> int:
        """Let every failed task be tried again now; returns how many."""
        return db.execute(self._q["work_retry"], {"now": now}).rowcount

"""The change log: which rows moved, in order."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .queries import array, queries

__all__ = ["ChangeRepository"]


CHUNK, BREATH_SECONDS = 500, 0.001
"""Rows read at a time for an index that is made anew, and the pause after them: the event loop and searches go first."""


class ChangeRepository:
    """Reads and prunes the change log, and reads the rows that projections are made of."""

    def __init__(self) -> None:
        self._q = queries()

    def bounds(self, db: sqlite3.Connection) -> tuple[int, int]:
        """(floor, last): a cursor within them can be caught up, any other has to begin anew."""
        return db.execute(self._q["changes_bounds"]).fetchone()

    def between(self, db: sqlite3.Connection, cursor: int, upto: int, kinds: Iterable[str]) -> list[int]:
        """Ids of these kinds that changed after `cursor`, up to and including `upto`."""
        values = {"cursor": cursor, "upto": upto, "kinds": array(kinds)}
        return [row[0] for row in db.execute(self._q["changes_between"], values)]

    def prune(self, db: sqlite3.Connection, upto: int) -> None:
        """Forget changes up to `upto`; cursors below it will have to begin anew."""
        db.execute(self._q["changes_prune"], {"upto": upto})
        db.execute(self._q["changes_floor_raise"], {"upto": upto})

    def rows(self, db: sqlite3.Connection, query: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """All rows of a projection (`term_rows`, `vector_rows`, `edge_rows`)."""
        cursor = db.execute(self._q[query], values)
        cursor.arraysize = CHUNK
        while rows := cursor.fetchmany():
            yield from rows
            time.sleep(BREATH_SECONDS)

    def rows_of(
        self, db: sqlite3.Connection, query: str, ids: Iterable[int], **values: Any
    ) -> Sequence[tuple[Any, ...]]:
        """The rows of a projection with these ids (`term_rows_of`, `vector_rows_of`, `edge_rows_of`)."""
        return db.execute(self._q[query], {"ids": array(ids), **values}).fetchall()

    def get(self, db: sqlite3.Connection, key: str) -> str | None:
        """A value of the store about itself."""
        row = db.execute(self._q["meta_get"], {"key": key}).fetchone()
        return None if row is None else row[0]

    def put(self, db: sqlite3.Connection, key: str, value: str) -> None:
        """Set a value of the store about itself."""
        db.execute(self._q["meta_put"], {"key": key, "value": value})

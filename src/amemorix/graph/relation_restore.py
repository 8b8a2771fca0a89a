"""The return of relations that went away for more than one reason, once the last of the reasons is gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..store.queries import array, queries

__all__ = ["RelationReturn"]


class RelationReturn:
    """Looks again at relations when something that kept them down is undone; the caller owns the transaction.

    A relation can be deleted by hand, with an end or with its last paragraph, and only the first of these marks it.
    """

    def __init__(self) -> None:
        self._q = queries()

    def taken(self, db: sqlite3.Connection, relations: Iterable[int], by: str) -> None:
        """Note by which record (u12, c12, d12) relations have just been deleted on purpose."""
        db.execute(self._q["relations_taken"], {"ids": array(relations), "by": by})

    def taken_by(self, db: sqlite3.Connection, relations: Iterable[int], by: str) -> set[int]:
        """Those of the relations that are still deleted by this record."""
        rows = db.execute(self._q["relations_taken_by"], {"ids": array(relations), "by": by})
        return {row[0] for row in rows}

    def among(self, db: sqlite3.Connection, relations: Iterable[int], now: float) -> list[int]:
        """Bring back those of the relations that nothing keeps down any more; returns them."""
        back = self._ids(db, "relations_free", relations)
        if back:
            db.execute(self._q["restore_relations"], {"ids": array(back)})
            db.execute(self._q["items_back_elsewhere"], {"kind": "relation", "ids": array(back), "now": now})
        return back

    def at(self, db: sqlite3.Connection, entities: Iterable[int], now: float) -> list[int]:
        """The same for all that begins or ends at these entities."""
        return self.among(db, self._ids(db, "relations_ending_at", entities), now)

    def resting_on(self, db: sqlite3.Connection, paragraphs: Iterable[int], now: float) -> list[int]:
        """The same for all that these paragraphs support."""
        return self.among(db, self._ids(db, "relations_resting_on", paragraphs), now)

    def _ids(self, db: sqlite3.Connection, query: str, ids: Iterable[int]) -> list[int]:
        given = array(ids)
        return [] if given == "[]" else sorted({row[0] for row in db.execute(self._q[query], {"ids": given})})

"""Erases rows from a copy of the database, with the records in it that quote or name them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from ..store import compaction
from ..store import copies as copy_rows
from ..store import operations as operation_rows
from ..store.compaction import one_transaction, open_copy
from ..store.queries import SqliteConnection
from ..store.records import MovedRow
from . import purge_records, purge_rows
from .purge_records import ASKED, NO_OPERATION, QUOTING, SearchPatterns
from .purge_rows import Targets

__all__ = ["CopyErasure", "purge_again"]

RECORDS = {"delete_operations": "id", "delete_operation_items": "operation"}
"""Tables of what was purged, and the column that holds the operation."""
STEP = 10_000


@dataclass(frozen=True, slots=True)
class CopyErasure:
    """What goes from every copy, whether it is marked there or not; of `persons` and `chats` nothing is left."""

    targets: Targets
    persons: Collection[int]
    chats: Collection[int] = ()

    def erase(self, db: SqliteConnection, wanted: SearchPatterns, *, complete: bool = False) -> tuple[int, int]:
        """Erase and scrub in one transaction; returns (rows, records) that went.

        What a record may quote is read from the copy itself, for the memory that was purged may not know it any more;
        with `complete`, `wanted` knows the texts of all paragraphs that go.
        """
        with one_transaction(db):
            records = self._scrub(db, wanted, complete)
            rows = sum(operation_rows.take_out(db, MovedRow(kind, 0, row)) for kind, row in wanted.moved)
            rows += purge_rows.erase_known_of(db, self.persons, self.chats)
            units = purge_rows.erasing(self.targets, STEP, force=True)
            return rows + sum(unit(db).counts.total() for unit in units), records

    def _scrub(self, db: SqliteConnection, wanted: SearchPatterns, complete: bool) -> int:
        whole = replace(self.targets, persons=tuple(self.persons))
        vanishing = purge_records.vanishing_with(db, whole)
        own = purge_records.patterns_of(db, replace(whole, paragraphs=()) if complete else whole, vanishing)
        names = list(purge_records.names_staying(db, whole, vanishing))
        wanted, own = (
            one.without(purge_rows.held(db, one.quotes, names, but=self.targets.paragraphs)) for one in (wanted, own)
        )
        done = 0
        for table in QUOTING:
            keys = {
                key for one in (wanted, own)
                for key in purge_records.to_scrub(db, table, NO_OPERATION, self.targets, vanishing, one)
            }  # fmt: skip
            done += purge_records.scrub(db, table, keys) if keys else 0
        done += sum(purge_records.forget(db, self.targets).values())
        for table in ASKED:
            if ids := {id_ for one in (wanted, own) for id_ in purge_records.asked_by(db, table, one)}:
                purge_records.unname(db, table, list(ids))
                done += len(ids)
        return done


def purge_again(memory: Path, copy: Path) -> int:
    """Erase from the copy what has been purged from the memory, and take over the records of it; returns how many rows.

    What came back to life since stays. Both are database files that nobody has open. Blocking.
    """
    with open_copy(memory, unchanged=True) as db:
        purged = frozenset(operation_rows.purged(db))
        items = [item for operation in purged for item in operation_rows.open_items(db, operation)]
        asked = Targets.of(dict.fromkeys((item.kind, item.id) for item in items))
        gone, persons, _ = purge_rows.gone_of(db, asked)
        gone = replace(gone, paragraphs=purge_rows.gone(db, "paragraphs", asked.paragraphs), refs=())
        columns = {table: copy_rows.tables(db)[table] for table in RECORDS}
        records = {
            table: [
                row for row in copy_rows.rows(db, table, columns[table]) if row[columns[table].index(key)] in purged
            ]
            for table, key in RECORDS.items()
        }
    if not purged:
        return 0
    with open_copy(copy) as db:
        with one_transaction(db):
            operation_rows.forget(db, sorted(purged))
            for table, found in records.items():
                copy_rows.write(db, table, columns[table], found)
        rows, scrubbed = CopyErasure(gone, persons).erase(db, SearchPatterns())
        if rows + scrubbed:
            compaction.rewrite(db, copy.stat().st_size)
    return rows

"""Purging from a copy what was purged from the memory since the copy was made."""

from __future__ import annotations

from pathlib import Path

from ..store import compaction, operations
from ..store import portable as portable_rows
from ..store.compaction import one_transaction, open_copy
from .purge_copies import CopyErasing
from .purge_rows import ErasureRepository, Targets

__all__ = ["purge_again"]

RECORDS = {"delete_operations": "id", "delete_operation_items": "operation"}
"""Tables of what was purged, and the column that holds the operation."""


def purge_again(memory: Path, copy: Path) -> int:
    """Erase from the copy what has been purged from the memory, and take over the records of it; returns how many rows.

    What came back to life since stays. Both are database files that nobody has open. Blocking.
    """
    with open_copy(memory, unchanged=True) as db:
        purged = frozenset(operations.purged(db))
        items = [item for operation in purged for item in operations.open_items(db, operation)]
        asked, rows = Targets.of(dict.fromkeys((item.kind, item.id) for item in items)), ErasureRepository()
        gone = Targets(
            rows.gone(db, "paragraphs", asked.paragraphs), (), rows.gone(db, "relations", asked.relations),
            rows.gone(db, "entities", asked.entities), rows.gone(db, "facts", asked.facts), asked.persons, asked.chats,
        )  # fmt: skip
        persons = rows.gone(db, "persons", gone.persons)
        columns = {table: portable_rows.tables(db)[table] for table in RECORDS}
        records = {
            table: [
                row for row in portable_rows.rows(db, table, columns[table]) if row[columns[table].index(key)] in purged
            ]
            for table, key in RECORDS.items()
        }
    if not purged:
        return 0
    with open_copy(copy) as db:
        with one_transaction(db):
            operations.forget(db, sorted(purged))
            for table, found in records.items():
                portable_rows.write(db, table, columns[table], found)
        erased = CopyErasing(gone, persons).erase(db)
        if erased:
            compaction.rewrite(db, copy.stat().st_size)
    return erased.rows

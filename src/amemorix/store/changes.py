"""The change log: which rows moved, in order."""

from __future__ import annotations

from collections.abc import Iterable

from .ports import Connection
from .queries import array

DOCUMENTS_FLOOR = "document_changes_floor"
KEPT = 100_000
"""Changes of documents that are kept."""


def bounds(db: Connection) -> tuple[int, int]:
    """(floor, last): a cursor within them can be caught up, any other has to begin anew."""
    return db.run("changes_bounds").fetchone()


def between(db: Connection, cursor: int, upto: int, kinds: Iterable[str]) -> list[int]:
    """Ids of these kinds that changed after `cursor`, up to and including `upto`."""
    return [row[0] for row in db.run("changes_between", cursor=cursor, upto=upto, kinds=array(kinds))]


def prune(db: Connection, upto: int) -> None:
    """Forget changes up to `upto`; cursors below it will have to begin anew."""
    db.run("changes_prune", upto=upto)
    db.run("changes_floor_raise", upto=upto)


def documents_prunable(db: Connection) -> int:
    """Up to where changes of documents are not kept any more for whoever was away; 0 if all of them are."""
    floor, last, *_ = db.run("document_changes_bounds").fetchone()
    return last - KEPT if last - KEPT > floor else 0


def forget_documents(db: Connection, upto: int) -> None:
    """Forget what became of documents up to a change; whoever knows none after it will have to begin anew."""
    db.run("document_changes_forget", upto=upto)
    put(db, DOCUMENTS_FLOOR, str(upto))


def get(db: Connection, key: str) -> str | None:
    """A value of the store about itself."""
    row = db.run("meta_get", key=key).fetchone()
    return None if row is None else row[0]


def put(db: Connection, key: str, value: str) -> None:
    """Set a value of the store about itself."""
    db.run("meta_put", key=key, value=value)

"""The return of relations that went away for more than one reason, once the last of the reasons is gone."""

from __future__ import annotations

from collections.abc import Iterable

from ..store.operations import row_ids
from ..store.ports import Connection
from ..store.queries import array


def taken(db: Connection, relations: Iterable[int], by: str) -> None:
    """Note by which record (u12, c12, d12) relations have just been deleted on purpose."""
    db.run("relations_taken", ids=array(relations), by=by)


def taken_by(db: Connection, relations: Iterable[int], by: str) -> set[int]:
    """Those of the relations that are still deleted by this record."""
    return set(row_ids(db, "relations_taken_by", relations, by=by))


def among(db: Connection, relations: Iterable[int], now: float) -> list[int]:
    """Bring back those of the relations that nothing keeps down any more; returns them."""
    back = row_ids(db, "relations_free", relations)
    if back:
        db.run("restore_relations", ids=array(back))
        db.run("items_back_elsewhere", kind="relation", ids=array(back), now=now)
    return back


def at(db: Connection, entities: Iterable[int], now: float) -> list[int]:
    """The same for all that begins or ends at these entities."""
    return among(db, row_ids(db, "relations_ending_at", entities), now)


def resting_on(db: Connection, paragraphs: Iterable[int], now: float) -> list[int]:
    """The same for all that these paragraphs support."""
    return among(db, row_ids(db, "relations_resting_on", paragraphs), now)

"""Evidence that was taken from a profile by hand, given back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..clock import Clock
from ..errors import Conflict, NotFound
from ..graph import relation_restore
from ..ids import paragraph_key
from ..store import operations as operation_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import persons as person_rows

__all__ = ["EvidenceUndo", "GivenBack"]

FIELD = "operation_id"


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What came back, and of whom it is evidence."""

    person: int
    paragraphs: tuple[int, ...] = ()
    relations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    """What was taken back of a person's evidence; times in epoch seconds."""

    id: int
    person: int
    paragraphs: tuple[int, ...]
    relations: tuple[int, ...]
    created_at: float
    undone_at: float | None


class EvidenceUndo:
    """Undoes `correct_evidence`: what it deleted is there again, unless something else keeps it down."""

    def __init__(self, store: MetadataStore, *, clock: Clock, look_again: Callable[[int], None]) -> None:
        self._store = store
        self._clock = clock
        self._look_again = look_again

    async def undo(self, operation: int, *, refresh: Callable[[Connection, int], None] | None) -> GivenBack:
        """Give back what the operation took; `refresh` is called in the same transaction with the person's row.

        Raises NotFound, or Conflict if it has been undone or the evidence cannot come back.
        """

        def unit(db: Connection) -> tuple[GivenBack, int | None]:
            record, now = _record(db, operation), self._clock.now()
            db.run("evidence_undo_done", id=record.id, now=now)
            back = _paragraph_back(db, record, now) if record.paragraphs else _relations_back(db, record, now)
            if refresh is not None:
                refresh(db, record.person)
            given = GivenBack(record.person, record.paragraphs, tuple(back))
            return given, operation_rows.lower_watermarks(db, record.paragraphs)

        back, unembedded = await self._store.write(unit)
        if unembedded is not None:
            self._look_again(unembedded)
        return back


def _record(db: Connection, operation: int) -> _Record:
    row = db.run("evidence_undo_find", id=operation).fetchone()
    if row is None:
        raise NotFound(f"{FIELD}: no evidence was taken back as {operation}, or it has been purged.", field=FIELD)
    id_, detail, created_at, undone_at = row
    taken = json.loads(detail)
    record = _Record(id_, taken["person"], tuple(taken["paragraphs"]), tuple(taken["relations"]), created_at, undone_at)
    if undone_at is not None:
        raise Conflict(f"{FIELD}: {operation} has been undone already.", field=FIELD)
    if person_rows.names(db, record.person) is None:
        raise Conflict(f"{FIELD}: the person of {operation} is gone.", field=FIELD)
    return record


def _paragraph_back(db: Connection, record: _Record, now: float) -> list[int]:
    """Bring the paragraph back with the relations that went with it; returns those."""
    (id_,) = record.paragraphs
    key, row = paragraph_key(id_), db.run("evidence_undo_paragraph", id=id_).fetchone()
    if row is None:
        raise Conflict(f"{FIELD}: {key} has been purged.", field=FIELD)
    deleted_at, without_reference, reworded = row
    _must_be_taken(key, deleted_at, record)
    if reworded:
        raise Conflict(f"{FIELD}: a newer text is stored in the place of {key}.", field=FIELD)
    if without_reference:
        raise Conflict(f"{FIELD}: the text that {key} is part of has been deleted.", field=FIELD)
    db.run("restore_paragraphs", ids=array([id_]))
    return relation_restore.resting_on(db, [id_], now)


def _relations_back(db: Connection, record: _Record, now: float) -> list[int]:
    for id_ in record.relations:
        row = db.run("evidence_undo_relation", id=id_).fetchone()
        _must_be_taken(f"r{id_}", row and row[0], record)
    back = relation_restore.among(db, record.relations, now)
    if not back:
        raise Conflict(f"{FIELD}: nothing that stands speaks for r{record.relations[0]} any more.", field=FIELD)
    return back


def _must_be_taken(key: str, deleted_at: float | None, record: _Record) -> None:
    """Raises Conflict unless it is this record that took it away."""
    if deleted_at is None:
        raise Conflict(f"{FIELD}: {key} is there again already, or has been purged.", field=FIELD)
    if deleted_at != record.created_at:
        raise Conflict(f"{FIELD}: {key} came back and was deleted again by something else.", field=FIELD)

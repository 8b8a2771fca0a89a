"""The giving back of evidence that was taken from a profile by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..clock import Clock
from ..errors import Conflict, NotFound
from ..graph import relation_restore
from ..ids import paragraph_key
from ..store import operations as operation_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from . import evidence_rows
from .evidence_rows import EvidenceRecord

__all__ = ["EvidenceUndo", "GivenBack"]

FIELD = "operation_id"


@dataclass(frozen=True, slots=True)
class GivenBack:
    """What came back, and of whom it is evidence."""

    person: int
    paragraphs: tuple[int, ...] = ()
    relations: tuple[int, ...] = ()


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
            record = self._record(db, operation)
            now = self._clock.now()
            evidence_rows.done(db, record.id, now)
            relations = self._paragraph(db, record, now) if record.paragraphs else self._relation(db, record, now)
            if refresh is not None:
                refresh(db, record.person)
            back = GivenBack(record.person, record.paragraphs, tuple(relations))
            return back, operation_rows.lower_watermarks(db, record.paragraphs)

        back, unembedded = await self._store.write(unit)
        if unembedded is not None:
            self._look_again(unembedded)
        return back

    def _record(self, db: Connection, operation: int) -> EvidenceRecord:
        record = evidence_rows.find(db, operation)
        if record is None:
            raise NotFound(f"{FIELD}: no evidence was taken back as {operation}, or it has been purged.", field=FIELD)
        if record.undone_at is not None:
            raise Conflict(f"{FIELD}: {operation} has been undone already.", field=FIELD)
        if person_rows.names(db, record.person) is None:
            raise Conflict(f"{FIELD}: the person of {operation} is gone.", field=FIELD)
        return record

    def _paragraph(self, db: Connection, record: EvidenceRecord, now: float) -> list[int]:
        """Bring the paragraph back with the relations that went with it; returns those."""
        (row,) = record.paragraphs
        state = evidence_rows.paragraph(db, row)
        if state is None:
            raise Conflict(f"{FIELD}: {paragraph_key(row)} has been purged.", field=FIELD)
        self._must_be_taken(paragraph_key(row), state.deleted_at, record)
        if state.reworded:
            raise Conflict(f"{FIELD}: a newer text is stored in the place of {paragraph_key(row)}.", field=FIELD)
        if state.without_reference:
            raise Conflict(f"{FIELD}: the text that {paragraph_key(row)} is part of has been deleted.", field=FIELD)
        evidence_rows.bring_back(db, row)
        return relation_restore.resting_on(db, [row], now)

    def _relation(self, db: Connection, record: EvidenceRecord, now: float) -> list[int]:
        for row in record.relations:
            self._must_be_taken(f"r{row}", evidence_rows.relation_deleted_at(db, row), record)
        back = relation_restore.among(db, record.relations, now)
        if not back:
            raise Conflict(f"{FIELD}: nothing that stands speaks for r{record.relations[0]} any more.", field=FIELD)
        return back

    def _must_be_taken(self, key: str, deleted_at: float | None, record: EvidenceRecord) -> None:
        """Raise Conflict unless it is this record that took it away."""
        if deleted_at is None:
            raise Conflict(f"{FIELD}: {key} is there again already, or has been purged.", field=FIELD)
        if deleted_at != record.created_at:
            raise Conflict(f"{FIELD}: {key} came back and was deleted again by something else.", field=FIELD)

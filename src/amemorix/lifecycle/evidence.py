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
            given = _give_back(db, operation, self._clock.now())
            if refresh is not None:
                refresh(db, given.person)
            return given, operation_rows.lower_watermarks(db, given.paragraphs)

        back, unembedded = await self._store.write(unit)
        if unembedded is not None:
            self._look_again(unembedded)
        return back


def _give_back(db: Connection, operation: int, now: float) -> GivenBack:
    """Bring back a paragraph with the relations that went with it, or relations alone."""
    record = db.run("evidence_undo_find", id=operation).fetchone()
    if record is None:
        raise NotFound(f"{FIELD}: no evidence was taken back as {operation}, or it has been purged.", field=FIELD)
    id_, detail, taken_at, undone_at = record
    taken = json.loads(detail)
    person, paragraphs, relations = taken["person"], tuple(taken["paragraphs"]), tuple(taken["relations"])
    if undone_at is not None:
        raise Conflict(f"{FIELD}: {operation} has been undone already.", field=FIELD)
    if person_rows.names(db, person) is None:
        raise Conflict(f"{FIELD}: the person of {operation} is gone.", field=FIELD)
    db.run("evidence_undo_done", id=id_, now=now)

    def must_be_taken(key: str, deleted_at: float | None) -> None:
        if deleted_at is None:
            raise Conflict(f"{FIELD}: {key} is there again already, or has been purged.", field=FIELD)
        if deleted_at != taken_at:
            raise Conflict(f"{FIELD}: {key} came back and was deleted again by something else.", field=FIELD)

    if not paragraphs:
        for relation in relations:
            row = db.run("evidence_undo_relation", id=relation).fetchone()
            must_be_taken(f"r{relation}", row and row[0])
        back = relation_restore.among(db, relations, now)
        if not back:
            raise Conflict(f"{FIELD}: nothing that stands speaks for r{relations[0]} any more.", field=FIELD)
        return GivenBack(person, (), tuple(back))
    (paragraph,) = paragraphs
    key, row = paragraph_key(paragraph), db.run("evidence_undo_paragraph", id=paragraph).fetchone()
    if row is None:
        raise Conflict(f"{FIELD}: {key} has been purged.", field=FIELD)
    deleted_at, without_reference, reworded = row
    must_be_taken(key, deleted_at)
    if reworded:
        raise Conflict(f"{FIELD}: a newer text is stored in the place of {key}.", field=FIELD)
    if without_reference:
        raise Conflict(f"{FIELD}: the text that {key} is part of has been deleted.", field=FIELD)
    db.run("restore_paragraphs", ids=array([paragraph]))
    return GivenBack(person, paragraphs, tuple(relation_restore.resting_on(db, [paragraph], now)))

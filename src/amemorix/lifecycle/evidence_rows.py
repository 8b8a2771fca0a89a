"""The records of evidence that was taken back, by which it can be given back."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array

__all__ = ["EvidenceRecord", "TakenParagraph"]


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """What was taken back of a person's evidence; times in epoch seconds."""

    id: int
    person: int
    paragraphs: tuple[int, ...]
    relations: tuple[int, ...]
    created_at: float
    undone_at: float | None


@dataclass(frozen=True, slots=True)
class TakenParagraph:
    """How a paragraph stands that was taken back."""

    deleted_at: float | None
    without_reference: bool
    reworded: bool


def find(db: Connection, id_: int) -> EvidenceRecord | None:
    """The record of this id."""
    row = db.run("evidence_undo_find", id=id_).fetchone()
    if row is None:
        return None
    detail = json.loads(row[1])
    taken = tuple(detail["paragraphs"]), tuple(detail["relations"])
    return EvidenceRecord(row[0], detail["person"], *taken, created_at=row[2], undone_at=row[3])


def done(db: Connection, id_: int, now: float) -> None:
    """Mark a record as undone."""
    db.run("evidence_undo_done", id=id_, now=now)


def paragraph(db: Connection, id_: int) -> TakenParagraph | None:
    """How the paragraph stands; None if it has been purged."""
    row = db.run("evidence_undo_paragraph", id=id_).fetchone()
    return None if row is None else TakenParagraph(row[0], bool(row[1]), bool(row[2]))


def relation_deleted_at(db: Connection, id_: int) -> float | None:
    """When the relation was deleted; None if it stands, or has been purged."""
    row = db.run("evidence_undo_relation", id=id_).fetchone()
    return None if row is None else row[0]


def bring_back(db: Connection, paragraph: int) -> None:
    """The paragraph is no longer deleted."""
    db.run("restore_paragraphs", ids=array([paragraph]))

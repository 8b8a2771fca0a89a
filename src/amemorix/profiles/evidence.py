"""The evidence of profiles: what they stand on, taking it back where it is wrong, and undoing that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, Field

from ..errors import Conflict, InvalidRequest, NotFound
from ..graph import relation_restore
from ..ids import paragraph_key, row_number
from ..language.normalise import normalise_name
from ..store.ports import Connection
from ..store.queries import array, shown_json
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows import relations as relation_rows
from ..store.rows import undo_records
from ..store.rows.persons import PersonNames
from ..store.rows.undo_records import UndoRecord
from .items import ProfileItem, score

__all__ = ["ProfileEvidence", "Retraction", "evidence_of", "give_back", "retract"]

LONGEST = 300
KIND = "profile_evidence"
UNDO = "operation_id"
"""The argument that names the record to be undone."""


class ProfileEvidence(BaseModel):
    """Something that the profile stands on."""

    id: str
    type: str = Field(description="`paragraph`, `relation` or `fact`.")
    content: str
    metadata: dict[str, Any]
    time: float = Field(description="Epoch seconds.")
    score: float
    confidence: float
    section: str
    source: str
    source_type: str
    deletable: bool = Field(description="Whether `memory_profile_admin` `correct_evidence` takes it.")


@dataclass(frozen=True, slots=True)
class Retraction:
    """Evidence of a person that was taken back, or is there again, and the undo record."""

    undo: int
    person: int
    paragraphs: list[int]
    relations: list[int]


def evidence_of(db: Connection, items: Sequence[ProfileItem], limit: int) -> list[ProfileEvidence]:
    """The evidence of the items as it stands now, that of the surest and freshest first, each piece once."""
    newest = max((item.at for item in items), default=0.0)
    ranked = sorted(items, key=lambda item: -score(item, newest))
    cited = list(dict.fromkeys(row for item in ranked for row in item.evidence))[: limit * 2]
    rows = paragraph_rows.full(db, cited)
    found: dict[str, ProfileEvidence] = {}
    for item in ranked:
        worth: dict[str, Any] = {"score": score(item, newest), "confidence": item.confidence, "section": item.section}
        if item.basis in ("fact", "relation"):
            key = item.ref
            told = ProfileEvidence(
                id=key, type=item.basis, content=item.statement, time=item.at, source="", source_type="", metadata={},
                deletable=item.basis != "fact", **worth,  # a fact is corrected in its ledger
            )  # fmt: skip
            found.setdefault(key, told)
        for row in (rows[id_] for id_ in item.evidence if id_ in rows):
            told = ProfileEvidence(
                id=paragraph_key(row.id),
                type="paragraph",
                content=row.content if len(row.content) <= LONGEST else row.content[: LONGEST - 1] + "…",
                time=row.recorded_at if row.event_start is None else row.event_start,
                source=row.source,
                source_type=row.source_type,
                metadata=shown_json(row.metadata),
                deletable=True,
                **worth,
            )
            found.setdefault(told.id, told)
    return list(found.values())[:limit]


def retract(db: Connection, person: int, evidence: str, *, requested_by: str, reason: str, now: float) -> Retraction:
    """Delete a paragraph or a relation that a person's profile stands on, so that it can be undone.

    The caller owns the transaction. Raises InvalidRequest, NotFound, Conflict.
    """
    if row_number(evidence, "f", bare=False):
        raise InvalidRequest("evidence_id: a fact is corrected in the ledger of facts.", field="evidence_id")
    paragraph, relation = (row_number(evidence, letter, bare=False) for letter in "pr")
    row = paragraph or relation
    if row is None:
        told = f"{evidence!r} is no evidence id such as p12 (paragraph) or r12 (relation)."
        raise InvalidRequest(f"evidence_id: {told}", field="evidence_id")
    named = person_rows.names(db, person)
    if named is None:
        raise NotFound("person_id: that person is gone.", field="person_id")
    paragraphs, relations = (_paragraph if paragraph else _relation)(db, named, row, now)
    detail = {"person": person, "paragraphs": paragraphs, "relations": relations}
    undo = undo_records.keep(db, KIND, detail, requested_by, reason, now)
    if not paragraphs:
        relation_restore.taken(db, relations, f"u{undo}")
    return Retraction(undo, person, paragraphs, relations)


def _paragraph(db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
    state = db.run("profile_paragraph_state", id=row).fetchone()
    mine = array([person.row, *(one.row for one in person_rows.namesakes(db, person))])
    names = array(sorted({normalise_name(name) for name in person.within(None)}))
    if state is None or not db.run("profile_evidence_of", paragraph=row, persons=mine, names=names).fetchone()[0]:
        _raise_not_evidence(paragraph_key(row), person)
    if any(state):
        gone = "has been deleted" if state[0] else "has been replaced by a newer wording"
        raise Conflict(f"evidence_id: {paragraph_key(row)} {gone}.", field="evidence_id")
    supported = [id_ for (id_,) in db.run("profile_relations_by", id=row)]
    db.run("profile_paragraph_delete", id=row, now=now)
    relation_rows.drop_unsupported(db, [row], now)
    left = {id_ for (id_,) in db.run("profile_relations_by", id=row)}
    return [row], [relation for relation in supported if relation not in left]


def _relation(db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
    state = db.run("profile_relation_state", id=row).fetchone()
    names = {normalise_name(name) for name in person.within(None)}
    if state is None or not names & {state[1], state[2]}:
        _raise_not_evidence(f"r{row}", person)
    if state[0]:
        raise Conflict(f"evidence_id: r{row} has been deleted.", field="evidence_id")
    db.run("profile_relation_delete", id=row, now=now)
    return [], [row]


def _raise_not_evidence(key: str, person: PersonNames) -> NoReturn:
    raise NotFound(f"evidence_id: {key} is no evidence of {person.person_id!r}.", field="evidence_id")


def give_back(db: Connection, operation: int, now: float) -> Retraction:
    """Undo a retraction: what it deleted is there again, unless something else keeps it down.

    The caller owns the transaction. Raises NotFound, or Conflict if it has been undone or the evidence cannot come back.
    """
    missing = f"no evidence was taken back as {operation}, or it has been purged."
    record = undo_records.use(db, operation, [KIND], now, field=UNDO, said=str(operation), missing=missing)
    person, paragraphs, relations = (record.detail[name] for name in ("person", "paragraphs", "relations"))
    if person_rows.names(db, person) is None:
        raise Conflict(f"{UNDO}: the person of {operation} is gone.", field=UNDO)
    for row in paragraphs:
        key, state = paragraph_key(row), db.run("evidence_undo_paragraph", id=row).fetchone()
        if state is None:
            raise Conflict(f"{UNDO}: {key} has been purged.", field=UNDO)
        deleted_at, without_reference, reworded = state
        _must_be_taken(key, deleted_at, record)
        if reworded:
            raise Conflict(f"{UNDO}: a newer text is stored in the place of {key}.", field=UNDO)
        if without_reference:
            raise Conflict(f"{UNDO}: the text that {key} is part of has been deleted.", field=UNDO)
    if paragraphs:  # the relations that went with it come back with it
        db.run("restore_paragraphs", ids=array(paragraphs))
        return Retraction(record.id, person, paragraphs, relation_restore.resting_on(db, paragraphs, now))
    for row in relations:
        state = db.run("evidence_undo_relation", id=row).fetchone()
        _must_be_taken(f"r{row}", state and state[0], record)
    back = relation_restore.among(db, relations, now)
    if not back:
        raise Conflict(f"{UNDO}: nothing that stands speaks for r{relations[0]} any more.", field=UNDO)
    return Retraction(record.id, person, [], back)


def _must_be_taken(key: str, deleted_at: float | None, record: UndoRecord) -> None:
    """Raises Conflict unless it is this record that took it away."""
    if deleted_at is None:
        raise Conflict(f"{UNDO}: {key} is there again already, or has been purged.", field=UNDO)
    if deleted_at != record.created_at:
        raise Conflict(f"{UNDO}: {key} came back and was deleted again by something else.", field=UNDO)

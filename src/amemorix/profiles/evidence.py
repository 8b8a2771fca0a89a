"""The evidence of profiles: what they stand on, and taking it back where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from ..errors import Conflict, InvalidRequest, NotFound
from ..graph import relation_restore
from ..ids import paragraph_key
from ..language.normalise import normalise_name
from ..store import operations
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows.persons import PersonNames
from .items import ProfileItem, score

__all__ = ["EvidenceItem", "Retraction", "evidence_of", "retract"]

LONGEST = 300
KIND = "profile_evidence"


class EvidenceItem(BaseModel):
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
    """What was taken back, and the record by which it can be undone."""

    undo: int
    paragraphs: tuple[int, ...] = ()
    relations: tuple[int, ...] = ()


def evidence_of(db: Connection, items: Sequence[ProfileItem], limit: int) -> list[EvidenceItem]:
    """The evidence of the items as it stands now, that of the surest and freshest first, each piece once."""
    newest = max((item.at for item in items), default=0.0)
    ranked = sorted(items, key=lambda item: -score(item, newest))
    cited = list(dict.fromkeys(row for item in ranked for row in item.evidence))[: limit * 2]
    rows = paragraph_rows.full(db, cited)
    found: dict[str, EvidenceItem] = {}
    for item in ranked:
        worth: dict[str, Any] = {
            "score": score(item, newest), "confidence": item.confidence, "section": item.section,
        }  # fmt: skip
        if item.basis in ("fact", "relation"):
            key = f"{item.basis[0]}{item.ref}"
            told = EvidenceItem(
                id=key, type=item.basis, content=item.statement, time=item.at, source="", source_type="", metadata={},
                deletable=item.basis != "fact", **worth,  # a fact is corrected in its ledger
            )  # fmt: skip
            found.setdefault(key, told)
        for row in (rows[id_] for id_ in item.evidence if id_ in rows):
            told = EvidenceItem(
                id=paragraph_key(row.id),
                type="paragraph",
                content=row.content if len(row.content) <= LONGEST else row.content[: LONGEST - 1] + "…",
                time=row.recorded_at if row.event_start is None else row.event_start,
                source=row.source,
                source_type=row.source_type,
                metadata=json.loads(row.metadata),
                deletable=True,
                **worth,
            )
            found.setdefault(told.id, told)
    return list(found.values())[:limit]


def retract(db: Connection, person: int, evidence: str, *, requested_by: str, reason: str, now: float) -> Retraction:
    """Delete a paragraph or a relation that a person's profile stands on, so that it can be undone.

    The caller owns the transaction. Raises InvalidRequest, NotFound, Conflict.
    """
    key = evidence[:1]
    if key == "f" and evidence[1:].isdecimal():
        raise InvalidRequest("evidence_id: a fact is corrected in the ledger of facts.", field="evidence_id")
    if key not in ("p", "r") or not evidence[1:].isdecimal() or not evidence.isascii() or len(evidence) >= 18:
        raise InvalidRequest(
            f"evidence_id: {evidence!r} is no evidence id such as p12 (paragraph) or r12 (relation).",
            field="evidence_id",
        )
    named = person_rows.names(db, person)
    if named is None:
        raise NotFound("person_id: that person is gone.", field="person_id")
    paragraphs, relations = (_paragraph if key == "p" else _relation)(db, named, int(evidence[1:]), now)
    detail = {"person": person, "paragraphs": paragraphs, "relations": relations}
    undo = operations.record_change(db, KIND, json.dumps(detail), requested_by, reason, now)
    if not paragraphs:
        relation_restore.taken(db, relations, f"u{undo}")
    return Retraction(undo, tuple(paragraphs), tuple(relations))


def _paragraph(db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
    state = db.run("profile_paragraph_state", id=row).fetchone()
    mine = array([person.row, *(one.row for one in person_rows.namesakes(db, person))])
    if state is None or not db.run("profile_evidence_of", paragraph=row, persons=mine).fetchone()[0]:
        raise _not_evidence(paragraph_key(row), person)
    if any(state):
        gone = "has been deleted" if state[0] else "has been replaced by a newer wording"
        raise Conflict(f"evidence_id: {paragraph_key(row)} {gone}.", field="evidence_id")
    supported = [id_ for (id_,) in db.run("profile_relations_by", id=row)]
    db.run("profile_paragraph_delete", id=row, now=now)
    db.run("relations_unsupported", paragraphs=array([row]), now=now)
    left = {id_ for (id_,) in db.run("profile_relations_by", id=row)}
    return [row], [relation for relation in supported if relation not in left]


def _relation(db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
    state = db.run("profile_relation_state", id=row).fetchone()
    names = {normalise_name(name) for name in person.within(None)}
    if state is None or not names & {state[1], state[2]}:
        raise _not_evidence(f"r{row}", person)
    if state[0]:
        raise Conflict(f"evidence_id: r{row} has been deleted.", field="evidence_id")
    db.run("profile_relation_delete", id=row, now=now)
    return [], [row]


def _not_evidence(key: str, person: PersonNames) -> NotFound:
    return NotFound(f"evidence_id: {key} is no evidence of {person.person_id!r}.", field="evidence_id")

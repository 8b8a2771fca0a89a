"""The evidence of profiles: what they stand on, and taking it back where it is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Conflict, InvalidRequest, NotFound
from ..graph import relation_restore
from ..ids import paragraph_key
from ..language.normalise import normalise_name
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows.paragraphs import ParagraphRow
from ..store.rows.persons import PersonNames
from . import material as profile_material
from .items import ProfileItem, score

__all__ = ["Evidence", "EvidenceService", "Retraction"]

LONGEST = 300
KIND = "profile_evidence"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A paragraph, relation or fact that a profile stands on; `time` in epoch seconds."""

    id: str
    type: str
    content: str
    time: float
    score: float
    confidence: float
    section: str
    source: str = ""
    source_type: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def deletable(self) -> bool:
        """Whether `correct_evidence` takes it; a fact is corrected in its ledger."""
        return self.type != "fact"


@dataclass(frozen=True, slots=True)
class Retraction:
    """What was taken back, and the record by which it can be undone."""

    undo: int
    paragraphs: tuple[int, ...] = ()
    relations: tuple[int, ...] = ()


class EvidenceService:
    """Shows evidence as it stands now, and takes single pieces back."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    def of(self, db: Connection, items: Sequence[ProfileItem], limit: int) -> list[Evidence]:
        """The evidence of the items, that of the surest and freshest first, each piece once."""
        newest = max((item.at for item in items), default=0.0)
        ranked = sorted(items, key=lambda item: -score(item, newest))
        cited = list(dict.fromkeys(row for item in ranked for row in item.evidence))[: limit * 2]
        rows = paragraph_rows.full(db, cited)
        found: dict[str, Evidence] = {}
        for item in ranked:
            for one in self._pieces(item, rows, score(item, newest)):
                found.setdefault(one.id, one)
        return list(found.values())[:limit]

    def _pieces(self, item: ProfileItem, rows: Mapping[int, ParagraphRow], worth: float) -> Iterator[Evidence]:
        if item.basis in ("fact", "relation"):
            key = f"{item.basis[0]}{item.ref}"
            yield Evidence(key, item.basis, item.statement, item.at, worth, item.confidence, item.section)
        for row in (rows[id_] for id_ in item.evidence if id_ in rows):
            yield Evidence(
                id=paragraph_key(row.id),
                type="paragraph",
                content=row.content if len(row.content) <= LONGEST else row.content[: LONGEST - 1] + "…",
                time=row.recorded_at if row.event_start is None else row.event_start,
                score=worth,
                confidence=item.confidence,
                section=item.section,
                source=row.source,
                source_type=row.source_type,
                metadata=json.loads(row.metadata),
            )

    def retract(
        self, db: Connection, person: int, evidence: str, *, requested_by: str, reason: str, now: float
    ) -> Retraction:
        """Delete a paragraph or a relation that a person's profile stands on, so that it can be undone.

        The caller owns the transaction. Raises InvalidRequest, NotFound, Conflict.
        """
        kind, row = _read_key(evidence)
        named = person_rows.names(db, person)
        if named is None:
            raise NotFound("person_id: that person is gone.", field="person_id")
        take = self._paragraph if kind == "paragraph" else self._relation
        paragraphs, relations = take(db, named, row, now)
        detail = {"person": person, "paragraphs": paragraphs, "relations": relations}
        undo = profile_material.record_undo(db, KIND, json.dumps(detail), requested_by, reason, now)
        if not paragraphs:
            relation_restore.taken(db, relations, f"u{undo}")
        return Retraction(undo, tuple(paragraphs), tuple(relations))

    def _paragraph(self, db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
        state = profile_material.paragraph_state(db, row)
        mine = [person.row, *(one.row for one in person_rows.namesakes(db, person))]
        if state is None or not profile_material.is_evidence_of(db, row, mine):
            raise _not_evidence(paragraph_key(row), person)
        if any(state):
            gone = "has been deleted" if state[0] else "has been replaced by a newer wording"
            raise Conflict(f"evidence_id: {paragraph_key(row)} {gone}.", field="evidence_id")
        return [row], profile_material.delete_paragraph(db, row, now)

    def _relation(self, db: Connection, person: PersonNames, row: int, now: float) -> tuple[list[int], list[int]]:
        state = profile_material.relation_state(db, row)
        names = {normalise_name(name) for name in person.within(None)}
        if state is None or not names & {state[1], state[2]}:
            raise _not_evidence(f"r{row}", person)
        if state[0]:
            raise Conflict(f"evidence_id: r{row} has been deleted.", field="evidence_id")
        profile_material.delete_relation(db, row, now)
        return [], [row]


def _not_evidence(key: str, person: PersonNames) -> NotFound:
    return NotFound(f"evidence_id: {key} is no evidence of {person.person_id!r}.", field="evidence_id")


def _read_key(key: str) -> tuple[str, int]:
    """(kind, row) of `p12` or `r12`."""
    kind = {"p": "paragraph", "r": "relation"}.get(key[:1])
    if kind and key[1:].isdecimal() and key.isascii() and len(key) < 18:
        return kind, int(key[1:])
    if key[:1] == "f" and key[1:].isdecimal():
        raise InvalidRequest("evidence_id: a fact is corrected in the ledger of facts.", field="evidence_id")
    raise InvalidRequest(
        f"evidence_id: {key!r} is no evidence id such as p12 (paragraph) or r12 (relation).", field="evidence_id"
    )

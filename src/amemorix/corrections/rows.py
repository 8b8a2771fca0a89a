"""Plans that correct what is stored, and the rows that they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.records import NewParagraph
from ..store.rows import entity_names

__all__ = ["Held", "Plan", "Resting", "Standing", "Target"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it is kept; `plan` and `result` are JSON, times epoch seconds."""

    id: int
    request: str
    chat_id: str
    person_id: str
    plan: str
    status: str
    result: str
    requested_by: str
    reason: str
    created_at: float
    executed_at: float | None
    rolled_back_at: float | None


@dataclass(frozen=True, slots=True)
class Target:
    """A live paragraph that may have to be corrected."""

    id: int
    content: str
    content_hash: bytes
    kind: Literal["message", "text", "summary"]
    event_start: float | None
    event_end: float | None
    expires_at: float | None
    tags: str
    metadata: str
    scope: int
    chat_id: str
    source: str
    source_type: str
    speaker: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a paragraph is still what answers."""

    id: int
    superseded_at: float | None
    deleted_at: float | None
    outdated: bool
    """Whether something newer stands under the same reference."""

    @property
    def current(self) -> bool:
        """Alive, and not replaced."""
        return self.superseded_at is None and self.deleted_at is None


@dataclass(frozen=True, slots=True)
class Held:
    """A paragraph and a fact that it states, of a person."""

    paragraph: int
    fact: int
    person: int
    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Resting:
    """A fact that paragraphs state; `elsewhere` if others state it too."""

    id: int
    attribute: str
    value: str
    norm: str
    elsewhere: bool


def add(
    db: Connection, *, request: str, person: int | None, chat: int, plan: str, by: str, reason: str,
    now: float,
) -> int:  # fmt: skip
    """Keep a plan that waits for its confirmation; returns its row."""
    values = {"request": request, "person": person, "chat": chat, "plan": plan, "now": now}
    return db.run("correction_insert", **values, requested_by=by, reason=reason).fetchone()[0]


def get(db: Connection, id_: int) -> Plan | None:
    """A plan."""
    row = db.run("correction_get", id=id_).fetchone()
    return None if row is None else Plan(*row)


def listed(
    db: Connection, *, statuses: Sequence[str] | None, chat: int | None, limit: int, offset: int
) -> tuple[list[Plan], int]:
    """(plans, the newest first; how many there are in all)."""
    values = {"statuses": optional_array(statuses), "chat": chat}
    rows = db.run("correction_list", **values, limit=limit, offset=offset)
    found = [Plan(*row) for row in rows]
    return found, db.run("correction_count", **values).fetchone()[0]


def executed(db: Connection, id_: int, result: str, now: float) -> bool:
    """Mark it carried out; False if it no longer waits."""
    values = {"id": id_, "result": result, "now": now}
    return db.run("correction_executed", **values).fetchone() is not None


def rolled_back(db: Connection, id_: int, now: float) -> bool:
    """Mark it undone; False if it was not carried out."""
    return db.run("correction_rolled_back", id=id_, now=now).fetchone() is not None


def targets(db: Connection, ids: Iterable[int], scopes: Scopes, now: float) -> dict[int, Target]:
    """Those of the paragraphs that answer in these scopes."""
    values = {"ids": array(ids), "scopes": optional_array(scopes), "now": now}
    return {row[0]: Target(*row) for row in db.run("correction_targets", **values)}


def relations(db: Connection, ids: Collection[int]) -> dict[int, str]:
    """Relation -> sentence, of the live relations that these paragraphs support, in the names of their chats."""
    rows = db.run("correction_relations", ids=array(ids)).fetchall()
    scopes = [row[0] for row in db.run("correction_scopes", ids=array(ids))]
    names = entity_names.shown(db, {end for row in rows for end in (row[1], row[3])}, scopes)
    return {
        id_: " ".join((names.get(subject, ""), predicate.replace("_", " "), names.get(object_, "")))
        for id_, subject, predicate, object_ in rows
    }


def alone(db: Connection, relations: Iterable[int], ids: Iterable[int]) -> list[int]:
    """Those of the relations that no other live paragraph supports."""
    values = {"relations": array(relations), "ids": array(ids)}
    return [row[0] for row in db.run("correction_relations_alone", **values)]


def facts(db: Connection, ids: Iterable[int], person: int | None) -> list[Resting]:
    """The facts held true of a person (None: of anybody) that rest on these paragraphs."""
    rows = db.run("correction_facts", ids=array(ids), person=person)
    return [Resting(id_, attribute, value, norm, bool(more)) for id_, attribute, value, norm, more in rows]


def held(
    db: Connection, *, persons: Iterable[int] | None, attributes: Iterable[str], words: str,
    norms: Iterable[str], scopes: Scopes, now: float, held_at: float, limit: int,
) -> list[Held]:  # fmt: skip
    """Facts held true now, or at a time, of these persons (None: of anybody) whose value has to do with the folded words."""
    values = {
        "persons": optional_array(persons), "attributes": array(attributes), "words": words,
        "norms": array(norms), "scopes": optional_array(scopes), "now": now, "held_at": held_at, "limit": limit,
    }  # fmt: skip
    return [Held(*row) for row in db.run("correction_held", **values)]


def persons_of(db: Connection, ids: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
    """Paragraph -> (person, role)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for paragraph, person, role in db.run("correction_persons_of", ids=array(ids)):
        found.setdefault(paragraph, []).append((person, role))
    return found


def linked_entity_names(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    """Entity -> name, of those the paragraphs are linked to."""
    return dict(db.run("correction_entity_names", ids=array(ids)).fetchall())


def persons(db: Connection, ids: Iterable[int]) -> list[int]:
    """Persons that the paragraphs are bound to."""
    return [row[0] for row in db.run("correction_persons", ids=array(ids))]


def standing(db: Connection, ids: Iterable[int]) -> dict[int, Standing]:
    """What became of the paragraphs; one that was purged is missing."""
    rows = db.run("correction_standing", ids=array(ids))
    return {id_: Standing(id_, replaced, gone, bool(newer)) for id_, replaced, gone, newer in rows}


def supersede(db: Connection, ids: Iterable[int], now: float) -> None:
    """Take paragraphs out of search; their rows stay."""
    db.run("correction_supersede", ids=array(ids), now=now)


def hand_on(db: Connection, old: int, new: int, *, entities: Iterable[int], relations: Iterable[int]) -> None:
    """Link a paragraph to what another was linked to, without these entities and relations."""
    values = {"old": old, "new": new}
    db.run("correction_copy_entities", **values, without=array(entities))
    db.run("correction_copy_evidence", **values, without=array(relations))


def copy(db: Connection, old: int, new: NewParagraph, metadata: str, now: float) -> int:
    """Store what stands in a paragraph's place from now on, with its persons; returns its row."""
    values = {
        "old": old, "flags": new.flags, "content_hash": new.content_hash, "content": new.content,
        "metadata": metadata, "now": now,
    }  # fmt: skip
    row = db.run("correction_copy", **values).fetchone()[0]
    db.run("terms_insert", id=row, v=new.terms)
    db.run("correction_copy_persons", old=old, new=row)
    return row


def count_revision(db: Connection, ids: Iterable[int], step: Literal[1, -1]) -> None:
    """The references of these paragraphs have one revision more, or one less."""
    db.run("correction_refs_revised", ids=array(ids), step=step)


def end_relations(db: Connection, ids: Iterable[int], now: float) -> None:
    """Soft-delete relations."""
    db.run("correction_relations_end", ids=array(ids), now=now)


def withdraw(db: Connection, ids: Iterable[int], now: float) -> None:
    """Soft-delete what a plan had stored."""
    given = array(ids)
    db.run("correction_withdraw", ids=given, now=now)
    db.run("correction_withdraw_refs", ids=given, now=now)
    db.run("relations_unsupported", paragraphs=given, now=now)


def end_entities(db: Connection, ids: Iterable[int], now: float) -> None:
    """Soft-delete those of the entities that were only read, and that no text or relation is left of."""
    db.run("correction_entities_end", ids=array(ids), now=now)


def remove(db: Connection, ids: Iterable[int]) -> None:
    """Erase copies that stood in the place of others."""
    db.run("correction_remove", ids=array(ids))


def revive(db: Connection, *, paragraphs: Iterable[int], relations: Iterable[int], at: float) -> None:
    """Give back what was taken out at this time."""
    given = array(paragraphs)
    db.run("correction_revive", ids=given, at=at)
    db.run("correction_refs_revive", ids=given)
    db.run("correction_relations_revive", ids=array(relations))

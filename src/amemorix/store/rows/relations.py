"""Relations as rows: what they join, the paragraphs behind them, and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ...sorted_arrays import distinct
from ..ports import Connection
from ..queries import array, optional_array
from .paragraphs import ids_in

__all__ = ["PendingRelation", "RelationRow", "RelationVector"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class PendingRelation:
    """A relation that has no vector yet."""

    id: int
    subject: str
    predicate: str
    object: str

    @property
    def sentence(self) -> str:
        """What is embedded; an identifier such as `lives_in` becomes words."""
        return " ".join((self.subject, self.predicate.replace("_", " "), self.object))


@dataclass(frozen=True, slots=True)
class RelationVector:
    """A relation's vector (float16, little-endian), empty if the model does not read the sentence."""

    relation: int
    vector: bytes
    sentence: str = ""
    """What was embedded; a relation that says something else by now takes no vector of it. Empty: not checked."""


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A relation, whatever its state."""

    id: int
    subject: int
    predicate: str
    object: int
    confidence: float
    weight: float
    origin: str
    inactive_at: float | None
    inactive_reason: str
    deleted_at: float | None
    merged_into: int | None

    @property
    def alive(self) -> bool:
        """Not deleted."""
        return self.deleted_at is None


def upsert(
    db: Connection, subject: int, predicate: str, object_: int, *, confidence: float, origin: str, now: float
) -> int:
    """The relation of these ends, which differ: made, confirmed (the higher confidence counts), or alive again."""
    values = {"subject": subject, "predicate": predicate, "object": object_, "confidence": confidence}
    return db.run("relation_upsert", **values, origin=origin, now=now).fetchone()[0]


def rows(db: Connection, ids: Iterable[int]) -> dict[int, RelationRow]:
    """Id -> row, of those that exist."""
    return {row.id: row for row in _rows(db, "relation_rows_of", ids=array(ids))}


def at(db: Connection, entities: Iterable[int]) -> list[RelationRow]:
    """Every relation that begins or ends at one of these entities, whatever its state."""
    return _rows(db, "relation_rows_at", entities=array(entities))


def equal(db: Connection, subject: int, predicate: str, object_: int) -> RelationRow | None:
    """The one relation that says this, whatever its state."""
    found = _rows(db, "relation_row_of", subject=subject, predicate=predicate, object=object_)
    return found[0] if found else None


def between(db: Connection, subject: int, object_: int, predicate: str = "") -> list[RelationRow]:
    """The relations from one entity to another that are not deleted, all or those with the predicate."""
    return _rows(db, "relations_between", subject=subject, object=object_, predicate=predicate)


def joined(db: Connection, relation: int) -> list[int]:
    """What has become part of this relation."""
    return [row[0] for row in db.run("relations_merged_into", id=relation)]


def put(db: Connection, row: RelationRow) -> None:
    """Store the row's state as it is given."""
    db.run("relation_set", **asdict(row))


def evidence(db: Connection, relation: int) -> list[int]:
    """Every paragraph behind a relation, whatever its state."""
    return [row[0] for row in db.run("relation_paragraphs", relation=relation)]


def link(db: Connection, relations: Iterable[int], paragraphs: Iterable[int]) -> None:
    """Put each of the paragraphs that exist behind each of the relations."""
    db.run("relation_paragraphs_link", relations=array(relations), paragraphs=array(paragraphs))


def unlink(db: Connection, relation: int, paragraphs: Iterable[int]) -> None:
    """Take paragraphs from behind a relation."""
    db.run("relation_paragraphs_unlink", relation=relation, paragraphs=array(paragraphs))


def drop_unsupported(db: Connection, paragraphs: Iterable[int], now: float) -> None:
    """Take away those relations of these paragraphs that no live paragraph supports, and no hand has asserted."""
    db.run("relations_unsupported", paragraphs=array(paragraphs), now=now)


def forget_vectors(db: Connection, relations: Iterable[int]) -> None:
    """Remove vectors of relations whose sentence reads differently now, so that they are made anew."""
    db.run("relation_vectors_remove", ids=array(relations))


def _rows(db: Connection, query: str, **values: int | str) -> list[RelationRow]:
    return [RelationRow(*row) for row in db.run(query, **values)]


def pending_relations(
    db: Connection, generation: int, limit: int, *, among: Iterable[int] | None, but: Iterable[int]
) -> list[PendingRelation]:
    """Live relations that lack a vector of the generation, of those among `among` (None: of all) without `but`."""
    values = {"generation": generation, "limit": limit, "but": array(but)}
    if among is None:
        rows = db.run("relations_pending", **values)
    else:
        rows = db.run("relations_pending_among", **values, among=array(among))
    return [PendingRelation(*row) for row in rows]


def put_relations(db: Connection, generation: int, made: Iterable[RelationVector]) -> None:
    """Store vectors of relations; relations that are gone are passed over."""
    for one in made:
        values = {"relation": one.relation, "generation": generation, "vector": one.vector}
        db.run("relation_embedding_put", **values, sentence=one.sentence)


def paragraphs_of(db: Connection, relations: Iterable[int]) -> NDArray[np.int64]:
    """Sorted ids of the paragraphs that they rest on, seen or not."""
    return distinct(ids_in(db.run("relations_paragraphs", ids=array(relations)).fetchone()[0]))


def seen(
    db: Connection, relations: Iterable[int], scopes: Scopes, now: float, among: Sequence[int] | None = None
) -> set[int]:
    """Those that somebody told, and that rest on a paragraph, any or `among` these, which is alive, current, unexpired and
    in scope."""
    values = {"scopes": optional_array(scopes), "now": now, "among": optional_array(among)}
    return {row[0] for row in db.run("relations_seen", ids=array(relations), **values)}


def support(
    db: Connection,
    relations: Iterable[int],
    scopes: Scopes,
    now: float,
    each: int,
    among: Sequence[int] | None = None,
) -> dict[int, list[int]]:
    """Relation -> its newest `each` paragraphs, of any or `among` these, that are alive, current, unexpired and in scope,
    the newest first."""
    values = {
        "ids": array(relations),
        "scopes": optional_array(scopes),
        "now": now,
        "each": each,
        "among": optional_array(among),
    }
    found: dict[int, list[int]] = {}
    for relation, paragraph in db.run("relation_support", **values):
        found.setdefault(relation, []).append(paragraph)
    return {relation: sorted(paragraphs, reverse=True) for relation, paragraphs in found.items()}

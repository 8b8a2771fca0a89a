"""What was read out of paragraphs: the material, and the writing of entities and relations with their origin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array
from ..store.records import Entity, Relation
from ..store.rows import entities as entity_rows
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.documents import NameRepository

__all__ = ["Origin", "Reading", "ReadingMaterial"]

Origin = Literal["rule", "model"]


@dataclass(frozen=True, slots=True)
class ReadingMaterial:
    """A live paragraph as it is read; `speaker` is the name of who said it, empty if nobody did."""

    id: int
    chat: int
    kind: Literal["message", "text", "summary"]
    knowledge: Literal["", "factual", "narrative", "quote"]
    content: str
    source_type: str
    speaker: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read out of one paragraph."""

    paragraph: int
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]

    def named(self) -> list[Entity]:
        """Every entity, the ends of relations among them."""
        return [*self.entities, *(end for r in self.relations for end in (r.subject, r.object))]


def changed(db: Connection, cursor: int, limit: int) -> tuple[int | None, list[int], set[int]]:
    """(how far this reads, paragraphs, those of them that are to be read again) of the changes after `cursor`.

    None if this reads to the end of the log.
    """
    rows = db.run("extraction_changes", cursor=cursor, limit=limit).fetchall()
    ids = list(dict.fromkeys(id_ for _, id_, _ in rows))
    return (rows[-1][0] if len(rows) == limit else None), ids, {id_ for _, id_, named in rows if named}


def material(db: Connection, ids: Iterable[int], named: Iterable[int]) -> list[ReadingMaterial]:
    """Those of the paragraphs that live, by row; if `named`, also those that have been read."""
    values = {"ids": array(ids), "named": array(named)}
    return [ReadingMaterial(*row) for row in db.run("extraction_material", **values)]


def keep(
    db: Connection, names: NameRepository, readings: Sequence[Reading], origin: Origin, now: float, *, known: int = 0
) -> None:
    """Write the readings of those paragraphs that still live; a reading that is there already changes nothing.

    `known` is the last piece of news about names that was known when they were read.
    """
    alive = paragraph_rows.current(db, (reading.paragraph for reading in readings))
    for reading in readings:
        if reading.paragraph not in alive:
            continue
        entities = {e.norm: names.entity(db, e, now, origin, reading.paragraph) for e in reading.named()}
        entity_rows.link(db, entities.values(), [reading.paragraph])
        standing = entity_rows.rows(db, entities.values()) if reading.relations else {}
        for end in reading.named() if origin == "model" else ():  # a name alone shows no kind
            found = standing.get(entities[end.norm])
            if found is not None and end.kind and not found.kind:
                entity_rows.set_kind(db, found.id, end.kind)
        for relation in reading.relations:
            ends = entities[relation.subject.norm], entities[relation.object.norm]
            if ends[0] != ends[1] and standing[ends[0]].alive and standing[ends[1]].alive:
                _support(db, reading.paragraph, ends, relation, origin, now)
    if origin == "rule":
        db.run("extraction_done", ids=array(alive), known=known)


def _support(
    db: Connection, paragraph: int, ends: tuple[int, int], relation: Relation, origin: Origin, now: float
) -> None:
    """The paragraph supports the relation; what somebody else wrote is left as it is."""
    told = {"confidence": relation.confidence, "origin": origin}
    key = {"subject": ends[0], "predicate": relation.predicate, "object": ends[1]}
    row = db.run("extraction_relation", **key).fetchone()
    if row is None:
        id_ = db.run("extraction_relation_insert", **key, **told, now=now).fetchone()[0]
    else:
        id_, gone, by, confidence = row
        if db.run("extraction_supports", relation=id_, paragraph=paragraph).fetchone():
            return
        if gone:
            db.run("extraction_relation_revive", **told, id=id_)
        elif by != "caller" and relation.confidence > confidence:
            db.run("extraction_relation_confirm", **told, id=id_)
    relation_rows.link(db, [id_], [paragraph])

"""The writing of entities and relations with their evidence: the one place where it is done for callers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..errors import InvalidRequest
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import Alias, Entity, Relation
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import AliasRow

__all__ = ["Origin", "RelationWriteService", "Written"]

Origin = Literal["caller", "rule", "model", "admin"]


@dataclass(slots=True)
class Written:
    """What became of entities and relations."""

    entities: dict[str, int] = field(default_factory=dict[str, int])
    """Normalised name -> entity."""
    relations: dict[int, None] = field(default_factory=dict[int, None])
    """Each once, in order."""
    warnings: list[str] = field(default_factory=list[str])


class RelationWriteService:
    """Writes within the caller's transaction; writing the same again changes nothing."""

    def __init__(self, store: MetadataStore) -> None:
        self._names = store.names

    def entities(self, db: Connection, entities: Iterable[Entity], origin: Origin, now: float) -> Written:
        """Entities with their aliases, of which none may be the name of another."""
        written = Written()
        named = list(entities)
        for entity in named:
            self._entity(db, written, entity, origin, now)
        for entity in named:
            for alias in entity.aliases:
                if warning := self.alias(db, written.entities[entity.norm], alias, origin, now):
                    written.warnings.append(warning)
        return written

    def relation(self, db: Connection, written: Written, relation: Relation, origin: Origin, now: float) -> int | None:
        """The relation; None, with a warning, if its two ends turn out to be the same thing by an alias or a merge."""
        subject, object_ = (self._entity(db, written, end, origin, now) for end in (relation.subject, relation.object))
        if subject == object_:
            written.warnings.append(
                f"{relation.subject.name!r} and {relation.object.name!r} mean the same entity: "
                f"the relation {relation.predicate!r} between them was left out."
            )
            return None
        id_ = relation_rows.upsert(
            db, subject, relation.predicate, object_, confidence=relation.confidence, origin=origin, now=now
        )
        written.relations[id_] = None
        return id_

    def support(self, db: Connection, written: Written, paragraphs: Sequence[int]) -> None:
        """Put paragraphs behind what was written."""
        entity_rows.link(db, dict.fromkeys(written.entities.values()), paragraphs)
        relation_rows.link(db, written.relations, paragraphs)

    def alias(self, db: Connection, entity: int, alias: Alias, origin: Origin, now: float) -> str:
        """Let an entity go by another name too; returns a warning if that name means something else already.

        Raises InvalidRequest if it is another entity's own name.
        """
        own = entity_rows.named(db, alias.norm)
        if own is not None and entity not in (own.id, own.merged_into):
            if own.merged_into is None:
                raise InvalidRequest(
                    f"{alias.field}: {alias.name!r} is the name of another entity (n{own.id}); merge_nodes makes the "
                    "two one.",
                    field=alias.field, node=f"n{own.id}",
                )  # fmt: skip
            return _taken(alias, own.merged_into)
        known = entity_rows.alias_row(db, alias.norm)
        if known is not None and known.entity != entity:
            return _taken(alias, known.entity)
        if own is None and known is None:
            entity_rows.put_alias(db, AliasRow(alias.norm, entity, alias.name, origin, now))
        return ""

    def _entity(self, db: Connection, written: Written, entity: Entity, origin: Origin, now: float) -> int:
        if entity.norm not in written.entities:
            written.entities[entity.norm] = self._names.entity(db, entity, now, origin)
        id_ = written.entities[entity.norm]
        if entity.kind:
            entity_rows.set_kind(db, id_, entity.kind)
        return id_


def _taken(alias: Alias, entity: int) -> str:
    return f"{alias.field}: {alias.name!r} means another entity already (n{entity}) and was left as it is."

"""Entities as rows: their names, aliases, links to paragraphs, and what they were merged into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..ports import Connection
from ..queries import array

__all__ = ["AliasRow", "EntityRepository", "EntityRow"]


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity, whatever its state; `metadata` is JSON."""

    id: int
    name: str
    norm: str
    kind: str
    metadata: str
    created_at: float
    deleted_at: float | None
    merged_into: int | None

    @property
    def alive(self) -> bool:
        """Neither deleted nor merged into another."""
        return self.deleted_at is None and self.merged_into is None


@dataclass(frozen=True, slots=True)
class AliasRow:
    """Another name of an entity."""

    norm: str
    entity: int
    alias: str
    origin: str
    created_at: float


class EntityRepository:
    """Reads and changes entities; the caller owns the transaction."""

    # reading

    def rows(self, db: Connection, ids: Iterable[int]) -> dict[int, EntityRow]:
        """Id -> row, of those that exist."""
        found = db.run("entity_rows_of", ids=array(ids))
        return {row[0]: EntityRow(*row) for row in found}

    def row(self, db: Connection, id_: int) -> EntityRow | None:
        """The row of this id."""
        return self.rows(db, [id_]).get(id_)

    def named(self, db: Connection, norm: str) -> EntityRow | None:
        """The row that has this name as its own, even if it was merged or deleted."""
        row = db.run("entity_named", norm=norm).fetchone()
        return None if row is None else EntityRow(*row)

    def alias(self, db: Connection, norm: str) -> AliasRow | None:
        """The alias of this normalised name."""
        row = db.run("entity_alias_find", norm=norm).fetchone()
        return None if row is None else AliasRow(*row)

    def meant(self, db: Connection, norm: str) -> EntityRow | None:
        """The entity that this name means, by name, alias or merge; it may be deleted."""
        row = self.named(db, norm)
        if row is None:
            alias = self.alias(db, norm)
            return None if alias is None else self.row(db, alias.entity)
        return row if row.merged_into is None else self.row(db, row.merged_into)

    def aliases(self, db: Connection, entities: Iterable[int]) -> list[AliasRow]:
        """Every alias of these entities."""
        return [AliasRow(*row) for row in db.run("entity_aliases_of", ids=array(entities))]

    def former_names(self, db: Connection, entities: Iterable[int]) -> list[tuple[int, str, str]]:
        """(entity, name, normalised name) of what was merged into these entities."""
        return db.run("entity_former_names", ids=array(entities)).fetchall()

    def merged(self, db: Connection, id_: int) -> list[int]:
        """What was merged into this entity."""
        return self._ids(db, "entities_merged_into", id=id_)

    def paragraphs(self, db: Connection, id_: int) -> list[int]:
        """Every paragraph that the entity is linked to."""
        return self._ids(db, "entity_paragraphs", entity=id_)

    def facts(self, db: Connection, id_: int) -> list[int]:
        """Every fact whose subject is the entity."""
        return self._ids(db, "entity_facts", entity=id_)

    # changing

    def set_kind(self, db: Connection, id_: int, kind: str) -> None:
        """Say what kind of thing it is, unless that is known."""
        db.run("entity_set_kind", id=id_, kind=kind)

    def set_metadata(self, db: Connection, id_: int, metadata: str) -> None:
        """Replace the metadata (JSON)."""
        db.run("entity_set_metadata", id=id_, metadata=metadata)

    def set_name(self, db: Connection, id_: int, name: str, norm: str) -> None:
        """Give another name, which no entity may have yet."""
        db.run("entity_set_name", id=id_, name=name, norm=norm)

    def exchange_names(self, db: Connection, one: EntityRow, other: EntityRow) -> None:
        """Let two entities change names."""
        self.set_name(db, one.id, one.name, f"\0{one.id}")
        self.set_name(db, other.id, one.name, one.norm)
        self.set_name(db, one.id, other.name, other.norm)

    def set_deleted(self, db: Connection, ids: Iterable[int], at: float | None) -> None:
        """Take entities away, or with None bring them back."""
        db.run("entity_set_deleted", ids=array(ids), at=at)

    def set_merged(self, db: Connection, ids: Iterable[int], target: int | None) -> None:
        """Point entities at what they were merged into; None makes them themselves again."""
        db.run("entity_set_merged", ids=array(ids), target=target)

    def put_alias(self, db: Connection, alias: AliasRow) -> None:
        """Add an alias; one that is there stays as it is."""
        values = {
            "norm": alias.norm,
            "entity": alias.entity,
            "alias": alias.alias,
            "origin": alias.origin,
            "created_at": alias.created_at,
        }
        db.run("entity_alias_put", **values)

    def remove_alias(self, db: Connection, norm: str) -> None:
        """Remove an alias."""
        db.run("entity_alias_remove", norm=norm)

    def move_aliases(self, db: Connection, norms: Iterable[str], entity: int) -> None:
        """Let aliases mean another entity."""
        db.run("entity_aliases_move", norms=array(norms), entity=entity)

    def link(self, db: Connection, entities: Iterable[int], paragraphs: Iterable[int]) -> None:
        """Link each of the entities to each of the paragraphs that exist."""
        values = {"entities": array(entities), "paragraphs": array(paragraphs)}
        db.run("entity_paragraphs_link", **values)

    def unlink(self, db: Connection, entity: int, paragraphs: Iterable[int]) -> None:
        """Take an entity's links to paragraphs away."""
        db.run("entity_paragraphs_unlink", entity=entity, paragraphs=array(paragraphs))

    def move_facts(self, db: Connection, facts: Iterable[int], entity: int) -> None:
        """Let facts be about another entity."""
        db.run("entity_facts_move", facts=array(facts), entity=entity)

    def _ids(self, db: Connection, query: str, **values: Any) -> list[int]:
        return [row[0] for row in db.run(query, **values)]

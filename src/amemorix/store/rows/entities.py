"""Entities as rows: their names, aliases, links to paragraphs, and what they were merged into."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..access import Sight
from ..ports import Connection
from ..queries import array

__all__ = ["AliasRow", "EntityRow"]


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


def rows(db: Connection, ids: Iterable[int]) -> dict[int, EntityRow]:
    """Id -> row, of those that exist."""
    found = db.run("entity_rows_of", ids=array(ids))
    return {row[0]: EntityRow(*row) for row in found}


def entity_row(db: Connection, id_: int) -> EntityRow | None:
    """The row of this id."""
    return rows(db, [id_]).get(id_)


def named(db: Connection, norm: str) -> EntityRow | None:
    """The row that has this name as its own, even if it was merged or deleted."""
    row = db.run("entity_named", norm=norm).fetchone()
    return None if row is None else EntityRow(*row)


def alias_row(db: Connection, norm: str) -> AliasRow | None:
    """The alias of this normalised name."""
    row = db.run("entity_alias_find", norm=norm).fetchone()
    return None if row is None else AliasRow(*row)


def meant(db: Connection, norm: str) -> EntityRow | None:
    """The entity that this name means, by name, alias or merge; it may be deleted."""
    row = named(db, norm)
    if row is None:
        alias = alias_row(db, norm)
        return None if alias is None else entity_row(db, alias.entity)
    return row if row.merged_into is None else entity_row(db, row.merged_into)


def aliases(db: Connection, entities: Iterable[int]) -> list[AliasRow]:
    """Every alias of these entities."""
    return [AliasRow(*row) for row in db.run("entity_aliases_of", ids=array(entities))]


def former_names(db: Connection, entities: Iterable[int]) -> list[tuple[int, str, str]]:
    """(entity, name, normalised name) of what was merged into these entities."""
    return db.run("entity_former_names", ids=array(entities)).fetchall()


def merged(db: Connection, id_: int) -> list[int]:
    """What was merged into this entity."""
    return _ids(db, "entities_merged_into", id=id_)


def paragraphs(db: Connection, id_: int) -> list[int]:
    """Every paragraph that the entity is linked to."""
    return _ids(db, "entity_paragraphs", entity=id_)


def facts(db: Connection, id_: int) -> list[int]:
    """Every fact whose subject is the entity."""
    return _ids(db, "entity_facts", entity=id_)


def set_kind(db: Connection, id_: int, kind: str) -> None:
    """Say what kind of thing it is, unless that is known."""
    db.run("entity_set_kind", id=id_, kind=kind)


def set_metadata(db: Connection, id_: int, metadata: str) -> None:
    """Replace the metadata (JSON)."""
    db.run("entity_set_metadata", id=id_, metadata=metadata)


def set_name(db: Connection, id_: int, name: str, norm: str) -> None:
    """Give another name, which no entity may have yet."""
    db.run("entity_set_name", id=id_, name=name, norm=norm)


def exchange_names(db: Connection, one: EntityRow, other: EntityRow) -> None:
    """Let two entities change names."""
    set_name(db, one.id, one.name, f"\0{one.id}")
    set_name(db, other.id, one.name, one.norm)
    set_name(db, one.id, other.name, other.norm)


def set_deleted(db: Connection, ids: Iterable[int], at: float | None) -> None:
    """Take entities away, or with None bring them back."""
    db.run("entity_set_deleted", ids=array(ids), at=at)


def set_merged(db: Connection, ids: Iterable[int], target: int | None) -> None:
    """Point entities at what they were merged into; None makes them themselves again."""
    db.run("entity_set_merged", ids=array(ids), target=target)


def put_alias(db: Connection, alias: AliasRow) -> None:
    """Add an alias; one that is there stays as it is."""
    db.run("entity_alias_put", **asdict(alias))


def remove_alias(db: Connection, norm: str) -> None:
    db.run("entity_alias_remove", norm=norm)


def move_aliases(db: Connection, norms: Iterable[str], entity: int) -> None:
    """Let aliases mean another entity."""
    db.run("entity_aliases_move", norms=array(norms), entity=entity)


def link(db: Connection, entities: Iterable[int], paragraphs: Iterable[int]) -> None:
    """Link each of the entities to each of the paragraphs that exist."""
    db.run("entity_paragraphs_link", entities=array(entities), paragraphs=array(paragraphs))


def unlink(db: Connection, entity: int, paragraphs: Iterable[int]) -> None:
    """Take an entity's links to paragraphs away."""
    db.run("entity_paragraphs_unlink", entity=entity, paragraphs=array(paragraphs))


def move_facts(db: Connection, facts: Iterable[int], entity: int) -> None:
    """Let facts be about another entity."""
    db.run("entity_facts_move", facts=array(facts), entity=entity)


def _ids(db: Connection, query: str, **values: Any) -> list[int]:
    return [row[0] for row in db.run(query, **values)]


def is_seen(db: Connection, entity: int, sight: Sight) -> bool:
    """Whether it lives and may be seen."""
    return db.run("graph_nodes", ids=array([entity]), **sight.values).fetchone() is not None

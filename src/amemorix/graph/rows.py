"""The graph as people look at it: nodes, edges, what supports them, and finding them by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..store.access import Sight
from ..store.ports import Connection, Rows
from ..store.queries import array, optional_array

__all__ = ["EdgeRecord", "NameMatch", "NodeRecord", "RelationAt"]

Ids = NDArray[np.int64]
LAST_CHARACTER = "\U0010ffff"
MOST_PREDICATES = 20_000


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """An entity that lives."""

    id: int
    name: str
    kind: str
    created_at: float


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """A relation that lives, with how many paragraphs support it that may be seen."""

    id: int
    subject: int
    predicate: str
    object: int
    confidence: float
    weight: float
    origin: str
    created_at: float
    support: int


@dataclass(frozen=True, slots=True)
class RelationAt:
    """A relation of a node, with its weight in walks and the paragraphs behind it."""

    id: int
    subject: int
    object: int
    weight: float
    support: int


@dataclass(frozen=True, slots=True)
class NameMatch:
    """An entity found by a name; `tier` is 0 if the name is just that."""

    id: int
    name: str
    kind: str
    created_at: float
    tier: int
    field: str
    said: str


def nodes(db: Connection, ids: Iterable[int], sight: Sight) -> list[NodeRecord]:
    """Those of the entities that may be seen, in the order given."""
    rows = db.run("graph_nodes", ids=array(ids), **sight.values)
    return [NodeRecord(*row) for row in rows]


def edges(db: Connection, ids: Iterable[int], sight: Sight) -> list[EdgeRecord]:
    """Those of the relations that may be seen, by id."""
    rows = db.run("graph_edges", ids=array(ids), **sight.values)
    return [EdgeRecord(*row) for row in rows]


def entity_ids(db: Connection, *, by_name: bool = False) -> Ids:
    """Every entity that lives, the newest first, or by name."""
    return _ids(db.run("graph_entity_ids_by_name" if by_name else "graph_entity_ids"))


def entity_count(db: Connection) -> int:
    """How many entities live."""
    return db.run("graph_entity_count").fetchone()[0]


def scope_edges(db: Connection, sight: Sight) -> list[tuple[int, int, int, float, int]]:
    """(relation, subject, object, weight, support) of all that rests on what may be seen; only with scopes."""
    return db.run("graph_scope_edges", **sight.values).fetchall()


def scope_nodes(db: Connection, sight: Sight) -> Ids:
    """Entities that what may be seen is linked to; only with scopes."""
    return _ids(db.run("graph_scope_nodes", **sight.values))


def names_from(db: Connection, start: str, sight: Sight, limit: int) -> list[NameMatch]:
    """Entities with a name or alias that begins like this (normalised), the exact ones first."""
    values = {"first": start, "last": start + LAST_CHARACTER, "limit": limit, **sight.values}
    return [NameMatch(*row) for row in db.run("graph_names_from", **values)]


def names_with(db: Connection, text: str, sight: Sight, limit: int, but: Iterable[int]) -> list[NameMatch]:
    """Entities with a name or alias that holds the text (normalised) further inside, shorter names first."""
    values = {"text": text, "limit": limit, "but": array(but), **sight.values}
    return [NameMatch(*row) for row in db.run("graph_names_with", **values)]


def predicates(db: Connection) -> list[str]:
    """Predicates in use, each once."""
    return [row[0] for row in db.run("graph_predicates", limit=MOST_PREDICATES)]


def saying(db: Connection, predicates: Iterable[str], sight: Sight, limit: int) -> list[int]:
    """The newest relations with one of the predicates."""
    values = {"predicates": array(predicates), "limit": limit, **sight.values}
    return [row[0] for row in db.run("graph_relations_saying", **values)]


def relations_at(db: Connection, entities: Iterable[int], sight: Sight) -> list[RelationAt]:
    """All that begins or ends at the entities, the best supported first."""
    rows = db.run("graph_relations_at", entities=array(entities), **sight.values)
    return [RelationAt(*row) for row in rows]


def paragraphs_at(db: Connection, entity: int, sight: Sight, limit: int) -> list[int]:
    """The newest paragraphs of an entity."""
    values = {"entity": entity, "limit": limit, **sight.values}
    return [row[0] for row in db.run("graph_paragraphs_at", **values)]


def paragraph_count_at(db: Connection, entity: int, sight: Sight) -> int:
    """How many paragraphs of an entity there are."""
    return db.run("graph_paragraph_count_at", entity=entity, **sight.values).fetchone()[0]


def all_names(db: Connection) -> list[tuple[int, str]]:
    """(entity, name) of every name that a living entity goes by."""
    return db.run("graph_all_names").fetchall()


def live_paragraphs(db: Connection, ids: Iterable[int]) -> set[int]:
    """Those of the paragraphs that are alive and current."""
    return {row[0] for row in db.run("paragraphs_live", ids=array(ids))}


def every_node(db: Connection, ids: Iterable[int] | None) -> Iterator[tuple[Any, ...]]:
    """(id, name, kind, created_at, metadata) one after the other."""
    return iter(db.run("graph_export_nodes", ids=optional_array(ids)))


def every_edge(db: Connection, ids: Iterable[int] | None, sight: Sight) -> Iterator[EdgeRecord]:
    """Relations that may be seen, one after the other."""
    values = {"ids": optional_array(ids), **sight.values}
    return (EdgeRecord(*row) for row in db.run("graph_export_edges", **values))


def _ids(cursor: Rows) -> Ids:
    """The ids of a `group_concat`, which is read many times faster than as many rows."""
    joined = cursor.fetchone()[0]
    return np.fromstring(joined, np.int64, sep=",") if joined else np.zeros(0, np.int64)

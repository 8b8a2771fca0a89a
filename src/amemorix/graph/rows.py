"""The graph as people look at it: nodes, edges, what supports them, and finding them by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..store.access import Sight
from ..store.ports import Connection, Rows
from ..store.queries import array

__all__ = ["EdgeRecord", "NodeRecord", "RelationAt"]

Ids = NDArray[np.int64]


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


def scope_nodes(db: Connection, sight: Sight) -> Ids:
    """Entities that what may be seen is linked to; only with scopes."""
    return _ids(db.run("graph_scope_nodes", **sight.values))


def relations_at(db: Connection, entities: Iterable[int], sight: Sight) -> list[RelationAt]:
    """All that begins or ends at the entities, the best supported first."""
    rows = db.run("graph_relations_at", entities=array(entities), **sight.values)
    return [RelationAt(*row) for row in rows]


def _ids(cursor: Rows) -> Ids:
    """The ids of a `group_concat`, which is read many times faster than as many rows."""
    joined = cursor.fetchone()[0]
    return np.fromstring(joined, np.int64, sep=",") if joined else np.zeros(0, np.int64)

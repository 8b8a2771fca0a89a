"""The graph as people look at it: nodes, edges, what supports them, and finding them by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..indexes.graph.state import EdgeRow
from ..store.access import Sight
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows.paragraphs import ids_in

__all__ = ["EdgeRecord", "NodeRecord"]

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
    return ids_in(db.run("graph_entity_ids_by_name" if by_name else "graph_entity_ids").fetchone()[0])


def entity_count(db: Connection) -> int:
    """How many entities live."""
    return db.run("graph_entity_count").fetchone()[0]


def scope_nodes(db: Connection, sight: Sight) -> Ids:
    """Entities that what may be seen is linked to; only with scopes."""
    return ids_in(db.run("graph_scope_nodes", **sight.values).fetchone()[0])


def relations_at(db: Connection, entities: Iterable[int], sight: Sight) -> list[EdgeRow]:
    """All that begins or ends at the entities, the best supported first, with the weight in walks."""
    rows = db.run("graph_relations_at", entities=array(entities), **sight.values)
    return [EdgeRow(*row) for row in rows]

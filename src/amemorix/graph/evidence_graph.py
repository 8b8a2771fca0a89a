"""Rows of the graph as they are told: nodes, edges, relations, and the evidence behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..indexes.graph.node_importance import Standing
from .responses import EdgeItem, EvidenceGraph, EvidenceLink, EvidenceNode, NodeItem, RelationItem
from .rows import EdgeRecord, NodeRecord

__all__ = ["EvidenceDrawing", "edge_items", "node_items", "relation_item"]

LABEL_PREDICATES = 3


class EvidenceDrawing:
    """An evidence graph that takes nodes up to a limit, and edges between those it took."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._nodes: dict[str, EvidenceNode] = {}
        self._links: list[EvidenceLink] = []

    def put(self, id_: str, kind: str, label: str) -> bool:
        """A node, if there is room; whether it is there now."""
        if id_ not in self._nodes and len(self._nodes) < self._limit:
            self._nodes[id_] = EvidenceNode(id=id_, type=kind, label=label)
        return id_ in self._nodes

    def join(self, source: str, target: str, kind: str) -> None:
        """An edge, if both of its ends are there."""
        if source in self._nodes and target in self._nodes:
            self._links.append(EvidenceLink(source=source, target=target, kind=kind))

    def relation(self, relation: RelationItem) -> None:
        """A relation with its ends, if there is room for all three."""
        new = {relation.id, relation.subject_id, relation.object_id} - set(self._nodes)
        if len(self._nodes) + len(new) > self._limit:
            return
        self.put(relation.subject_id, "entity", relation.subject)
        self.put(relation.id, "relation", relation.text)
        self.put(relation.object_id, "entity", relation.object)
        self.join(relation.subject_id, relation.id, "subject")
        self.join(relation.id, relation.object_id, "object")

    @property
    def made(self) -> EvidenceGraph:
        """What has been drawn."""
        return EvidenceGraph(nodes=list(self._nodes.values()), edges=self._links)


def node_items(nodes: Sequence[NodeRecord], standing: Standing) -> list[NodeItem]:
    """Nodes with what puts them where they are."""
    order = np.argsort(standing.nodes)
    ids = np.array([node.id for node in nodes], np.int64)
    at = np.minimum(np.searchsorted(standing.nodes, ids, sorter=order), max(len(order) - 1, 0))
    items: list[NodeItem] = []
    for node, place in zip(nodes, at.tolist(), strict=True):
        item = NodeItem(id=f"n{node.id}", name=node.name, type=node.kind, created_at=node.created_at)
        if len(order) and standing.nodes[order[place]] == node.id:
            where = int(order[place])
            item.weight = round(float(standing.score[where]), 6)
            item.degree, item.evidence_count = int(standing.degree[where]), int(standing.support[where])
        items.append(item)
    return items


def edge_items(records: Sequence[EdgeRecord], ends: Mapping[int, float]) -> list[EdgeItem]:
    """Relations gathered by the nodes they join, the weightiest edge first; `ends` says when those were over that are."""
    gathered: dict[tuple[int, int], list[EdgeRecord]] = {}
    for record in sorted(records, key=lambda r: (-r.confidence * r.weight * max(r.support, 1), -r.id)):
        gathered.setdefault((record.subject, record.object), []).append(record)
    return [_edge_item(pair, rows, ends) for pair, rows in gathered.items()]


def _edge_item(pair: tuple[int, int], rows: Sequence[EdgeRecord], ends: Mapping[int, float]) -> EdgeItem:
    predicates = list(dict.fromkeys(row.predicate for row in rows))
    more = " …" if len(predicates) > LABEL_PREDICATES else ""
    return EdgeItem(
        source=f"n{pair[0]}",
        target=f"n{pair[1]}",
        weight=round(sum(row.confidence * row.weight for row in rows), 6),
        label=" / ".join(predicates[:LABEL_PREDICATES]) + more,
        predicates=predicates,
        relation_ids=[f"r{row.id}" for row in rows],
        relation_count=len(rows),
        evidence_count=sum(row.support for row in rows),
        ended_at=max(ends[row.id] for row in rows) if all(row.id in ends for row in rows) else None,
    )


def relation_item(record: EdgeRecord, names: Mapping[int, str], ended_at: float | None = None) -> RelationItem:
    """A relation with the names of its ends."""
    subject, object_ = names.get(record.subject, ""), names.get(record.object, "")
    return RelationItem(
        id=f"r{record.id}",
        subject=subject,
        subject_id=f"n{record.subject}",
        predicate=record.predicate,
        object=object_,
        object_id=f"n{record.object}",
        text=f"{subject} {record.predicate} {object_}",
        confidence=record.confidence,
        weight=record.weight,
        origin=record.origin,
        evidence_count=record.support,
        created_at=record.created_at,
        ended_at=ended_at,
    )

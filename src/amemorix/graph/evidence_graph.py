"""Rows of the graph as they are told: nodes, edges, relations, and the evidence behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..ids import paragraph_key
from ..indexes.graph.state import Standing
from ..store.access import Sight
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from .responses import EdgeItem, EvidenceGraph, EvidenceLink, EvidenceNode, NodeItem, RelationItem
from .rows import EdgeRecord, NodeRecord

__all__ = ["draw_evidence", "edge_items", "node_items", "relation_item"]

LABEL_PREDICATES = 3


def draw_evidence(
    db: Connection, relations: Sequence[RelationItem], paragraphs: Sequence[int], sight: Sight, limit: int, *,
    centre: tuple[str, str] | None = None,
) -> EvidenceGraph:  # fmt: skip
    """The node asked for (id, name), the relations with their ends, then the paragraphs behind them, up to the limit."""
    nodes: dict[str, EvidenceNode] = {}
    links: list[EvidenceLink] = []

    def put(id_: str, kind: str, label: str) -> None:
        if id_ not in nodes and len(nodes) < limit:
            nodes[id_] = EvidenceNode(id=id_, type=kind, label=label)

    def join(source: str, target: str, kind: str) -> None:
        if source in nodes and target in nodes:
            links.append(EvidenceLink(source=source, target=target, kind=kind))

    if centre is not None:
        put(centre[0], "entity", centre[1])
    for one in relations:
        if len(nodes.keys() | {one.id, one.subject_id, one.object_id}) <= limit:
            put(one.subject_id, "entity", one.subject)
            put(one.id, "relation", one.text)
            put(one.object_id, "entity", one.object)
            join(one.subject_id, one.id, "subject")
            join(one.id, one.object_id, "object")
    ids = [int(relation.id[1:]) for relation in relations]
    support = relation_rows.support(db, ids, sight.scopes, sight.now, limit) if ids else {}
    shown = list(dict.fromkeys([*(p for found in support.values() for p in found), *paragraphs]))[:limit]
    texts = paragraph_rows.contents(db, shown)
    for paragraph in shown:
        put(paragraph_key(paragraph), "paragraph", texts.get(paragraph, ""))
    for relation, found in support.items():
        for paragraph in found:
            join(paragraph_key(paragraph), f"r{relation}", "supports")
    if centre is not None:
        for paragraph in paragraphs:
            join(paragraph_key(paragraph), centre[0], "mentions")
    return EvidenceGraph(nodes=list(nodes.values()), edges=links)


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
    items: list[EdgeItem] = []
    for (source, target), rows in gathered.items():
        predicates = list(dict.fromkeys(row.predicate for row in rows))
        more = " …" if len(predicates) > LABEL_PREDICATES else ""
        items.append(
            EdgeItem(
                source=f"n{source}",
                target=f"n{target}",
                weight=round(sum(row.confidence * row.weight for row in rows), 6),
                label=" / ".join(predicates[:LABEL_PREDICATES]) + more,
                predicates=predicates,
                relation_ids=[f"r{row.id}" for row in rows],
                relation_count=len(rows),
                evidence_count=sum(row.support for row in rows),
                ended_at=max(ends[row.id] for row in rows) if all(row.id in ends for row in rows) else None,
            )
        )
    return items


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

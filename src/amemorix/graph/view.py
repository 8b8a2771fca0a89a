"""Looking at the graph: pages of it by importance, one node, one edge."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..config.model import Config
from ..facts.query import FactReader, Moment
from ..ids import paragraph_key
from ..indexes.graph.state import EdgeRow, GraphState, Standing, edge_table
from ..indexes.projections import Indexes
from ..store import changes as change_log
from ..store.access import Access, Caller, Sight, TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import shown_json
from ..store.rows import entities as entity_rows
from ..store.rows import entity_names
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import EntityRow
from . import responses
from . import rows as graph_rows
from .entity_lookup import find_edge, find_node
from .requests import EdgeDetail, GetGraph, GraphSight, NodeDetail
from .rows import EdgeRecord, NodeRecord

__all__ = ["GraphViewService", "View", "node_items"]

Ids = NDArray[np.int64]
VIEWS = 8
"""Chats whose view of the graph is remembered."""
LABEL_PREDICATES = 3
JOINING = frozenset(("spouse", "partner", "child", "pet", "workplace", "school"))
"""Attributes of a person whose value is somebody or something of its own."""


@dataclass(frozen=True, slots=True)
class View:
    """What may be seen, by importance: nodes with relations, and those without."""

    graph: GraphState
    alone: Ids | None
    """None: not looked up, because everything may be seen."""

    @property
    def standing(self) -> Standing:
        """The nodes that have an edge, the most important first."""
        return self.graph.standing

    @property
    def total(self) -> int:
        """How many nodes there are, where that is known."""
        return len(self.standing.nodes) + (0 if self.alone is None else len(self.alone))


class GraphViewService:
    """Reads the graph as a chat, or the host, may see it: indexes give candidates, the rows decide."""

    def __init__(
        self, store: MetadataStore, *, config: Config, indexes: Indexes, clock: Clock, zones: TimeZones
    ) -> None:
        self._store = store
        self._config = config
        self._indexes = indexes
        self._clock = clock
        self._facts = FactReader(store, zones)
        self._views: OrderedDict[tuple[tuple[int, ...], int], View] = OrderedDict()
        self._remembering = threading.Lock()

    def sight(self, db: Connection, request: GraphSight) -> Sight:
        """What the call may see; nothing at all for a chat that the filter does not serve."""
        scopes = Access(self._store.names, self._config).scopes(db, Caller.of(request))
        return Sight(scopes, self._clock.now())

    def view(self, db: Connection, sight: Sight) -> View:
        """The nodes by importance, and all edges."""
        if sight.scopes is None:
            self._indexes.graph.catch_up(db)
            return View(self._indexes.graph.index.state, None)
        key = (tuple(sight.scopes), change_log.bounds(db)[1])
        with self._remembering:
            known = self._views.get(key)
        if known is None:
            state = GraphState.merged(
                edge_table([EdgeRow(*row) for row in db.run("graph_scope_edges", **sight.values)])
            )
            linked = graph_rows.scope_nodes(db, sight)
            known = View(state, np.setdiff1d(linked, state.standing.nodes)[::-1])
            with self._remembering:
                self._views[key] = known
                while len(self._views) > VIEWS:
                    self._views.popitem(last=False)
        return known

    # a page

    def page(self, db: Connection, request: GetGraph) -> responses.GraphPage:
        """Nodes in order, with the edges among them; two statements, however many there are."""
        sight = self.sight(db, request)
        view = self.view(db, sight)
        total = view.total if view.alone is not None else graph_rows.entity_count(db)
        before, ids = self._placed(db, view, request, total)
        nodes = graph_rows.nodes(db, ids.tolist(), sight)
        if sight.scopes is not None:  # by the names that whoever looks knows
            names = entity_names.shown(db, [node.id for node in nodes], sight.scopes)
            nodes = [replace(node, name=names[node.id]) for node in nodes if node.id in names]
        shown = np.array([node.id for node in nodes], np.int64)
        found = view.graph.joining(shown, before if request.edges == "before" else before[:0])
        weightiest = np.argsort(-found["weight"] * np.maximum(found["support"], 1), kind="stable")
        kept: list[int] = found["id"][weightiest][: request.edge_limit].tolist()
        edges = graph_rows.edges(db, kept, sight) if kept else []
        end = request.offset + len(ids)
        return responses.GraphPage(
            nodes=node_items(nodes, view.standing),
            edges=_edge_items(edges),
            total_nodes=total,
            total_edges=view.standing.pairs,
            total_relations=view.standing.relations,
            offset=request.offset,
            limit=request.limit,
            next_offset=end if len(ids) and end < total else None,
            edges_left_out=len(found) - len(kept),
        )

    def _placed(self, db: Connection, view: View, request: GetGraph, total: int) -> tuple[Ids, Ids]:
        """(nodes of earlier pages, nodes of this page)."""
        end = min(request.offset + request.limit, total)
        order = view.standing.nodes
        if request.order != "importance":
            order = graph_rows.entity_ids(db, by_name=request.order == "name")
            if view.alone is not None:
                order = order[np.isin(order, np.concatenate((view.standing.nodes, view.alone)))]
        elif end > len(order):
            alone = view.alone
            if alone is None:
                alone = graph_rows.entity_ids(db)
                alone = alone[~np.isin(alone, order)]
            order = np.concatenate((order, alone))
        start = min(request.offset, len(order))
        return order[:start], order[start:end]

    def node(self, db: Connection, request: NodeDetail) -> responses.NodeAnswer:
        """A node with its relations, its paragraphs and how they hang together. Raises NotFound."""
        sight = self.sight(db, request)
        found = find_node(db, "node", request.node, sight)
        row = replace(found, name=entity_names.shown(db, [found.id], sight.scopes)[found.id])
        at = graph_rows.relations_at(db, [row.id], sight)
        relations = self.relations(db, [one.id for one in at[: request.relation_limit]], sight)
        newest = db.run("graph_paragraphs_at", entity=row.id, limit=request.paragraph_limit, **sight.values)
        ids = [id_ for (id_,) in newest]
        open_ = sight.scopes is None
        return responses.NodeAnswer(
            node=_item(row, at),
            aliases=[alias.alias for alias in entity_rows.aliases(db, [row.id])] if open_ else [],
            former_names=[name for _, name, _ in entity_rows.former_names(db, [row.id])] if open_ else [],
            metadata=shown_json(row.metadata) if open_ else {},
            relations=relations,
            relation_count=len(at),
            known=self._known(db, row, sight),
            paragraphs=self._paragraphs(db, ids),
            paragraph_count=db.run("graph_paragraph_count_at", entity=row.id, **sight.values).fetchone()[0],
            evidence_graph=_evidence_graph(
                db, relations, ids, sight, request.evidence_node_limit, centre=(f"n{row.id}", row.name)
            ),
        )

    def edge(self, db: Connection, request: EdgeDetail) -> responses.EdgeAnswer:
        """The relations from one node to another, and what supports them. Raises NotFound."""
        sight = self.sight(db, request)
        rows = find_edge(db, request.relation, request.source, request.target, request.predicate, sight)
        ids = [row.id for row in rows]
        records = graph_rows.edges(db, ids, sight)
        relations = self.relations(db, ids, sight)[: request.relation_limit]
        support = relation_rows.support(db, ids, sight.scopes, sight.now, request.paragraph_limit)
        newest = sorted({p for found in support.values() for p in found}, reverse=True)[: request.paragraph_limit]
        return responses.EdgeAnswer(
            edge=next(iter(_edge_items(records)), None),
            relations=relations,
            paragraphs=self._paragraphs(db, newest),
            evidence_graph=_evidence_graph(db, relations, newest, sight, request.evidence_node_limit),
        )

    # parts

    def _known(self, db: Connection, node: EntityRow, sight: Sight) -> list[responses.RelationItem]:
        """What facts join the one person of the node's name to; nothing where several have it."""
        self._indexes.names.catch_up(db)
        persons = self._indexes.names.index.matching(node.name, sight.scopes)
        if len(persons) != 1:
            return []
        moment = Moment(sight.now)
        facts = [
            fact
            for fact in self._facts.of(db, persons, sight.scopes, moment)
            if fact.attribute in JOINING and fact.shown_status == "active" and fact.polarity > 0
        ]
        return [
            responses.RelationItem(
                id=f"fact:{fact.id}", subject=node.name, subject_id=f"n{node.id}", predicate=fact.attribute,
                object=fact.value, object_id="", text=f"{node.name} {fact.attribute} {fact.value}",
                confidence=fact.confidence, origin="fact", evidence_count=len(fact.evidence_ids),
                created_at=fact.recorded_at,
            )
            for fact in self._facts.items(db, facts, moment, sight.scopes)
        ]  # fmt: skip

    def changed(
        self, db: Connection, node: int, relations: Iterable[int]
    ) -> tuple[responses.NodeItem | None, list[responses.RelationItem]]:
        """A node and relations as they stand, for the answer to a change."""
        sight = Sight(None, self._clock.now())
        row = entity_rows.entity_row(db, node)
        item = _item(row, graph_rows.relations_at(db, [node], sight)) if row is not None and row.alive else None
        return item, self.relations(db, relations, sight)

    def relations(self, db: Connection, ids: Iterable[int], sight: Sight) -> list[responses.RelationItem]:
        """Relations that may be seen, in the order given."""
        wanted = list(ids)
        records = {record.id: record for record in graph_rows.edges(db, wanted, sight)}
        ends = {end for record in records.values() for end in (record.subject, record.object)}
        names = entity_names.shown(db, ends, sight.scopes)
        told = (records[id_] for id_ in wanted if id_ in records)
        return [_relation_item(one, names) for one in told if one.subject in names and one.object in names]

    def _paragraphs(self, db: Connection, ids: Sequence[int]) -> list[responses.ParagraphItem]:
        rows = paragraph_rows.full(db, ids)
        return [
            responses.ParagraphItem(
                id=paragraph_key(id_),
                content=rows[id_].content,
                source=rows[id_].source,
                chat_id=rows[id_].chat_id,
                external_id=rows[id_].external_id,
                time_start=rows[id_].event_start,
                time_end=rows[id_].event_end,
                recorded_at=rows[id_].recorded_at,
            )
            for id_ in ids
            if id_ in rows
        ]


def _item(row: EntityRow, at: Sequence[EdgeRow]) -> responses.NodeItem:
    return responses.NodeItem(
        id=f"n{row.id}",
        name=row.name,
        type=row.kind,
        weight=round(sum(one.weight * max(one.support, 1) for one in at), 6),
        degree=len(at),
        evidence_count=sum(one.support for one in at),
        created_at=row.created_at,
    )


def _evidence_graph(
    db: Connection, relations: Sequence[responses.RelationItem], paragraphs: Sequence[int], sight: Sight, limit: int, *,
    centre: tuple[str, str] | None = None,
) -> responses.EvidenceGraph:  # fmt: skip
    """The node asked for (id, name), the relations with their ends, then the paragraphs behind them, up to the limit."""
    nodes: dict[str, responses.EvidenceNode] = {}
    links: list[responses.EvidenceLink] = []

    def put(id_: str, kind: str, label: str) -> None:
        if id_ not in nodes and len(nodes) < limit:
            nodes[id_] = responses.EvidenceNode(id=id_, type=kind, label=label)

    def join(source: str, target: str, kind: str) -> None:
        if source in nodes and target in nodes:
            links.append(responses.EvidenceLink(source=source, target=target, kind=kind))

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
    return responses.EvidenceGraph(nodes=list(nodes.values()), edges=links)


def node_items(nodes: Sequence[NodeRecord], standing: Standing) -> list[responses.NodeItem]:
    """Nodes with what puts them where they are."""
    order = np.argsort(standing.nodes)
    ids = np.array([node.id for node in nodes], np.int64)
    at = np.minimum(np.searchsorted(standing.nodes, ids, sorter=order), max(len(order) - 1, 0))
    items: list[responses.NodeItem] = []
    for node, place in zip(nodes, at.tolist(), strict=True):
        item = responses.NodeItem(id=f"n{node.id}", name=node.name, type=node.kind, created_at=node.created_at)
        if len(order) and standing.nodes[order[place]] == node.id:
            where = int(order[place])
            item.weight = round(float(standing.score[where]), 6)
            item.degree, item.evidence_count = int(standing.degree[where]), int(standing.support[where])
        items.append(item)
    return items


def _edge_items(records: Sequence[EdgeRecord]) -> list[responses.EdgeItem]:
    """Relations gathered by the nodes they join, the weightiest edge first."""
    gathered: dict[tuple[int, int], list[EdgeRecord]] = {}
    for record in sorted(records, key=lambda r: (-r.confidence * r.weight * max(r.support, 1), -r.id)):
        gathered.setdefault((record.subject, record.object), []).append(record)
    items: list[responses.EdgeItem] = []
    for (source, target), rows in gathered.items():
        predicates = list(dict.fromkeys(row.predicate for row in rows))
        more = " …" if len(predicates) > LABEL_PREDICATES else ""
        items.append(
            responses.EdgeItem(
                source=f"n{source}",
                target=f"n{target}",
                weight=round(sum(row.confidence * row.weight for row in rows), 6),
                label=" / ".join(predicates[:LABEL_PREDICATES]) + more,
                predicates=predicates,
                relation_ids=[f"r{row.id}" for row in rows],
                relation_count=len(rows),
                evidence_count=sum(row.support for row in rows),
            )
        )
    return items


def _relation_item(record: EdgeRecord, names: Mapping[int, str]) -> responses.RelationItem:
    """A relation with the names of its ends."""
    subject, object_ = names.get(record.subject, ""), names.get(record.object, "")
    return responses.RelationItem(
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
    )

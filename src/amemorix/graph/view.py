"""Looking at the graph: pages of it by importance, one node, one edge."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..clock import Clock
from ..config.model import Config
from ..ids import paragraph_key
from ..indexes.graph.edges import EdgeRow, edge_table
from ..indexes.graph.node_importance import Standing
from ..indexes.graph.state import GraphState
from ..indexes.projections import Indexes
from ..store import changes as change_log
from ..store.access import Access, Caller, Sight
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import entity_names, relation_validity
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import EntityRow
from . import rows as graph_rows
from .entity_lookup import GraphFinder
from .evidence_graph import EvidenceDrawing, edge_items, node_items, relation_item
from .requests import EdgeDetail, GetGraph, GraphSight, NodeDetail
from .responses import EdgeAnswer, EvidenceGraph, GraphPage, NodeAnswer, NodeItem, ParagraphItem, RelationItem
from .rows import EdgeRecord, NodeRecord, RelationAt

__all__ = ["GraphViewService", "View"]

Ids = NDArray[np.int64]
VIEWS = 8
"""Chats whose view of the graph is remembered."""


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

    def __init__(self, store: MetadataStore, *, config: Config, indexes: Indexes, clock: Clock) -> None:
        self._store = store
        self._config = config
        self._indexes = indexes
        self._clock = clock
        self._finder = GraphFinder(store)
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
            known = self._made(db, sight)
            with self._remembering:
                self._views[key] = known
                while len(self._views) > VIEWS:
                    self._views.popitem(last=False)
        return known

    def _made(self, db: Connection, sight: Sight) -> View:
        rows = [EdgeRow(*row) for row in graph_rows.scope_edges(db, sight)]
        state = GraphState.merged(edge_table(rows))
        linked = graph_rows.scope_nodes(db, sight)
        return View(state, np.setdiff1d(linked, state.standing.nodes)[::-1])

    # a page

    async def page(self, request: GetGraph) -> GraphPage:
        """Nodes in order, with the edges among them; two statements, however many there are."""
        return await self._store.read(lambda db: self._page(db, request))

    def _page(self, db: Connection, request: GetGraph) -> GraphPage:
        sight = self.sight(db, request)
        view = self.view(db, sight)
        total = view.total if view.alone is not None else graph_rows.entity_count(db)
        before, ids = self._placed(db, view, request, total)
        nodes = self._named(db, graph_rows.nodes(db, ids.tolist(), sight), sight)
        shown = np.array([node.id for node in nodes], np.int64)
        edges, left_out = self._edges(db, view.graph, shown, before, request, sight)
        end = request.offset + len(ids)
        return GraphPage(
            nodes=node_items(nodes, view.standing),
            edges=edge_items(edges, self._ends(db, [edge.id for edge in edges], sight)),
            total_nodes=total,
            total_edges=view.standing.pairs,
            total_relations=view.standing.relations,
            offset=request.offset,
            limit=request.limit,
            next_offset=end if len(ids) and end < total else None,
            edges_left_out=left_out,
        )

    def _named(self, db: Connection, nodes: Sequence[NodeRecord], sight: Sight) -> list[NodeRecord]:
        """The nodes by the names that whoever looks knows; without those of which it knows none."""
        if sight.scopes is None:
            return list(nodes)
        names = entity_names.shown(db, [node.id for node in nodes], sight.scopes)
        return [replace(node, name=names[node.id]) for node in nodes if node.id in names]

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

    def _edges(
        self, db: Connection, state: GraphState, ids: Ids, before: Ids, request: GetGraph, sight: Sight
    ) -> tuple[list[EdgeRecord], int]:
        found = state.joining(ids, before if request.edges == "before" else before[:0])
        weightiest = np.argsort(-found["weight"] * np.maximum(found["support"], 1), kind="stable")
        kept = found["id"][weightiest][: request.edge_limit]
        if not len(kept):
            return [], len(found)
        return graph_rows.edges(db, kept.tolist(), sight), len(found) - len(kept)

    # one node

    async def node(self, request: NodeDetail) -> NodeAnswer:
        """A node with its relations, its paragraphs and how they hang together. Raises NotFound."""
        return await self._store.read(lambda db: self._node(db, request))

    def _node(self, db: Connection, request: NodeDetail) -> NodeAnswer:
        sight = self.sight(db, request)
        found = self._finder.node(db, "node", request.node, sight)
        row = replace(found, name=entity_names.shown(db, [found.id], sight.scopes)[found.id])
        at = graph_rows.relations_at(db, [row.id], sight)
        relations = self.relations(db, [one.id for one in at[: request.relation_limit]], sight)
        ids = graph_rows.paragraphs_at(db, row.id, sight, request.paragraph_limit)
        open_ = sight.scopes is None
        return NodeAnswer(
            node=_item(row, at),
            aliases=[alias.alias for alias in entity_rows.aliases(db, [row.id])] if open_ else [],
            former_names=[name for _, name, _ in entity_rows.former_names(db, [row.id])] if open_ else [],
            metadata=json.loads(row.metadata) if open_ else {},
            relations=relations,
            relation_count=len(at),
            paragraphs=self._paragraphs(db, ids),
            paragraph_count=graph_rows.paragraph_count_at(db, row.id, sight),
            evidence_graph=self._evidence(db, relations, {row.id: row.name}, ids, sight, request.evidence_node_limit),
        )

    # one edge

    async def edge(self, request: EdgeDetail) -> EdgeAnswer:
        """The relations from one node to another, and what supports them. Raises NotFound."""
        return await self._store.read(lambda db: self._edge(db, request))

    def _edge(self, db: Connection, request: EdgeDetail) -> EdgeAnswer:
        sight = self.sight(db, request)
        rows = self._finder.edge(db, request.relation, request.source, request.target, request.predicate, sight)
        ids = [row.id for row in rows]
        records = graph_rows.edges(db, ids, sight)
        relations = self.relations(db, ids, sight)
        support = relation_rows.support(db, ids, sight.scopes, sight.now, request.paragraph_limit)
        newest = sorted({p for found in support.values() for p in found}, reverse=True)[: request.paragraph_limit]
        return EdgeAnswer(
            edge=next(iter(edge_items(records, self._ends(db, ids, sight))), None),
            relations=relations[: request.relation_limit],
            paragraphs=self._paragraphs(db, newest),
            evidence_graph=self._evidence(
                db, relations[: request.relation_limit], {}, newest, sight, request.evidence_node_limit
            ),
        )

    # parts

    async def changed(self, node: int, relations: Iterable[int]) -> tuple[NodeItem | None, list[RelationItem]]:
        """A node and relations as they stand, for the answer to a change."""

        def read(db: Connection) -> tuple[NodeItem | None, list[RelationItem]]:
            sight = Sight(None, self._clock.now())
            row = entity_rows.entity_row(db, node)
            at = graph_rows.relations_at(db, [node], sight)
            item = _item(row, at) if row is not None and row.alive else None
            return item, self.relations(db, relations, sight)

        return await self._store.read(read)

    def relations(self, db: Connection, ids: Iterable[int], sight: Sight) -> list[RelationItem]:
        """Relations that may be seen, in the order given."""
        wanted = list(ids)
        records = {record.id: record for record in graph_rows.edges(db, wanted, sight)}
        ends = {end for record in records.values() for end in (record.subject, record.object)}
        names = entity_names.shown(db, ends, sight.scopes)
        over = self._ends(db, records, sight)
        told = (records[id_] for id_ in wanted if id_ in records)
        return [
            relation_item(one, names, over.get(one.id)) for one in told if one.subject in names and one.object in names
        ]

    def _ends(self, db: Connection, ids: Iterable[int], sight: Sight) -> dict[int, float]:
        """Relation -> when it was over, by what may be seen."""
        return relation_validity.of(db, ids, sight.scopes, sight.now)

    def _paragraphs(self, db: Connection, ids: Sequence[int]) -> list[ParagraphItem]:
        rows = paragraph_rows.full(db, ids)
        return [
            ParagraphItem(
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

    def _evidence(
        self,
        db: Connection,
        relations: Sequence[RelationItem],
        entities: dict[int, str],
        paragraphs: Sequence[int],
        sight: Sight,
        limit: int,
    ) -> EvidenceGraph:
        """The node asked for, its relations with their ends, then the paragraphs behind them, up to the limit."""
        graph = EvidenceDrawing(limit)
        centre = [graph.put(f"n{id_}", "entity", name) for id_, name in entities.items()]
        for relation in relations:
            graph.relation(relation)
        ids = [int(relation.id[1:]) for relation in relations]
        support = relation_rows.support(db, ids, sight.scopes, sight.now, limit) if ids else {}
        shown = list(dict.fromkeys([*(p for found in support.values() for p in found), *paragraphs]))[:limit]
        texts = paragraph_rows.contents(db, shown)
        for paragraph in shown:
            graph.put(paragraph_key(paragraph), "paragraph", texts.get(paragraph, ""))
        for relation, found in support.items():
            for paragraph in found:
                graph.join(paragraph_key(paragraph), f"r{relation}", "supports")
        for paragraph in paragraphs:
            for id_ in entities if any(centre) else ():
                graph.join(paragraph_key(paragraph), f"n{id_}", "mentions")
        return graph.made


def _item(row: EntityRow, at: Sequence[RelationAt]) -> NodeItem:
    return NodeItem(
        id=f"n{row.id}",
        name=row.name,
        type=row.kind,
        weight=round(sum(one.weight * max(one.support, 1) for one in at), 6),
        degree=len(at),
        evidence_count=sum(one.support for one in at),
        created_at=row.created_at,
    )

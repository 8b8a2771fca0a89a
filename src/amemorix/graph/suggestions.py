"""The suggesting of merges: nothing is merged by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from ..store.access import Sight
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as graph_rows
from .entity_lookup import GraphFinder
from .evidence_graph import node_items
from .merge_candidates import Candidate, better_known, candidates
from .requests import SuggestMerges
from .responses import MergeSuggestion, MergeSuggestions, NodeItem
from .view import GraphViewService, View

__all__ = ["GraphSuggestionService"]


@dataclass(frozen=True, slots=True)
class _Material:
    """What the suggestions are made from."""

    view: View
    names: list[tuple[int, str]]
    sight: Sight
    node: int


class GraphSuggestionService:
    """Compares the names and neighbours of the nodes that may be seen, on a background thread."""

    def __init__(self, store: MetadataStore, views: GraphViewService, *, background: Executor) -> None:
        self._store = store
        self._views = views
        self._background = background
        self._finder = GraphFinder(store)

    async def suggest(self, request: SuggestMerges) -> MergeSuggestions:
        """Pairs of nodes that may be one, the likeliest first. Raises NotFound for a node that is not there."""
        material = await self._store.read(lambda db: self._material(db, request))
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._background, _found, material, request.min_score)
        page = found[request.offset : request.offset + request.limit]
        items = await self._store.read(lambda db: self._told(db, page, material))
        return MergeSuggestions(items=items, total=len(found))

    def _material(self, db: Connection, request: SuggestMerges) -> _Material:
        sight = self._views.sight(db, request)
        node = self._finder.node(db, "node", request.node, sight).id if request.node else 0
        view = self._views.view(db, sight)
        return _Material(view, self._names(db, view, sight), sight, node)

    def _names(self, db: Connection, view: View, sight: Sight) -> list[tuple[int, str]]:
        """Every name that a node goes by; for a chat only the names themselves."""
        if view.alone is None:
            return graph_rows.all_names(db)
        ids = np.concatenate((view.standing.nodes, view.alone)).tolist()
        return [(node.id, node.name) for node in graph_rows.nodes(db, ids, sight)]

    def _told(self, db: Connection, page: list[Candidate], material: _Material) -> list[MergeSuggestion]:
        standing = material.view.standing
        ids = {node for one in page for node in one.pair}
        nodes = {node.id: node for node in graph_rows.nodes(db, ids, material.sight)}
        items = dict(zip(nodes, node_items(list(nodes.values()), standing), strict=True))
        degree = {node: item.degree for node, item in items.items()}
        return [_suggestion(one, items, degree) for one in page if set(one.pair) <= nodes.keys()]


def _found(material: _Material, min_score: float) -> list[Candidate]:
    found = candidates(material.names, material.view.graph.edges())
    return [one for one in found if one.score >= min_score and (not material.node or material.node in one.pair)]


def _suggestion(one: Candidate, items: Mapping[int, NodeItem], degree: Mapping[int, int]) -> MergeSuggestion:
    source, target = better_known(one.pair, degree)
    return MergeSuggestion(source=items[source], target=items[target], score=one.score, reasons=one.reasons)

"""The services over the graph of entities and relations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ..graph.edit import GraphEditService
from ..graph.export import GraphExportService
from ..graph.search import GraphSearchService
from ..graph.suggestions import GraphSuggestionService
from ..graph.undo import GraphUndoService
from ..graph.view import GraphViewService
from .kernel_context import Ground

__all__ = ["Graph"]


class Graph:
    """Looking at the graph, changing it, and taking changes back."""

    def __init__(self, ground: Ground) -> None:
        store, clock = ground.store, ground.clock
        self._apart = ThreadPoolExecutor(1, "amemorix-graph")
        self.views = GraphViewService(store, config=ground.config, indexes=ground.indexes, clock=clock)
        self.search = GraphSearchService(store, self.views)
        self.edits = GraphEditService(store, clock=clock)
        self.undo = GraphUndoService(store, clock=clock)
        self.suggestions = GraphSuggestionService(store, self.views, background=self._apart)
        self.exports = GraphExportService(store, self.views, clock=clock, background=self._apart)

    def close(self) -> None:
        """Let the thread go; blocking."""
        self._apart.shutdown(wait=True)

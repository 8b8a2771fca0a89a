"""The services that find memories."""

from __future__ import annotations

from ..episodes.query import EpisodeRetrievalService
from ..indexes.vectors.serving import DenseLane
from ..models.glosses.table import GlossTable
from ..search.service import SearchService
from ..search.target_resolver import MemoryTargets
from .kernel_context import Ground

__all__ = ["Recall"]


class Recall:
    """Search, the reading of episodes, and the memories that a caller names."""

    def __init__(self, ground: Ground, *, dense: DenseLane, glosses: GlossTable | None) -> None:
        store, config, indexes, clock = ground.store, ground.config, ground.indexes, ground.clock
        self.searches = SearchService(
            store, config=config, indexes=indexes, dense=dense, clock=clock, zones=ground.zones,
            right_of_way=store.right_of_way, glosses=glosses,
        )  # fmt: skip
        self.targets = MemoryTargets(store, config=config, searches=self.searches)
        self.episodes = EpisodeRetrievalService(store, config=config, indexes=indexes, clock=clock)

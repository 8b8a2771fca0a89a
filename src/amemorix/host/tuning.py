"""The services that search for better retrieval settings."""

from __future__ import annotations

from ..indexes.vectors.serving import DenseLane
from ..models.glosses.table import GlossTable
from ..runtime_status import Configure
from ..tuning.evaluation import Evaluator
from ..tuning.profiles import RetrievalProfileService
from ..tuning.service import TuningService
from .kernel_context import Ground

__all__ = ["Tuning"]


class Tuning:
    """The settings at work with their history, and the tasks that look for better ones."""

    def __init__(
        self, ground: Ground, *, dense: DenseLane, glosses: GlossTable | None, configure: Configure | None
    ) -> None:
        store, config, clock = ground.store, ground.config, ground.clock
        self.profiles = RetrievalProfileService(store, config=config, configure=configure, clock=clock)
        self._evaluator = Evaluator(
            store, config=config, indexes=ground.indexes, dense=dense, clock=clock, zones=ground.zones, glosses=glosses
        )
        self.tasks = TuningService(
            store, config=config, evaluator=self._evaluator, profiles=self.profiles, clock=clock,
            background=ground.background, chat=ground.chat,
        )  # fmt: skip

    def close(self) -> None:
        """Let go of the thread that embeds questions."""
        self._evaluator.close()

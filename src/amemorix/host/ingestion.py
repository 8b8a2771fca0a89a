"""The services by which texts come in."""

from __future__ import annotations

from ..importing.manager import ImportTaskManager
from ..ingest.service import IngestService
from ..ingest.summaries import SummaryService
from .kernel_context import Ground

__all__ = ["Intake"]


class Intake:
    """Storing texts and messages, files as well, and the summaries that the chat model writes of them."""

    def __init__(self, ground: Ground) -> None:
        config, clock, zones = ground.config, ground.clock, ground.zones
        self.ingest = IngestService(ground.store, config=config, clock=clock, zones=zones)
        self.summaries = SummaryService(ground.store, config=config, chat=ground.chat, clock=clock, zones=zones)
        self.imports = ImportTaskManager(ground.store, config=config, clock=clock, zones=zones, ingest=self.ingest)

"""The services that mend what is wrong."""

from __future__ import annotations

from ..corrections.feedback import FeedbackService
from ..corrections.service import CorrectionService
from ..indexes.vectors.embedding import EmbeddingService
from ..lifecycle.evidence import EvidenceUndo
from ..search.service import SearchService
from .kernel_context import Ground

__all__ = ["Mending"]


class Mending:
    """Corrections said in words, what users say of an answer later, and evidence that is given back."""

    def __init__(self, ground: Ground, *, searches: SearchService, embedding: EmbeddingService) -> None:
        store, config, clock, chat = ground.store, ground.config, ground.clock, ground.chat
        self.corrections = CorrectionService(
            store, config=config, searches=searches, indexes=ground.indexes, clock=clock, zones=ground.zones, chat=chat
        )
        self.feedback = FeedbackService(
            store, settings=config.feedback, corrections=self.corrections, clock=clock, chat=chat
        )
        self.evidence = EvidenceUndo(store, clock=clock, look_again=embedding.look_again)

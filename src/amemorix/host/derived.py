"""The services that derive knowledge from what was said."""

from __future__ import annotations

from collections.abc import Callable

from ..background.change_follower import Deriver
from ..episodes.service import EpisodeService
from ..facts.dedup import MemUpdateChecker
from ..facts.editor import FactEditor
from ..facts.service import FactService
from ..graph.extraction import ExtractionService
from ..ingest.late_names import NamingService
from ..ports import Embedder
from ..profiles.evidence import EvidenceService
from ..profiles.query import ProfileReader
from ..profiles.service import PersonProfileService
from .kernel_context import Ground

__all__ = ["Knowledge"]


class Knowledge:
    """Entities and relations, episodes, facts, and profiles of persons, each kept by a deriver."""

    def __init__(self, ground: Ground, *, embedder: Callable[[], Embedder | None]) -> None:
        self.namings = NamingService(ground.store, background=ground.background)
        self.extraction = _extraction(ground)
        self.episodes = _episodes(ground)
        self.facts = _facts(ground, embedder)
        self.fact_editor = FactEditor(ground.store, clock=ground.clock, profile=ground.config.profile)
        self.profiles = _profiles(ground)
        self.profile_reader = ProfileReader(
            ground.store, config=ground.config, clock=ground.clock, indexes=ground.indexes, service=self.profiles
        )
        self.evidence = EvidenceService(ground.store)
        self.derivers: dict[str, Deriver] = {
            "namings": self.namings, "extraction": self.extraction, "episodes": self.episodes, "facts": self.facts, "profiles": self.profiles,
        }  # fmt: skip


def _extraction(ground: Ground) -> ExtractionService:
    return ExtractionService(
        ground.store, settings=ground.config.extraction, clock=ground.clock, background=ground.background,
        chat=ground.chat,
    )  # fmt: skip


def _episodes(ground: Ground) -> EpisodeService:
    return EpisodeService(
        ground.store, settings=ground.config.episode, clock=ground.clock, background=ground.background, chat=ground.chat
    )


def _facts(ground: Ground, embedder: Callable[[], Embedder | None]) -> FactService:
    """They compare statements with the model that serves at the time, and the chat model."""
    checker = MemUpdateChecker(
        ground.config.facts, embedder=embedder, chat=lambda: ground.chat, background=ground.background
    )
    return FactService(
        ground.store, settings=ground.config.facts, profile=ground.config.profile, clock=ground.clock, zones=ground.zones, indexes=ground.indexes,
        checker=checker, background=ground.background,
    )  # fmt: skip


def _profiles(ground: Ground) -> PersonProfileService:
    return PersonProfileService(
        ground.store, settings=ground.config.profile, clock=ground.clock, background=ground.background,
        directory=ground.indexes.names.index, chat=ground.chat,
    )  # fmt: skip

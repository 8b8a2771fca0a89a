"""The cutting of talk into episodes, and the search for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ...config.model import Episode
from ...episodes.grouping import segments
from ...episodes.rows import Material
from ...language.normalise import clean_text, pack_terms, tokens
from ..access import AnyMemory, Caller, caller_of
from ..texts import ask

__all__ = ["EpisodeRetrievalService", "EpisodeSegmentationService"]

Turn = TypeVar("Turn", bound=Mapping[str, Any])


class EpisodeSegmentationService:
    """Cuts talk where it pauses, changes its topic or gets too long, as the memory does."""

    def __init__(self, settings: Episode | None = None) -> None:
        self._settings = settings or Episode()

    def segment(self, turns: Sequence[Turn]) -> list[list[Turn]]:
        """The turns in their order, each with `text` and `time` (epoch seconds), episode by episode."""
        times = [float(turn["time"]) for turn in turns]
        texts = [clean_text(turn["text"]) for turn in turns]
        material = [
            Material(i, 0, at, at, at, text, 0, pack_terms(tokens(text)))
            for i, (at, text) in enumerate(zip(times, texts, strict=True))
        ]
        material.sort(key=lambda one: one.place)
        return [[turns[one.id] for one in segment] for segment in segments(material, self._settings)]


class EpisodeRetrievalService:
    """Finds the episodes of a memory by meaning and words, or lists them."""

    def __init__(self, memory: AnyMemory | Caller | None = None) -> None:
        """`memory`: a kernel, a host, a `Memory` or `Client`, or the place of one."""
        self._memory = memory

    async def query(self, query: str = "", limit: int = 5, **where: Any) -> list[dict[str, Any]]:
        """Episodes, the best first; without a query the last ones. `where`: `chat_id`, `person_id`, `time_start`, …

        Raises ValueError for what cannot be taken, RuntimeError for what went wrong.
        """
        memory = caller_of(self._memory)
        if query.strip():
            return (await ask(memory, "search_memory", mode="episode", query=query, limit=limit, **where))["hits"]
        return (await ask(memory, "memory_episode_admin", action="list", limit=limit, **where))["items"]

"""How well questions are answered with settings that are only tried."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..clock import Clock
from ..config.model import Config
from ..errors import ModelUnavailable
from ..foreground_priority import RightOfWay
from ..indexes.projections import Indexes
from ..indexes.vectors.serving import DenseLane
from ..search.operations import KernelSearchRequest
from ..search.service import SearchService
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from .comparison import Outcome, mean_outcome, outcome
from .rows import Question
from .search_space import with_profile

__all__ = ["Cancelled", "Evaluator"]

UNHURRIED = {"retrieval.lane_budget_ms": 60_000.0, "retrieval.rerank.budget_ms": 10_000.0, "facts.search_limit": 0}
"""A machine that is busy must not make settings look worse than they are."""
MOST_HITS = 200
MOST_WAIT = 1.0
"""Seconds that a question waits for callers' questions to be answered."""


class Cancelled(Exception):
    """The task was cancelled meanwhile."""


class Evaluator:
    """Asks through the same search as callers do, one question at a time, and rests in between: calls go first.

    Nothing is counted as used, and queries are embedded apart from those of callers.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        indexes: Indexes,
        dense: DenseLane,
        clock: Clock,
        zones: TimeZones,
    ) -> None:
        self._store = store
        self._config = config
        self._indexes = indexes
        self._callers = dense
        self._clock = clock
        self._zones = zones
        self._dense = DenseLane(1)

    def close(self) -> None:
        """End the thread that embeds the questions."""
        self._dense.close()

    async def ask(
        self,
        profiles: Sequence[Mapping[str, Any]],
        queries: Sequence[Question],
        *,
        k: int,
        wanted: Callable[[], bool] = lambda: True,
    ) -> list[list[Outcome]]:
        """For each profile how well each question was answered, in the order of both.

        The profiles take turns at each question, so that what else the machine does meets them alike. The question of a
        turn is asked twice: as it stands there, next to its answer, and as if it did not. Real questions lie between the
        two: the first alone would teach that answers stand below their question in the same words, the second that words
        hardly count. Raises Cancelled, ModelUnavailable if the questions could not be embedded.
        """
        if self._dense.serving is not self._callers.serving:
            self._dense.serve(self._callers.serving)
        hidden = sorted({id_ for query in queries if query.kind == "reply" for id_ in query.hidden})
        services = [(self._service(profile, ()), self._service(profile, hidden)) for profile in profiles]
        found: list[list[Outcome]] = [[] for _ in profiles]
        for n, query in enumerate(queries):
            turns = [*range(len(services))]
            for place in turns if n % 2 == 0 else reversed(turns):
                if not wanted():
                    raise Cancelled
                whole, without = services[place]
                answered = await self._asked(whole, query, k)
                if query.kind == "reply":
                    answered = mean_outcome(answered, await self._asked(without, query, k))
                found[place].append(answered)
        return found

    def _service(self, profile: Mapping[str, Any], hidden: Sequence[int]) -> SearchService:
        config = with_profile(self._config, {**profile, **UNHURRIED})
        return SearchService(
            self._store, config=config, indexes=self._indexes, dense=self._dense, clock=self._clock, zones=self._zones,
            right_of_way=RightOfWay(), hidden=hidden,
        )  # fmt: skip

    async def _asked(self, service: SearchService, query: Question, k: int) -> Outcome:
        until = time.monotonic() + MOST_WAIT
        while self._store.right_of_way.is_taken and time.monotonic() < until:  # noqa: ASYNC110 - other threads count it
            await asyncio.sleep(0.005)
        started = time.perf_counter()
        limit = min(MOST_HITS, k + len(query.hidden))
        asked = {"query": query.text, "chat_id": query.chat_id, "limit": limit, "respect_filter": False}
        result = await service.search(KernelSearchRequest.model_validate(asked))
        spent = time.perf_counter() - started
        if "dense" in result.degraded:
            raise ModelUnavailable(
                "The questions could not be embedded; settings are tried when the model answers again."
            )
        found = [int(hit.id[1:]) for hit in result.hits if hit.hash not in query.hashes]
        judged = outcome(query.id, query.kind, found, query.targets, k, round(spent * 1000, 3))
        await asyncio.sleep(spent * self._config.tuning.idle_share)
        return judged

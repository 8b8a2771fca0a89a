"""The answering of searches, in every mode."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np

from ..clock import Clock
from ..config.model import Config, Retrieval
from ..errors import InvalidRequest
from ..facts.items import FactItem
from ..facts.query import FIRST_PERSON, Asked, FactReader, Moment
from ..foreground_priority import RightOfWay
from ..indexes.projections import Indexes
from ..indexes.vectors.serving import Asking, DenseLane
from ..language.time_arguments import read_bound, read_instant
from ..models.glosses.table import GlossTable
from ..store.access import Access, Caller
from ..store.connection import time_limit
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import revisions as revision_rows
from ..store.rows import sources as source_rows
from ..store.time_zones import TimeZones
from ..tracing import carried, span
from .aggregate import AggregateQueryService
from .dual_path import DualPathRetriever, Lexical, Ranking
from .episode_lane import rank_episodes
from .hits import HitWriter, summary
from .plan import SearchPlan, Window
from .query import read_query
from .request import KernelSearchRequest
from .result import Hit, RetrievalResult
from .retention import DAY
from .superseded import PastWordings

__all__ = ["SearchService"]

log = logging.getLogger(__name__)
LONG_AGO, FAR_OFF = -1e12, 4e11
"""Bounds of a window that is open at one end, in epoch seconds: beyond any date that can be written."""
EPISODE_BREADTH = 10
"""Paragraph candidates looked at for each episode wanted."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """A request after everything that can be refused has been checked."""

    request: KernelSearchRequest
    zone: tzinfo
    window: Window | None
    source: str
    as_of: float | None


@dataclass(frozen=True, slots=True)
class _Known:
    """The facts that the query asks for; `failed` if they could not be read."""

    facts: tuple[FactItem, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Begun:
    """A search whose query is being embedded; `wide` looks for enough paragraphs to tell episodes apart."""

    plan: SearchPlan
    wide: SearchPlan
    asking: Asking
    lexical: Lexical
    known: _Known


class SearchService:
    """Plans a search, asks the lanes, and writes the answer."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        indexes: Indexes,
        dense: DenseLane,
        clock: Clock,
        zones: TimeZones,
        right_of_way: RightOfWay,
        glosses: GlossTable | None = None,
        hidden: Sequence[int] = (),
    ) -> None:
        """Each search takes `right_of_way`; `hidden` are paragraphs to search as if they were not stored."""
        self._store = store
        self._config = config
        self._indexes = indexes
        self._dense = dense
        self._clock = clock
        self._zones = zones
        self._right_of_way = right_of_way
        self._glosses = glosses
        self._hidden = np.unique(np.array(hidden, np.int64)) if hidden else None
        self._access = Access(store.names, config)
        self._retriever = DualPathRetriever(store.names)
        self._writer = HitWriter()
        self._past = PastWordings(store, self._writer)
        self._facts = FactReader(store)
        self._aggregate = AggregateQueryService()

    def request(self, **asked: Any) -> KernelSearchRequest:
        """The request with these arguments. Raises pydantic's ValidationError."""
        return KernelSearchRequest.model_validate(asked)

    async def search(self, request: KernelSearchRequest, *, source: str = "") -> RetrievalResult:
        """Answer one search, within the sources of a name if one is given.

        Raises InvalidRequest for times that cannot be read and for what a mode needs and lacks.
        """
        ask = self._checked(request, source)
        with self._right_of_way.taken():
            begun = await self._store.read(carried(lambda db: self._begin(db, ask)))
            if isinstance(begun, RetrievalResult):
                return begun
            return await self._finish(request.mode, begun)

    def _begin(self, db: Connection, ask: _Ask) -> _Begun | RetrievalResult:
        """Plan the search, send the query to the model, and meanwhile look up its words."""
        if not self._access.serves(db, Caller.of(ask.request)):
            return RetrievalResult(mode=ask.request.mode, filtered=True)
        plan = self._planned(db, ask)
        known = self._known(db, ask, plan)
        if plan.query is None:
            return _with_facts(self._by_time(db, plan), known)
        wide = self._broad(plan) if ask.request.mode in ("episode", "aggregate") else plan
        asking = self._dense.begin(plan.query.bare or plan.query.text)
        wide = replace(wide, generation=asking.generation)
        return _Begun(plan, wide, asking, self._retriever.lexical(db, self._indexes.lanes(db, None), wide), known)

    async def _finish(self, mode: str, begun: _Begun) -> RetrievalResult:
        """Rank what was found once the query is embedded, and write the answer."""
        with span("amemorix lane dense"):
            asked = await self._dense.finish(begun.asking, self._config.embedding.query_timeout_seconds)
        meant = replace(begun.wide, encoded=asked.encoded, generation=asked.generation)

        def answer(db: Connection) -> RetrievalResult:
            dropped = asked.vectors is not None and not embedding_rows.is_whole(db, asked.generation)
            degraded = ("dense",) if asked.failed or dropped else ()
            ranking = self._retriever.rank(
                db, self._indexes.lanes(db, asked.vectors), replace(meant, degraded=degraded), begun.lexical
            )
            return self._answer(db, mode, begun.plan, ranking)

        return _with_facts(await self._store.read(carried(answer)), begun.known)

    def _known(self, db: Connection, ask: _Ask, plan: SearchPlan) -> _Known:
        """What is known of whom the query names, or of the user who asks of himself."""
        query, limit = plan.query, self._config.facts.search_limit
        if not limit:
            return _Known()
        text = ask.request.query
        persons = set(plan.persons or ()).union(*(query.persons if query else ()))
        if ask.request.user_id and FIRST_PERSON.search(text):
            called = self._indexes.names.index.matching(ask.request.user_id, plan.scopes)
            persons |= called or self._facts.oneself(db, ask.request.user_id, plan.scopes)
        asked = Asked(text, tuple(sorted(persons)), query.bare if query else "")
        try:
            with time_limit(db, plan.settings.lane_budget_ms / 1000):
                found = self._facts.recall(db, asked, plan.scopes, Moment(plan.now, plan.as_of), limit)
            return _Known(tuple(found))
        except TimeoutError as exc:
            log.warning("the facts were not read: %s (retrieval.lane_budget_ms)", exc)
        except Exception:
            log.exception("the facts were not read")
        return _Known(failed=True)

    def _checked(self, request: KernelSearchRequest, source: str) -> _Ask:
        now, zone = self._clock.now(), self._zones.of(request.chat_id, request.group_id, request.user_id)
        start = read_bound("time_start", request.time_start, now, zone)
        end = read_bound("time_end", request.time_end, now, zone)
        bounded = start is not None or end is not None
        if request.mode in ("time", "hybrid") and not bounded:
            raise InvalidRequest(
                f"mode `{request.mode}` needs time_start or time_end (on the command line: --since, --until).",
                field="time_start",
            )
        if not request.query and request.mode != "time":
            raise InvalidRequest(f"mode `{request.mode}` needs a query.", field="query")
        if start is not None and end is not None and start > end:
            raise InvalidRequest("time_start is after time_end.", field="time_start")
        as_of = read_instant("as_of", request.as_of, now, zone)
        if as_of is not None and request.mode in ("episode", "aggregate"):
            raise InvalidRequest(f"as_of: mode `{request.mode}` knows the present only.", field="as_of")
        window = Window(LONG_AGO if start is None else start, FAR_OFF if end is None else end) if bounded else None
        return _Ask(request, zone, window, source, as_of)

    def _planned(self, db: Connection, ask: _Ask) -> SearchPlan:
        request = ask.request
        self._indexes.names.catch_up(db)
        directory = self._indexes.names.index
        scopes = self._access.scopes(db, Caller.of(request))
        now = self._clock.now()
        return SearchPlan(
            query=read_query(request.query, directory, scopes, now if ask.as_of is None else ask.as_of, ask.zone)
            if request.query
            else None,
            limit=request.limit,
            settings=_with_candidates(self._config.retrieval, request.limit),
            now=now,
            scopes=scopes,
            window=ask.window,
            persons=tuple(directory.matching(request.person_id, scopes)) if request.person_id else None,
            sources=tuple(source_rows.named(db, ask.source, None)) if ask.source else None,
            min_score=request.min_score,
            glosses=self._glosses,
            as_of=ask.as_of,
            zone=ask.zone,
            half_life=self._config.lifecycle.paragraph_half_life_days * DAY,
            hidden=self._hidden,
        )

    def _answer(self, db: Connection, mode: str, plan: SearchPlan, ranking: Ranking) -> RetrievalResult:
        write = {"episode": self._episodes, "aggregate": self._aggregated}.get(mode, self._writer.paragraphs)
        hits = self._past.join(db, write(db, ranking, plan), plan)
        return _result(mode, hits, plan, ranking.degraded)

    def _broad(self, plan: SearchPlan) -> SearchPlan:
        """The same search, for enough paragraphs that their episodes can be told apart."""
        return replace(plan, settings=_with_candidates(plan.settings, plan.limit * EPISODE_BREADTH))

    def _episodes(self, db: Connection, ranking: Ranking, plan: SearchPlan) -> list[Hit]:
        found = rank_episodes(db, ranking, plan)
        return self._writer.episodes(db, found, plan)

    def _aggregated(self, db: Connection, ranking: Ranking, plan: SearchPlan) -> list[Hit]:
        branches = {
            "search": self._writer.paragraphs(db, ranking, plan),
            "episode": self._episodes(db, ranking, plan),
        }
        if plan.window is not None and branches["search"]:
            branches["time"] = sorted(branches["search"], key=lambda hit: -(hit.time.start or 0.0))
        return self._aggregate.merge(branches, plan.limit)

    def _by_time(self, db: Connection, plan: SearchPlan) -> RetrievalResult:
        """What happened in the window, the newest first."""
        window = plan.window or Window(LONG_AGO, plan.now)
        if plan.persons is None and plan.as_of is None:
            ids = paragraph_rows.newest_in_window(db, window.start, window.end, plan.scopes, plan.now, plan.limit)
        else:
            held = paragraph_rows.in_window(db, window.start, window.end, plan.scopes)
            if plan.persons is not None:
                held = np.intersect1d(paragraph_rows.of_persons(db, plan.persons), held)
            if plan.as_of is not None:
                held = np.intersect1d(revision_rows.current(db, plan.as_of, plan.scopes), held)
            seen = paragraph_rows.gate(db, held, plan.scopes, plan.now)
            ids = seen.ids[np.lexsort((-seen.ids, -seen.event_start))][: plan.limit].tolist()
        hits = self._writer.by_time(db, ids, plan)
        return _result("time", hits if plan.as_of is None else self._past.newest(db, hits, plan), plan, ())


def _with_facts(result: RetrievalResult, known: _Known) -> RetrievalResult:
    degraded = [*result.degraded, "facts"] if known.failed else result.degraded
    return result.model_copy(update={"facts": list(known.facts), "degraded": degraded})


def _with_candidates(settings: Retrieval, least: int) -> Retrieval:
    """The settings with at least so many candidates: a limit that is asked for can be filled."""
    return settings if settings.candidates >= least else settings.model_copy(update={"candidates": least})


def _result(mode: str, hits: Sequence[Hit], plan: SearchPlan, degraded: Sequence[str]) -> RetrievalResult:
    kept = [hit for hit in hits if hit.score >= plan.min_score]
    return RetrievalResult(mode=mode, hits=kept, summary=summary(kept), degraded=list(degraded))

"""The answering of searches, in every mode."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from ..audit_context import carried, span
from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..facts.oneself import FIRST_PERSON, is_of_another
from ..facts.query import Asked, FactReader, Moment
from ..foreground_priority import RightOfWay
from ..ids import row_number
from ..indexes.projections import Indexes, SearchIndexes
from ..indexes.vectors.serving import DenseLane, QueryEmbedding
from ..language.normalise import fold
from ..language.times import Span, read_bound, read_instant
from ..sorted_arrays import common
from ..store.access import Access, Caller, TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import time_limit
from ..store.rows import embeddings as embedding_rows
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import sources as source_rows
from .confidence import LINKED, WEAK, is_weak
from .dual_path import DualPathRetriever, LaneResults, allowed
from .episode_lane import episode_hits
from .fusion import Fused, by_reciprocal_rank
from .hits import (
    AggregateQueryService,
    compare_hits,
    confidences,
    hits_in_time,
    ranked_hits,
    similarity_of,
    summary,
    with_replaced,
)  # fmt: skip
from .lanes import Ids
from .operations import Hit, KernelSearchRequest, RetrievalResult
from .query import SearchPlan, read_query
from .retention import DAY
from .spelling import Spelling

__all__ = ["SearchService"]

Meant = dict[str, str]
"""What the query says -> what it may have meant."""
log = logging.getLogger(__name__)
LONG_AGO, FAR_OFF = -1e12, 4e11
"""Bounds of a window that is open at one end, in epoch seconds: beyond any date that can be written."""
LIKELY = 30
"""Hits by which statements are chosen."""
SPELT_BY = 3_000
"""Texts that a query may be corrected by, the newest."""
PATIENCE = 0.05
"""Seconds for which a search keeps its thread and its snapshot while the model embeds the query."""
UNSURE = 0.5
"""Where no hit is as likely as this, the query is read as it may have been meant, too."""
FACT_HITS = 3
"""Hits that bring the facts they state."""
OWN, OWN_LINE, OWN_LINES = 1.0, 0.3, 50
"""What it adds to the score that a paragraph states what the asker asks about himself, the share of it for what he says of
himself else, and how many of the first hits are looked at for that."""
EPISODE_BREADTH = 10
"""Paragraph candidates looked at for each episode wanted."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A search whose query is still being embedded."""

    plan: SearchPlan
    answer: RetrievalResult
    query: QueryEmbedding
    found: LaneResults


@dataclass(frozen=True, slots=True)
class _Found:
    """The answer of a search."""

    answer: RetrievalResult
    meant: Meant = field(default_factory=Meant)
    """If nothing in it is likely, what the query may have meant."""
    alike: QueryEmbedding = field(default_factory=QueryEmbedding)
    """The query as a text that is found."""
    lacking: Sequence[tuple[Hit, str]] = ()
    """Hits that have no vector yet, with the text to make it of."""


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
        self._hidden = np.unique(np.array(hidden, np.int64)) if hidden else None
        self._access = Access(store.names, config)
        self._retriever = DualPathRetriever(store.names)
        self._facts = FactReader(store, zones)
        self._aggregate = AggregateQueryService()

    def request(self, **asked: Any) -> KernelSearchRequest:
        """The request with these arguments. Raises pydantic's ValidationError."""
        return KernelSearchRequest.model_validate(asked)

    async def search(self, request: KernelSearchRequest) -> RetrievalResult:
        """Answer one search.

        A query that finds nothing likely is asked again as it may have been meant: by sound and by letters. Raises
        InvalidRequest for times that cannot be read and for what a mode needs and lacks.
        """
        said = {fold(message.text) for message in request.messages}
        request = request.model_copy(update={"query": request.asked, "limit": request.limit + len(said)})
        found = await self._best(request)
        answer = found.answer
        if found.lacking:
            await self._compare_lacking(found, request.min_similarity or 0.0)
        unknown = sum(hit.similarity is None for hit in answer.hits) if request.min_similarity else 0
        if unknown:
            answer.warnings.append(
                f"min_similarity: hits whose similarity is not known are not left out ({unknown}): there is no query, no "
                "embedding model answers or reads them, or it takes too long."
            )
        if said:
            hits = [hit for hit in answer.hits if fold(hit.content) not in said][: request.limit - len(said)]
            answer = answer.model_copy(update={"hits": hits, "summary": summary(hits)})
        return answer

    async def confidences(self, text: str, **scope: Any) -> dict[int, float]:
        """Paragraph -> how likely it answers, of those that a text finds for whoever asks."""
        if not any(map(str.isalnum, text)):
            return {}
        found = await self.search(self.request(query=text, limit=LIKELY, **scope))
        return confidences(found.hits)

    async def _compare_lacking(self, found: _Found, least: float) -> None:
        """Give the hits that have no vector a similarity, if the model is quick enough; those below `least` go."""
        serving, encoded, answer = found.alike.serving, found.alike.encoded, found.answer
        assert serving is not None
        assert encoded is not None
        texts, seconds = [text for _, text in found.lacking], self._config.embedding.query_timeout_seconds
        with self._right_of_way.taken():
            vectors = await self._dense.embed(serving, texts, seconds)
        for (hit, _), vector in zip(found.lacking, vectors, strict=True):
            hit.similarity = None if vector is None else similarity_of(float(vector @ encoded.vector))
        kept = [hit for hit in answer.hits if hit.similarity is None or hit.similarity >= least]
        if len(kept) < len(answer.hits):
            answer.hits, answer.summary, answer.weak = kept, summary(kept), answer.weak and bool(kept)

    async def _best(self, request: KernelSearchRequest) -> _Found:
        found = await self._search(request)
        if not found.meant:
            return found
        query = fold(request.query)
        for said in sorted(found.meant, key=len, reverse=True):
            query = query.replace(said, found.meant[said])
        again = await self._search(request.model_copy(update={"query": query}), mend=False)
        if _likeliest(again.answer.hits) <= _likeliest(found.answer.hits):
            return found
        again.answer.corrected = found.meant
        return again

    def _meant(self, db: Connection, request: KernelSearchRequest, plan: SearchPlan, indexes: SearchIndexes) -> Meant:
        """Words of the query that the newest texts hold in another spelling; none where each of its terms is held as it
        stands, by whatever text, and none is a short form."""
        frequency, _ = indexes.sparse.document_frequency(plan.query.hashes, plan.scopes)
        if len(frequency) and frequency.all() and "'" not in fold(request.query):
            return {}
        if plan.within is None:
            texts = paragraph_rows.newest_texts(db, plan.scopes, plan.now, SPELT_BY)
        else:
            seen = paragraph_rows.gate(db, plan.within[-SPELT_BY:], plan.scopes, plan.now)
            texts = paragraph_rows.contents(db, seen.ids.tolist()).values()
        return Spelling(texts, self._indexes.names.index.names_in(plan.scopes)).corrections(request.query)

    async def _search(self, request: KernelSearchRequest, *, mend: bool = True) -> _Found:
        """Words, names and the graph are looked up while the model embeds the query; for a slow one the thread is given
        back, and the rest is done in another snapshot.
        """
        window, as_of = self._times(request)

        def begin(db: Connection) -> _Found | _Begun:
            if not self._access.serves(db, Caller.of(request)):
                return _Found(RetrievalResult(mode=request.mode, filtered=True))
            indexes = self._indexes.caught_up(db)
            plan = self._plan(db, request, window, as_of)
            answer = RetrievalResult(mode=request.mode)
            if not plan.query.text:
                return _Found(self._answered(db, request, answer, _newest(db, plan), plan))
            query = self._dense.begin(plan.query.bare or plan.query.text)
            plan = replace(plan, generation=query.generation)
            begun = _Begun(plan, answer, query, self._retriever.lexical(db, indexes, plan))
            return finish(db, begun) if self._dense.finish_soon(query, PATIENCE) else begun

        def finish(db: Connection, begun: _Begun) -> _Found:
            indexes = self._indexes.caught_up(db, begun.query.vectors)
            ask = request.min_similarity is not None
            alike = self._dense.begin_alike(begun.query, ask=ask)
            answer = self._finished(db, request, begun, indexes, alike)
            unsure = mend and request.mode in ("search", "hybrid") and _likeliest(answer.hits) < UNSURE
            meant = self._meant(db, request, begun.plan, indexes) if unsure else {}
            return _Found(answer, meant, alike, self._lacking(db, answer.hits) if ask and alike.encoded else ())

        with self._right_of_way.taken():
            begun = await self._store.read(carried(begin))
            if isinstance(begun, _Found):
                return begun
            with span("amemorix lane dense"):
                await self._dense.finish(begun.query, self._config.embedding.query_timeout_seconds)
            return await self._store.read(carried(lambda db: finish(db, begun)))

    def _lacking(self, db: Connection, hits: Sequence[Hit]) -> list[tuple[Hit, str]]:
        """The hits without a vector, each with its text as the model gets it: without names."""
        names, chat_row = self._indexes.names.index, self._store.names.chat_row
        lacking = [hit for hit in hits if hit.similarity is None and hit.type == "paragraph"]
        return [
            (hit, names.find(hit.content, (chat_row(db, hit.chat_id) or 0,)).bare or hit.content) for hit in lacking
        ]

    def _finished(
        self,
        db: Connection,
        request: KernelSearchRequest,
        begun: _Begun,
        indexes: SearchIndexes,
        alike: QueryEmbedding,
    ) -> RetrievalResult:
        answer, query, found = begun.answer, begun.query, begun.found
        plan = replace(begun.plan, encoded=query.encoded, generation=query.generation)
        if found.outdated(db, indexes):
            found = self._retriever.lexical(db, indexes, plan)
        whole = query.vectors is None or embedding_rows.is_whole(db, query.generation)
        if query.failed or not whole:
            found.failed.insert(0, "dense")
        fused = self._retriever.rank(db, indexes, plan, found)
        if plan.query.of_oneself and len(fused.ids):
            fused = found.run(db, plan, "facts", lambda: self._own_first(db, plan, fused), fused)
        if plan.rrf_k:
            fused = by_reciprocal_rank(fused, plan.rrf_k, plan.stage1)
        self._dense.finish_soon(alike, self._config.embedding.query_timeout_seconds)
        if plan.min_similarity and indexes.vectors is not None and alike.encoded is not None:
            below = indexes.vectors.scores(alike.encoded.vector, fused.ids) < plan.min_similarity
            fused = fused.take(np.flatnonzero(~below))
        hits = self._hits(db, request, plan, fused, found)
        if indexes.vectors is not None and alike.encoded is not None:
            compare_hits(hits, indexes.vectors, alike.encoded.vector)
            hits = [hit for hit in hits if hit.similarity is None or hit.similarity >= plan.min_similarity]
        answer.degraded = [*dict.fromkeys(found.failed), *answer.degraded]
        answer = self._answered(db, request, answer, hits, plan)
        likeliest = _likeliest(answer.hits)
        answer.weak = bool(answer.hits) and likeliest < WEAK and is_weak(fused.confidence.tolist())
        return answer

    def _hits(
        self, db: Connection, request: KernelSearchRequest, plan: SearchPlan, fused: Fused, found: LaneResults
    ) -> list[Hit]:
        """The ranking as the mode shows it."""
        if request.mode == "episode":
            return episode_hits(db, fused, plan, found.allow)
        hits = ranked_hits(db, fused, plan, found.touched)
        if request.mode != "aggregate":
            return with_replaced(db, hits, plan)
        branches = {"search": hits, "episode": episode_hits(db, fused, plan, found.allow)}
        if plan.window is not None and hits:
            branches["time"] = sorted(hits, key=lambda hit: -(hit.time.start or 0.0))
        return self._aggregate.merge(branches, plan.limit)

    def _answered(
        self,
        db: Connection,
        request: KernelSearchRequest,
        answer: RetrievalResult,
        hits: Sequence[Hit],
        plan: SearchPlan,
    ) -> RetrievalResult:
        answer.hits = [hit for hit in hits if hit.confidence >= plan.min_score]
        answer.summary = summary(answer.hits)
        self._add_facts(db, request, plan, answer)
        return answer

    def _times(self, request: KernelSearchRequest) -> tuple[Span | None, float | None]:
        """(window, as_of), once everything that can be refused has been checked."""
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
        window = Span(LONG_AGO if start is None else start, FAR_OFF if end is None else end) if bounded else None
        return window, as_of

    def _plan(
        self, db: Connection, request: KernelSearchRequest, window: Span | None, as_of: float | None
    ) -> SearchPlan:
        directory, now = self._indexes.names.index, self._clock.now()
        zone = self._zones.of(request.chat_id, request.group_id, request.user_id)
        scopes = self._access.scopes(db, Caller.of(request))
        wanted = request.limit * (EPISODE_BREADTH if request.mode in ("episode", "aggregate") else 1)
        asker = frozenset[int]()
        if request.user_id and FIRST_PERSON.search(request.query):
            asker = directory.matching(request.user_id, scopes) or self._facts.oneself(db, request.user_id, scopes)
        settings = self._config.retrieval
        stage1 = (request.stage1 or 4 * request.limit) if request.fusion == "rrf" else 0
        wanted = max(wanted, stage1)
        if not request.gate:
            settings = settings.model_copy(update={"noise": settings.noise.model_copy(update={"enabled": False})})
        if settings.candidates < wanted:  # a limit that is asked for can be filled
            settings = settings.model_copy(update={"candidates": wanted})
        return SearchPlan(
            query=read_query(request.query, directory, scopes, now if as_of is None else as_of, zone, asker),
            limit=request.limit,
            settings=settings,
            now=now,
            scopes=scopes,
            window=window,
            persons=tuple(directory.matching(request.person_id, scopes)) if request.person_id else None,
            within=_within(db, request),
            min_score=request.min_score,
            min_similarity=request.min_similarity or 0.0,
            rrf_k=request.rrf_k if stage1 else 0,
            stage1=stage1,
            as_of=as_of,
            zone=zone,
            asker=asker,
            half_life=self._config.lifecycle.paragraph_half_life_days * DAY,
            hidden=self._hidden,
        )

    def _own_first(self, db: Connection, plan: SearchPlan, fused: Fused) -> Fused:
        """The ranking with the signal `own`: what states an attribute of the asker that is asked for comes first and is
        likely, and of what else is found what the asker says of himself counts more."""
        asked = Asked(plan.query.text, tuple(sorted(plan.asker)), plan.query.bare)
        stated = self._facts.stating(db, asked, plan.scopes, Moment(plan.now, plan.as_of))
        states = np.isin(fused.ids, [*stated])
        rows = paragraph_rows.full(db, fused.ids[:OWN_LINES].tolist())
        mine = {
            id_
            for id_, row in rows.items()
            if row.speaker in plan.asker and FIRST_PERSON.search(row.content) and not is_of_another(row.content)
        }
        share = fused.score / max(float(fused.score.max()), 1e-9)
        own = np.where(states, np.float32(1), OWN_LINE * share * np.isin(fused.ids, [*mine])).astype(np.float32)
        sure = np.where(states, np.maximum(fused.confidence, np.float32(LINKED)), fused.confidence)
        return replace(fused, confidence=sure).boosted("own", OWN, own) if own.any() else fused

    def _add_facts(
        self, db: Connection, request: KernelSearchRequest, plan: SearchPlan, answer: RetrievalResult
    ) -> None:
        """What is known of whom the query names, or of the user who asks of himself: what the first hits say, too."""
        limit = self._config.facts.search_limit
        if not limit:
            return
        persons = set(plan.persons or ()).union(*plan.query.persons)
        if FIRST_PERSON.search(request.query):
            persons |= plan.asker
        rows = [row_number(hit.id, "p") for hit in answer.hits[:FACT_HITS]]
        hits = tuple(row for row in rows if row is not None)
        vector = None if plan.encoded is None else plan.encoded.vector
        asked = Asked(
            request.query, tuple(sorted(persons)), plan.query.bare, hits, vector, plan.generation, plan.query.of_oneself
        )
        try:
            with time_limit(db, plan.settings.lane_budget_ms / 1000):
                moment = Moment(plan.now, plan.as_of)
                answer.facts = self._facts.recall(db, asked, plan.scopes, moment, limit, plan.within)
            return
        except TimeoutError as exc:
            log.warning("the facts were not read: %s (retrieval.lane_budget_ms)", exc)
        except Exception:
            log.exception("the facts were not read")
        answer.degraded.append("facts")


def _newest(db: Connection, plan: SearchPlan) -> list[Hit]:
    """What happened in the window, the newest first."""
    window = plan.window or Span(LONG_AGO, plan.now)
    if plan.persons is None and plan.within is None and plan.as_of is None:
        ids = paragraph_rows.newest_in_window(db, window.start, window.end, plan.scopes, plan.now, plan.limit)
    else:
        held = allowed(db, replace(plan, window=window))
        assert held is not None, "the window narrows it"
        seen = paragraph_rows.gate(db, held, plan.scopes, plan.now)
        ids = seen.ids[np.lexsort((-seen.ids, -seen.event_start))][: plan.limit].tolist()
    return with_replaced(db, hits_in_time(db, ids, plan), plan)


def _within(db: Connection, request: KernelSearchRequest) -> Ids | None:
    """Sorted ids of what is of the source and its kind and has the tags, dead ones included; None if nothing is asked."""
    sets: list[Ids] = []
    if request.source or request.source_type:
        sources = source_rows.named(db, request.source or None, None, request.source_type or None)
        sets.append(paragraph_rows.of_sources(db, sources))
    if request.tags:
        sets.append(paragraph_rows.tagged(db, request.tags))
    return reduce(common, sets) if sets else None


def _likeliest(hits: Sequence[Hit]) -> float:
    return max((hit.confidence for hit in hits), default=0.0)

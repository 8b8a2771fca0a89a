"""The showing of episodes: listed, or one with its paragraphs, as far as the caller may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..clock import Clock
from ..config.model import Config
from ..errors import NotFound
from ..indexes.projections import Indexes
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import sources as source_rows
from ..store.rows.paragraphs import ParagraphRow, PersonOf
from . import rows as episode_rows
from .rows import EpisodeFilter, EpisodeRow

__all__ = ["EpisodeQuery", "EpisodeRetrievalService", "EpisodeView"]


@dataclass(frozen=True, slots=True)
class EpisodeQuery:
    """Who asks, and which episodes are wanted; empty texts and None restrict nothing."""

    caller: Caller
    person: str = ""
    source: str = ""
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode with those of its paragraphs that may be seen; `stale` if one of them has gone since it was made."""

    row: EpisodeRow
    stale: bool
    paragraph_ids: Sequence[int]
    paragraphs: Mapping[int, ParagraphRow]
    persons: Mapping[int, Sequence[PersonOf]]


class EpisodeRetrievalService:
    """Reads episodes for callers; what they may not see is as if it were not there."""

    def __init__(self, store: MetadataStore, *, config: Config, indexes: Indexes, clock: Clock) -> None:
        self._store = store
        self._config = config
        self._access = Access(store.names, config)
        self._indexes = indexes
        self._clock = clock

    async def list(self, query: EpisodeQuery, *, limit: int, offset: int) -> list[EpisodeRow] | None:
        """The newest first; None if the chat filter refuses the chat that asks."""
        return await self._store.read(lambda db: self._list(db, query, limit, offset))

    async def rows(self, ids: Sequence[int]) -> list[EpisodeRow]:
        """These episodes in this order, without those that are gone."""
        found = await self._store.read(lambda db: episode_rows.full(db, ids))
        return [found[id_] for id_ in ids if id_ in found]

    async def get(self, episode: int, query: EpisodeQuery, *, paragraphs: int) -> EpisodeView:
        """One episode with its first paragraphs. Raises NotFound, also if the caller may not see it."""
        view = await self._store.read(lambda db: self._view(db, episode, query, paragraphs))
        if view is None:
            raise NotFound(f"There is no episode e{episode}: episode_id is unknown.", field="episode_id")
        return view

    def _list(self, db: Connection, query: EpisodeQuery, limit: int, offset: int) -> list[EpisodeRow] | None:
        if not self._access.serves(db, query.caller):
            return None
        self._indexes.names.catch_up(db)
        scopes = self._access.scopes(db, query.caller)
        persons = self._indexes.names.index.matching(query.person, scopes) if query.person else None
        sources = source_rows.named(db, query.source, None) if query.source else None
        wanted = EpisodeFilter(scopes, sources, None if persons is None else sorted(persons), query.start, query.end)
        ids = episode_rows.listed(db, wanted, self._clock.now(), limit=limit, offset=offset)
        rows = episode_rows.full(db, ids)
        return [rows[id_] for id_ in ids]

    def _view(self, db: Connection, episode: int, query: EpisodeQuery, count: int) -> EpisodeView | None:
        row = episode_rows.full(db, [episode]).get(episode)
        scopes = self._access.scopes(db, query.caller)
        if row is None or (scopes is not None and row.scope not in scopes):
            return None
        live = episode_rows.live_members(db, episode, scopes, self._clock.now())
        if not live:
            return None
        shown = live[:count]
        return EpisodeView(
            row,
            len(live) != row.paragraph_count,
            shown,
            paragraph_rows.full(db, shown),
            paragraph_rows.persons(db, shown),
        )

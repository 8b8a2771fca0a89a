"""The showing of episodes: listed, or one with its paragraphs, as far as the caller may see them."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..store.rows.paragraphs import ParagraphRow
from . import rows as episode_rows
from .drafts import Persons
from .rows import EpisodeRow

__all__ = ["EpisodeRetrievalService", "EpisodeView"]


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode with those of its paragraphs that may be seen; `stale` if one of them has gone since it was made."""

    row: EpisodeRow
    stale: bool
    paragraphs: Sequence[ParagraphRow]
    persons: Persons


class EpisodeRetrievalService:
    """Reads episodes for callers; what they may not see is as if it were not there."""

    def __init__(self, store: MetadataStore, *, config: Config, indexes: Indexes, clock: Clock) -> None:
        self._store = store
        self._access = Access(store.names, config)
        self._indexes = indexes
        self._clock = clock

    async def list(
        self, caller: Caller, *, person: str, source: str, start: float | None, end: float | None, limit: int,
        offset: int,
    ) -> list[EpisodeRow] | None:  # fmt: skip
        """The newest first; empty texts and None restrict nothing. None if the chat filter refuses the chat that asks."""

        def read(db: Connection) -> list[EpisodeRow] | None:
            if not self._access.serves(db, caller):
                return None
            self._indexes.names.catch_up(db)
            scopes = self._access.scopes(db, caller)
            ids = episode_rows.listed(
                db, scopes=scopes, sources=source_rows.named(db, source, None) if source else None,
                persons=sorted(self._indexes.names.index.matching(person, scopes)) if person else None,
                start=start, end=end, now=self._clock.now(), limit=limit, offset=offset,
            )  # fmt: skip
            rows = episode_rows.full(db, ids)
            return [rows[id_] for id_ in ids]

        return await self._store.read(read)

    async def rows(self, ids: Sequence[int]) -> list[EpisodeRow]:
        """These episodes in this order, without those that are gone."""
        found = await self._store.read(lambda db: episode_rows.full(db, ids))
        return [found[id_] for id_ in ids if id_ in found]

    async def get(self, episode: int, caller: Caller, *, paragraphs: int) -> EpisodeView:
        """One episode with its first paragraphs. Raises NotFound, also if the caller may not see it."""

        def read(db: Connection) -> EpisodeView | None:
            row = episode_rows.full(db, [episode]).get(episode)
            scopes = self._access.scopes(db, caller)
            if row is None or (scopes is not None and row.scope not in scopes):
                return None
            live = episode_rows.live_members(db, episode, scopes, self._clock.now())
            if not live:
                return None
            shown = live[:paragraphs]
            rows = paragraph_rows.full(db, shown)
            told = [rows[id_] for id_ in shown if id_ in rows]
            return EpisodeView(row, len(live) != row.paragraph_count, told, paragraph_rows.persons(db, shown))

        view = await self._store.read(read)
        if view is None:
            raise NotFound(f"There is no episode e{episode}: episode_id is unknown.", field="episode_id")
        return view

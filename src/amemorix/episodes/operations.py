"""`memory_episode_admin`: find and read the episodes that talk is grouped into."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from ..errors import InvalidRequest
from ..fields import MAX_QUERY_CHARS, AskingRequest, Count, Name, TimeInput
from ..ids import episode_key, paragraph_key
from ..language.time_arguments import read_bound
from ..lazy_regex import lazy_regex
from ..ops import Operations, ScopedResponse
from ..store.access import Caller
from .query import EpisodeQuery, EpisodeView
from .rows import EpisodeRow

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_RANKED = 200
"""How far the ranking of a query can be paged."""
SPEAKER = 1
_ID = lazy_regex(r"e?([1-9][0-9]{0,17})", re.IGNORECASE)


def _row_of(value: Any) -> Any:
    """`e12`, `12` or 12 as the row 12."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = _ID.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be the id of an episode, such as e12")
    return int(found[1])


EpisodeId = Annotated[int, BeforeValidator(_row_of, json_schema_input_type=str | int)]


class Asking(AskingRequest):
    """Who asks."""

    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")


class ListEpisodes(Asking):
    """Which episodes to list."""

    query: str = Field(
        "", max_length=MAX_QUERY_CHARS, description="What to look for; without it the newest come first."
    )
    person_id: Name = Field(
        "", validation_alias=AliasChoices("person_id", "person"),
        description="Only those that this person (id, name or alias) takes part in.",
    )  # fmt: skip
    time_start: TimeInput = Field(
        None, validation_alias=AliasChoices("time_start", "time_from"), description="Only what reaches into this time."
    )
    time_end: TimeInput = Field(
        None, validation_alias=AliasChoices("time_end", "time_to"), description="Like `time_start`; included."
    )
    source: Name = Field("", description="Only those of sources of this name.")
    limit: Count = Field(20, ge=1, le=200)
    offset: Count = Field(0, ge=0, le=1_000_000, description="With a query, at most 200 less `limit`.")


class EpisodeItem(BaseModel):
    """An episode; times in epoch seconds."""

    episode_id: str
    title: str = ""
    summary: str = ""
    keywords: list[str] = Field(default_factory=list)
    participants: list[str] = Field(default_factory=list, description="Ids of persons.")
    source: str = ""
    source_type: str = ""
    chat_id: str = ""
    time_start: float | None = None
    time_end: float | None = None
    paragraph_count: int = 0
    revision: int = Field(default=1, description="Counts how often it was made again.")
    segmented_by: str = Field(default="rules", description="`rules`, or `model` for the chat model's own words.")
    derived_at: float = 0.0
    score: float = Field(default=0.0, description="How well it answers the query, 0 to 1.")
    explain: dict[str, Any] = Field(default_factory=dict)


class Episodes(ScopedResponse):
    """Episodes, the best first with a query, else the newest."""

    items: list[EpisodeItem] = Field(default_factory=list)
    count: int = 0
    more: bool = Field(default=False, description="True if there are more after these.")
    filtered: bool = Field(default=False, description="True if the chat filter refused the call.")
    degraded: list[str] = Field(default_factory=list, description="Lanes that did not answer the query.")
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


class GetEpisode(Asking):
    """The episode to read."""

    episode_id: EpisodeId = Field(description="Its id, such as `e12`.")
    paragraph_limit: Count = Field(100, ge=0, le=1000, description="Most paragraphs to return.")


class EpisodeParagraph(BaseModel):
    """A paragraph of an episode; times in epoch seconds."""

    id: str
    content: str
    speaker: str = ""
    person_ids: list[str] = Field(default_factory=list)
    external_id: str = ""
    time_start: float | None = None
    time_end: float | None = None
    recorded_at: float = 0.0


class OneEpisode(ScopedResponse):
    """An episode with its paragraphs in order."""

    episode: EpisodeItem | None = None
    paragraphs: list[EpisodeParagraph] = Field(default_factory=list)
    stale: bool = Field(
        default=False, description="True if a paragraph has gone since; its words are withheld until it is made again."
    )
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


@ops.operation("memory_episode_admin", "list", "query")
async def list_episodes(kernel: SDKMemoryKernel, request: ListEpisodes) -> Episodes:
    """List episodes, by what they are about, who takes part, when they were, and where they come from."""
    if not kernel.config.plugin.enabled:
        return Episodes(disabled=True)
    if request.query:
        return await _ranked(kernel, request)
    rows = await kernel.episode_search.list(_query(kernel, request), limit=request.limit + 1, offset=request.offset)
    if rows is None:
        return Episodes(filtered=True)
    items = [_item(row) for row in rows[: request.limit]]
    return Episodes(items=items, count=len(items), more=len(rows) > request.limit)


@ops.operation("memory_episode_admin", "get")
async def get_episode(kernel: SDKMemoryKernel, request: GetEpisode) -> OneEpisode:
    """Read one episode with its paragraphs."""
    if not kernel.config.plugin.enabled:
        return OneEpisode(disabled=True)
    query = EpisodeQuery(Caller.of(request))
    view = await kernel.episode_search.get(request.episode_id, query, paragraphs=request.paragraph_limit)
    item = _item(view.row)
    if view.stale:
        item = item.model_copy(update={"title": "", "summary": "", "keywords": []})
    return OneEpisode(episode=item, paragraphs=_paragraphs(view), stale=view.stale)


async def _ranked(kernel: SDKMemoryKernel, request: ListEpisodes) -> Episodes:
    """The answer of a search for episodes, with whole rows."""
    wanted = request.offset + request.limit
    if wanted > MOST_RANKED:
        raise InvalidRequest(f"offset and limit come to more than {MOST_RANKED}, with a query.", field="offset")
    search = kernel.search.request(
        mode="episode",
        limit=min(MOST_RANKED, wanted + 1),
        **request.model_dump(exclude={"source", "limit", "offset"}),
    )
    found = await kernel.search.search(search, source=request.source)
    hits = {int(hit.id.removeprefix("e")): hit for hit in found.hits[request.offset :]}
    rows = await kernel.episode_search.rows(list(hits)[: request.limit])
    items = [_item(row, hits[row.id].score, hits[row.id].explain) for row in rows]
    more = len(hits) > request.limit
    return Episodes(items=items, count=len(items), more=more, filtered=found.filtered, degraded=found.degraded)


def _query(kernel: SDKMemoryKernel, request: ListEpisodes) -> EpisodeQuery:
    now = kernel.surroundings.clock.now()
    zone = kernel.zones.of(request.chat_id, request.group_id, request.user_id)
    start = read_bound("time_start", request.time_start, now, zone)
    end = read_bound("time_end", request.time_end, now, zone)
    if start is not None and end is not None and start > end:
        raise InvalidRequest("time_start is after time_end.", field="time_start")
    return EpisodeQuery(Caller.of(request), request.person_id, request.source, start, end)


def _item(row: EpisodeRow, score: float = 0.0, explain: dict[str, Any] | None = None) -> EpisodeItem:
    return EpisodeItem(
        episode_id=episode_key(row.id),
        title=row.title,
        summary=row.summary,
        keywords=json.loads(row.keywords),
        participants=json.loads(row.participants),
        source=row.source,
        source_type=row.source_type,
        chat_id=row.chat_id,
        time_start=row.event_start,
        time_end=row.event_end,
        paragraph_count=row.paragraph_count,
        revision=row.revision,
        segmented_by=row.segmented_by,
        derived_at=row.derived_at,
        score=score,
        explain=explain or {},
    )


def _paragraphs(view: EpisodeView) -> list[EpisodeParagraph]:
    rows = (view.paragraphs[id_] for id_ in view.paragraph_ids if id_ in view.paragraphs)
    return [
        EpisodeParagraph(
            id=paragraph_key(row.id),
            content=row.content,
            speaker=next((p.name for p in view.persons.get(row.id, ()) if p.role == SPEAKER), ""),
            person_ids=[p.person_id for p in view.persons.get(row.id, ())],
            external_id=row.external_id,
            time_start=row.event_start,
            time_end=row.event_end,
            recorded_at=row.recorded_at,
        )
        for row in rows
    ]

"""`memory_episode_admin`: find and read the episodes that talk is grouped into, and have them made anew."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from ..errors import Conflict, InvalidRequest, NotFound
from ..facts.query import person_names
from ..fields import MAX_QUERY_CHARS, AskingRequest, Name, RequiredName, TimeInput
from ..ids import episode_key, paragraph_key, row_number
from ..language.times import read_bound
from ..ops import Operations, Request, Response, ScopedResponse
from ..store import tasks as task_rows
from ..store.access import Access, Caller
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows import sources as source_rows
from . import rows as episode_rows
from .rows import EpisodeRow

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_RANKED = 200
"""How far the ranking of a query can be paged."""


def _row_of(value: Any) -> int:
    row = None if isinstance(value, bool) or not isinstance(value, int | str) else row_number(str(value), "e")
    if row is None:
        raise ValueError("must be the id of an episode, such as e12")
    return row


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
    limit: int = Field(20, ge=1, le=200)
    offset: int = Field(0, ge=0, le=1_000_000, description="With a query, at most 200 less `limit`.")


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
    prompt: str = Field(
        default="",
        description="Language and version of the prompt with which the chat model has read it, such as `en-1`.",
    )
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
    paragraph_limit: int = Field(100, ge=0, le=1000, description="Most paragraphs to return.")


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
    names: dict[str, str] = Field(
        default_factory=dict, description="What those who took part are called, by their ids, where a name is known."
    )
    stale: bool = Field(
        default=False, description="True if a paragraph has gone since; its words are withheld until it is made again."
    )
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


class EpisodeStatusRequest(Request):
    """How many failed sources to name."""

    limit: int = Field(20, ge=0, le=1000)


class FailedSource(BaseModel):
    """A source whose episodes could not be made; times in epoch seconds."""

    source: str
    chat_id: str
    error: str
    attempts: int
    given_up: bool = Field(description="It is left alone until `rebuild` or `process_pending`.")
    next_at: float
    failed_at: float


class EpisodeStatus(Response):
    """How far episodes are behind what they are made of."""

    enabled: bool = True
    episodes: int = 0
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    lag: int = Field(default=0, description="Changes not taken up yet.")
    model: bool = Field(default=False, description="True if a chat model divides and describes finished episodes.")
    model_waiting: int = Field(default=0, description="Episodes that the chat model is still to be asked about.")
    failures: list[FailedSource] = Field(default_factory=list)


class RebuildEpisodes(Request):
    """What to make anew."""

    source: Name = Field("", description="The sources of this name.")
    sources: list[RequiredName] = Field(default_factory=list, max_length=10_000, description="Sources of these names.")
    chat_id: Name = Field("", description="Only sources of this chat.")
    all: bool = Field(False, description="Every source.")
    wait: float = Field(0.0, ge=0, le=300, description="Seconds to wait for the work, which goes on in the background.")


class Rebuilding(Response):
    """What was queued, and how it stands."""

    requested: int = 0
    queued: int = Field(default=0, description="Sources that will be made anew.")
    unknown: list[str] = Field(default_factory=list, description="Names that no source has.")
    finished: bool = Field(default=False, description="True if everything was done within `wait`.")
    pending: int = 0
    failed: int = 0


class Process(Request):
    """How much to do."""

    limit: int = Field(100, ge=1, le=10_000, description="Most pieces of work; a long source is several.")


class EpisodesProcessed(Response):
    """What was done."""

    processed: int = 0
    rebuilt: int = 0
    failed: int = 0
    remaining: int = Field(default=0, description="Sources that still wait.")


@ops.operation("memory_episode_admin", "list", "query")
async def list_episodes(kernel: SDKMemoryKernel, request: ListEpisodes) -> Episodes:
    """List episodes, by what they are about, who takes part, when they were, and where they come from."""
    if not kernel.config.plugin.enabled:
        return Episodes(disabled=True)
    if request.query:
        return await _ranked(kernel, request)
    now = kernel.surroundings.clock.now()
    zone = kernel.zones.of(request.chat_id, request.group_id, request.user_id)
    start = read_bound("time_start", request.time_start, now, zone)
    end = read_bound("time_end", request.time_end, now, zone)
    if start is not None and end is not None and start > end:
        raise InvalidRequest("time_start is after time_end.", field="time_start")

    def read(db: Connection) -> Episodes:
        caller, access, directory = Caller.of(request), _access(kernel), kernel.indexes.names
        if not access.serves(db, caller):
            return Episodes(filtered=True)
        directory.catch_up(db)
        scopes = access.scopes(db, caller)
        ids = episode_rows.listed(
            db, scopes=scopes, sources=source_rows.named(db, request.source, None) if request.source else None,
            persons=sorted(directory.index.matching(request.person_id, scopes)) if request.person_id else None,
            start=start, end=end, now=now, limit=request.limit + 1, offset=request.offset,
        )  # fmt: skip
        rows = episode_rows.full(db, ids)
        items = [_item(rows[id_]) for id_ in ids[: request.limit]]
        return Episodes(items=items, count=len(items), more=len(ids) > request.limit)

    return await kernel.store.read(read)


@ops.operation("memory_episode_admin", "get")
async def get_episode(kernel: SDKMemoryKernel, request: GetEpisode) -> OneEpisode:
    """Read one episode with its paragraphs."""
    if not kernel.config.plugin.enabled:
        return OneEpisode(disabled=True)

    def read(db: Connection) -> OneEpisode | None:
        row = episode_rows.full(db, [request.episode_id]).get(request.episode_id)
        scopes = _access(kernel).scopes(db, Caller.of(request))
        if row is None or (scopes is not None and row.scope not in scopes):
            return None
        live = episode_rows.live_members(db, row.id, scopes, kernel.surroundings.clock.now())
        if not live:
            return None
        item, stale = _item(row), len(live) != row.paragraph_count
        if stale:
            item = item.model_copy(update={"title": "", "summary": "", "keywords": []})
        shown = live[: request.paragraph_limit]
        rows, persons = paragraph_rows.full(db, shown), paragraph_rows.persons(db, shown)
        paragraphs = [
            EpisodeParagraph(
                id=paragraph_key(id_),
                content=rows[id_].content,
                speaker=paragraph_rows.speaker_of(persons.get(id_, ())),
                person_ids=[p.person_id for p in persons.get(id_, ())],
                external_id=rows[id_].external_id,
                time_start=rows[id_].event_start,
                time_end=rows[id_].event_end,
                recorded_at=rows[id_].recorded_at,
            )
            for id_ in shown
            if id_ in rows
        ]
        took_part = [row for one in item.participants if (row := person_rows.by_id(db, one)) is not None]
        names = {key: name for key, name in person_names(db, took_part, scopes).values() if name not in ("", key)}
        return OneEpisode(episode=item, paragraphs=paragraphs, names=names, stale=stale)

    found = await kernel.store.read(read)
    if found is None:
        raise NotFound(f"There is no episode e{request.episode_id}: episode_id is unknown.", field="episode_id")
    return found


@ops.operation("memory_episode_admin", "status")
async def episode_status(kernel: SDKMemoryKernel, request: EpisodeStatusRequest) -> EpisodeStatus:
    """Tell how far the episodes are, and which sources failed and why."""
    settings, now = kernel.config.episode, kernel.surroundings.clock.now()

    def read(db: Connection) -> EpisodeStatus:
        counts = task_rows.counts(db, "episodes")
        failures = episode_rows.failures(db, request.limit)
        return EpisodeStatus(
            pending=counts["pending"],
            processing=counts["processing"],
            completed=counts["completed"],
            failed=counts["failed"],
            enabled=settings.enabled,
            episodes=episode_rows.count(db, None),
            lag=kernel.episodes.changes(db),
            model=kernel.episodes.model.available,
            model_waiting=episode_rows.waiting_for_model(db, now)[0],
            failures=[
                FailedSource.model_validate({**asdict(one), "given_up": one.attempts >= settings.max_attempts})
                for one in failures
            ],
        )

    return await kernel.store.read(read)


@ops.operation("memory_episode_admin", "rebuild", effect="write", role="admin")
async def rebuild_episodes(kernel: SDKMemoryKernel, request: RebuildEpisodes) -> Rebuilding:
    """Make the episodes of sources anew in the background; an episode that comes out the same keeps its revision."""
    _needs_episodes(kernel)
    names: list[str] = [name for name in dict.fromkeys((request.source, *request.sources)) if name]
    if request.all == bool(names):
        raise InvalidRequest("rebuild needs either source, sources, or all.", field="source")
    if request.all and not request.chat_id:
        answer = Rebuilding(queued=await kernel.episodes.rebuild())
    else:

        def matching(db: Connection) -> dict[str, list[int]]:
            if names:
                return {name: source_rows.named(db, name, request.chat_id or None) for name in names}
            return {"": [row for (row,) in db.run("sources_of_chat", chat_id=request.chat_id)]}

        found = await kernel.store.read(matching)
        rows = list(dict.fromkeys(row for some in found.values() for row in some))
        if not rows:
            field = "chat_id" if not names else "source" if len(names) == 1 else "sources"
            raise NotFound(f"No source matches {field}: nothing was queued.", field=field)
        queued = await kernel.episodes.rebuild(rows)
        answer = Rebuilding(requested=len(names), queued=queued, unknown=[name for name in names if not found[name]])
    finished = False
    if request.wait > 0:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(request.wait):
                await kernel.episodes.drain()
                finished = True
    counts = await kernel.store.read(lambda db: task_rows.counts(db, "episodes"))
    pending = counts["pending"] + counts["processing"]
    return answer.model_copy(update={"finished": finished, "pending": pending, "failed": counts["failed"]})


@ops.operation("memory_episode_admin", "process_pending", "process_sources", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: Process) -> EpisodesProcessed:
    """Make the episodes now that wait to be made, those that were given up included."""
    _needs_episodes(kernel)
    worked = await kernel.episodes.process(request.limit)
    remaining = await kernel.store.read(lambda db: task_rows.open_count(db, "episodes"))
    return EpisodesProcessed(
        processed=worked.done + worked.failed, rebuilt=worked.done, failed=worked.failed, remaining=remaining
    )


def _needs_episodes(kernel: SDKMemoryKernel) -> None:
    if not kernel.config.plugin.enabled:
        raise Conflict("The memory is switched off (plugin.enabled).", field="plugin.enabled")
    if not kernel.config.episode.enabled:
        raise Conflict("Episodes are switched off (episode.enabled).", field="episode.enabled")


async def _ranked(kernel: SDKMemoryKernel, request: ListEpisodes) -> Episodes:
    wanted = request.offset + request.limit
    if wanted > MOST_RANKED:
        raise InvalidRequest(f"offset and limit come to more than {MOST_RANKED}, with a query.", field="offset")
    search = kernel.search.request(
        mode="episode", limit=min(MOST_RANKED, wanted + 1), **request.model_dump(exclude={"limit", "offset"})
    )
    found = await kernel.search.search(search)
    hits = {int(hit.id.removeprefix("e")): hit for hit in found.hits[request.offset :]}
    rows = await kernel.store.read(lambda db: episode_rows.full(db, list(hits)[: request.limit]))
    items = [_item(rows[id_], hit.score, hit.explain) for id_, hit in hits.items() if id_ in rows]
    more = len(hits) > request.limit
    return Episodes(items=items, count=len(items), more=more, filtered=found.filtered, degraded=found.degraded)


def _access(kernel: SDKMemoryKernel) -> Access:
    return Access(kernel.store.names, kernel.config)


def _item(row: EpisodeRow, score: float = 0.0, explain: dict[str, Any] | None = None) -> EpisodeItem:
    told = {
        "episode_id": episode_key(row.id), "keywords": json.loads(row.keywords),
        "participants": json.loads(row.participants), "time_start": row.event_start, "time_end": row.event_end,
    }  # fmt: skip
    return EpisodeItem.model_validate({**asdict(row), **told, "score": score, "explain": explain or {}})

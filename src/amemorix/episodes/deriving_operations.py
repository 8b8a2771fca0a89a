"""`memory_episode_admin`: how the making of episodes stands, and having it done anew."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..errors import Conflict, InvalidRequest, NotFound
from ..fields import Count, Name, RequiredName
from ..ops import Operations, Request, Response
from ..store import tasks as task_rows
from ..store.ports import Connection
from ..store.rows import sources as source_rows
from . import deriving_rows
from . import rows as episode_rows
from .rows import EpisodeFailure

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class StatusRequest(Request):
    """How many failed sources to name."""

    limit: Count = Field(20, ge=0, le=1000)


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


class Rebuild(Request):
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

    limit: Count = Field(100, ge=1, le=10_000, description="Most pieces of work; a long source is several.")


class Processed(Response):
    """What was done."""

    processed: int = 0
    rebuilt: int = 0
    failed: int = 0
    remaining: int = Field(default=0, description="Sources that still wait.")


@ops.operation("memory_episode_admin", "status")
async def episode_status(kernel: SDKMemoryKernel, request: StatusRequest) -> EpisodeStatus:
    """Tell how far the episodes are, and which sources failed and why."""
    settings, now = kernel.config.episode, kernel.surroundings.clock.now()

    def read(db: Connection) -> EpisodeStatus:
        counts = task_rows.counts(db, "episodes")
        failures = episode_rows.failures(db, request.limit)
        return EpisodeStatus(
            enabled=settings.enabled,
            pending=counts.get("pending", 0),
            processing=counts.get("processing", 0),
            completed=counts.get("completed", 0),
            failed=counts.get("failed", 0),
            episodes=episode_rows.count(db, None),
            lag=kernel.episodes.changes(db),
            model=kernel.episodes.model.available,
            model_waiting=deriving_rows.waiting_for_model(db, now)[0],
            failures=[_failure(one, settings.max_attempts) for one in failures],
        )

    return await kernel.store.read(read)


@ops.operation("memory_episode_admin", "rebuild", effect="write", role="admin")
async def rebuild_episodes(kernel: SDKMemoryKernel, request: Rebuild) -> Rebuilding:
    """Make the episodes of sources anew in the background; an episode that comes out the same keeps its revision."""
    _needs_episodes(kernel)
    names: list[str] = [name for name in dict.fromkeys((request.source, *request.sources)) if name]
    if request.all == bool(names):
        raise InvalidRequest("rebuild needs either source, sources, or all.", field="source")
    if request.all and not request.chat_id:
        answer = Rebuilding(queued=await kernel.episodes.rebuild_all())
    else:
        answer = await _queued(kernel, names, request.chat_id)
    finished = request.wait > 0 and await _waited(kernel, request.wait)
    counts = await kernel.store.read(lambda db: task_rows.counts(db, "episodes"))
    pending = counts.get("pending", 0) + counts.get("processing", 0)
    return answer.model_copy(update={"finished": finished, "pending": pending, "failed": counts.get("failed", 0)})


@ops.operation("memory_episode_admin", "process_pending", "process_sources", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: Process) -> Processed:
    """Make the episodes now that wait to be made, those that were given up included."""
    _needs_episodes(kernel)
    worked = await kernel.episodes.process(request.limit)
    remaining = await kernel.store.read(lambda db: task_rows.open_count(db, "episodes"))
    return Processed(
        processed=worked.done + worked.failed, rebuilt=worked.done, failed=worked.failed, remaining=remaining
    )


def _needs_episodes(kernel: SDKMemoryKernel) -> None:
    if not kernel.config.plugin.enabled:
        raise Conflict("The memory is switched off (plugin.enabled).", field="plugin.enabled")
    if not kernel.config.episode.enabled:
        raise Conflict("Episodes are switched off (episode.enabled).", field="episode.enabled")


async def _queued(kernel: SDKMemoryKernel, names: Sequence[str], chat_id: str) -> Rebuilding:
    """Queue the sources of these names, or of the chat if there are none. Raises NotFound if there is no such source."""
    found = await kernel.store.read(lambda db: _matching(db, names, chat_id))
    rows = list(dict.fromkeys(row for some in found.values() for row in some))
    if not rows:
        field = "chat_id" if not names else "source" if len(names) == 1 else "sources"
        raise NotFound(f"No source matches {field}: nothing was queued.", field=field)
    await kernel.episodes.rebuild(rows)
    unknown = [name for name in names if not found[name]]
    return Rebuilding(requested=len(names), queued=len(rows), unknown=unknown)


def _matching(db: Connection, names: Sequence[str], chat_id: str) -> Mapping[str, list[int]]:
    if names:
        return {name: source_rows.named(db, name, chat_id or None) for name in names}
    return {"": deriving_rows.sources_of_chat(db, chat_id)}


async def _waited(kernel: SDKMemoryKernel, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await kernel.episodes.drain()
    except TimeoutError:
        return False
    return True


def _failure(one: EpisodeFailure, most: int) -> FailedSource:
    return FailedSource(
        source=one.source,
        chat_id=one.chat_id,
        error=one.error,
        attempts=one.attempts,
        given_up=one.attempts >= most,
        next_at=one.due_at,
        failed_at=one.updated_at,
    )

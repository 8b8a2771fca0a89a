"""`memory_profile_admin`: how the deriving of profiles stands, and having it done now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from ..fields import Count
from ..ops import Operations, Request, Response
from ..store import tasks as task_rows
from ..store.ports import Connection
from .person import Who, person_found

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
LARGEST_OFFSET = 2**62


class AskStatus(Request):
    """Which tasks to list."""

    status: Literal["", "pending", "processing", "completed", "failed"] = Field(
        "", description="Only these; all when empty."
    )
    limit: Count = Field(20, ge=1, le=1000)
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)


class TaskItem(BaseModel):
    """The deriving of one profile."""

    person_id: str
    status: str
    attempts: int
    due_at: float
    error: str
    updated_at: float


class Status(Response):
    """How the deriving of profiles stands."""

    enabled: bool = True
    by_chat_model: bool = False
    lag: int = Field(default=0, description="Changes not looked at yet.")
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    tasks: list[TaskItem] = Field(default_factory=list)


class ProcessPending(Request):
    """How much to derive."""

    limit: Count = Field(20, ge=1, le=1000, description="Most profiles.")


class Processed(Response):
    """What was derived."""

    processed: int = 0
    failed: int = 0
    remaining: int = 0


class Refreshed(Response):
    """The profile will be derived again."""

    person_id: str = ""
    queued: bool = True


@ops.operation("memory_profile_admin", "status")
async def status(kernel: SDKMemoryKernel, request: AskStatus) -> Status:
    """Tell how the deriving of profiles stands."""

    def read(db: Connection) -> Status:
        queue = kernel.profiles.queue(db, request.status or None, request.limit, request.offset)
        tasks = [
            TaskItem(
                person_id=kernel.profile_reader.known(db, task.key).person_id,
                status=task.status,
                attempts=task.attempts,
                due_at=task.due_at,
                error=task.error,
                updated_at=task.updated_at,
            )
            for task in queue.tasks
        ]
        settings = kernel.config.profile
        by_model = settings.use_chat_model and kernel.chat is not None
        counts = queue.counts
        return Status(
            enabled=settings.enabled,
            by_chat_model=by_model,
            lag=queue.lag,
            pending=counts.get("pending", 0),
            processing=counts.get("processing", 0),
            completed=counts.get("completed", 0),
            failed=counts.get("failed", 0),
            tasks=tasks,
        )

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "process_pending", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: ProcessPending) -> Processed:
    """Derive the profiles that wait, now."""
    done, failed = await kernel.profiles.process(request.limit)
    remaining = await kernel.store.read(lambda db: task_rows.open_count(db, "profile"))
    return Processed(processed=done, failed=failed, remaining=remaining)


@ops.operation("memory_profile_admin", "refresh", effect="write")
async def refresh(kernel: SDKMemoryKernel, request: Who) -> Refreshed:
    """Derive a person's profile again, in the background."""
    row = await person_found(kernel, request)
    await kernel.store.write(lambda db: kernel.profiles.want(db, row))
    known = await kernel.store.read(lambda db: kernel.profile_reader.known(db, row))
    return Refreshed(person_id=known.person_id)

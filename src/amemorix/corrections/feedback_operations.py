"""`enqueue_feedback_task` and `memory_feedback_admin`: learn from what a chat says after an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from ..errors import Conflict, InvalidRequest
from ..fields import Name, Offset, OneOrMore, RequiredName, TimeInput
from ..ids import HIGHEST, paragraph_key, plan_key
from ..language.times import read_bound
from ..ops import Operations, Request, Response
from .feedback import FeedbackTask

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_HITS = 50
Status = Literal["pending", "running", "applied", "skipped", "failed"]
RollbackStatus = Literal["none", "rolled_back", "failed"]


def _hits(value: Any) -> Any:
    """Ids of what search_memory answered, of its hits and of what its facts rest on, of the hits alone, or as they are."""
    found = value.get("hits", []) if isinstance(value, dict) else value
    if not isinstance(found, list):
        return found
    ids = [hit.get("id") if isinstance(hit, dict) else hit for hit in found]
    facts = value.get("facts") if isinstance(value, dict) else None
    rest_on = [id_ for fact in facts if isinstance(fact, dict) for id_ in fact.get("evidence_ids") or ()] if isinstance(facts, list) else []  # fmt: skip
    return list(dict.fromkeys((*ids, *rest_on)))[: max(len(ids), MOST_HITS)] if rest_on else ids


class EnqueueFeedback(Request):
    """An answer that was given."""

    query_tool_id: RequiredName = Field(description="The caller's id of the answer; the same again changes nothing.")
    session_id: RequiredName = Field(validation_alias=AliasChoices("session_id", "chat_id"), description="The chat.")
    query: Annotated[str, Field(max_length=10_000)] = Field("", description="What was asked.")
    query_timestamp: TimeInput = Field(None, description="When it was answered; now when not given.")
    structured_content: Annotated[list[RequiredName], BeforeValidator(_hits), Field(max_length=MOST_HITS)] = Field(
        default_factory=list, description="The answer of search_memory, its hits, or their ids such as `p12`."
    )


class FeedbackQueued(Response):
    """Whether it was taken."""

    queued: bool = False
    task_id: int = 0
    reason: str = Field(default="", description="Why not: `disabled`, `no_hits`, `exists`.")


class ListFeedback(Request):
    """Which tasks to list."""

    statuses: Annotated[list[Status], OneOrMore] = Field(
        default_factory=list, validation_alias=AliasChoices("statuses", "status")
    )
    rollback_statuses: Annotated[list[RollbackStatus], OneOrMore] = Field(
        default_factory=list, validation_alias=AliasChoices("rollback_statuses", "rollback_status")
    )
    query: Name = Field("", description="Words of the question.")
    limit: int = Field(50, ge=1, le=1000)
    offset: Offset = 0


class FeedbackId(Request):
    """A task."""

    task_id: int = Field(ge=1, le=HIGHEST)


class RollbackFeedback(FeedbackId):
    """The task to undo."""

    requested_by: Name = ""
    reason: Annotated[str, Field(max_length=2000)] = ""


class ProcessFeedback(Request):
    """How much to do now."""

    limit: int = Field(20, ge=1, le=1000)


class FeedbackItem(BaseModel):
    """A task; times in epoch seconds."""

    task_id: int
    query_tool_id: str
    session_id: str
    query: str
    query_timestamp: float
    hit_ids: list[str]
    status: str
    due_at: float
    attempts: int
    decision: str = Field(description="`confirm`, `reject`, `correct`, `supplement`, `none`, or empty if not decided.")
    confidence: float
    said: str = Field(description="The message that decided it.")
    plan_id: str = Field(description="The correction plan that was carried out.")
    rollback_status: str
    error: str
    updated_at: float


class FeedbackTasks(Response):
    """Tasks, the newest first."""

    items: list[FeedbackItem] = Field(default_factory=list)
    count: int = 0


class FeedbackTaskFound(Response):
    """One task."""

    task: FeedbackItem | None = None


class NoArguments(Request):
    """No arguments."""


class FeedbackStatus(Response):
    """How the tasks stand."""

    enabled: bool = False
    counts: dict[str, int] = Field(default_factory=dict)
    due: int = 0


class FeedbackProcessed(Response):
    """How many tasks came to which end."""

    processed: int = 0
    ends: dict[str, int] = Field(default_factory=dict)


@ops.operation("enqueue_feedback_task", effect="write")
async def enqueue_feedback(kernel: SDKMemoryKernel, request: EnqueueFeedback) -> FeedbackQueued:
    """Remember an answer, to learn later from what the chat said of it; durable when it returns."""
    settings = kernel.config.feedback
    if not (kernel.config.plugin.enabled and settings.enabled):
        return FeedbackQueued(reason="disabled")
    now = kernel.surroundings.clock.now()
    asked_at = read_bound("query_timestamp", request.query_timestamp, now, kernel.zones.of(request.session_id))
    hits = [_paragraph(i, hit) for i, hit in enumerate(request.structured_content)]
    known = [id_ for id_ in hits if id_ is not None]
    if not known:
        return FeedbackQueued(reason="no_hits")
    task, new = await kernel.feedback.enqueue(
        key=request.query_tool_id, chat_id=request.session_id, query=request.query,
        asked_at=now if asked_at is None else asked_at, hits=known,
    )  # fmt: skip
    return FeedbackQueued(queued=new, task_id=task, reason="" if new else "exists")


def _paragraph(place: int, id_: str) -> int | None:
    """The row of a paragraph hit; None for other kinds of hits. Raises InvalidRequest."""
    if id_[:1] == "e" and id_[1:].isdecimal():
        return None
    number = id_.removeprefix("p")
    if not number.isdecimal() or int(number) > HIGHEST:
        field = f"structured_content.{place}"
        raise InvalidRequest(f"{field}: {id_!r} is no id of a hit.", field=field)
    return int(number)


@ops.operation("memory_feedback_admin", "list")
async def list_feedback(kernel: SDKMemoryKernel, request: ListFeedback) -> FeedbackTasks:
    """List feedback tasks, the newest first."""
    tasks = await kernel.feedback.list(
        request.statuses, request.rollback_statuses, request.query, limit=request.limit, offset=request.offset
    )
    return FeedbackTasks(items=[_item(task) for task in tasks], count=len(tasks))


@ops.operation("memory_feedback_admin", "get")
async def get_feedback(kernel: SDKMemoryKernel, request: FeedbackId) -> FeedbackTaskFound:
    """Show a feedback task."""
    return FeedbackTaskFound(task=_item(await kernel.feedback.get(request.task_id)))


@ops.operation("memory_feedback_admin", "rollback", effect="write")
async def rollback_feedback(kernel: SDKMemoryKernel, request: RollbackFeedback) -> FeedbackTaskFound:
    """Undo what a feedback task corrected."""
    return FeedbackTaskFound(task=_item(await kernel.feedback.rollback(request.task_id)))


@ops.operation("memory_feedback_admin", "status")
async def feedback_status(kernel: SDKMemoryKernel, request: NoArguments) -> FeedbackStatus:  # noqa: ARG001
    """Count feedback tasks by status."""
    counts, due = await kernel.feedback.counts()
    return FeedbackStatus(enabled=kernel.config.feedback.enabled, counts=counts, due=due)


@ops.operation("memory_feedback_admin", "process_pending", effect="write")
async def process_feedback(kernel: SDKMemoryKernel, request: ProcessFeedback) -> FeedbackProcessed:
    """Look at the tasks that are due now."""
    if not kernel.config.feedback.enabled:
        raise Conflict("Feedback is switched off (`feedback.enabled`).", setting="feedback.enabled")
    ends = await kernel.feedback.process(request.limit)
    return FeedbackProcessed(processed=sum(ends.values()), ends=ends)


def _item(task: FeedbackTask) -> FeedbackItem:
    decision, result = json.loads(task.decision), json.loads(task.result)
    plan = result.get("plan")
    return FeedbackItem(
        task_id=task.id, query_tool_id=task.key, session_id=task.chat_id, query=task.query,
        query_timestamp=task.asked_at, hit_ids=[paragraph_key(id_) for id_ in json.loads(task.hits)],
        status=task.status, due_at=task.due_at, attempts=task.attempts, decision=decision.get("decision", ""),
        confidence=decision.get("confidence", 0.0), said=decision.get("said", ""),
        plan_id="" if plan is None else plan_key(plan), rollback_status=task.rollback_status, error=task.error,
        updated_at=task.updated_at,
    )  # fmt: skip

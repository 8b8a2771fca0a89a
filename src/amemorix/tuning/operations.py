"""`memory_tuning_admin`: search for retrieval settings that suit what is stored, apply them, and take them back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from ..config.patch import patched
from ..fields import Offset
from ..ids import HIGHEST
from ..ops import NoArguments, Operations, Request, Response
from .comparison import Objective
from .labelled import LabelledQuery
from .profiles import ProfileApplied
from .report import markdown, record, rounds_drawing
from .rows import AppliedItem, QuestionCount, RoundItem, TaskRow
from .search_space import TUNABLE, changed, shipped_profile
from .service import LAST_STEPS, ROUNDS

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_LABELLED = 500
Intensity = Literal["quick", "standard", "deep"]
Status = Literal["queued", "running", "completed", "failed", "cancelled"]


def _number(value: Any) -> Any:
    """Tasks are also called `t12`."""
    if isinstance(value, str):
        bare = value.strip().lower().removeprefix("t")
        return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 19 else value
    if isinstance(value, bool):
        raise ValueError("must be the id of a task, not true or false")
    return value


TaskNumber = Annotated[
    int,
    Field(ge=1, le=HIGHEST, description="The task, such as `t12`."),
    BeforeValidator(_number, json_schema_input_type=str | int),
]
Reason = Annotated[str, Field(max_length=2000)]


class TuningSettings(Response):
    """How tuning is set, and what it may change."""

    enabled: bool = True
    objective: str = "balanced"
    intensity: str = "standard"
    rounds: dict[str, int] = Field(default_factory=lambda: dict(ROUNDS), description="Rounds of each intensity.")
    sample_size: int = 200
    top_k: int = 10
    max_queue_size: int = 8
    chat_model: bool = Field(default=False, description="Whether a chat model may write questions.")
    tunable: list[str] = Field(default_factory=lambda: list(TUNABLE), description="Settings that tuning may change.")


@ops.operation("memory_tuning_admin", "settings", "get_settings")
async def tuning_settings(kernel: SDKMemoryKernel, request: NoArguments) -> TuningSettings:  # noqa: ARG001
    """Show how tuning is set, and which settings it may change."""
    settings = kernel.config.tuning
    return TuningSettings(
        enabled=settings.enabled, objective=settings.objective, intensity=settings.intensity,
        sample_size=settings.sample_size, top_k=settings.top_k, max_queue_size=settings.max_queue_size,
        chat_model=kernel.chat is not None and settings.use_chat_model,
    )  # fmt: skip


# profiles


class ProfileFound(Response):
    """The settings at work."""

    profile: dict[str, Any] = Field(default_factory=dict)
    differs_from_shipped: dict[str, Any] = Field(default_factory=dict, description="Those that are not the defaults.")
    history: list[AppliedItem] = Field(default_factory=list, description="What was applied, the newest first.")


class ProfileExported(Response):
    """Settings as the text of a configuration file."""

    toml: str = ""
    profile: dict[str, Any] = Field(default_factory=dict)


class GetRetrievalProfile(Request):
    """How much history to show."""

    limit: int = Field(20, ge=0, le=1000, description="Most entries of the history.")


class ApplyProfile(Request):
    """Settings to apply."""

    profile: dict[str, Any] = Field(description="Nested or dotted settings, such as `retrieval.weights.dense`.")
    reason: Reason = ""
    task_id: Annotated[int | None, BeforeValidator(_number)] = Field(None, ge=1, le=HIGHEST)
    strict: bool = Field(
        True, validation_alias=AliasChoices("strict", "validate"),
        description="Take only settings that tuning may change; else any setting of retrieval that applies at once.",
    )  # fmt: skip


class RollbackProfile(Request):
    """How careful to be."""

    strict: bool = Field(
        True, validation_alias=AliasChoices("strict", "validate"),
        description="Refuse if a setting of the profile has been changed since.",
    )  # fmt: skip


class ExportProfile(Request):
    """Whose settings to export."""

    task_id: Annotated[int | None, BeforeValidator(_number)] = Field(
        None, ge=1, le=HIGHEST, description="The best settings of this task; without one those at work."
    )


@ops.operation("memory_tuning_admin", "get_profile")
async def get_retrieval_profile(kernel: SDKMemoryKernel, request: GetRetrievalProfile) -> ProfileFound:
    """Show the retrieval settings at work, and what was applied."""
    profile = kernel.retrieval_profiles.current()
    history = await kernel.retrieval_profiles.history(request.limit)
    return ProfileFound(profile=profile, differs_from_shipped=changed(profile, shipped_profile()), history=history)


@ops.operation("memory_tuning_admin", "apply_profile", effect="write")
async def apply_retrieval_profile(kernel: SDKMemoryKernel, request: ApplyProfile) -> ProfileApplied:
    """Change retrieval settings in the configuration file and apply them at once; `rollback_profile` undoes it."""
    profile = kernel.retrieval_profiles.read(request.profile, validate=request.strict)
    if request.task_id is not None:
        await kernel.tuning.get(request.task_id)
    return await kernel.retrieval_profiles.apply(profile, reason=request.reason, task=request.task_id)


@ops.operation("memory_tuning_admin", "rollback_profile", effect="write")
async def rollback_retrieval_profile(kernel: SDKMemoryKernel, request: RollbackProfile) -> ProfileApplied:
    """Take back the profile that was applied last."""
    return await kernel.retrieval_profiles.rollback(validate=request.strict)


@ops.operation("memory_tuning_admin", "export_profile")
async def export_retrieval_profile(kernel: SDKMemoryKernel, request: ExportProfile) -> ProfileExported:
    """Write the settings at work, or the best of a task, as the text of a configuration file."""
    profile = kernel.retrieval_profiles.current()
    if request.task_id is not None:
        task = (await kernel.tuning.get(request.task_id)).task
        profile = task.result.get("profile") or task.baseline
    return ProfileExported(toml=patched("", profile), profile=profile)


# tasks


class TuningTaskItem(BaseModel):
    """How a task stands; times in epoch seconds."""

    task_id: int
    status: str
    stage: str = Field(description="`queries`, `rounds`, `comparison` or `done`.")
    objective: str
    sample_size: int
    top_k: int
    seed: int
    rounds: int
    rounds_done: int
    progress: float = Field(description="0..1.")
    rate: float = Field(description="Rounds a second; 0 before the first.")
    seconds_left: float | None = Field(description="None while nobody knows.")
    recommended: bool
    best_round: int | None
    result: dict[str, Any]
    reason: str
    error: str
    created_at: float
    started_at: float | None
    finished_at: float | None


class TaskFound(Response):
    """One task."""

    task: TuningTaskItem | None = None
    questions: list[QuestionCount] = Field(default_factory=list)
    rounds: list[RoundItem] = Field(default_factory=list)


class TaskList(Response):
    """Tasks, the newest first."""

    items: list[TuningTaskItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class RoundsFound(Response):
    """Rounds in their order."""

    items: list[RoundItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class ReportFound(Response):
    """What a task did."""

    task_id: int = 0
    format: str = "md"
    content: str = ""
    plots: dict[str, str] = Field(default_factory=dict, description="Name -> SVG.")


class CreateTask(Request):
    """What to search for. What is left out is as the configuration says."""

    objective: Objective | None = None
    intensity: Intensity | None = Field(None, description="`quick` 8, `standard` 20, `deep` 32 rounds.")
    rounds: Annotated[int | None, BeforeValidator(_number)] = Field(
        None, ge=2, le=200, description="Instead of the intensity."
    )
    sample_size: Annotated[int, Field(ge=20, le=500)] | None = None
    top_k: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, validation_alias=AliasChoices("top_k", "top_k_eval")
    )
    seed: int = Field(0, ge=0, le=2**31, description="The same seed and data make the same task.")
    use_chat_model: bool | None = Field(None, validation_alias=AliasChoices("use_chat_model", "llm_enabled"))
    queries: list[LabelledQuery] = Field(
        default_factory=list, max_length=MOST_LABELLED,
        description="Questions of your own; without them they are made of what is stored.",
    )  # fmt: skip
    own_questions: bool | None = Field(
        None, description="Also make questions of what is stored; by default only where none are given."
    )
    try_shipped: bool = Field(True, description="Also begin from the shipped settings, not only from those at work.")
    reason: Reason = ""


class ListTuningTasks(Request):
    """Which tasks to list."""

    statuses: Annotated[list[Status], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)] = Field(
        default_factory=list, validation_alias=AliasChoices("statuses", "status")
    )
    limit: int = Field(50, ge=1, le=1000)
    offset: Offset = 0


class TaskId(Request):
    """A task."""

    task_id: TaskNumber


class GetTuningTask(TaskId):
    """A task, with its rounds if they are wanted."""

    include_rounds: bool = False


class GetRounds(TaskId):
    """Which rounds."""

    limit: int = Field(50, ge=1, le=500)
    offset: Offset = 0


class ApplyBest(TaskId):
    """The task whose best settings to apply."""

    strict: bool = Field(
        True, validation_alias=AliasChoices("strict", "validate"),
        description="Refuse what the task does not recommend, or if the settings have changed since it was begun.",
    )  # fmt: skip
    reason: Reason = ""


class GetReport(TaskId):
    """How to tell it."""

    format: Literal["md", "json"] = "md"
    plots: bool = Field(default=True, description="With a drawing of the rounds.")


def _task_item(task: TaskRow) -> TuningTaskItem:
    whole = task.rounds_wanted + LAST_STEPS
    rate = task.rounds_done / task.seconds if task.seconds > 0 else 0.0
    told = {
        "task_id": task.id, "rounds": task.rounds_wanted, "rate": round(rate, 4),
        "progress": 1.0 if task.status == "completed" else round(task.rounds_done / whole, 4),
        "seconds_left": round((whole - task.rounds_done) / rate, 1) if task.status == "running" and rate else None,
    }  # fmt: skip
    return TuningTaskItem.model_validate(
        {"recommended": False, "best_round": None, **task.options, **task.result, **asdict(task), **told}
    )


@ops.operation("memory_tuning_admin", "create_task", effect="write")
async def create_tuning_task(kernel: SDKMemoryKernel, request: CreateTask) -> TaskFound:
    """Begin a search for better retrieval settings in the background."""
    settings = kernel.config.tuning
    options = {
        "objective": request.objective or settings.objective,
        "sample_size": request.sample_size or settings.sample_size,
        "top_k": request.top_k or settings.top_k,
        "seed": request.seed,
        "use_chat_model": settings.use_chat_model if request.use_chat_model is None else request.use_chat_model,
        "own_questions": not request.queries if request.own_questions is None else request.own_questions,
        "try_shipped": request.try_shipped,
    }
    rounds = request.rounds or ROUNDS[request.intensity or settings.intensity]
    task = await kernel.tuning.create(options, rounds=rounds, labelled=request.queries, reason=request.reason)
    return TaskFound(task=_task_item(task))


@ops.operation("memory_tuning_admin", "list_tasks", "list")
async def list_tuning_tasks(kernel: SDKMemoryKernel, request: ListTuningTasks) -> TaskList:
    """List tuning tasks, the newest first."""
    tasks, total = await kernel.tuning.list(request.statuses, limit=request.limit, offset=request.offset)
    return TaskList(items=[_task_item(task) for task in tasks], count=len(tasks), total=total)


@ops.operation("memory_tuning_admin", "get_task", "get")
async def get_tuning_task(kernel: SDKMemoryKernel, request: GetTuningTask) -> TaskFound:
    """Show a tuning task."""
    found = await kernel.tuning.get(request.task_id, rounds=request.include_rounds)
    return TaskFound(task=_task_item(found.task), questions=found.questions, rounds=found.rounds)


@ops.operation("memory_tuning_admin", "get_rounds")
async def get_tuning_rounds(kernel: SDKMemoryKernel, request: GetRounds) -> RoundsFound:
    """Show the rounds of a tuning task."""
    rounds, total = await kernel.tuning.rounds(request.task_id, limit=request.limit, offset=request.offset)
    return RoundsFound(items=rounds, count=len(rounds), total=total)


@ops.operation("memory_tuning_admin", "cancel", effect="write")
async def cancel_tuning_task(kernel: SDKMemoryKernel, request: TaskId) -> TaskFound:
    """End a tuning task that waits or is under way."""
    return TaskFound(task=_task_item(await kernel.tuning.cancel(request.task_id)))


@ops.operation("memory_tuning_admin", "apply_best", effect="write")
async def apply_best_profile(kernel: SDKMemoryKernel, request: ApplyBest) -> ProfileApplied:
    """Apply the settings that a tuning task found and recommends."""
    return await kernel.tuning.apply_best(request.task_id, validate=request.strict, reason=request.reason)


@ops.operation("memory_tuning_admin", "get_report")
async def get_tuning_report(kernel: SDKMemoryKernel, request: GetReport) -> ReportFound:
    """Tell what a tuning task did, in words or as data, with a drawing."""
    found = await kernel.tuning.get(request.task_id, rounds=True)
    told = (found.task, found.rounds, found.questions)
    content = markdown(*told) if request.format == "md" else json.dumps(record(*told), ensure_ascii=False, indent=1)
    plots = {"rounds": rounds_drawing(found.task, found.rounds)} if request.plots and found.rounds else {}
    return ReportFound(task_id=found.task.id, format=request.format, content=content, plots=plots)

"""`memory_tuning_admin`: search for retrieval settings that suit what is stored, apply them, and take them back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..config.patch import patched
from ..ops import Operations
from .labelled import Labelled
from .report import markdown, record, rounds_drawing
from .requests import (
    ApplyBest,
    ApplyProfile,
    CreateTask,
    ExportProfile,
    GetProfile,
    GetReport,
    GetRounds,
    GetTask,
    ListTasks,
    Nothing,
    RollbackProfile,
    TaskId,
)
from .responses import (
    ProfileApplied,
    ProfileExported,
    ProfileFound,
    QuestionCount,
    ReportFound,
    RoundsFound,
    TaskFound,
    TaskList,
    TuningSettings,
    applied_item,
    profile_applied,
    round_item,
    task_item,
)
from .search_space import shipped_profile
from .service import ROUNDS, Wish

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


@ops.operation("memory_tuning_admin", "settings", "get_settings")
async def tuning_settings(kernel: SDKMemoryKernel, request: Nothing) -> TuningSettings:  # noqa: ARG001
    """Show how tuning is set, and which settings it may change."""
    settings = kernel.config.tuning
    return TuningSettings(
        enabled=settings.enabled, objective=settings.objective, intensity=settings.intensity,
        sample_size=settings.sample_size, top_k=settings.top_k, max_queue_size=settings.max_queue_size,
        chat_model=kernel.chat is not None and settings.use_chat_model,
    )  # fmt: skip


@ops.operation("memory_tuning_admin", "get_profile")
async def get_retrieval_profile(kernel: SDKMemoryKernel, request: GetProfile) -> ProfileFound:
    """Show the retrieval settings at work, and what was applied."""
    profile, shipped = kernel.retrieval_profiles.current(), shipped_profile()
    history = await kernel.retrieval_profiles.history(request.limit)
    differs = {name: value for name, value in profile.items() if shipped[name] != value}
    return ProfileFound(profile=profile, differs_from_shipped=differs, history=[applied_item(one) for one in history])


@ops.operation("memory_tuning_admin", "apply_profile", effect="write")
async def apply_retrieval_profile(kernel: SDKMemoryKernel, request: ApplyProfile) -> ProfileApplied:
    """Change retrieval settings in the configuration file and apply them at once; `rollback_profile` undoes it."""
    profile = kernel.retrieval_profiles.read(request.profile, validate=request.strict)
    if request.task_id is not None:
        await kernel.tuning.get(request.task_id)
    applied = await kernel.retrieval_profiles.apply(profile, reason=request.reason, task=request.task_id)
    return profile_applied(applied)


@ops.operation("memory_tuning_admin", "rollback_profile", effect="write")
async def rollback_retrieval_profile(kernel: SDKMemoryKernel, request: RollbackProfile) -> ProfileApplied:
    """Take back the profile that was applied last."""
    return profile_applied(await kernel.retrieval_profiles.rollback(validate=request.strict))


@ops.operation("memory_tuning_admin", "export_profile")
async def export_retrieval_profile(kernel: SDKMemoryKernel, request: ExportProfile) -> ProfileExported:
    """Write the settings at work, or the best of a task, as the text of a configuration file."""
    if request.task_id is None:
        return ProfileExported(toml=kernel.retrieval_profiles.export(), profile=kernel.retrieval_profiles.current())
    task = (await kernel.tuning.get(request.task_id)).task
    best = task.result.get("profile") or task.baseline
    return ProfileExported(toml=patched("", best), profile=best)


@ops.operation("memory_tuning_admin", "create_task", effect="write")
async def create_tuning_task(kernel: SDKMemoryKernel, request: CreateTask) -> TaskFound:
    """Begin a search for better retrieval settings in the background."""
    settings = kernel.config.tuning
    wish = Wish(
        objective=request.objective or settings.objective,
        rounds=request.rounds or ROUNDS[request.intensity or settings.intensity],
        sample_size=request.sample_size or settings.sample_size,
        top_k=request.top_k or settings.top_k,
        seed=request.seed,
        use_chat_model=settings.use_chat_model if request.use_chat_model is None else request.use_chat_model,
        own_questions=not request.queries if request.own_questions is None else request.own_questions,
        try_shipped=request.try_shipped,
        labelled=tuple(Labelled(one.query, one.chat_id, tuple(one.expected)) for one in request.queries),
        reason=request.reason,
    )
    return TaskFound(task=task_item(await kernel.tuning.create(wish)))


@ops.operation("memory_tuning_admin", "list_tasks", "list")
async def list_tuning_tasks(kernel: SDKMemoryKernel, request: ListTasks) -> TaskList:
    """List tuning tasks, the newest first."""
    tasks, total = await kernel.tuning.list(request.statuses, limit=request.limit, offset=request.offset)
    return TaskList(items=[task_item(task) for task in tasks], count=len(tasks), total=total)


@ops.operation("memory_tuning_admin", "get_task", "get")
async def get_tuning_task(kernel: SDKMemoryKernel, request: GetTask) -> TaskFound:
    """Show a tuning task."""
    found = await kernel.tuning.get(request.task_id, rounds=request.include_rounds)
    questions = [QuestionCount(split=split, kind=kind, count=count) for split, kind, count in found.questions]
    return TaskFound(task=task_item(found.task), questions=questions, rounds=[round_item(one) for one in found.rounds])


@ops.operation("memory_tuning_admin", "get_rounds")
async def get_tuning_rounds(kernel: SDKMemoryKernel, request: GetRounds) -> RoundsFound:
    """Show the rounds of a tuning task."""
    rounds = await kernel.tuning.rounds(request.task_id, limit=request.limit, offset=request.offset)
    total = (await kernel.tuning.get(request.task_id)).task.rounds_done
    return RoundsFound(items=[round_item(one) for one in rounds], count=len(rounds), total=total)


@ops.operation("memory_tuning_admin", "cancel", effect="write")
async def cancel_tuning_task(kernel: SDKMemoryKernel, request: TaskId) -> TaskFound:
    """End a tuning task that waits or is under way."""
    return TaskFound(task=task_item(await kernel.tuning.cancel(request.task_id)))


@ops.operation("memory_tuning_admin", "apply_best", effect="write")
async def apply_best_profile(kernel: SDKMemoryKernel, request: ApplyBest) -> ProfileApplied:
    """Apply the settings that a tuning task found and recommends."""
    applied = await kernel.tuning.apply_best(request.task_id, validate=request.strict, reason=request.reason)
    return profile_applied(applied)


@ops.operation("memory_tuning_admin", "get_report")
async def get_tuning_report(kernel: SDKMemoryKernel, request: GetReport) -> ReportFound:
    """Tell what a tuning task did, in words or as data, with a drawing."""
    found = await kernel.tuning.get(request.task_id, rounds=True)
    told = (found.task, found.rounds, found.questions)
    content = markdown(*told) if request.format == "md" else json.dumps(record(*told), ensure_ascii=False, indent=1)
    plots = {"rounds": rounds_drawing(found.task, found.rounds)} if request.plots and found.rounds else {}
    return ReportFound(task_id=found.task.id, format=request.format, content=content, plots=plots)

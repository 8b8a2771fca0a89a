"""What `memory_tuning_admin` answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..ops import Response
from .profile_rows import AppliedProfile
from .profiles import Applied
from .rows import RoundRow, TaskRow
from .search_space import TUNABLE
from .service import LAST_STEPS, ROUNDS

__all__ = [
    "AppliedItem",
    "ProfileApplied",
    "ProfileExported",
    "ProfileFound",
    "QuestionCount",
    "ReportFound",
    "RoundItem",
    "RoundsFound",
    "TaskFound",
    "TuningTaskItem",
    "TaskList",
    "TuningSettings",
    "applied_item",
    "profile_applied",
    "round_item",
    "task_item",
]


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


class AppliedItem(BaseModel):
    """A profile that was applied; times in epoch seconds."""

    id: int
    task_id: int | None
    profile: dict[str, Any]
    previous: dict[str, Any]
    reason: str
    status: str = Field(description="`applied`, `rolled_back`, or `applying` if it was cut short.")
    created_at: float
    rolled_back_at: float | None


class ProfileFound(Response):
    """The settings at work."""

    profile: dict[str, Any] = Field(default_factory=dict)
    differs_from_shipped: dict[str, Any] = Field(default_factory=dict, description="Those that are not the defaults.")
    history: list[AppliedItem] = Field(default_factory=list, description="What was applied, the newest first.")


class ProfileApplied(Response):
    """What was changed."""

    changed: bool = Field(default=False, description="False: everything was so already.")
    history_id: int = 0
    profile: dict[str, Any] = Field(default_factory=dict)
    previous: dict[str, Any] = Field(default_factory=dict)


class ProfileExported(Response):
    """Settings as the text of a configuration file."""

    toml: str = ""
    profile: dict[str, Any] = Field(default_factory=dict)


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


class RoundItem(BaseModel):
    """What one set of settings came to on the training questions."""

    round: int
    score: float
    merit: float = Field(description="The score less what it costs to be far from what is known to work.")
    params: dict[str, Any]
    figures: dict[str, Any]
    profile: dict[str, Any]
    seconds: float
    created_at: float


class QuestionCount(BaseModel):
    """How many questions a part has of a kind."""

    split: str
    kind: str
    count: int


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


def applied_item(one: AppliedProfile) -> AppliedItem:
    """A profile that was applied."""
    return AppliedItem(
        id=one.id, task_id=one.task, profile=one.profile, previous=one.previous, reason=one.reason, status=one.status,
        created_at=one.created_at, rolled_back_at=one.rolled_back_at,
    )  # fmt: skip


def profile_applied(applied: Applied) -> ProfileApplied:
    """What applying a profile changed."""
    return ProfileApplied(
        changed=bool(applied.profile), history_id=applied.id, profile=applied.profile, previous=applied.previous
    )


def task_item(task: TaskRow) -> TuningTaskItem:
    """A task as it stands."""
    options, result = task.options, task.result
    whole = task.rounds_wanted + LAST_STEPS
    rate = task.rounds_done / task.seconds if task.seconds > 0 else 0.0
    running = task.status == "running" and rate > 0
    return TuningTaskItem(
        task_id=task.id, status=task.status, stage=task.stage, objective=options["objective"],
        sample_size=options["sample_size"], top_k=options["top_k"], seed=options["seed"], rounds=task.rounds_wanted,
        rounds_done=task.rounds_done,
        progress=1.0 if task.status == "completed" else round(task.rounds_done / whole, 4),
        rate=round(rate, 4), seconds_left=round((whole - task.rounds_done) / rate, 1) if running else None,
        recommended=bool(result.get("recommended")), best_round=result.get("best_round"), result=result,
        reason=task.reason, error=task.error, created_at=task.created_at, started_at=task.started_at,
        finished_at=task.finished_at,
    )  # fmt: skip


def round_item(one: RoundRow) -> RoundItem:
    """A round as it was kept."""
    return RoundItem(
        round=one.round, score=round(one.score, 6), merit=round(one.merit, 6), params=one.params, figures=one.figures,
        profile=one.profile, seconds=one.seconds, created_at=one.created_at,
    )  # fmt: skip

"""What `memory_tuning_admin` may be asked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from ..fields import Count, Name
from ..ops import Request

__all__ = [
    "ApplyBest",
    "ApplyProfile",
    "CreateTask",
    "ExportProfile",
    "GetProfile",
    "GetReport",
    "GetRounds",
    "GetTask",
    "LabelledQuery",
    "ListTasks",
    "Nothing",
    "RollbackProfile",
    "TaskId",
]

LARGEST = 2**62
MOST_LABELLED = 500
Objective = Literal["precision_priority", "balanced", "recall_priority"]
Intensity = Literal["quick", "standard", "deep"]
Status = Literal["queued", "running", "completed", "failed", "cancelled"]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _number(value: Any) -> Any:
    """Tasks are also called `t12`."""
    if isinstance(value, str):
        bare = value.strip().lower().removeprefix("t")
        return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 19 else value
    if isinstance(value, bool):
        raise ValueError("must be the id of a task, not true or false")
    return value


def _text_of(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Expected = Annotated[str, BeforeValidator(_text_of), Field(min_length=1, max_length=10_000)]
TaskNumber = Annotated[
    int,
    Field(ge=1, le=LARGEST, description="The task, such as `t12`."),
    BeforeValidator(_number, json_schema_input_type=str | int),
]
Reason = Annotated[str, Field(max_length=2000)]


class Nothing(Request):
    """No arguments."""


class GetProfile(Request):
    """How much history to show."""

    limit: Count = Field(20, ge=0, le=1000, description="Most entries of the history.")


class ApplyProfile(Request):
    """Settings to apply."""

    profile: dict[str, Any] = Field(description="Nested or dotted settings, such as `retrieval.weights.dense`.")
    reason: Reason = ""
    task_id: Annotated[int | None, BeforeValidator(_number)] = Field(None, ge=1, le=LARGEST)
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
        None, ge=1, le=LARGEST, description="The best settings of this task; without one those at work."
    )


class LabelledQuery(Request):
    """A question with what should be found."""

    query: str = Field(min_length=1, max_length=10_000)
    chat_id: Name = Field("", description="The chat that asks; without it everything may answer.")
    expected: Annotated[list[Expected], BeforeValidator(_listed)] = Field(
        min_length=1, max_length=20, description="Paragraph ids (`p12`), external ids, or whole texts of the chat."
    )


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
    seed: Count = Field(0, ge=0, le=2**31, description="The same seed and data make the same task.")
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


class ListTasks(Request):
    """Which tasks to list."""

    statuses: Annotated[list[Status], BeforeValidator(_listed)] = Field(
        default_factory=list, validation_alias=AliasChoices("statuses", "status")
    )
    limit: Count = Field(50, ge=1, le=1000)
    offset: Count = Field(0, ge=0, le=LARGEST)


class TaskId(Request):
    """A task."""

    task_id: TaskNumber


class GetTask(TaskId):
    """A task, with its rounds if they are wanted."""

    include_rounds: bool = False


class GetRounds(TaskId):
    """Which rounds."""

    limit: Count = Field(50, ge=1, le=500)
    offset: Count = Field(0, ge=0, le=LARGEST)


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

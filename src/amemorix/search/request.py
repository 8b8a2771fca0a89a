"""What a caller may ask of search."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, Field, field_validator

from ..fields import MAX_QUERY_CHARS, AskingRequest, Count, Name, TimeInput

__all__ = ["KernelSearchRequest", "MODES"]

MODES = ("search", "time", "hybrid", "episode", "aggregate")


class KernelSearchRequest(AskingRequest):
    """Arguments of `search_memory`."""

    query: str = Field("", max_length=MAX_QUERY_CHARS, description="What to look for; optional in mode `time`.")
    limit: Count = Field(
        5,
        ge=1,
        le=200,
        validation_alias=AliasChoices("limit", "top_k", "k"),
        description="Most hits to return; `top_k` and `k` mean the same.",
    )
    mode: Literal["search", "time", "hybrid", "episode", "aggregate"] = Field(
        "search",
        description="`search` by words and meaning; `time` within a window; `hybrid` both; `episode` whole stretches of "
        "talk; `aggregate` all of them merged.",
    )
    person_id: Name = Field("", description="Only what is bound to this person (id, name or alias).")
    time_start: TimeInput = Field(
        None, validation_alias=AliasChoices("time_start", "time_from"),
        description="Epoch seconds, ISO 8601, YYYY/MM/DD[ HH:mm[:ss]], or words such as `yesterday`, `上周三`.",
    )  # fmt: skip
    time_end: TimeInput = Field(
        None, validation_alias=AliasChoices("time_end", "time_to"), description="Like `time_start`; included."
    )
    as_of: TimeInput = Field(
        None,
        description="Answer as the memory stood then: what was recorded and had happened by that time, in the wording of "
        "that time. In modes `search`, `time` and `hybrid`. What was deleted since stays deleted.",
    )
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    min_score: float = Field(0.0, ge=0, le=1, description="Leave out hits below this score.")
    used: bool = Field(
        False, description="The caller uses the first hits (`lifecycle.access_top`): they fade later. Costs no time."
    )

    @field_validator("mode", mode="before")
    @classmethod
    def _known_mode(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().lower() == "semantic":
            raise ValueError(f"mode `semantic` was removed; use `search`. Allowed: {', '.join(MODES)}")
        return value.strip().lower() if isinstance(value, str) else value

"""What search gives back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ..facts.query import FactItem
from ..ops import ScopedResponse

__all__ = ["Hit", "HitTime", "RetrievalResult"]


class HitTime(BaseModel, defer_build=True):
    """When it happened (None: not dated) and when it was stored, in epoch seconds."""

    start: float | None = None
    end: float | None = None
    recorded_at: float = 0.0
    text: str = ""


class Hit(BaseModel, defer_build=True):
    """One memory that answers."""

    id: str
    hash: str
    type: Literal["paragraph", "episode"]
    content: str
    score: float
    external_id: str = ""
    chat_id: str = ""
    source: str = ""
    speaker: str = ""
    person_ids: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    time: HitTime = Field(default_factory=HitTime)
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    explain: dict[str, Any] = Field(default_factory=dict)


class RetrievalResult(ScopedResponse):
    """Hits, best first."""

    mode: str = "search"
    hits: list[Hit] = Field(default_factory=list)
    facts: list[FactItem] = Field(
        default_factory=list,
        description="What is known of the persons and entities that the query names, if it asks for it.",
    )
    summary: str = Field(default="", description="The first hits as numbered lines, for a prompt.")
    filtered: bool = Field(default=False, description="True if the chat filter refused the call.")
    degraded: list[str] = Field(default_factory=list, description="Lanes that did not answer.")
    disabled: bool = Field(default=False, description="True if the memory is switched off.")

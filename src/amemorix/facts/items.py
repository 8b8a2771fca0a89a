"""A fact as callers see it."""

from __future__ import annotations

from pydantic import BaseModel, Field

__all__ = ["FactItem"]


class FactItem(BaseModel, defer_build=True):
    """What is known of a person or an entity; times in epoch seconds."""

    id: str
    person_id: str = ""
    person: str = Field(default="", description="The person's name.")
    entity: str = Field(default="", description="The entity's name, of a fact about one.")
    attribute: str = Field(
        description="Such as `residence`, `allergy`, `favourite:颜色`; `statement` for a whole text."
    )
    value: str
    denied: bool = Field(default=False, description="True: it is known not to be so (not allergic, does not like).")
    status: str = Field(description="`active`, `conflicted`, `superseded` or `retracted`; with `as_of` as it was then.")
    conflicts_with: list[str] = Field(default_factory=list, description="Facts among these that contradict it.")
    authority: str = Field(description="`manual`, `direct_user`, `imported`, `summary`, `rule` or `model`.")
    stability: str
    confidence: float
    valid_from: float
    valid_to: float | None = None
    recorded_at: float
    superseded_at: float | None = None
    superseded_by: str = ""
    chat_id: str = Field(default="", description="The chat that may see it; empty for everyone.")
    evidence_ids: list[str] = Field(default_factory=list, description="Paragraphs that state it.")

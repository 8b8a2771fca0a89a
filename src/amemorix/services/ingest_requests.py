"""What a caller may hand over to be stored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, field_validator, model_validator

from ..ops import Request
from ..retrieval.request import Name, RequiredName, TimeInput
from ..text import normalise_name

__all__ = ["EntityInput", "IngestMessages", "IngestSummary", "IngestText", "Message", "RelationInput"]


Names = Annotated[list[RequiredName], Field(max_length=1000)]


def _named(value: str) -> str:
    if not normalise_name(value):
        raise ValueError("has no letters or digits to be known by")
    return value


class EntityInput(Request):
    """A named thing; a bare string is its name."""

    name: RequiredName
    type: Name = ""
    aliases: list[RequiredName] = Field(
        default_factory=list, max_length=100, description="Other names that mean it, in every chat."
    )

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _has_a_name(cls, value: str) -> str:
        return _named(value)

    @field_validator("aliases")
    @classmethod
    def _have_names(cls, value: list[str]) -> list[str]:
        return [_named(alias) for alias in value]


class RelationInput(Request):
    """Subject, predicate, object."""

    subject: RequiredName
    predicate: RequiredName
    object: RequiredName
    confidence: float = Field(1.0, ge=0, le=1)

    @field_validator("subject", "object")
    @classmethod
    def _has_a_name(cls, value: str) -> str:
        return _named(value)

    @model_validator(mode="after")
    def _two_ends(self) -> RelationInput:
        if normalise_name(self.subject) == normalise_name(self.object):
            raise ValueError("subject and object are the same: a relation joins two different things")
        return self


class _Ingest(Request):
    chat_id: Name = Field("", description="The chat it belongs to; without one everybody may find it.")
    user_id: Name = Field("", description="The private chat's user; stands for the chat when `chat_id` is not given.")
    group_id: Name = Field("", description="The chat's group; stands for the chat when `chat_id` is not given.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Kept as it is, given back with every hit.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    expires_at: TimeInput = Field(
        None,
        description="From then on it is hidden, and soon in the recycle bin; of a day or month named, its last moment. "
        "The same id and text with another time changes the time, `never` lifts it.",
    )
    ttl_seconds: float | None = Field(None, gt=0, description="The same, counted from now.")

    @model_validator(mode="after")
    def _one_expiry(self) -> _Ingest:
        if self.ttl_seconds is not None and self.expires_at is not None:
            raise ValueError("expires_at and ttl_seconds mean the same: give one of them")
        return self


class IngestText(_Ingest):
    """Arguments of `ingest_text`."""

    external_id: RequiredName = Field(description="The caller's id: the same id and text again changes nothing.")
    source_type: Annotated[RequiredName, Field(max_length=64)] = Field(
        description="What kind of text it is, such as `note`."
    )
    text: str = Field(description="The text; a long one becomes several paragraphs.")
    source: Name = Field("", description="Name of its source; `source_type:chat_id` when not given.")
    scope: Literal["chat", "global"] = Field("chat", description="`global`: every chat may find it.")
    person_ids: Names = Field(default_factory=list, description="Persons it is about.")
    participants: Names = Field(default_factory=list, description="Persons who took part, by name or id.")
    timestamp: TimeInput = Field(None, description="When it happened; `time_start` and `time_end` for a stretch.")
    time_start: TimeInput = Field(None, validation_alias=AliasChoices("time_start", "event_time_start"))
    time_end: TimeInput = Field(None, validation_alias=AliasChoices("time_end", "event_time_end"))
    tags: Names = Field(default_factory=list)
    knowledge_type: Literal["auto", "factual", "narrative", "quote"] = Field(
        "auto", description="What kind of text it is, which decides how it is cut and read; `auto` tells by its form."
    )
    entities: list[EntityInput] = Field(default_factory=list, max_length=1000)
    relations: list[RelationInput] = Field(default_factory=list, max_length=1000)


class Message(Request):
    """One chat turn."""

    text: str = Field(description="What was said.")
    speaker: Name = Field("", description="Display name of who said it.")
    person_id: Name = Field("", description="Id of who said it; the display name when not given.")
    external_id: Name = Field("", description="The caller's id of the turn; made up when not given.")
    time: TimeInput = Field(
        None, validation_alias=AliasChoices("time", "timestamp"), description="When it was said; now when not given."
    )
    tags: Names = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)


class IngestSummary(_Ingest):
    """Arguments of `ingest_summary`."""

    external_id: RequiredName = Field(description="The caller's id: the same id and text again changes nothing.")
    chat_id: RequiredName = Field(description="The chat that is summarised.")
    text: str = Field(
        "",
        description="The summary. Empty: the memory writes it in the background, over all messages of the chat that no "
        "summary covers yet; the arguments below, but for `messages`, then come from those.",
    )
    participants: Names = Field(default_factory=list, description="Who took part, by name or id.")
    person_ids: Names = Field(default_factory=list, description="Persons it is about.")
    time_start: TimeInput = Field(None, description="When the stretch begins.")
    time_end: TimeInput = Field(None, description="When it ends.")
    tags: Names = Field(default_factory=list)
    messages: list[Message] = Field(
        default_factory=list,
        description="What was said, stored as by `ingest_messages`; without an `external_id` of its own, a turn is known "
        "by the call's and its place.",
    )


class IngestMessages(_Ingest):
    """Arguments of `ingest_messages`."""

    messages: list[Message] = Field(min_length=1, description="Turns in the order they were said.")
    source: Name = Field("", description="Name of their source; `chat:CHAT_ID` when not given.")

    @model_validator(mode="after")
    def _has_a_chat(self) -> IngestMessages:
        if not (self.chat_id or self.group_id or self.user_id):
            raise ValueError("chat_id is required (or group_id, or user_id)")
        return self

"""`get_context`: what the memory knows that matters now, as one block of text for a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, model_validator

from ..fields import MAX_QUERY_CHARS, AskingRequest, Count, Name, RequiredName
from ..ingest.operations import Message
from ..ops import Operations, ScopedResponse
from .language.dialogue import speaker_role

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["Context", "ContextLine", "ContextMessage", "GetContext", "Section", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Section = Literal["persons", "facts", "memories", "plans"]


class ContextMessage(Message):
    """One of the last turns, as `ingest_messages` takes them; one whose role or speaker is a bot's is the answering side."""

    role: Name = Field("", description="`user`, `assistant`, `system` …, as chat models have it.")

    @model_validator(mode="wrap")
    @classmethod
    def _with_role(cls, value: Any, read: ModelWrapValidatorHandler[ContextMessage]) -> ContextMessage:
        role = cast(dict[str, Any], value).get("role") if isinstance(value, dict) else None
        message = read(value)
        return message.model_copy(update={"role": role}) if isinstance(role, str) else message

    @property
    def by(self) -> str:
        """What kind of speaker it is of: `user`, `bot`, `other`, or empty for somebody with a name."""
        return speaker_role(self.role or self.speaker)


class GetContext(AskingRequest):
    """The last turns of a chat, who is there, and how much room there is."""

    messages: list[ContextMessage] = Field(
        default_factory=list, max_length=50, description="The last turns of the chat, the oldest first."
    )
    query: str = Field(
        "", max_length=MAX_QUERY_CHARS, description="What to look for; the last turns of the users when not given."
    )
    persons: Annotated[list[RequiredName], Field(max_length=50)] = Field(
        default_factory=list,
        description="Who is there, by id, name or alias; without it whoever speaks in `messages` and is no bot, and the "
        "`user_id`. The first 8 are told of.",
    )
    budget: Count = Field(
        800, ge=50, le=20_000,
        description="Most tokens of the text, as estimated: 1 for each Chinese, Japanese or Korean character, and a quarter "
        "of its length, rounded up, for each other word.",
    )  # fmt: skip
    language: Literal["auto", "zh", "en"] = Field(
        "auto", description="In which headings and labels are; `auto` goes by the messages, then by what is known."
    )
    limit: Count = Field(20, ge=1, le=200, description="Most hits of the search that are looked at.")
    min_confidence: float = Field(0.05, ge=0, le=1, description="Hits that are less likely to matter stay out.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")


class ContextLine(BaseModel, defer_build=True):
    """A line of the text."""

    id: str = Field(
        description="Paragraph, fact or relation (`p12`, `f7`, `r3`), for `maintain_memory used`; empty for a profile that "
        "was written by hand."
    )
    section: Section = Field(
        description="`persons` who they are, `facts` what is held true, `memories` what was said, `plans` what is open."
    )
    text: str
    time: float | None = Field(default=None, description="Since when, or when it was said, in epoch seconds.")
    speaker: str = Field(default="", description="Who said it, or whom it is about.")
    confidence: float = 1.0
    evidence: list[str] = Field(default_factory=list, description="Paragraphs that it stands on.")


class Context(ScopedResponse):
    """What the next answer should know."""

    text: str = Field(default="", description="The lines below their headings, ready for a prompt; may be empty.")
    tokens: int = Field(default=0, description="Of the text, estimated as the `budget` is.")
    lines: list[ContextLine] = Field(default_factory=list, description="In the order of the text.")
    language: Literal["zh", "en"] = "en"
    truncated: bool = Field(default=False, description="True if the budget had no room for some lines.")
    weak: bool = Field(default=False, description="True if the search found nothing likely: no memories are told.")
    degraded: list[str] = Field(default_factory=list, description="Lanes of the search that did not answer.")
    filtered: bool = Field(default=False, description="True if the chat filter refused the call.")
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


@ops.operation("get_context")
async def get_context(kernel: SDKMemoryKernel, request: GetContext) -> Context:
    """Tell who is there, what is held true, what was said and what is planned, as text for a prompt within a budget."""
    if not kernel.config.plugin.enabled:
        return Context(disabled=True)
    return await kernel.contexts.context(request)

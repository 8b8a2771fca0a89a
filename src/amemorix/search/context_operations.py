"""`get_context`: what the memory knows that matters now, as one block of text for a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from ..fields import MAX_QUERY_CHARS, AskingRequest, RequiredName
from ..ops import Operations, ScopedResponse
from .operations import ContextMessage

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["Context", "ContextLine", "ContextMessage", "GetContext", "Section", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Section = Literal["persons", "facts", "memories", "plans"]


class GetContext(AskingRequest):
    """The last turns of a chat, who is there, and how much room there is."""

    asks: ClassVar[bool] = True

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
    budget: int = Field(
        800, ge=50, le=20_000,
        description="Most tokens of the text, as estimated: 1 for each Chinese, Japanese or Korean character, and a quarter "
        "of its length, rounded up, for each other word.",
    )  # fmt: skip
    language: Literal["auto", "zh", "en"] = Field(
        "auto", description="In which headings and labels are; `auto` goes by the messages, then by what is known."
    )
    limit: int = Field(40, ge=1, le=200, description="Most hits of the search that are looked at.")
    min_confidence: float | None = Field(
        None, ge=0, le=1,
        description="Hits that are less likely to matter stay out. At 0 the likeliest fill the budget, unless none is likely. "
        "Without it, it is 0 where something is asked, and 0.1 where the last turns ask nothing.",
    )  # fmt: skip
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
    weak: bool = Field(
        default=False, description="True if no hit of the search is likely to matter: then none is in the text."
    )
    degraded: list[str] = Field(default_factory=list, description="Lanes of the search that did not answer.")
    filtered: bool = Field(default=False, description="True if the chat filter refused the call.")
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


@ops.operation("get_context")
async def get_context(kernel: SDKMemoryKernel, request: GetContext) -> Context:
    """Tell who is there, what is held true, what was said and what is planned, as text for a prompt within a budget."""
    if not kernel.config.plugin.enabled:
        return Context(disabled=True)
    return await kernel.contexts.context(request)

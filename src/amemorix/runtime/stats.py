"""`memory_stats`: what is stored, and how current the indexes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..ops import Operations, Request, Response
from ..version import __version__, commit

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ChatState", "EmbeddingState", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class StatsRequest(Request):
    """No arguments."""


class EmbeddingState(BaseModel):
    """How far the vectors are."""

    state: str = "off"
    provider: str = ""
    model: str = ""
    dimension: int = 0
    generation: int = 0
    serving_generation: int = 0
    done: int = 0
    pending: int = 0
    failed: int = 0
    rate: float = 0.0
    error: str = ""


class ChatCounts(BaseModel):
    """What a task asked of the chat model, on all days."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatState(BaseModel):
    """The chat model, and what it was asked."""

    state: str = "off"
    provider: str = ""
    model: str = ""
    daily_token_budget: int = Field(default=0, description="0 sets no limit.")
    tokens_today: int = Field(default=0, description="Questions and answers together, since midnight UTC.")
    tasks: dict[str, ChatCounts] = Field(default_factory=dict)
    error: str = Field(default="", description="What the last question met with; empty if it was answered.")
    notice: str = ""


class Statistics(Response):
    """Counts of live rows, unless their name says otherwise; persons and chats are all that ever were."""

    paragraphs: int = 0
    superseded: int = Field(default=0, description="Paragraphs replaced by a newer revision.")
    deleted: int = Field(default=0, description="Paragraphs deleted while they were live, or expired.")
    relations: int = 0
    entities: int = Field(default=0, description="Those that a live paragraph names.")
    persons: int = 0
    chats: int = 0
    episodes: int = Field(default=0, description="Those with a live paragraph.")
    sources: int = 0
    external_refs: int = 0
    lag: dict[str, int] = Field(default_factory=dict, description="Changes each projection has not taken up yet.")
    embedding: EmbeddingState = Field(default_factory=EmbeddingState)
    chat: ChatState = Field(default_factory=ChatState)
    summaries_waiting: int = Field(default=0, description="Chats with messages that are to be summarised.")
    notice: str = Field(default="", description="What a person should know, such as a model that is missing.")
    data_dir: str = ""
    version: str = Field(default="", description="The program's.")
    commit: str = Field(default="", description="What the program was built from; `unknown` if nothing tells.")
    disabled: bool = False


@ops.operation("memory_stats", role="read")
async def memory_stats(kernel: SDKMemoryKernel, request: StatsRequest) -> Statistics:  # noqa: ARG001
    """Count what is stored and tell how current the indexes are."""
    return Statistics(
        **await kernel.statistics(), notice=kernel.vectors.notice, data_dir=str(kernel.store.folder),
        version=__version__, commit=commit(), disabled=not kernel.config.plugin.enabled,
    )  # fmt: skip

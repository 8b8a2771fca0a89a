"""`search_memory`: find what the memory knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from pydantic import AliasChoices, BaseModel, Field, ModelWrapValidatorHandler, field_validator, model_validator

from ..facts.query import FactItem
from ..fields import MAX_QUERY_CHARS, ManyChatsRequest, Name, Tags, TimeInput
from ..ingest.operations import Message
from ..ops import Operations, ScopedResponse
from .language.dialogue import speaker_role

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["MODES", "ContextMessage", "Hit", "HitTime", "KernelSearchRequest", "RetrievalResult", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Mode = Literal["search", "time", "hybrid", "episode", "aggregate"]
TURNS = 6
"""Of the last turns so many are searched for."""
MODES: tuple[str, ...] = get_args(Mode)


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


class KernelSearchRequest(ManyChatsRequest):
    """Arguments of `search_memory`."""

    asks: ClassVar[bool] = True

    query: str = Field("", max_length=MAX_QUERY_CHARS, description="What to look for; optional in mode `time`.")
    messages: list[ContextMessage] = Field(
        default_factory=list, max_length=50,
        description="The last turns of the chat, the oldest first, in place of a query or before it; what they say is no hit.",
    )  # fmt: skip
    limit: int = Field(
        5,
        ge=1,
        le=200,
        validation_alias=AliasChoices("limit", "top_k", "k"),
        description="Most hits to return; `top_k` and `k` mean the same.",
    )
    mode: Mode = Field(
        "search",
        description="`search` by words and meaning; `time` within a window; `hybrid` both; `episode` whole stretches of "
        "talk; `aggregate` all of them merged.",
    )
    person_id: Name = Field("", description="Only what is bound to this person (id, name or alias).")
    source: Name = Field("", description="Only what came from the source of this name.")
    source_type: Name = Field("", description="Only what came from sources of this kind.")
    tags: Tags = Field(
        default_factory=list, description="Only what has all of these tags; an episode, if each of its texts has."
    )
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
    min_score: float = Field(
        0.0, ge=0, le=1, validation_alias=AliasChoices("min_score", "min_confidence"),
        description="Leave out hits whose confidence is lower; `min_confidence` means the same.",
    )  # fmt: skip
    min_similarity: float | None = Field(
        None, ge=0, le=1,
        description="Leave out hits whose `similarity` is lower; those stay of which it is not known. Given, be it 0, every hit "
        "is compared, if need be by asking the model once more.",
    )  # fmt: skip
    gate: bool = Field(
        True, description="Return nothing where no hit is likely to answer; `false`: return the best there are."
    )
    fusion: Literal["weighted", "rrf"] = Field(
        "weighted",
        description="`weighted` sums what speaks for a hit; `rrf` orders by reciprocal ranks alone: the sum of "
        "1 / (`rrf_k` + rank) over words and meaning, which is then the `score`.",
    )
    rrf_k: int = Field(60, ge=1, le=10_000, description="With `rrf`: the higher, the more lower ranks count.")
    stage1: int | None = Field(
        None,
        ge=1,
        le=1_000,
        description="With `rrf`: so many of the best by words and by meaning take part; four times the `limit` when not given.",
    )
    used: bool = Field(
        False, description="The caller uses the first hits (`lifecycle.access_top`): they fade later. Costs no time."
    )

    @property
    def asked(self) -> str:
        """What is searched for: the last turns and the query, for what answers a turn is often about the ones before."""
        turns = [message.text for message in self.messages if message.text][-TURNS:]
        return "\n".join([*turns, *([self.query] if self.query else ())])[-MAX_QUERY_CHARS:]

    @field_validator("mode", mode="before")
    @classmethod
    def _known_mode(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().lower() == "semantic":
            raise ValueError(f"mode `semantic` was removed; use `search`. Allowed: {', '.join(MODES)}")
        return value.strip().lower() if isinstance(value, str) else value


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
    score: float = Field(description="What the hits are ordered by, 0..1.")
    confidence: float = Field(default=1.0, description="How likely it answers the query, 0..1; calibrated.")
    similarity: float | None = Field(
        default=None,
        description="Cosine of the model's vectors of query and text, from 0 (unrelated or opposed) to 1 (the same text), "
        "without the names of known persons; the highest of an episode's paragraphs that answer. Null: no model answers or reads it, not "
        "in time, or it would have to be asked and `min_similarity` is not given.",
    )
    external_id: str = ""
    chat_id: str = ""
    source: str = ""
    source_type: str = ""
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
    corrected: dict[str, str] = Field(
        default_factory=dict,
        description="What of the query was taken for a slip, a homophone or pinyin -> the chat's own word that was "
        "searched for, because nothing likely was found by the words as written.",
    )
    weak: bool = Field(default=False, description="No hit is likely to answer the query: use them with care, or not.")
    summary: str = Field(default="", description="The first hits as numbered lines, for a prompt.")
    filtered: bool = Field(default=False, description="True if the chat filter refused the call.")
    degraded: list[str] = Field(default_factory=list, description="Lanes that did not answer.")
    disabled: bool = Field(default=False, description="True if the memory is switched off.")


@ops.operation("search_memory")
async def search_memory(kernel: SDKMemoryKernel, request: KernelSearchRequest) -> RetrievalResult:
    """Search long-term memory by words, meaning, time and person; every hit says why it was found."""
    if not kernel.config.plugin.enabled:
        return RetrievalResult(mode=request.mode, disabled=True)
    result = await kernel.search.search(request)
    if request.used:
        kernel.lifecycle.note_use([hit.id for hit in result.hits[: kernel.config.lifecycle.access_top]])
    return result

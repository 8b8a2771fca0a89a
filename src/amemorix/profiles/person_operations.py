"""`get_person_profile`: what is known of a person, as far as the asking chat may know it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, Field

from ..fields import MAX_QUERY_CHARS, AskingRequest, RequiredName
from ..ids import paragraph_key
from ..ingest.operations import Message
from ..lazy_regex import lazy_regex
from ..ops import Operations, ScopedResponse
from ..store.access import Caller
from ..store.ports import Connection
from .evidence import ProfileEvidence, evidence_of
from .items import ProfileItem, score
from .service import Asked, Profile

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["PersonProfile", "Statement", "ops", "profile_answer", "statements_of"]

ops: Operations[SDKMemoryKernel] = Operations()
TRAITS = 16
TURNS = 6
"""Of the last turns so many are asked for."""
_LINES = lazy_regex(r"[\n。；;]+|(?<=[.!?])\s+")


class GetPersonProfile(AskingRequest):
    """Whose profile, for whom."""

    asks: ClassVar[bool] = True

    person_id: RequiredName = Field(description="Id of the person, or a name or alias by which the chat knows them.")
    limit: int = Field(10, ge=1, le=200, description="Most pieces of evidence.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    query: str = Field(
        "",
        max_length=MAX_QUERY_CHARS,
        description="What it is asked for: the statements that matter for it come first.",
    )
    messages: list[Message] = Field(
        default_factory=list, max_length=50, description="The last turns of the chat, in place of a query or before it."
    )
    max_tokens: int = Field(
        0, ge=0, le=20_000,
        description="Most tokens of the text, as `get_context` counts them; 0: `profile.max_tokens`.",
    )  # fmt: skip


class Statement(BaseModel):
    """One thing that is known of a person."""

    section: str = Field(
        description="`identity`, `allergies`, `likes`, `dislikes`, `relations`, `habits`, `plans`, `notes`, `recent`."
    )
    statement: str
    kind: str = Field(
        description="`said` in the person's words, `told` of them, `fact` a typed value, `relation`, or put by a `model`."
    )
    evidence: list[str] = Field(description="Ids of paragraphs, relations and facts.")
    confidence: float
    score: float = Field(description="How much it matters and how sure it is, less what age takes off.")
    time: float = Field(description="When it was said, in epoch seconds.")


class PersonProfile(ScopedResponse):
    """What is known of a person."""

    known: bool = Field(default=False, description="Whether the asking chat knows the person at all.")
    person_id: str = ""
    person_name: str = ""
    aliases: list[str] = Field(default_factory=list)
    summary: str = Field(default="", description="The profile as text.")
    traits: list[str] = Field(default_factory=list, description="The same as short statements, the surest first.")
    items: list[Statement] = Field(
        default_factory=list,
        description="The statements with their evidence, the weightiest first; none beside an override.",
    )
    evidence: list[ProfileEvidence] = Field(default_factory=list, description="None beside an override.")
    profile_source: str = Field(default="auto_snapshot", description="`auto_snapshot` or `manual_override`.")
    has_manual_override: bool = False
    version: int = 0
    updated_at: float = 0.0
    stale: bool = Field(default=False, description="There is news that has not been read yet; it is on its way.")
    filtered: bool = Field(default=False, description="The chat filter does not serve this chat.")
    disabled: bool = False


@ops.operation("get_person_profile")
async def get_person_profile(kernel: SDKMemoryKernel, request: GetPersonProfile) -> PersonProfile:
    """Tell what is known of a person, with the evidence, as far as the asking chat may see it; asks no model."""
    if not kernel.config.plugin.enabled:
        return PersonProfile(person_id=request.person_id, disabled=True)
    caller = Caller.of(request)

    turns = [message.text for message in request.messages if message.text][-TURNS:]
    text = "\n".join([*turns, *([request.query] if request.query else ())])[-MAX_QUERY_CHARS:]
    scope = request.model_dump(include={"chat_id", "group_id", "user_id", "include_private", "respect_filter"})
    asked = Asked(text, await kernel.search.confidences(text, **scope)) if text else None

    def read(db: Connection) -> PersonProfile:
        profile = kernel.profiles.profile(db, request.person_id, caller)
        profile = kernel.profiles.cut(profile, caller, asked, request.max_tokens)
        return profile_answer(profile, evidence_of(db, profile.items, request.limit))

    return await kernel.store.read(read)


def profile_answer(profile: Profile, evidence: list[ProfileEvidence], *, behind: bool = False) -> PersonProfile:
    """A profile as it is answered; with `behind` also what an override stands in the place of."""
    override = profile.override
    hidden = override is not None and not behind
    items = [] if hidden else statements_of(profile.items)
    if override is None:
        # what somebody said lately is no trait
        ranked = sorted((item for item in items if item.section != "recent"), key=lambda item: -item.score)
        traits = list(dict.fromkeys(item.statement for item in ranked))[:TRAITS]
    else:
        traits = [line for line in (piece.strip() for piece in _LINES.split(override.text)) if line][:TRAITS]
    return PersonProfile(
        known=profile.is_known,
        person_id=profile.known.person_id,
        person_name=profile.known.name,
        aliases=list(profile.known.aliases),
        summary=profile.text if override is None else override.text,
        traits=traits,
        items=items,
        evidence=[] if hidden else evidence,
        profile_source="auto_snapshot" if override is None else "manual_override",
        has_manual_override=override is not None,
        version=profile.version,
        updated_at=profile.updated_at if override is None else override.updated_at,
        stale=profile.stale and profile.is_known,
        filtered=profile.filtered,
    )


def statements_of(items: Sequence[ProfileItem]) -> list[Statement]:
    """Items as they are answered."""
    newest = max((item.at for item in items), default=0.0)
    return [
        Statement(
            section=item.section,
            statement=item.statement + item.mark,
            kind=item.basis,
            evidence=[*([item.ref] if item.ref else ()), *map(paragraph_key, item.evidence)],
            confidence=item.confidence,
            score=score(item, newest),
            time=item.at,
        )
        for item in items
    ]

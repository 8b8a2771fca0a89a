"""`get_person_profile`: what is known of a person, as far as the asking chat may know it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from ..fields import AskingRequest, Count, RequiredName
from ..ids import paragraph_key
from ..lazy_regex import lazy_regex
from ..ops import Operations, ScopedResponse
from ..store.access import Caller
from ..store.ports import Connection
from .evidence import Evidence
from .items import ProfileItem, score
from .query import Profile

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["EvidenceItem", "PersonProfile", "Statement", "evidence_items", "ops", "statements_of", "told"]

ops: Operations[SDKMemoryKernel] = Operations()
TRAITS = 16
_LINES = lazy_regex(r"[\n。；;]+|(?<=[.!?])\s+")


class GetProfile(AskingRequest):
    """Whose profile, for whom."""

    person_id: RequiredName = Field(description="Id of the person, or a name or alias by which the chat knows them.")
    limit: Count = Field(10, ge=1, le=200, description="Most pieces of evidence.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")


class Statement(BaseModel):
    """One thing that is known of a person."""

    section: str = Field(
        description="`identity`, `allergies`, `likes`, `dislikes`, `relations`, `habits`, `plans`, `notes`, `recent`."
    )
    statement: str
    kind: str = Field(
        description="`said` in the person's words, `told` of them, `fact`, `relation`, `topic`, or put by a `model`."
    )
    evidence: list[str] = Field(description="Ids of paragraphs, relations and facts.")
    confidence: float
    score: float = Field(description="Confidence, less what age takes off.")
    time: float = Field(description="When it was said, in epoch seconds.")


class EvidenceItem(BaseModel):
    """Something that the profile stands on."""

    id: str
    type: str = Field(description="`paragraph`, `relation` or `fact`.")
    content: str
    metadata: dict[str, Any]
    time: float = Field(description="Epoch seconds.")
    score: float
    confidence: float
    section: str
    source: str
    source_type: str
    deletable: bool = Field(description="Whether `memory_profile_admin` `correct_evidence` takes it.")


class PersonProfile(ScopedResponse):
    """What is known of a person."""

    known: bool = Field(default=False, description="Whether the asking chat knows the person at all.")
    person_id: str = ""
    person_name: str = ""
    aliases: list[str] = Field(default_factory=list)
    summary: str = Field(default="", description="The profile as text.")
    traits: list[str] = Field(default_factory=list, description="The same as short statements, the surest first.")
    items: list[Statement] = Field(
        default_factory=list, description="The statements with their evidence; none beside an override."
    )
    evidence: list[EvidenceItem] = Field(default_factory=list, description="None beside an override.")
    profile_source: str = Field(default="auto_snapshot", description="`auto_snapshot` or `manual_override`.")
    has_manual_override: bool = False
    version: int = 0
    updated_at: float = 0.0
    stale: bool = Field(
        default=False, description="There is news that the profile does not tell yet; it is on its way."
    )
    filtered: bool = Field(default=False, description="The chat filter does not serve this chat.")
    disabled: bool = False


@ops.operation("get_person_profile")
async def get_person_profile(kernel: SDKMemoryKernel, request: GetProfile) -> PersonProfile:
    """Tell what is known of a person, with the evidence, as far as the asking chat may see it; asks no model."""
    if not kernel.config.plugin.enabled:
        return PersonProfile(person_id=request.person_id, disabled=True)
    caller = Caller.of(request)

    def read(db: Connection) -> PersonProfile:
        profile = kernel.profile_reader.profile(db, request.person_id, caller)
        return told(profile, kernel.profile_evidence.of(db, profile.items, request.limit))

    return await kernel.store.read(read)


def told(profile: Profile, evidence: Sequence[Evidence], *, behind: bool = False) -> PersonProfile:
    """A profile as it is answered; with `behind` also what an override stands in the place of."""
    override = profile.override
    hidden = override is not None and not behind
    items = [] if hidden else statements_of(profile.items)
    return PersonProfile(
        known=profile.is_known,
        person_id=profile.known.person_id,
        person_name=profile.known.name,
        aliases=list(profile.known.aliases),
        summary=profile.text if override is None else override.text,
        traits=_traits(items) if override is None else _lines(override.text),
        items=items,
        evidence=[] if hidden else evidence_items(evidence),
        profile_source="auto_snapshot" if override is None else "manual_override",
        has_manual_override=override is not None,
        version=profile.version,
        updated_at=profile.updated_at if override is None else override.updated_at,
        stale=profile.stale and profile.is_known,
        filtered=profile.filtered,
    )


def _traits(items: Sequence[Statement]) -> list[str]:
    """The surest statements; what somebody lately talks about is no trait."""
    ranked = sorted((item for item in items if item.section != "recent"), key=lambda item: -item.score)
    return list(dict.fromkeys(item.statement for item in ranked))[:TRAITS]


def _lines(text: str) -> list[str]:
    return [line for line in (piece.strip() for piece in _LINES.split(text)) if line][:TRAITS]


def statements_of(items: Sequence[ProfileItem]) -> list[Statement]:
    """Items as they are answered."""
    newest = max((item.at for item in items), default=0.0)
    return [
        Statement(
            section=item.section,
            statement=item.statement,
            kind=item.basis,
            evidence=_keys(item),
            confidence=item.confidence,
            score=score(item, newest),
            time=item.at,
        )
        for item in items
    ]


def _keys(item: ProfileItem) -> list[str]:
    own = [f"{item.basis[0]}{item.ref}"] if item.basis in ("fact", "relation") else []
    return own + [paragraph_key(row) for row in item.evidence]


def evidence_items(evidence: Sequence[Evidence]) -> list[EvidenceItem]:
    """Evidence as it is answered."""
    return [
        EvidenceItem(
            id=one.id,
            type=one.type,
            content=one.content,
            metadata=dict(one.metadata),
            time=one.time,
            score=one.score,
            confidence=one.confidence,
            section=one.section,
            source=one.source,
            source_type=one.source_type,
            deletable=one.deletable,
        )
        for one in evidence
    ]

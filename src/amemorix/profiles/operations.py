"""`memory_profile_admin`: look at profiles and mend them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AliasChoices, BaseModel, Field, field_validator

from ..errors import NotFound
from ..fields import Count, Name, RequiredName
from ..ids import paragraph_key
from ..language.normalise import clean_text, normalise_name
from ..ops import Operations, Request, Response
from ..store.ports import Connection
from . import rows as profile_rows
from .person import Who, person_found, person_row
from .person_operations import EvidenceItem, PersonProfile, Statement, evidence_items, statements_of, told

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
LARGEST_OFFSET = 2**62
LONGEST_TEXT = 20_000
EVIDENCE = 12
"""Pieces of evidence of a profile that is shown after a change."""


class AskProfile(Who):
    """Whose profile to show."""

    limit: Count = Field(
        12, ge=1, le=200, validation_alias=AliasChoices("limit", "top_k"), description="Most pieces of evidence."
    )


class WholeProfile(PersonProfile):
    """A profile with what stands behind an override: its statements and evidence are those that are derived."""

    items: list[Statement] = Field(
        default_factory=list, description="What is derived, with its evidence, also where an override is shown."
    )
    evidence: list[EvidenceItem] = Field(
        default_factory=list, description="Of what is derived, also where an override is shown."
    )
    auto_summary: str = Field(default="", description="What is derived, also where an override is shown.")
    manual_override_text: str = ""
    override_updated_by: str = ""


class FullProfile(WholeProfile):
    """All that is known of a person."""


class EvidenceList(Response):
    """The evidence of a profile."""

    person_id: str = ""
    person_name: str = ""
    evidence: list[EvidenceItem] = Field(default_factory=list)
    count: int = 0


class CorrectEvidence(Who):
    """Which piece of evidence is wrong."""

    evidence_id: RequiredName = Field(
        validation_alias=AliasChoices("evidence_id", "hash", "id"), description="`p12` a paragraph, `r12` a relation."
    )
    requested_by: Name = ""
    reason: Name = ""
    refresh: bool = Field(True, description="Derive the profile again.")
    limit: Count = Field(12, ge=1, le=200, description="Most pieces of evidence of the profile that is answered.")


class Corrected(Response):
    """What was deleted, and the profile without it."""

    operation_id: int = Field(default=0, description="By it `undo_evidence` gives it back.")
    deleted_paragraphs: list[str] = Field(default_factory=list)
    deleted_relations: list[str] = Field(default_factory=list)
    profile: WholeProfile = Field(default_factory=WholeProfile)


class UndoEvidence(Request):
    """Which correction to undo."""

    operation_id: Count = Field(ge=1, le=LARGEST_OFFSET, description="What `correct_evidence` answered.")
    refresh: bool = Field(True, description="Derive the profile again.")
    limit: Count = Field(12, ge=1, le=200, description="Most pieces of evidence of the profile that is answered.")


class GivenBack(Response):
    """What is there again, and the profile with it."""

    restored_paragraphs: list[str] = Field(default_factory=list)
    restored_relations: list[str] = Field(default_factory=list)
    profile: WholeProfile = Field(default_factory=WholeProfile)


class ListProfiles(Request):
    """Which profiles to list."""

    keyword: Name = Field("", description="Only persons whose id, name or alias holds it.")
    limit: Count = Field(50, ge=1, le=200)
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)


class ProfileEntry(BaseModel):
    """A person with a profile."""

    person_id: str
    person_name: str
    aliases: list[str]
    summary: str
    has_manual_override: bool
    version: int
    updated_at: float = Field(description="Epoch seconds.")


class Profiles(Response):
    """Profiles, the last changed first."""

    items: list[ProfileEntry] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class SetOverride(Who):
    """What to show in the place of the profile."""

    text: str = Field(
        max_length=LONGEST_TEXT, validation_alias=AliasChoices("text", "override_text"), description="Shown everywhere."
    )
    updated_by: Name = ""
    source: Name = Field("admin", description="Where the text comes from.")

    @field_validator("text")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not (text := clean_text(value)):
            raise ValueError("there is no text; `delete_override` takes an override away")
        return text


class OverrideDeleted(Response):
    """The override is gone."""

    deleted: bool = True
    profile: WholeProfile = Field(default_factory=WholeProfile)


class History(Who):
    """Whose snapshots to list."""

    limit: Count = Field(20, ge=1, le=1000)
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)


class Snapshot(BaseModel):
    """What was known of a person from one chat, as far as it still stands."""

    chat_id: str = Field(description="Empty for what everyone may see.")
    version: int
    summary: str
    items: list[Statement]
    confidence: float
    updated_at: float


class Snapshots(Response):
    """Snapshots, the last derived first."""

    person_id: str = ""
    items: list[Snapshot] = Field(default_factory=list)
    count: int = 0
    total: int = 0


@ops.operation("memory_profile_admin", "query")
async def query(kernel: SDKMemoryKernel, request: AskProfile) -> FullProfile:
    """Show all that is known of a person, from every chat."""
    return await kernel.store.read(lambda db: _asked(kernel, db, request))


@ops.operation("memory_profile_admin", "evidence")
async def evidence(kernel: SDKMemoryKernel, request: AskProfile) -> EvidenceList:
    """List what a profile stands on."""

    def read(db: Connection) -> EvidenceList:
        profile = kernel.profile_reader.of_row(db, person_row(kernel, db, request.person_id))
        found = evidence_items(kernel.profile_evidence.of(db, profile.items, request.limit))
        known = profile.known
        return EvidenceList(person_id=known.person_id, person_name=known.name, evidence=found, count=len(found))

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "correct_evidence", effect="destructive")
async def correct_evidence(kernel: SDKMemoryKernel, request: CorrectEvidence) -> Corrected:
    """Delete a piece of evidence that is wrong, and derive the profile again."""
    now = kernel.surroundings.clock.now()
    row = await person_found(kernel, request)

    def unit(db: Connection) -> Corrected:
        gone = kernel.profile_evidence.retract(
            db, row, request.evidence_id, requested_by=request.requested_by, reason=request.reason, now=now
        )
        if request.refresh:
            kernel.profiles.want(db, row)
        return Corrected(
            operation_id=gone.undo,
            deleted_paragraphs=[paragraph_key(row) for row in gone.paragraphs],
            deleted_relations=[f"r{row}" for row in gone.relations],
        )

    result = await kernel.store.write(unit)
    profile = await kernel.store.read(lambda db: _full(kernel, db, row, request.limit))
    return result.model_copy(update={"profile": profile})


@ops.operation("memory_profile_admin", "undo_evidence", effect="write")
async def undo_evidence(kernel: SDKMemoryKernel, request: UndoEvidence) -> GivenBack:
    """Give back the evidence that `correct_evidence` deleted, and derive the profile again."""
    refresh = kernel.profiles.want if request.refresh else None
    back = await kernel.evidence.undo(request.operation_id, refresh=refresh)
    profile = await kernel.store.read(lambda db: _full(kernel, db, back.person, request.limit))
    return GivenBack(
        restored_paragraphs=[paragraph_key(row) for row in back.paragraphs],
        restored_relations=[f"r{row}" for row in back.relations],
        profile=profile,
    )


@ops.operation("memory_profile_admin", "list")
async def list_profiles(kernel: SDKMemoryKernel, request: ListProfiles) -> Profiles:
    """List the persons who have a profile or an override."""

    def read(db: Connection) -> Profiles:
        keyword = request.keyword.lower() or None
        folded = normalise_name(request.keyword) or keyword
        rows, total = profile_rows.listed(db, keyword, folded, request.limit, request.offset)
        items = [_entry(kernel, db, row.row, row.updated_at) for row in rows]
        return Profiles(items=items, count=len(items), total=total)

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "set_override", effect="write")
async def set_override(kernel: SDKMemoryKernel, request: SetOverride) -> FullProfile:
    """Show a text in the place of a person's profile, in every chat."""
    row, now = await person_found(kernel, request), kernel.surroundings.clock.now()
    await kernel.store.write(
        lambda db: profile_rows.put_override(
            db, row, request.text, updated_by=request.updated_by, source=request.source, now=now
        )
    )
    return await kernel.store.read(lambda db: _full(kernel, db, row, EVIDENCE))


@ops.operation("memory_profile_admin", "delete_override", effect="write")
async def delete_override(kernel: SDKMemoryKernel, request: Who) -> OverrideDeleted:
    """Show a person's derived profile again."""
    row = await person_found(kernel, request)
    if not await kernel.store.write(lambda db: profile_rows.delete_override(db, row)):
        raise NotFound(f"person_id: {request.person_id!r} has no override.", field="person_id")
    return OverrideDeleted(profile=await kernel.store.read(lambda db: _full(kernel, db, row, EVIDENCE)))


@ops.operation("memory_profile_admin", "history")
async def history(kernel: SDKMemoryKernel, request: History) -> Snapshots:
    """List what was known of a person at earlier times, without what has been deleted since."""

    def read(db: Connection) -> Snapshots:
        row = person_row(kernel, db, request.person_id)
        versions, total = kernel.profile_reader.history(db, row, request.limit, request.offset)
        chats = {scope: kernel.store.names.chat_of(db, scope) for scope in {one.scope for one in versions}}
        items = [
            Snapshot(
                chat_id=chat.chat_id if (chat := chats[one.scope]) else "",
                version=one.version,
                summary=one.text,
                items=statements_of(one.items),
                confidence=one.confidence,
                updated_at=one.derived_at,
            )
            for one in versions
        ]
        known = kernel.profile_reader.known(db, row)
        return Snapshots(person_id=known.person_id, items=items, count=len(items), total=total)

    return await kernel.store.read(read)


def _asked(kernel: SDKMemoryKernel, db: Connection, request: AskProfile) -> FullProfile:
    row = kernel.profile_reader.row(db, request.person_id)
    return FullProfile(person_id=request.person_id) if row is None else _full(kernel, db, row, request.limit)


def _full(kernel: SDKMemoryKernel, db: Connection, row: int, limit: int) -> FullProfile:
    profile = kernel.profile_reader.of_row(db, row)
    shown = told(profile, kernel.profile_evidence.of(db, profile.items, limit), behind=True)
    override = profile.override
    behind = {
        "auto_summary": profile.text,
        "manual_override_text": override.text if override else "",
        "override_updated_by": override.updated_by if override else "",
    }
    return FullProfile.model_validate({**shown.model_dump(), **behind})


def _entry(kernel: SDKMemoryKernel, db: Connection, row: int, updated_at: float) -> ProfileEntry:
    profile = kernel.profile_reader.of_row(db, row)
    return ProfileEntry(
        person_id=profile.known.person_id,
        person_name=profile.known.name,
        aliases=list(profile.known.aliases),
        summary=profile.override.text if profile.override else profile.text,
        has_manual_override=profile.override is not None,
        version=profile.version,
        updated_at=updated_at,
    )

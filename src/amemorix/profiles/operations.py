"""`memory_profile_admin`: look at profiles, mend them, and name persons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import AliasChoices, BaseModel, Field, field_validator

from ..errors import NotFound
from ..fields import LetteredName, Name, Offset, RequiredName
from ..ids import HIGHEST, paragraph_key
from ..language.normalise import clean_text, normalise_name
from ..ops import Operations, Request, Response
from ..store import operations as operation_rows
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from ..store.rows.persons import EVERY_CHAT
from . import rows as profile_rows
from .evidence import ProfileEvidence, Retraction, evidence_of, give_back, retract
from .person_operations import PersonProfile, Statement, profile_answer, statements_of

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
LONGEST_TEXT = 20_000
EVIDENCE = 12
"""Pieces of evidence of a profile that is shown after a change."""


class Who(Request):
    """A person, by id, name or alias."""

    person_id: RequiredName = Field(
        validation_alias=AliasChoices("person_id", "person_keyword", "keyword"), description="Id, name or alias."
    )


class AskProfile(Who):
    """Whose profile to show."""

    limit: int = Field(
        12, ge=1, le=200, validation_alias=AliasChoices("limit", "top_k"), description="Most pieces of evidence."
    )


class WholeProfile(PersonProfile):
    """A profile with what stands behind an override: its statements and evidence are those that are derived."""

    items: list[Statement] = Field(
        default_factory=list, description="What is derived, with its evidence, also where an override is shown."
    )
    evidence: list[ProfileEvidence] = Field(
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
    evidence: list[ProfileEvidence] = Field(default_factory=list)
    count: int = 0


class CorrectEvidence(Who):
    """Which piece of evidence is wrong."""

    evidence_id: RequiredName = Field(
        validation_alias=AliasChoices("evidence_id", "hash", "id"), description="`p12` a paragraph, `r12` a relation."
    )
    requested_by: Name = ""
    reason: Name = ""
    refresh: bool = Field(True, description="Of no effect: a profile is read when it is asked for.")
    limit: int = Field(12, ge=1, le=200, description="Most pieces of evidence of the profile that is answered.")


class Corrected(Response):
    """What was deleted, and the profile without it."""

    operation_id: int = Field(default=0, description="By it `undo_evidence` gives it back.")
    deleted_paragraphs: list[str] = Field(default_factory=list)
    deleted_relations: list[str] = Field(default_factory=list)
    profile: WholeProfile = Field(default_factory=WholeProfile)


class UndoEvidence(Request):
    """Which correction to undo."""

    operation_id: int = Field(ge=1, le=HIGHEST, description="What `correct_evidence` answered.")
    refresh: bool = Field(True, description="Of no effect: a profile is read when it is asked for.")
    limit: int = Field(12, ge=1, le=200, description="Most pieces of evidence of the profile that is answered.")


class GivenBack(Response):
    """What is there again, and the profile with it."""

    restored_paragraphs: list[str] = Field(default_factory=list)
    restored_relations: list[str] = Field(default_factory=list)
    profile: WholeProfile = Field(default_factory=WholeProfile)


class ListProfiles(Request):
    """Which profiles to list."""

    keyword: Name = Field("", description="Only persons whose id, name or alias holds it.")
    limit: int = Field(50, ge=1, le=200)
    offset: Offset = 0


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
    """Of whom to tell how it was."""

    limit: int = Field(20, ge=1, le=1000)
    offset: Offset = 0


class Snapshot(BaseModel):
    """What was known of a person from one chat after a change, as far as it still stands."""

    chat_id: str = Field(description="Empty for what everyone may see.")
    version: int
    summary: str
    items: list[Statement]
    confidence: float
    updated_at: float


class Snapshots(Response):
    """What was known after each change, the last first."""

    person_id: str = ""
    items: list[Snapshot] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class Alias(Who):
    """A further name of a person."""

    alias: LetteredName
    chat_id: Name = Field("", description="The chat where it counts; everywhere when not given.")


class Aliases(Response):
    """The names of a person as they are now."""

    changed: bool = Field(default=False, description="False if the alias was there already.")
    person_id: str = ""
    person_name: str = ""
    aliases: list[str] = Field(default_factory=list)


class ProfileStatusRequest(Request):
    """Which tasks to list."""

    status: Literal["", "pending", "processing", "completed", "failed"] = Field(
        "", description="Only these; all when empty."
    )
    limit: int = Field(20, ge=1, le=1000)
    offset: Offset = 0


class ProfileTask(BaseModel):
    """The deriving of one profile, as versions that kept profiles told of it."""

    person_id: str
    status: str
    attempts: int
    due_at: float
    error: str
    updated_at: float


class ProfileStatus(Response):
    """How far profiles are behind; nothing of them is derived, so there are no tasks."""

    enabled: bool = True
    by_chat_model: bool = False
    lag: int = Field(default=0, description="Changes that no fact has been read from yet.")
    pending: int = 0
    processing: int = 0
    completed: int = 0
    failed: int = 0
    tasks: list[ProfileTask] = Field(default_factory=list)


class ProcessProfiles(Request):
    """How much to read."""

    limit: int = Field(20, ge=1, le=1000, description="Most steps, of some hundred changes each.")


class ProfilesProcessed(Response):
    """What was read."""

    processed: int = Field(default=0, description="Steps.")
    failed: int = 0
    remaining: int = Field(default=0, description="Changes not read yet.")


class Refreshed(Response):
    """Whether there is news that has not been read yet."""

    person_id: str = ""
    queued: bool = True


@ops.operation("memory_profile_admin", "query")
async def query(kernel: SDKMemoryKernel, request: AskProfile) -> FullProfile:
    """Show all that is known of a person, from every chat."""

    def read(db: Connection) -> FullProfile:
        row = kernel.profiles.row(db, request.person_id)
        return FullProfile(person_id=request.person_id) if row is None else _full(kernel, db, row, request.limit)

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "evidence")
async def evidence(kernel: SDKMemoryKernel, request: AskProfile) -> EvidenceList:
    """List what a profile stands on."""

    def read(db: Connection) -> EvidenceList:
        profile = kernel.profiles.of_row(db, person_row(kernel, db, request.person_id))
        found = evidence_of(db, profile.items, request.limit)
        known = profile.known
        return EvidenceList(person_id=known.person_id, person_name=known.name, evidence=found, count=len(found))

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "correct_evidence", effect="destructive")
async def correct_evidence(kernel: SDKMemoryKernel, request: CorrectEvidence) -> Corrected:
    """Delete a piece of evidence that is wrong; the profile is answered without it."""
    now = kernel.surroundings.clock.now()
    row = await person_found(kernel, request)

    def unit(db: Connection) -> Corrected:
        gone = retract(db, row, request.evidence_id, requested_by=request.requested_by, reason=request.reason, now=now)
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
    """Give back the evidence that `correct_evidence` deleted; the profile is answered with it."""

    def unit(db: Connection) -> tuple[Retraction, int | None]:
        back = give_back(db, request.operation_id, kernel.surroundings.clock.now())
        return back, operation_rows.lower_watermarks(db, back.paragraphs)

    back, unembedded = await kernel.store.write(unit)
    if unembedded is not None:
        kernel.vectors.embedding.look_again(unembedded)
    profile = await kernel.store.read(lambda db: _full(kernel, db, back.person, request.limit))
    return GivenBack(
        restored_paragraphs=[paragraph_key(row) for row in back.paragraphs],
        restored_relations=[f"r{row}" for row in back.relations],
        profile=profile,
    )


@ops.operation("memory_profile_admin", "list")
async def list_profiles(kernel: SDKMemoryKernel, request: ListProfiles) -> Profiles:
    """List the persons of whom something was said, or written by hand."""

    def read(db: Connection) -> Profiles:
        keyword = request.keyword.lower() or None
        folded = normalise_name(request.keyword) or keyword
        rows, total = profile_rows.listed(db, keyword, folded, request.limit, request.offset)
        items: list[ProfileEntry] = []
        for row, updated_at in rows:
            profile = kernel.profiles.of_row(db, row)
            items.append(
                ProfileEntry(
                    person_id=profile.known.person_id,
                    person_name=profile.known.name,
                    aliases=list(profile.known.aliases),
                    summary=profile.override.text if profile.override else profile.text,
                    has_manual_override=profile.override is not None,
                    version=profile.version,
                    updated_at=updated_at,
                )
            )
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
        versions, total = kernel.profiles.history(
            db, row, min(request.limit, kernel.config.profile.max_history), request.offset
        )
        known, items = kernel.profiles.known(db, row), list[Snapshot]()
        for version, statements, text in versions:
            chat = kernel.store.names.chat_of(db, version.scope)
            items.append(
                Snapshot(
                    chat_id=chat.chat_id if chat else "",
                    version=version.number,
                    summary=text,
                    items=statements_of(statements),
                    confidence=max((item.confidence for item in statements), default=0.0),
                    updated_at=version.at,
                )
            )
        return Snapshots(person_id=known.person_id, items=items, count=len(items), total=total)

    return await kernel.store.read(read)


@ops.operation("memory_profile_admin", "add_alias", effect="write")
async def add_alias(kernel: SDKMemoryKernel, request: Alias) -> Aliases:
    """Let a further name mean a person, in one chat or everywhere."""
    row, now = await person_found(kernel, request, request.chat_id), kernel.surroundings.clock.now()

    def unit(db: Connection) -> tuple[bool, list[str]]:
        chat = _chat(kernel, db, request.chat_id) or EVERY_CHAT
        norm = normalise_name(request.alias)
        kernel.indexes.names.catch_up(db)
        owners = kernel.indexes.names.index.owners(norm, None if chat == EVERY_CHAT else (chat, EVERY_CHAT))
        person = person_rows.names(db, row)
        same = {row, *(one.row for one in person_rows.namesakes(db, person))} if person else {row}
        known = (person_rows.names(db, one) for one in sorted(owners - same))
        others = [one.person_id for one in known if one is not None]  # whom the name means there too
        added = person_rows.add_alias(db, row, chat, (request.alias, norm), "admin", now)
        return added, others

    added, others = await kernel.store.write(unit)
    answer = await _aliases(kernel, row, request.chat_id, added)
    if not others:
        return answer
    told = f"alias: {request.alias!r} is also the name of {', '.join(others[:10])}; the name alone means several persons now."
    return answer.model_copy(update={"warnings": [told]})


@ops.operation("memory_profile_admin", "remove_alias", effect="write")
async def remove_alias(kernel: SDKMemoryKernel, request: Alias) -> Aliases:
    """Take a further name away from a person: in one chat, or wherever it counts."""
    row = await person_found(kernel, request, request.chat_id)

    def unit(db: Connection) -> None:
        chat = _chat(kernel, db, request.chat_id)
        if not person_rows.remove_alias(db, row, chat, normalise_name(request.alias)):
            raise NotFound(f"alias: {request.person_id!r} has no alias {request.alias!r} there.", field="alias")

    await kernel.store.write(unit)
    return await _aliases(kernel, row, request.chat_id, True)


@ops.operation("memory_profile_admin", "status")
async def status(kernel: SDKMemoryKernel, request: ProfileStatusRequest) -> ProfileStatus:  # noqa: ARG001
    """Tell how far profiles are behind: they are read from the facts, and nothing of them waits to be derived."""

    lag = await kernel.store.read(kernel.profiles.lag)
    return ProfileStatus(lag=lag)


@ops.operation("memory_profile_admin", "process_pending", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: ProcessProfiles) -> ProfilesProcessed:
    """Read what profiles are made of out of the news, now."""
    done = 0
    while done < request.limit and await kernel.facts.step():
        done += 1
    return ProfilesProcessed(processed=done, remaining=await kernel.store.read(kernel.profiles.lag))


@ops.operation("memory_profile_admin", "refresh", effect="write")
async def refresh(kernel: SDKMemoryKernel, request: Who) -> Refreshed:
    """Tell whether a person's profile has news to come: it is read anew whenever it is asked for."""
    row = await person_found(kernel, request)

    def read(db: Connection) -> Refreshed:
        return Refreshed(person_id=kernel.profiles.known(db, row).person_id, queued=kernel.profiles.lag(db) > 0)

    return await kernel.store.read(read)


# what they have in common


async def person_found(kernel: SDKMemoryKernel, request: Who, chat_id: str = "") -> int:
    """The row of a person, by what the chat may see; names are looked up as they are stored, before anything is written."""
    return await kernel.store.read(lambda db: person_row(kernel, db, request.person_id, chat_id))


def person_row(kernel: SDKMemoryKernel, db: Connection, key: str, chat_id: str = "") -> int:
    """The row of a person, by id, name or alias. Raises NotFound."""
    row = kernel.profiles.row(db, key, chat_id)
    if row is None:
        raise NotFound(f"person_id: nobody is known as {key!r}.", field="person_id")
    return row


def _full(kernel: SDKMemoryKernel, db: Connection, row: int, limit: int) -> FullProfile:
    profile = kernel.profiles.of_row(db, row)
    shown = profile_answer(profile, evidence_of(db, profile.items, limit), behind=True)
    override = profile.override
    return FullProfile(
        **shown.model_dump(),
        auto_summary=profile.text,
        manual_override_text=override.text if override else "",
        override_updated_by=override.updated_by if override else "",
    )


def _chat(kernel: SDKMemoryKernel, db: Connection, chat_id: str) -> int | None:
    if not chat_id:
        return None
    row = kernel.store.names.chat_row(db, chat_id)
    if row is None:
        raise NotFound(f"chat_id: there is no chat {chat_id!r}.", field="chat_id")
    return row


async def _aliases(kernel: SDKMemoryKernel, row: int, chat_id: str, changed: bool) -> Aliases:
    known = await kernel.store.read(lambda db: kernel.profiles.known(db, row, chat_id))
    return Aliases(changed=changed, person_id=known.person_id, person_name=known.name, aliases=list(known.aliases))

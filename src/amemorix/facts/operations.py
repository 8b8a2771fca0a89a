"""`memory_fact_admin`: what is known of persons and entities, asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator

from ..errors import InvalidRequest, NotFound
from ..fields import AskingRequest, Count, Name, TimeInput
from ..ids import fact_key, paragraph_key
from ..language.normalise import fold, normalise_name
from ..language.time_arguments import read_instant
from ..ops import Operations, Request, Response, ScopedResponse
from ..store.access import Access, Caller
from ..store.ports import Connection
from ..store.rows import entity_names
from . import evidence as fact_evidence
from . import material as fact_material
from . import rows as fact_rows
from .items import FactItem
from .query import FactReader, Moment
from .rows import FactRow

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["LARGEST_ID", "FactId", "entity_meant", "ops", "persons_meant", "row_id", "scopes_seen"]

ops: Operations[SDKMemoryKernel] = Operations()
LARGEST_OFFSET = 2**62
LARGEST_ID = 2**62
Status = Literal["active", "conflicted", "superseded", "retracted"]
EVERY_STATUS: tuple[Status, ...] = ("active", "conflicted", "superseded", "retracted")


def row_id(letter: str) -> Any:
    """Reads an id with or without its letter."""

    def read(value: Any) -> Any:
        if isinstance(value, str):
            bare = value.strip().lower().removeprefix(letter)
            return int(bare) if bare.isascii() and bare.isdigit() and len(bare) < 19 else value
        if isinstance(value, bool):
            raise ValueError(f"must be an id such as {letter}12, not true or false")
        return value

    return BeforeValidator(read, json_schema_input_type=str | int)


FactId = Annotated[int, Field(ge=1, le=LARGEST_ID, description="The fact, such as `f12`."), row_id("f")]


class ListFacts(AskingRequest):
    """Which facts to list."""

    person_id: Name = Field("", description="Only those about this person (id, name or alias).")
    entity: Name = Field("", description="Only those about this entity.")
    attribute: Name = Field("", description="Only this attribute; `favourite` means every `favourite:<thing>`.")
    status: list[Status] = Field(default_factory=list, max_length=4, description="Only these; all when not given.")
    limit: Count = Field(50, ge=1, le=1_000)
    offset: Count = Field(0, ge=0, le=LARGEST_OFFSET)

    @model_validator(mode="before")
    @classmethod
    def _one_status(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("status"), str):
            return {**data, "status": [data["status"]]}
        return data


class QueryFacts(ListFacts):
    """What to look for; at least one of text, person, entity, attribute, status or a time."""

    text: str = Field(
        "", validation_alias=AliasChoices("text", "query"), max_length=1_000, description="Part of a value."
    )
    as_of: TimeInput = Field(None, description="As the memory stood then; wants a person or an entity.")
    valid_at: TimeInput = Field(
        None, description="What was true then, by what is known now; wants a person or an entity."
    )


class Facts(ScopedResponse):
    """Facts, the newest first."""

    items: list[FactItem] = Field(default_factory=list)
    count: int = 0


class GetFact(AskingRequest):
    """The fact to show."""

    fact_id: FactId


class EvidenceItem(BaseModel):
    """A paragraph that states the fact; times in epoch seconds."""

    paragraph_id: str
    stance: str = Field(description="`support`, or `refute` where it was decided that it does not count.")
    at: float = Field(description="Since when it is true by this statement.")
    authority: str
    confidence: float


class TransitionItem(BaseModel):
    """A change of the fact's status."""

    was: str
    became: str
    cause: str = Field(default="", description="The fact that took its place.")
    undo_id: str = ""
    requested_by: str = ""
    reason: str = ""
    at: float


class FactDetail(ScopedResponse):
    """A fact with what supports it and what became of it."""

    fact: FactItem | None = None
    evidence: list[EvidenceItem] = Field(default_factory=list)
    transitions: list[TransitionItem] = Field(default_factory=list)


class ConflictGroup(BaseModel):
    """Facts of one subject that cannot all be true."""

    attribute: str
    person_id: str = ""
    entity: str = ""
    chat_id: str = ""
    facts: list[FactItem] = Field(default_factory=list)


class Conflicts(ScopedResponse):
    """Contradictions that nothing has decided."""

    items: list[ConflictGroup] = Field(default_factory=list)
    count: int = 0


class ListConflicts(AskingRequest):
    """Whose contradictions to list."""

    person_id: Name = Field("", description="Only those about this person (id, name or alias).")
    limit: Count = Field(50, ge=1, le=1_000, description="Most facts that are looked at.")


class FactStatus(Response):
    """How many facts there are, and how current they are."""

    counts: dict[str, int] = Field(default_factory=dict, description="Status -> facts, those without support included.")
    total: int = 0
    lag: int = Field(default=0, description="Changes not read yet.")
    enabled: bool = True


class ProcessPending(Request):
    """Nothing to say."""


class Processed(Response):
    """What was read."""

    steps: int = Field(default=0, description="Batches of changes that were read.")
    lag: int = 0


class AskStatus(Request):
    """Nothing to say."""


# reading


@ops.operation("memory_fact_admin", "list")
async def list_facts(kernel: SDKMemoryKernel, request: ListFacts) -> Facts:
    """List facts, the newest first."""
    return await kernel.store.read(lambda db: _listed(db, kernel, request, ""))


@ops.operation("memory_fact_admin", "query", "search")
async def query_facts(kernel: SDKMemoryKernel, request: QueryFacts) -> Facts:
    """Find facts by words, subject, attribute, status or time."""
    zone = kernel.zones.of(request.chat_id, request.group_id, request.user_id)
    now = kernel.surroundings.clock.now()
    moment = Moment(
        now, read_instant("as_of", request.as_of, now, zone), read_instant("valid_at", request.valid_at, now, zone)
    )
    timed = moment.as_of is not None or moment.valid_at is not None
    if moment.as_of is not None and moment.valid_at is not None:
        raise InvalidRequest("valid_at: ask for one time, as_of or valid_at.", field="valid_at")
    if not any((request.text, request.person_id, request.entity, request.attribute, request.status, timed)):
        raise InvalidRequest("text: say what to look for (text, person_id, entity, attribute, status).", field="text")
    if timed and not (request.person_id or request.entity):
        raise InvalidRequest("person_id: a time wants a person_id or an entity.", field="person_id")
    if timed:
        return await kernel.store.read(lambda db: _at_a_time(db, kernel, request, moment))
    return await kernel.store.read(lambda db: _listed(db, kernel, request, request.text))


@ops.operation("memory_fact_admin", "get", "show")
async def get_fact(kernel: SDKMemoryKernel, request: GetFact) -> FactDetail:
    """Show a fact with its evidence and every change of its status."""
    moment = Moment(kernel.surroundings.clock.now())

    def read(db: Connection) -> FactDetail:
        row = _seen(db, kernel, request)
        evidence = fact_evidence.of(db, [row.id], moment.now).get(row.id, [])
        return FactDetail(
            fact=FactReader(kernel.store).items(db, [row], moment, _scopes(db, kernel, request))[0],
            evidence=[
                EvidenceItem(paragraph_id=paragraph_key(e.paragraph), stance=e.stance, at=e.at, authority=e.authority,
                             confidence=e.confidence)
                for e in evidence
            ],
            transitions=[
                TransitionItem(was=t.was, became=t.became, cause=fact_key(t.cause) if t.cause else "",
                               undo_id=f"u{t.undo}" if t.undo else "", requested_by=t.requested_by, reason=t.reason, at=t.at)
                for t in fact_rows.transitions(db, row.id)
            ],
        )  # fmt: skip

    return await kernel.store.read(read)


@ops.operation("memory_fact_admin", "conflicts")
async def list_conflicts(kernel: SDKMemoryKernel, request: ListConflicts) -> Conflicts:
    """List contradictions that nothing has decided."""
    given = request.model_dump(include={"person_id", "limit", "chat_id", "user_id", "group_id", "include_private"})
    asked = ListFacts.model_validate({**given, "status": ["conflicted"]})
    found = await kernel.store.read(lambda db: _listed(db, kernel, asked, ""))
    groups: dict[tuple[str, str, str, str], ConflictGroup] = {}
    for item in found.items:
        key = (item.person_id, item.entity, item.chat_id, item.attribute)
        group = groups.setdefault(
            key,
            ConflictGroup(attribute=item.attribute, person_id=item.person_id, entity=item.entity, chat_id=item.chat_id),
        )
        group.facts.append(item)
    return Conflicts(items=list(groups.values()), count=len(groups))


@ops.operation("memory_fact_admin", "status")
async def fact_status(kernel: SDKMemoryKernel, request: AskStatus) -> FactStatus:  # noqa: ARG001
    """Count facts by status and tell how current they are."""

    def read(db: Connection) -> FactStatus:
        counts = dict.fromkeys(EVERY_STATUS, 0) | fact_rows.counts(db)
        return FactStatus(
            counts=counts,
            total=sum(counts.values()),
            lag=kernel.facts.lag(db),
            enabled=kernel.config.facts.enabled,
        )

    return await kernel.store.read(read)


@ops.operation("memory_fact_admin", "process_pending", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: ProcessPending) -> Processed:  # noqa: ARG001
    """Read what has been stored since, without waiting for the background."""
    steps = await kernel.facts.drain()
    return Processed(steps=steps, lag=await kernel.store.read(kernel.facts.lag))


# steps


def _scopes(db: Connection, kernel: SDKMemoryKernel, request: AskingRequest) -> tuple[int, ...] | None:
    return scopes_seen(db, kernel, Caller.of(request))


def scopes_seen(db: Connection, kernel: SDKMemoryKernel, caller: Caller) -> tuple[int, ...] | None:
    """What the call may see (None: everything)."""
    return Access(kernel.store.names, kernel.config).scopes(db, caller)


def persons_meant(
    db: Connection, kernel: SDKMemoryKernel, key: str, scopes: Sequence[int] | None
) -> tuple[int, ...] | None:
    """Rows of the persons meant, None if nobody was named."""
    if not key:
        return None
    kernel.indexes.names.catch_up(db)
    return tuple(sorted(kernel.indexes.names.index.matching(key, scopes)))


def entity_meant(db: Connection, name: str, scopes: Sequence[int] | None) -> int | None:
    """The row of the entity named, None if none was, 0 for one that is not known, or not to these chats by this name."""
    if not name:
        return None
    norm = normalise_name(name)
    row = fact_material.entity(db, norm) or 0
    said = entity_names.said(db, [row], scopes).get(row)
    return row if said is None or norm in said else 0


def _listed(db: Connection, kernel: SDKMemoryKernel, request: ListFacts, text: str) -> Facts:
    scopes, moment = _scopes(db, kernel, request), Moment(kernel.surroundings.clock.now())
    rows = fact_rows.listed(
        db, persons=persons_meant(db, kernel, request.person_id, scopes), entity=entity_meant(db, request.entity, scopes),
        attribute=request.attribute or None, statuses=request.status or None, text=fold(text) or None, scopes=scopes,
        now=moment.now, limit=request.limit, offset=request.offset,
    )  # fmt: skip
    items = FactReader(kernel.store).items(db, rows, moment, scopes)
    return Facts(items=items, count=len(items))


def _at_a_time(db: Connection, kernel: SDKMemoryKernel, request: QueryFacts, moment: Moment) -> Facts:
    scopes, reader = _scopes(db, kernel, request), FactReader(kernel.store)
    entity = entity_meant(db, request.entity, scopes)
    rows = reader.of(
        db,
        persons_meant(db, kernel, request.person_id, scopes) or (),
        scopes,
        moment,
        () if entity is None else (entity,),
    )
    kept = [row for row in rows if _asked_for(row, request)][request.offset : request.offset + request.limit]
    items = reader.items(db, kept, moment, scopes)
    return Facts(items=items, count=len(items))


def _asked_for(row: FactRow, request: QueryFacts) -> bool:
    wanted = fold(request.text)
    named = request.attribute in ("", row.attribute, row.attribute.partition(":")[0])
    return named and (not request.status or row.status in request.status) and wanted in fold(row.value)


def _seen(db: Connection, kernel: SDKMemoryKernel, request: GetFact) -> FactRow:
    """The fact, if the call may see it and something still supports it."""
    scopes = _scopes(db, kernel, request)
    row = fact_rows.one(db, request.fact_id)
    known = row is not None and (scopes is None or row.scope in scopes)
    if (
        row is None
        or not known
        or not (row.asserted_at is not None or fact_evidence.of(db, [row.id], kernel.surroundings.clock.now()))
    ):
        raise NotFound(f"fact_id: there is no fact f{request.fact_id}.", field="fact_id")
    return row

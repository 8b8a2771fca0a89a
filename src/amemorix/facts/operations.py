"""`memory_fact_admin`: what is known of persons and entities, asked for and changed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from ..errors import InvalidRequest, NotFound
from ..fields import AskingRequest, Name, Offset, OneOrMore, RequiredName, TimeInput
from ..ids import HIGHEST, fact_key, paragraph_key, row_number
from ..language.normalise import clean_text, fold, normalise_name
from ..language.times import read_instant
from ..ops import Operations, Request, Response, ScopedResponse
from ..store.access import Access, Caller, Sight
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import entity_names
from . import rows as fact_rows
from .editor import Edited, FactEditor, Subject
from .language.slots import attribute_meant
from .ledger import FactLedger
from .query import FactItem, FactReader, Moment

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Status = Literal["active", "maybe_outdated", "conflicted", "superseded", "retracted"]
EVERY_STATUS: tuple[Status, ...] = ("active", "maybe_outdated", "conflicted", "superseded", "retracted")
Kind = Literal[
    "", "identity", "home", "work", "relation", "possession", "health", "preference", "skill", "habit", "plan", "event", "opinion"
]  # fmt: skip


def _row_id(letter: str) -> Any:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            return row_number(value, letter) or value
        if isinstance(value, bool):
            raise ValueError(f"must be an id such as {letter}12, not true or false")
        return value

    return BeforeValidator(read, json_schema_input_type=str | int)


FactId = Annotated[int, Field(ge=1, le=HIGHEST, description="The fact, such as `f12`."), _row_id("f")]


class ListFacts(AskingRequest):
    """Which facts to list."""

    person_id: Name = Field("", description="Only those about this person (id, name or alias).")
    entity: Name = Field("", description="Only those about this entity.")
    attribute: Name = Field("", description="Only this attribute; `favourite` means every `favourite:<thing>`.")
    kind: Kind = Field("", description="Only statements of this kind.")
    status: Annotated[list[Status], OneOrMore] = Field(
        default_factory=list,
        max_length=5,
        description="Only these; all when not given. `active` leaves out what may be outdated.",
    )
    limit: int = Field(50, ge=1, le=1_000)
    offset: Offset = 0


class QueryFacts(ListFacts):
    """What to look for; at least one of text, person, entity, attribute, kind, status or a time."""

    asks: ClassVar[bool] = True

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


class FactEvidence(BaseModel):
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
    evidence: list[FactEvidence] = Field(default_factory=list)
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
    limit: int = Field(50, ge=1, le=1_000, description="Most facts that are looked at.")


class FactStatus(Response):
    """How many facts there are, and how current they are."""

    counts: dict[str, int] = Field(default_factory=dict, description="Status -> facts, those without support included.")
    total: int = 0
    lag: int = Field(default=0, description="Changes not read yet.")
    enabled: bool = True


class ProcessFacts(Request):
    """Nothing to say."""


class FactsProcessed(Response):
    """What was read."""

    steps: int = Field(default=0, description="Batches of changes that were read.")
    lag: int = 0


class FactStatusRequest(Request):
    """Nothing to say."""


LONGEST_VALUE = 1_000
UndoId = Annotated[int, Field(ge=1, le=HIGHEST, description="The undo record, such as `u12`."), _row_id("u")]


class _ByHand(Request):
    requested_by: Name = ""
    reason: Name = Field("", description="Kept with the change.")


class Resolve(_ByHand):
    """Which of several facts is true."""

    winner: Annotated[FactId, Field(validation_alias=AliasChoices("winner", "fact_id"))]


class AddFact(_ByHand):
    """A fact to be vouched for; its subject is a person or an entity."""

    person_id: Name = Field("", description="The person (id, or a name that is only one person's).")
    entity: Name = Field("", description="The entity, by name.")
    attribute: Annotated[
        RequiredName,
        Field(
            max_length=64,
            description="Such as `residence`; words that mean one of the known attributes are read as it.",
        ),
    ]
    value: str = Field(min_length=1, max_length=LONGEST_VALUE)
    denied: bool = Field(False, description="True: it is not so.")
    chat_id: Name = Field("", description="The chat that may see it; everyone when not given.")
    valid_from: TimeInput = Field(None, description="Since when it is true; now when not given.")


class Retract(_ByHand):
    """The fact that was never true."""

    fact_id: FactId


class Supersede(_ByHand):
    """The fact that is no longer true, and what is true instead: another fact, or a new value."""

    fact_id: FactId
    superseded_by: FactId | None = None
    value: str = Field("", max_length=LONGEST_VALUE)
    valid_from: TimeInput = Field(None, description="Since when the new value is true; now when not given.")


class UndoFactChange(_ByHand):
    """The change to take back."""

    undo_id: UndoId


class Changed(Response):
    """What the change came to."""

    fact: FactItem | None = None
    facts: list[FactItem] = Field(default_factory=list, description="Every fact whose status changed, as it is now.")
    undo_id: str = Field(default="", description="What `undo` takes to take it back.")


# reading


@ops.operation("memory_fact_admin", "list")
async def list_facts(kernel: SDKMemoryKernel, request: ListFacts) -> Facts:
    """List facts, the newest first."""
    moment = Moment(kernel.surroundings.clock.now())
    return await kernel.store.read(lambda db: _listed(db, kernel, request, "", moment))


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
    given = (request.text, request.person_id, request.entity, request.attribute, request.kind, request.status, timed)
    if not any(given):
        raise InvalidRequest(
            "text: say what to look for (text, person_id, entity, attribute, kind, status).", field="text"
        )
    if timed and not (request.person_id or request.entity):
        raise InvalidRequest("person_id: a time wants a person_id or an entity.", field="person_id")
    return await kernel.store.read(lambda db: _listed(db, kernel, request, request.text, moment))


@ops.operation("memory_fact_admin", "get", "show")
async def get_fact(kernel: SDKMemoryKernel, request: GetFact) -> FactDetail:
    """Show a fact with its evidence and every change of its status."""
    moment = Moment(kernel.surroundings.clock.now())

    def read(db: Connection) -> FactDetail:
        scopes = _scopes(db, kernel, Caller.of(request))
        row = fact_rows.one(db, request.fact_id)
        evidence = fact_rows.evidence_of(db, [request.fact_id], moment.now).get(request.fact_id, [])
        unseen = row is None or (scopes is not None and row.scope not in scopes)
        if row is None or unseen or (row.asserted_at is None and not evidence):
            raise NotFound(f"fact_id: there is no fact f{request.fact_id}.", field="fact_id")
        return FactDetail(
            fact=FactReader(kernel.store, kernel.zones).items(db, [row], moment, scopes)[0],
            evidence=[FactEvidence(paragraph_id=paragraph_key(one.paragraph), **asdict(one)) for one in evidence],
            transitions=[
                TransitionItem.model_validate(
                    asdict(one)
                    | {"cause": fact_key(one.cause) if one.cause else "", "undo_id": f"u{one.undo}" if one.undo else ""}
                )
                for one in fact_rows.transitions(db, row.id)
            ],
        )

    return await kernel.store.read(read)


@ops.operation("memory_fact_admin", "conflicts")
async def list_conflicts(kernel: SDKMemoryKernel, request: ListConflicts) -> Conflicts:
    """List contradictions that nothing has decided."""
    given = request.model_dump(include={"person_id", "limit", "chat_id", "user_id", "group_id", "include_private"})
    asked = ListFacts.model_validate({**given, "status": ["conflicted"]})
    moment = Moment(kernel.surroundings.clock.now())
    found = await kernel.store.read(lambda db: _listed(db, kernel, asked, "", moment))
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
async def fact_status(kernel: SDKMemoryKernel, request: FactStatusRequest) -> FactStatus:  # noqa: ARG001
    """Count facts by status and tell how current they are."""

    def read(db: Connection) -> FactStatus:
        counts = dict.fromkeys(EVERY_STATUS, 0) | dict[str, int](db.run("fact_counts").fetchall())
        return FactStatus(
            counts=counts, total=sum(counts.values()), lag=kernel.facts.lag(db), enabled=kernel.config.facts.enabled
        )

    return await kernel.store.read(read)


@ops.operation("memory_fact_admin", "process_pending", effect="write")
async def process_pending(kernel: SDKMemoryKernel, request: ProcessFacts) -> FactsProcessed:  # noqa: ARG001
    """Read what has been stored since, without waiting for the background."""
    steps = await kernel.facts.drain()
    return FactsProcessed(steps=steps, lag=await kernel.store.read(kernel.facts.lag))


# changing


@ops.operation("memory_fact_admin", "resolve", effect="write")
async def resolve_conflict(kernel: SDKMemoryKernel, request: Resolve) -> Changed:
    """Say which of contradicting facts is true; the others are superseded by it."""
    return await _edited(kernel, request, lambda editor: editor.resolve(request.winner))


@ops.operation("memory_fact_admin", "add", effect="write")
async def add_fact(kernel: SDKMemoryKernel, request: AddFact) -> Changed:
    """Add a fact by hand; a later statement of no less authority may supersede it."""
    value, attribute = clean_text(request.value), attribute_meant(request.attribute)
    subject = await kernel.store.read(lambda db: _subject(db, kernel, request))
    if not value:
        raise InvalidRequest("value: there is nothing in it.", field="value")
    at, polarity = _instant(kernel, "valid_from", request.valid_from, request.chat_id), -1 if request.denied else 1
    changed = await _edited(
        kernel, request, lambda editor: editor.add(subject, attribute, value, polarity, at), request.chat_id
    )
    if attribute == request.attribute:
        return changed
    told = f"attribute: {request.attribute!r} was taken for {attribute!r}."
    return changed.model_copy(update={"warnings": [told]})


@ops.operation("memory_fact_admin", "retract", effect="write")
async def retract_fact(kernel: SDKMemoryKernel, request: Retract) -> Changed:
    """Say that a fact was never true; the text it was read from stays."""
    return await _edited(kernel, request, lambda editor: editor.retract(request.fact_id))


@ops.operation("memory_fact_admin", "supersede", effect="write")
async def supersede_fact(kernel: SDKMemoryKernel, request: Supersede) -> Changed:
    """Say what is true in the place of a fact."""
    value = clean_text(request.value)
    if (request.superseded_by is None) == (not value):
        raise InvalidRequest("value: give either a new value or superseded_by.", field="value")
    at = _instant(kernel, "valid_from", request.valid_from)
    return await _edited(
        kernel, request, lambda editor: editor.supersede(request.fact_id, request.superseded_by, value, at)
    )


@ops.operation("memory_fact_admin", "undo", effect="write")
async def undo_change(kernel: SDKMemoryKernel, request: UndoFactChange) -> Changed:
    """Take a change back, one made by hand or one that a newer statement made."""
    return await _edited(kernel, request, lambda editor: editor.undo(request.undo_id))


# steps


def _scopes(db: Connection, kernel: SDKMemoryKernel, caller: Caller) -> tuple[int, ...] | None:
    return Access(kernel.store.names, kernel.config).scopes(db, caller)


def _persons_meant(
    db: Connection, kernel: SDKMemoryKernel, key: str, scopes: Sequence[int] | None
) -> tuple[int, ...] | None:
    if not key:
        return None
    kernel.indexes.names.catch_up(db)
    return tuple(sorted(kernel.indexes.names.index.matching(key, scopes)))


def _entity_meant(db: Connection, name: str, scopes: Sequence[int] | None) -> int | None:
    """The row of the entity named, None if none was, 0 for one that is not known, or not to these chats by this name."""
    if not name:
        return None
    norm = normalise_name(name)
    found = db.run("fact_entity_by_norm", norm=norm).fetchone()
    row = found[0] if found else 0
    said = entity_names.said(db, [row], scopes).get(row)
    return row if said is None or norm in said else 0


def _listed(db: Connection, kernel: SDKMemoryKernel, request: ListFacts, text: str, moment: Moment) -> Facts:
    scopes, reader = _scopes(db, kernel, Caller.of(request)), FactReader(kernel.store, kernel.zones)
    persons = _persons_meant(db, kernel, request.person_id, scopes)
    entity = _entity_meant(db, request.entity, scopes)
    if moment.as_of is None and moment.valid_at is None:
        rows = fact_rows.listed(
            db, persons=persons, entity=entity, attribute=request.attribute or None, kind=request.kind or None,
            statuses=request.status or None,
            text=fold(text) or None, scopes=scopes, now=moment.now, limit=request.limit, offset=request.offset,
        )  # fmt: skip
    else:
        held = reader.of(db, persons or (), scopes, moment, () if entity is None else (entity,))
        rows = [
            row
            for row in held
            if request.attribute in ("", row.attribute, row.attribute.partition(":")[0])
            and request.kind in ("", row.kind)
            and (not request.status or row.shown_status in request.status)
            and fold(text) in fold(row.value)
        ][request.offset : request.offset + request.limit]
    items = reader.items(db, rows, moment, scopes)
    return Facts(items=items, count=len(items))


def _instant(kernel: SDKMemoryKernel, field: str, value: Any, chat_id: str = "") -> float | None:
    return read_instant(field, value, kernel.surroundings.clock.now(), kernel.zones.of(chat_id))


def _subject(db: Connection, kernel: SDKMemoryKernel, request: AddFact) -> Subject:
    if bool(request.person_id) == bool(request.entity):
        raise InvalidRequest("person_id: a fact is about a person_id or about an entity.", field="person_id")
    scope = kernel.store.names.chat_row(db, request.chat_id) if request.chat_id else 0
    if scope is None:
        raise NotFound(f"chat_id: nothing is stored for the chat {request.chat_id!r}.", field="chat_id")
    scopes = _scopes(db, kernel, Caller(request.chat_id)) if request.chat_id else None
    persons = _persons_meant(db, kernel, request.person_id, scopes)
    if persons == ():
        raise NotFound(f"person_id: nobody is known as {request.person_id!r}.", field="person_id")
    if persons is not None and len(persons) > 1:
        raise InvalidRequest(f"person_id: {request.person_id!r} may be {len(persons)} persons.", field="person_id")
    entity = _entity_meant(db, request.entity, scopes)
    sight = Sight(scopes, kernel.surroundings.clock.now())
    if entity is not None and not entity_rows.is_seen(db, entity, sight):
        raise NotFound(f"entity: there is no entity {request.entity!r}.", field="entity")
    return persons[0] if persons else None, entity, scope


async def _edited(
    kernel: SDKMemoryKernel, request: _ByHand, edit: Callable[[FactEditor], Edited], chat_id: str = ""
) -> Changed:
    now = kernel.surroundings.clock.now()

    def unit(db: Connection) -> Edited:
        by = {"requested_by": request.requested_by, "reason": request.reason}
        return edit(FactEditor(db, FactLedger(), **by, now=now))

    facts, undo = await kernel.store.write(unit)

    def read(db: Connection) -> list[FactItem]:
        rows = [row for fact in facts if (row := fact_rows.one(db, fact)) is not None]
        scopes = _scopes(db, kernel, Caller(chat_id)) if chat_id else None
        return FactReader(kernel.store, kernel.zones).items(db, rows, Moment(kernel.surroundings.clock.now()), scopes)

    items = await kernel.store.read(read)
    return Changed(fact=items[0] if items else None, facts=items, undo_id=f"u{undo}")

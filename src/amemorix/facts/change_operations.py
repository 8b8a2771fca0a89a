"""`memory_fact_admin`: what a hand changes about facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, Field

from ..errors import InvalidRequest, NotFound
from ..fields import Name, RequiredName, TimeInput
from ..language.normalise import clean_text
from ..language.time_arguments import read_instant
from ..ops import Operations, Request, Response
from ..store.access import Caller, Sight
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from . import rows as fact_rows
from .editor import By, Edited, NewFact
from .items import FactItem
from .language.slots import attribute_meant
from .operations import LARGEST_ID, FactId, entity_meant, persons_meant, row_id, scopes_seen
from .query import FactReader, Moment

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
LONGEST_VALUE = 1_000
UndoId = Annotated[int, Field(ge=1, le=LARGEST_ID, description="The undo record, such as `u12`."), row_id("u")]


class _Change(Request):
    requested_by: Name = ""
    reason: Name = Field("", description="Kept with the change.")


class Resolve(_Change):
    """Which of several facts is true."""

    winner: Annotated[FactId, Field(validation_alias=AliasChoices("winner", "fact_id"))]


class AddFact(_Change):
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


class Retract(_Change):
    """The fact that was never true."""

    fact_id: FactId


class Supersede(_Change):
    """The fact that is no longer true, and what is true instead: another fact, or a new value."""

    fact_id: FactId
    superseded_by: FactId | None = None
    value: str = Field("", max_length=LONGEST_VALUE)
    valid_from: TimeInput = Field(None, description="Since when the new value is true; now when not given.")


class Undo(_Change):
    """The change to take back."""

    undo_id: UndoId


class Changed(Response):
    """What the change came to."""

    fact: FactItem | None = None
    facts: list[FactItem] = Field(default_factory=list, description="Every fact whose status changed, as it is now.")
    undo_id: str = Field(default="", description="What `undo` takes to take it back.")


@ops.operation("memory_fact_admin", "resolve", effect="write")
async def resolve_conflict(kernel: SDKMemoryKernel, request: Resolve) -> Changed:
    """Say which of contradicting facts is true; the others are superseded by it."""
    return await _changed(kernel, await kernel.fact_editor.resolve(request.winner, _by(request)))


@ops.operation("memory_fact_admin", "add", effect="write")
async def add_fact(kernel: SDKMemoryKernel, request: AddFact) -> Changed:
    """Add a fact by hand; a later statement of no less authority may supersede it."""
    new = await kernel.store.read(lambda db: _new_fact(db, kernel, request))
    changed = await _changed(kernel, await kernel.fact_editor.add(new, _by(request)), request.chat_id)
    if new.attribute == request.attribute:
        return changed
    told = f"attribute: {request.attribute!r} was taken for {new.attribute!r}."
    return changed.model_copy(update={"warnings": [told]})


@ops.operation("memory_fact_admin", "retract", effect="write")
async def retract_fact(kernel: SDKMemoryKernel, request: Retract) -> Changed:
    """Say that a fact was never true; the text it was read from stays."""
    return await _changed(kernel, await kernel.fact_editor.retract(request.fact_id, _by(request)))


@ops.operation("memory_fact_admin", "supersede", effect="write")
async def supersede_fact(kernel: SDKMemoryKernel, request: Supersede) -> Changed:
    """Say what is true in the place of a fact."""
    value = clean_text(request.value)
    if (request.superseded_by is None) == (not value):
        raise InvalidRequest("value: give either a new value or superseded_by.", field="value")
    at = _instant(kernel, "valid_from", request.valid_from)
    edited = await kernel.fact_editor.supersede(request.fact_id, request.superseded_by, value, at, _by(request))
    return await _changed(kernel, edited)


@ops.operation("memory_fact_admin", "undo", effect="write")
async def undo_change(kernel: SDKMemoryKernel, request: Undo) -> Changed:
    """Take a change back, one made by hand or one that a newer statement made."""
    return await _changed(kernel, await kernel.fact_editor.undo(request.undo_id, _by(request)))


# steps


def _by(request: _Change) -> By:
    return By(request.requested_by, request.reason)


def _instant(kernel: SDKMemoryKernel, field: str, value: Any, chat_id: str = "") -> float | None:
    return read_instant(field, value, kernel.surroundings.clock.now(), kernel.zones.of(chat_id))


def _new_fact(db: Connection, kernel: SDKMemoryKernel, request: AddFact) -> NewFact:
    if bool(request.person_id) == bool(request.entity):
        raise InvalidRequest("person_id: a fact is about a person_id or about an entity.", field="person_id")
    value = clean_text(request.value)
    if not value:
        raise InvalidRequest("value: there is nothing in it.", field="value")
    scope = kernel.store.names.chat_row(db, request.chat_id) if request.chat_id else 0
    if scope is None:
        raise NotFound(f"chat_id: nothing is stored for the chat {request.chat_id!r}.", field="chat_id")
    scopes = _scopes(db, kernel, request.chat_id)
    persons = persons_meant(db, kernel, request.person_id, scopes)
    if persons == ():
        raise NotFound(f"person_id: nobody is known as {request.person_id!r}.", field="person_id")
    if persons is not None and len(persons) > 1:
        raise InvalidRequest(f"person_id: {request.person_id!r} may be {len(persons)} persons.", field="person_id")
    entity = entity_meant(db, request.entity, scopes)
    sight = Sight(scopes, kernel.surroundings.clock.now())
    if entity is not None and not entity_rows.is_seen(db, entity, sight):
        raise NotFound(f"entity: there is no entity {request.entity!r}.", field="entity")
    return NewFact(
        persons[0] if persons else None, entity, scope, attribute_meant(request.attribute), value, -1 if request.denied else 1,
        _instant(kernel, "valid_from", request.valid_from, request.chat_id),
    )  # fmt: skip


def _scopes(db: Connection, kernel: SDKMemoryKernel, chat_id: str) -> tuple[int, ...] | None:
    return scopes_seen(db, kernel, Caller(chat_id)) if chat_id else None


async def _changed(kernel: SDKMemoryKernel, edited: Edited, chat_id: str = "") -> Changed:
    moment = Moment(kernel.surroundings.clock.now())

    def read(db: Connection) -> list[FactItem]:
        rows = [row for fact in edited.facts if (row := fact_rows.one(db, fact)) is not None]
        return FactReader(kernel.store).items(db, rows, moment, _scopes(db, kernel, chat_id))

    items = await kernel.store.read(read)
    return Changed(fact=items[0] if items else None, facts=items, undo_id=f"u{edited.undo}")

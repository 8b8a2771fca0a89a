"""What rooms speak of: entries, what is stored and searched, and the two interfaces; their JSON is in camelCase."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any, Protocol, Self, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ...errors import InvalidRequest
from ...language.normalise import unstorable

__all__ = [
    "LONGEST_ID", "LONGEST_ROOM", "IMemory", "IMemoryAdapter", "MemoryEntry", "MemoryInput", "MemorySearchOptions", "RoomsModel", "checked_id", "checked_room",
]  # fmt: skip

LONGEST_ROOM, LONGEST_ID = 500, 512


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError as exc:
        raise ValueError("is beyond the years 1 to 9999") from exc


def _readable(text: str) -> str:
    if unstorable(text):
        raise ValueError("holds characters that no text has (NUL or half a surrogate pair)")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_readable)]
RoomId = Annotated[Text, Field(max_length=LONGEST_ROOM)]
EntryId = Annotated[Text, Field(max_length=LONGEST_ID)]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Vector = Annotated[list[float], Field(min_length=1)]


class RoomsModel(BaseModel):
    """Read from snake_case or camelCase, written in camelCase by `to_json`."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid", allow_inf_nan=False
    )

    @classmethod
    def read(cls, given: Any) -> Self:
        """A model, or a mapping, as this model. Raises InvalidRequest, which names the field."""
        values = given.model_dump(exclude_none=True) if isinstance(given, BaseModel) else given
        try:
            return given if type(given) is cls else cls.model_validate(values)
        except ValidationError as exc:
            first = exc.errors()[0]
            field = ".".join(map(str, first["loc"])) or "input"
            raise InvalidRequest(f"{field}: {first['msg'].removeprefix('Value error, ')}.", field=field) from exc

    def to_json(self) -> dict[str, Any]:
        """In camelCase, ready for JSON; what is not set is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class MemoryInput(RoomsModel):
    """What is stored in a room."""

    id: EntryId | None = None
    """A new UUID if it is not given."""
    data: Annotated[Text, AfterValidator(_not_blank)]
    room_id: RoomId
    embedding: Vector | None = None
    """A vector of the caller's own model."""
    expires_at: Moment | None = None
    """From that moment on no answer holds it. Without a zone it is UTC."""


class MemoryEntry(MemoryInput):
    """What a room holds."""

    id: EntryId = Field(default_factory=lambda: str(uuid.uuid4()))  # pyright: ignore[reportIncompatibleVariableOverride]
    created_at: Moment = Field(default_factory=lambda: datetime.now(UTC))


class MemorySearchOptions(RoomsModel):
    """Where and how to search."""

    room_id: RoomId
    limit: int = Field(10, ge=1, le=200)
    min_similarity: float | None = Field(None, ge=0, le=1)
    """Least similarity (cosine, 0..1); no effect where there are no vectors to compare."""
    embedding: Vector | None = None
    """The query's own vector, of the model that made those of the entries."""


class _Place(RoomsModel):
    room_id: RoomId = "-"
    id: EntryId = "-"


def checked_room(room_id: object) -> str:
    """A room's id. Raises InvalidRequest."""
    return _Place.read({"roomId": room_id}).room_id


def checked_id(id: object) -> str:
    """An entry's id. Raises InvalidRequest."""
    return _Place.read({"id": id}).id


@runtime_checkable
class IMemory(Protocol):
    """The memory of an agent, room by room."""

    async def init(self) -> None:
        """Prepare it; every other call does it too."""
        ...

    async def create_memory(self, input: MemoryInput, /) -> MemoryEntry | None:
        """Store an entry, in place of what has its id in the room. None if it could not be stored."""
        ...

    async def get_memory_by_id(self, id: str, room_id: str, /) -> MemoryEntry | None:
        """The entry of this room with this id."""
        ...

    async def search_memory(self, query: str, options: MemorySearchOptions, /) -> list[MemoryEntry]:
        """Find entries by meaning and words, best first."""
        ...

    async def get_all_memories(self, room_id: str, /) -> list[MemoryEntry]:
        """Everything in the room, the oldest first."""
        ...

    async def delete_memory_by_id(self, id: str, room_id: str, /) -> None:
        """Delete it; no error if it is not there."""
        ...

    async def clear_memories(self, room_id: str, /) -> None:
        """Empty the room."""
        ...


@runtime_checkable
class IMemoryAdapter(IMemory, Protocol):
    """Where rooms are kept. What it is given has been checked, and is an entry with its id and its times."""

    vectors: bool
    """Whether it compares embeddings."""

    async def create_once(self, input: MemoryEntry, /) -> MemoryEntry:
        """The room's entry with this `data`, which it stores if there is none; one writer after the other."""
        ...

    async def close(self) -> None: ...

"""`memory_vector_admin`: vectors that callers bring, kept in spaces and found by cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from math import isinf
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from uuid import uuid4

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator

from ..errors import Conflict, InvalidRequest
from ..fields import Name, NextCursor, OneOrMore, RequiredName, TimeInput, TimeToLive, one_expiry
from ..ids import HIGHEST
from ..language.times import read_expiry
from ..ops import NoArguments, Operations, Request, Response
from ..store.ports import Connection
from ..store.queries import array, shown_json
from .service import NewVector, Space, given_back, refuse_other_dimension, unit_of

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
Gone = TypeVar("Gone", "VectorsDeleted", "SpaceDropped")
LONGEST = 8_192
"""Numbers of a vector."""
FOLD_TRIES = 6
"""Looks within a third of a second whether the write-ahead log can be emptied."""


def _listed(value: Any) -> Any:
    """Arrays of callers within this process, as lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _row(value: Any) -> Any:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and int(value) < HIGHEST:
        return int(value)
    raise ValueError("is no `next` of a page before")


Vector = Annotated[
    list[Annotated[float, Field(strict=True)]], BeforeValidator(_listed), Field(min_length=1, max_length=LONGEST)
]
VectorIds = Annotated[list[RequiredName], OneOrMore, Field(max_length=10_000)]
Cursor = Annotated[int, BeforeValidator(_row), Field(json_schema_extra={"type": "string"})]
FILTERS = "Only what has these values at these keys of its attributes; the topmost keys alone are looked at."


class InSpace(Request):
    """Of which space."""

    space: RequiredName = Field(description="Its name.")


class CreateSpace(InSpace):
    """Which space to make."""

    dimension: int | None = Field(
        None, ge=1, le=LONGEST, description="Numbers of each vector; without it those of the first that is added."
    )
    metric: Literal["cosine"] = "cosine"
    replace_empty: bool = Field(
        default=False,
        description="Give a space that shows no vector this dimension, whichever it had; what is hidden in it goes.",
    )


class DocumentRef(Request):
    """A stored text, by the caller's id."""

    source: RequiredName
    external_id: RequiredName
    chat_id: Name = Field("", description="Of the source's chat, where several chats have a source of that name.")


class VectorInput(Request):
    """A vector to store."""

    vector: Vector = Field(description="Of any length but infinite; one of zeros is kept too, and near to nothing.")
    id: Name = Field("", description="In the place of the one that has this id; without it one is made.")
    attributes: dict[str, Any] = Field(default_factory=dict, description="Given back with it, and compared by filters.")
    ref: DocumentRef | None = Field(
        None, description="The text that it is of: hidden while that is deleted or expired, purged with it."
    )
    expires_at: TimeInput = Field(None, description="From then on it is gone.")
    ttl_seconds: TimeToLive = None

    _one_expiry = model_validator(mode="after")(one_expiry)


class AddVectors(InSpace):
    """What to store."""

    create: bool = Field(default=False, description="Make the space if there is none.")

    items: list[VectorInput] = Field(min_length=1, max_length=10_000, description="All of them are stored, or none.")


class SearchVectors(InSpace):
    """What to look for."""

    vector: Vector
    limit: int = Field(10, ge=1, le=1_000, validation_alias=AliasChoices("limit", "k"))
    filters: dict[str, Any] = Field(default_factory=dict, description=FILTERS)
    min_score: float = Field(-1.0, ge=-1, le=1, description="Only what has this cosine with it, or a higher one.")
    vectors: bool = Field(default=False, description="Give the vectors back too.")


class GetVectors(InSpace):
    """Which vectors to show."""

    ids: VectorIds = Field(min_length=1)
    vectors: bool = Field(default=True, description="Give the vectors back, not only what is kept beside them.")


class ListVectors(InSpace):
    """Which vectors to list."""

    filters: dict[str, Any] = Field(default_factory=dict, description=FILTERS)
    cursor: Cursor | None = Field(None, description="`next` of the page before.")
    limit: int = Field(100, ge=1, le=1_000)
    vectors: bool = Field(default=False, description="Give the vectors back too.")


class DeleteVectors(InSpace):
    """Which vectors to delete."""

    ids: VectorIds = Field(default_factory=list)
    filters: dict[str, Any] = Field(default_factory=dict, description=FILTERS)
    drop_empty: bool = Field(default=False, description="Remove the space too if nothing is left in it.")

    @model_validator(mode="after")
    def _names_vectors(self) -> DeleteVectors:
        if bool(self.ids) == bool(self.filters):
            raise ValueError("ids is required, or filters in their place; drop_space takes a whole space")
        return self


class SpaceItem(BaseModel):
    """A space; times in epoch seconds."""

    space: str
    dimension: int | None = Field(default=None, description="Null until it has a vector, unless it was said.")
    metric: str = "cosine"
    count: int = Field(default=0, description="Vectors that are shown.")
    created_at: float = 0.0


class Spaces(Response):
    """Every space, by name."""

    items: list[SpaceItem] = Field(default_factory=list)
    count: int = 0


class SpaceMade(Response):
    """The space as it is now."""

    space: str = ""
    dimension: int | None = None
    metric: str = "cosine"
    created: bool = Field(default=False, description="False for one that was there already.")


class VectorsAdded(Response):
    """What was stored."""

    ids: list[str] = Field(default_factory=list, description="In the order of the items.")
    count: int = 0
    replaced: int = Field(default=0, description="How many of them stand in the place of another.")
    dimension: int = 0


class RefItem(BaseModel):
    """The text that a vector is of."""

    source: str
    external_id: str
    chat_id: str = ""


class VectorItem(BaseModel):
    """A vector, or what is kept beside it."""

    id: str
    vector: list[float] | None = Field(
        default=None, description="As it was given, within float16; null if not asked for."
    )
    attributes: dict[str, Any] = Field(default_factory=dict)
    ref: RefItem | None = None
    expires_at: float | None = None


class FoundVector(VectorItem):
    """A vector that was found."""

    score: float = Field(default=0.0, description="Cosine, -1 to 1; 0 where one of both is zero.")


class FoundVectors(Response):
    """The nearest, the best first."""

    items: list[FoundVector] = Field(default_factory=list)
    count: int = 0


class ShownVectors(Response):
    """The vectors asked for, in that order."""

    items: list[VectorItem] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Ids of nothing, or of what has expired.")


class VectorPage(Response):
    """Vectors in the order in which they were stored."""

    items: list[VectorItem] = Field(default_factory=list)
    count: int = 0
    next: NextCursor = ""


class VectorsDeleted(Response):
    """What is gone."""

    deleted_count: int = 0
    missing: list[str] = Field(default_factory=list, description="Ids of nothing.")


class SpaceDropped(Response):
    """What is gone."""

    deleted_count: int = Field(default=0, description="Vectors that it held.")


@ops.operation("memory_vector_admin", "create_space", effect="write")
async def create_space(kernel: SDKMemoryKernel, request: CreateSpace) -> SpaceMade:
    """Make a space for vectors, or find the one of that name."""
    now = kernel.surroundings.clock.now()

    def unit(db: Connection) -> SpaceMade:
        space, created = kernel.spaces.get_or_create(
            db, request.space, request.dimension, now, replace_empty=request.replace_empty
        )
        if request.dimension not in (None, space.dimension):
            told = f"dimension: the space {request.space!r} has vectors of {space.dimension} numbers."
            raise Conflict(told, field="dimension", dimension=space.dimension)
        return SpaceMade(space=request.space, dimension=space.dimension, created=created)

    return await kernel.store.write(unit)


@ops.operation("memory_vector_admin", "add", effect="write")
async def add_vectors(kernel: SDKMemoryKernel, request: AddVectors) -> VectorsAdded:
    """Store vectors; one whose id is there already takes its place."""
    now, ids = kernel.surroundings.clock.now(), dict[str, None]()
    vectors: list[NewVector] = []
    for n, item in enumerate(request.items):
        place, id_ = f"items.{n}", item.id or uuid4().hex
        if id_ in ids:
            raise InvalidRequest(f"{place}.id: {id_!r} is the id of an item before.", field=f"{place}.id")
        ids[id_] = None
        vector, magnitude = _unit(f"{place}.vector", item.vector)
        try:
            expires_at = read_expiry(item.expires_at, item.ttl_seconds, now, kernel.zones.general)
        except InvalidRequest as exc:
            field = f"{place}.{exc.details['field']}"
            raise InvalidRequest(f"{field}: {exc}", field=field) from exc
        attributes = kernel.ingest.metadata(f"{place}.attributes", item.attributes)
        finite = None if expires_at is None or isinf(expires_at) else expires_at
        vectors.append(NewVector(id_, vector, magnitude, attributes, finite))

    def unit(db: Connection) -> VectorsAdded:
        dimension = len(request.items[0].vector)
        space = None if request.create else kernel.spaces.named(db, request.space)
        if space is None or space.dimension is None:
            space, _ = kernel.spaces.get_or_create(db, request.space, dimension, now)
        dimension = space.dimension or dimension
        for n, item in enumerate(request.items):
            refuse_other_dimension(f"items.{n}.vector", item.vector, dimension)
            if item.ref is not None:
                vectors[n] = replace(vectors[n], ref=_document(db, f"items.{n}.ref", item.ref))
        replaced = kernel.spaces.add(db, space, vectors, now)
        return VectorsAdded(ids=list(ids), count=len(ids), replaced=replaced, dimension=dimension)

    return await kernel.store.write(unit)


@ops.operation("memory_vector_admin", "search")
async def search_vectors(kernel: SDKMemoryKernel, request: SearchVectors) -> FoundVectors:
    """Find the vectors that are nearest to one, by cosine."""
    now, (query, _) = kernel.surroundings.clock.now(), _unit("vector", request.vector)

    def read(db: Connection) -> FoundVectors:
        space = kernel.spaces.named(db, request.space)
        refuse_other_dimension("vector", request.vector, space.dimension)
        found = kernel.spaces.search(
            db, space, query, limit=request.limit, filters=request.filters, min_score=request.min_score, now=now
        )
        shown = _items(db, [row for row, _ in found], vectors=request.vectors)
        items = [FoundVector(**dict(shown[row]), score=score) for row, score in found]
        return FoundVectors(items=items, count=len(items))

    return await kernel.store.read(read)


@ops.operation("memory_vector_admin", "get", "show")
async def get_vectors(kernel: SDKMemoryKernel, request: GetVectors) -> ShownVectors:
    """Show vectors by their ids."""
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> ShownVectors:
        found = {
            item.id: item for item in _items(db, _called(kernel, db, request, now), vectors=request.vectors).values()
        }
        ids = list(dict.fromkeys(request.ids))
        return ShownVectors(
            items=[found[id_] for id_ in ids if id_ in found], missing=[id_ for id_ in ids if id_ not in found]
        )

    return await kernel.store.read(read)


@ops.operation("memory_vector_admin", "list")
async def list_vectors(kernel: SDKMemoryKernel, request: ListVectors) -> VectorPage:
    """Page through the vectors of a space, in the order in which they were stored."""
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> VectorPage:
        space = kernel.spaces.named(db, request.space)
        rows = list(
            islice(kernel.spaces.listed(db, space, request.filters, now, after=request.cursor or 0), request.limit + 1)
        )
        page = rows[: request.limit]
        items = list(_items(db, page, vectors=request.vectors).values())
        return VectorPage(items=items, count=len(items), next=str(page[-1]) if len(rows) > len(page) else "")

    return await kernel.store.read(read)


@ops.operation("memory_vector_admin", "delete", effect="destructive")
async def delete_vectors(kernel: SDKMemoryKernel, request: DeleteVectors) -> VectorsDeleted:
    """Delete vectors by their ids or attributes, for good but for backups; the texts that they are of stay."""
    now = kernel.surroundings.clock.now()

    def unit(db: Connection) -> VectorsDeleted:
        space = kernel.spaces.named(db, request.space)
        if request.filters:
            rows, missing = list(kernel.spaces.listed(db, space, request.filters, now)), []
        else:
            rows = _called(kernel, db, request, now)
            held = {item.id for item in _items(db, rows, vectors=False).values()}
            missing = [id_ for id_ in dict.fromkeys(request.ids) if id_ not in held]
        kernel.spaces.remove(db, rows)
        if request.drop_empty and not kernel.spaces.count(db, space):
            kernel.spaces.drop(db, space)
        return VectorsDeleted(deleted_count=len(rows), missing=missing)

    return await _erased(kernel, await kernel.store.write(unit))


@ops.operation("memory_vector_admin", "drop_space", effect="destructive")
async def drop_space(kernel: SDKMemoryKernel, request: InSpace) -> SpaceDropped:
    """Remove a space with all vectors in it, for good but for backups."""

    def unit(db: Connection) -> SpaceDropped:
        return SpaceDropped(deleted_count=kernel.spaces.drop(db, kernel.spaces.named(db, request.space)))

    return await _erased(kernel, await kernel.store.write(unit))


@ops.operation("memory_vector_admin", "spaces")
async def list_spaces(kernel: SDKMemoryKernel, request: NoArguments) -> Spaces:  # noqa: ARG001
    """List the spaces for vectors, with how many each holds."""
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> Spaces:
        rows = db.run("spaces_all", now=now)
        items = [SpaceItem(space=name, dimension=dim, created_at=at, count=n) for name, dim, at, n in rows]
        return Spaces(items=items, count=len(items))

    return await kernel.store.read(read)


async def _erased(kernel: SDKMemoryKernel, gone: Gone) -> Gone:
    """The answer, once the log holds no page any more as it was before."""
    if gone.deleted_count and not await kernel.store.empty_log(FOLD_TRIES):
        gone.warnings.append(
            "What was deleted stands in the write-ahead log until that is emptied: somebody is reading, or copying the memory."
        )
    return gone


def _document(db: Connection, field: str, ref: DocumentRef) -> int:
    """The row of the text that is meant. Raises InvalidRequest."""
    values = {"source": ref.source, "external_id": ref.external_id, "chat_id": ref.chat_id or None}
    rows = db.run("space_document", **values).fetchall()
    if len(rows) == 1:
        return rows[0][0]
    if rows:
        told = f"{field}: several chats have a text {ref.external_id!r} of the source {ref.source!r}: name the chat_id."
    else:
        told = f"{field}: there is no text {ref.external_id!r} of the source {ref.source!r}."
    raise InvalidRequest(told, field=field)


def _unit(field: str, vector: Sequence[float]) -> tuple[bytes, float]:
    try:
        return unit_of(vector)
    except OverflowError as exc:
        raise InvalidRequest(f"{field}: the vector is longer than any number.", field=field) from exc


def _called(kernel: SDKMemoryKernel, db: Connection, request: GetVectors | DeleteVectors, now: float) -> list[int]:
    space: Space = kernel.spaces.named(db, request.space)
    found = db.run("space_vectors_called", space=space.row, ids=array(request.ids), now=now)
    return [row[0] for row in found]


def _items(db: Connection, rows: Sequence[int], *, vectors: bool) -> dict[int, VectorItem]:
    """By row, in the order of the rows."""
    found = {
        row: VectorItem(
            id=id_, vector=given_back(vector, magnitude) if vectors else None, attributes=shown_json(attributes),
            expires_at=expires_at,
            ref=None if source is None else RefItem(source=source, external_id=external_id, chat_id=chat_id or ""),
        )
        for row, id_, magnitude, attributes, expires_at, vector, source, external_id, chat_id
        in db.run("space_vectors_full", ids=array(rows))
    }  # fmt: skip
    return {row: found[row] for row in rows}

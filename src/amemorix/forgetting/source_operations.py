"""`memory_source_admin`: list sources, delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AliasChoices, BaseModel, Field, field_validator

from ..errors import NotFound
from ..fields import Name, Offset, RequiredName
from ..ids import operation_key
from ..ops import Operations, Request, Response, ScopedRequest, ScopedResponse
from ..store.ports import Connection
from ..store.rows import sources as source_rows
from .selection import Selector
from .service import Wish

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
"""Beyond any number of sources, and within what the database can count."""


class ListSources(ScopedRequest):
    """Which sources to list."""

    chat_id: Name = Field(default="", description="Only those of this chat.")
    limit: int = Field(100, ge=1, le=10_000)
    offset: Offset = 0


class SourceItem(BaseModel):
    """A source; times in epoch seconds."""

    source: str
    source_type: str
    chat_id: str
    count: int = Field(description="Live paragraphs.")
    last_updated: float
    event_start: float | None
    event_end: float | None


class Sources(ScopedResponse):
    """Sources, the last written first."""

    items: list[SourceItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class DeleteSource(Request):
    """The source to delete."""

    source: RequiredName
    chat_id: Name = Field(default="", description="Only the source of that name in this chat.")


class DeleteSources(Request):
    """The sources to delete."""

    sources: list[RequiredName] = Field(
        min_length=1, max_length=10_000, validation_alias=AliasChoices("sources", "source"), description="Their names."
    )
    chat_id: Name = Field(default="", description="Only sources of those names in this chat.")

    @field_validator("sources")
    @classmethod
    def _each_once(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))


class Deletion(Response):
    """What was asked, what matched, what is gone."""

    success: bool = False
    operation_id: str = Field(default="", description="What `memory_delete_admin` restores or purges it by.")
    requested_source_count: int = 0
    matched_source_count: int = 0
    deleted_paragraph_count: int = 0
    deleted_count: int = 0
    sources: list[str] = Field(default_factory=list, description="Names that matched something alive.")
    error: str = ""
    error_code: str = Field(default="", description="`not_found` if no source of that name holds anything.")


@ops.operation("memory_source_admin", "list")
async def list_sources(kernel: SDKMemoryKernel, request: ListSources) -> Sources:
    """List the sources that hold live paragraphs."""
    chat = request.chat_id or None
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> Sources:
        rows = source_rows.listed(db, name=None, chat_id=chat, now=now, limit=request.limit, offset=request.offset)
        items = [SourceItem.model_validate(row, from_attributes=True) for row in rows]
        return Sources(items=items, count=len(items), total=source_rows.count(db, chat, now))

    return await kernel.store.read(read)


@ops.operation("memory_source_admin", "delete", effect="destructive")
async def delete_source(kernel: SDKMemoryKernel, request: DeleteSource) -> Deletion:
    """Delete every paragraph of a source."""
    return await _delete(kernel, [request.source], request.chat_id or None)


@ops.operation("memory_source_admin", "batch_delete", effect="destructive")
async def delete_sources(kernel: SDKMemoryKernel, request: DeleteSources) -> Deletion:
    """Delete every paragraph of several sources, in one transaction."""
    return await _delete(kernel, request.sources, request.chat_id or None)


async def _delete(kernel: SDKMemoryKernel, names: list[str], chat_id: str | None) -> Deletion:
    wish = Wish("source", Selector(sources=tuple(names)), chat_id or "")
    try:
        done = await kernel.deletion.execute(wish)
    except NotFound:
        return Deletion(
            requested_source_count=len(names), error="No source of that name holds anything.", error_code=NotFound.code
        )
    count = done.plan.current
    return Deletion(
        success=True,
        operation_id=operation_key(done.operation),
        requested_source_count=len(names),
        matched_source_count=len(done.matched_sources),
        deleted_paragraph_count=count,
        deleted_count=count,
        sources=[name for name in names if name in done.matched_sources],
    )

"""`memory_document_admin`: what was stored under an id, whole; got, listed, counted, and described anew."""

from __future__ import annotations

import json
from itertools import islice
from math import isinf
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, Field, model_validator

from ..fields import ManyChatsRequest, Name, NextCursor, Tags, TimeInput, TimeToLive, one_expiry
from ..ids import paragraph_key
from ..language.times import read_expiry
from ..ops import Operations, Request, Response, ScopedResponse
from ..store.access import Access, Caller, Sight
from ..store.ports import Connection
from ..store.queries import shown_json
from .documents import (
    CallersIds,
    Document,
    DocumentFilters,
    Found,
    Order,
    TextIds,
    cursor_of,
    matching,
    of_callers_ids,
    of_texts,
    place_of,
    whole,
)

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class _Asking(ManyChatsRequest):
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")


class NamedDocuments(Request):
    """Documents by their ids."""

    source: Name = Field("", description="Name of the source that `external_ids` are of.")
    external_ids: CallersIds = Field(
        default_factory=list,
        validation_alias=AliasChoices("external_ids", "external_id"),
        description="The caller's ids.",
    )
    ids: TextIds = Field(
        default_factory=list,
        validation_alias=AliasChoices("ids", "id"),
        description="Such as `p12`, in their place or beside them: of any of a document's paragraphs.",
    )

    @model_validator(mode="after")
    def _names_documents(self) -> NamedDocuments:
        if not (self.ids or self.external_ids):
            raise ValueError("external_ids is required, with their source (or ids)")
        if self.external_ids and not self.source:
            raise ValueError("source is required: the one that `external_ids` are of")
        return self

    def found(self, db: Connection, sight: Sight) -> tuple[list[Found], list[str]]:
        """(each document that may be seen once, ids of none)."""
        of_theirs, of_ours = of_callers_ids(db, self.source, self.external_ids, sight), of_texts(db, self.ids, sight)
        there = {one.key for one in (*of_theirs, *of_ours)}
        missing = [one for one in dict.fromkeys(self.external_ids) if one not in there]
        missing += [paragraph_key(one) for one in dict.fromkeys(self.ids) if one not in there]
        return list({one.id: one for one in (*of_theirs, *of_ours)}.values()), missing


class GetDocuments(_Asking, NamedDocuments):
    """Which documents to show."""


class ListDocuments(_Asking, DocumentFilters):
    """Which documents to list, and in which order."""

    order: Order = Field("created", description="By the time they were first stored, or `updated` last.")
    descending: bool = Field(False, description="The last first.")
    limit: int = Field(100, ge=1, le=1_000)
    cursor: Name = Field("", description="`next` of the page before: no document comes twice or is left out.")


class CountDocuments(_Asking, DocumentFilters):
    """Which documents to count."""


class SetDocuments(NamedDocuments):
    """Which documents, and what is to be said of them."""

    metadata: dict[str, Any] | None = Field(None, description="In the place of what each had.")
    tags: Tags | None = Field(None, description="In the place of what each had.")
    expires_at: TimeInput = Field(None, description="From then on they are hidden; `never` lifts it.")
    ttl_seconds: TimeToLive = None
    merge: bool = Field(False, description="Keep the other keys of the metadata, and the other tags.")

    @model_validator(mode="after")
    def _says_something(self) -> SetDocuments:
        if self.metadata is None and self.tags is None and self.ttl_seconds is None and self.expires_at is None:
            raise ValueError("metadata is required, or tags, or expires_at, or ttl_seconds")
        return self

    _one_expiry = model_validator(mode="after")(one_expiry)


class Documents(ScopedResponse):
    """The documents asked for, in that order."""

    items: list[Document] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Ids of nothing that may be seen.")


class DocumentPage(ScopedResponse):
    """Documents in the order asked for."""

    items: list[Document] = Field(default_factory=list)
    count: int = 0
    next: NextCursor = ""


class DocumentCount(ScopedResponse):
    """How many documents there are."""

    count: int = 0


class Described(Response):
    """Of how many documents it is said now."""

    count: int = 0
    missing: list[str] = Field(default_factory=list, description="Ids of what is not there.")


@ops.operation("memory_document_admin", "get", "show")
async def get_documents(kernel: SDKMemoryKernel, request: GetDocuments) -> Documents:
    """Show documents by their ids, whole, as they were told."""

    def read(db: Connection) -> Documents:
        found, missing = request.found(db, _sight(kernel, db, request))
        return Documents(items=whole(db, [one.id for one in found]), missing=missing)

    return await kernel.store.read(read)


@ops.operation("memory_document_admin", "list")
async def list_documents(kernel: SDKMemoryKernel, request: ListDocuments) -> DocumentPage:
    """Page through documents."""
    zone = kernel.zones.of(request.chat_id, request.group_id, request.user_id)
    behind = place_of(request.cursor) if request.cursor else None

    def read(db: Connection) -> DocumentPage:
        found = matching(
            db, request, _sight(kernel, db, request), zone, request.order, descending=request.descending, behind=behind
        )
        some = list(islice(found, request.limit + 1))
        page = some[: request.limit]
        more = cursor_of(page[-1].place(request.order)) if len(some) > len(page) else ""
        return DocumentPage(items=whole(db, [one.id for one in page]), count=len(page), next=more)

    return await kernel.store.read(read)


@ops.operation("memory_document_admin", "count")
async def count_documents(kernel: SDKMemoryKernel, request: CountDocuments) -> DocumentCount:
    """Count documents."""
    zone = kernel.zones.of(request.chat_id, request.group_id, request.user_id)

    def read(db: Connection) -> DocumentCount:
        return DocumentCount(count=sum(1 for _ in matching(db, request, _sight(kernel, db, request), zone)))

    return await kernel.store.read(read)


@ops.operation("memory_document_admin", "set", effect="write", role="admin")
async def set_documents(kernel: SDKMemoryKernel, request: SetDocuments) -> Described:
    """Give documents other metadata, tags, or another time to expire; what they say stays, and so does what is gone."""
    now = kernel.surroundings.clock.now()
    at = read_expiry(request.expires_at, request.ttl_seconds, now, kernel.zones.general)
    kernel.ingest.metadata("metadata", request.metadata or {})

    def unit(db: Connection) -> Described:
        found, missing = request.found(db, Sight(None, now))
        for one in found:
            metadata, tags = request.metadata, request.tags
            if request.merge:
                metadata = None if metadata is None else {**shown_json(one.metadata), **metadata}
                tags = None if tags is None else [*json.loads(one.tags), *tags]
            db.run(
                "document_describe", ref=one.id,
                metadata=None if metadata is None else kernel.ingest.metadata("metadata", metadata),
                tags=None if tags is None else json.dumps(list(dict.fromkeys(tags)), ensure_ascii=False),
            )  # fmt: skip
            if at is not None:
                db.run("document_set_expiry", ref=one.id, expires_at=None if isinf(at) else at)
            db.run("ref_touch", ref=one.id, now=now)
        return Described(count=len(found), missing=missing)

    return await kernel.store.write(unit)


def _sight(kernel: SDKMemoryKernel, db: Connection, request: ManyChatsRequest) -> Sight:
    scopes = Access(kernel.store.names, kernel.config).scopes(db, Caller.of(request))
    return Sight(scopes, kernel.surroundings.clock.now())

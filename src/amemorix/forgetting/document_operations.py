"""`memory_document_admin delete`: documents deleted, or erased, by their ids or by filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ..errors import NotFound
from ..fields import Name
from ..ids import operation_key
from ..ingest.documents import DocumentFilters, matching
from ..ops import Operations, Response
from ..store.access import Access, Caller, Sight
from ..store.operations import row_ids
from ..store.ports import Connection
from .operations import verdict
from .purge import Receipt
from .selection import Selector
from .service import Wish

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class DeleteDocuments(DocumentFilters):
    """Which documents to delete."""

    chat_id: Name = Field("", description="Only of this chat.")
    only_own: bool = Field(
        True, description="With a chat: nothing that every chat may see, and nothing of others that it sees."
    )
    purge: bool = Field(
        False,
        description="Erase them for good in the same call, and what was deleted before or has expired; the chat too if "
        "nothing is left in it. They cannot be restored then.",
    )

    @model_validator(mode="after")
    def _says_which(self) -> DeleteDocuments:
        if not (self.source or self.source_type or self.tags or self.metadata or self.chat_id):
            raise ValueError("source is required (or source_type, tags, metadata, or chat_id)")
        return self


class DeletedDocuments(Response):
    """What was deleted."""

    deleted_count: int = Field(default=0, description="Documents, with `purge` those in the recycle bin too.")
    missing: list[str] = Field(default_factory=list, description="Those of the ids that nothing is stored under.")
    operation_id: str = Field(default="", description="What `memory_delete_admin` restores or purges it by.")
    receipt: Receipt | None = None
    error: str = ""
    error_code: str = ""


@ops.operation("memory_document_admin", "delete", effect="destructive")
async def delete_documents(kernel: SDKMemoryKernel, request: DeleteDocuments) -> DeletedDocuments:
    """Delete documents in one transaction; that nothing matches is no error."""
    caller = Caller(request.chat_id, respect_filter=False, only_own=bool(request.chat_id) and request.only_own)
    zone = kernel.zones.of(request.chat_id)

    def read(db: Connection) -> tuple[list[str], list[int], list[int]]:
        scopes = Access(kernel.store.names, kernel.config).scopes(db, caller)
        found = list(matching(db, request, Sight(scopes, kernel.surroundings.clock.now()), zone, gone=request.purge))
        there = {one.key for one in found}
        documents = [one.id for one in found]
        return (
            [one for one in request.external_ids if one not in there],
            documents,
            row_ids(db, "documents_paragraphs", documents, gone=request.purge),
        )

    missing, documents, paragraphs = await kernel.store.read(read)
    answer = DeletedDocuments(missing=list(dict.fromkeys(missing)))
    if not documents:
        return answer
    try:
        done = await kernel.deletion.execute(
            Wish("paragraph", Selector(paragraphs=tuple(paragraphs)), emptied_chats=bool(request.chat_id)),
            purge=request.purge,
        )
    except NotFound:  # another call was faster
        return answer
    purged = await kernel.purges.finished(done.operation) if request.purge else None
    receipt = Receipt.model_validate(purged.receipt) if purged else None
    told = verdict(sorted(receipt.found) if receipt else [])
    return answer.model_copy(
        update={
            "deleted_count": len(documents),
            "operation_id": operation_key(done.operation),
            "receipt": receipt,
            **told,
        }
    )

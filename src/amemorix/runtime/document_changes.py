"""`memory_runtime_admin changes`: what became of documents since a number, for whoever keeps copies of them."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

from pydantic import BaseModel, Field

from ..clock import Clock
from ..config.model import Config
from ..fields import ChatRequest, Name, Offset, OneOrMore
from ..ops import Operations, ScopedResponse
from ..store import changes as change_log
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ChangeKind", "DocumentChanges", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
ChangeKind = Literal["added", "revised", "metadata", "deleted", "restored", "expired", "purged"]
EXPIRED, HISTORY = "documents_expired_upto", "document_changes_history"
LOOK_AGAIN_SECONDS = 1.0
"""While somebody waits: so late an expiry is seen, which nobody writes."""
NOBODY = -1


class FollowChanges(ChatRequest):
    """Since when, and what of it."""

    asks: ClassVar[bool] = True

    chat_id: Name = Field("", description="Only documents of this chat, and none that others share with it.")
    since: Offset | None = Field(
        None,
        description="The last number that is known: `next` of the answer before, 0 for all; without it from now on.",
    )
    kinds: Annotated[list[ChangeKind], OneOrMore] = Field(default_factory=list, description="Only these; all if empty.")
    limit: int = Field(500, ge=1, le=5_000, description="Changes that are looked at.")
    wait_seconds: float = Field(0.0, ge=0, le=300, description="Wait so long for the first one.")


class DocumentChange(BaseModel):
    """What became of a document."""

    number: int
    kind: ChangeKind = Field(
        description="`revised`: it has another text, or a part of it went or came; `metadata`: other metadata, tags or "
        "another time to expire."
    )
    document: int = Field(description="A number of this document alone, in all of its changes.")
    external_id: str | None = Field(
        default=None, description="Null of one that is purged since: nothing is left that names it."
    )
    source: str | None = None
    chat_id: str = Field(default="", description="Empty for one of no chat.")


class DocumentChangesSince(ScopedResponse):
    """What happened, in order; a change may be told more than once, and one that the next takes up not at all."""

    items: list[DocumentChange] = Field(default_factory=list)
    next: int = Field(default=0, description="Give it as `since` the next time.")
    more: bool = Field(default=False, description="Whether there is more already.")
    reset: bool = Field(
        default=False,
        description="Changes since that number are not known any more, or it is of other rows: read every document anew, "
        "and go on from `next`.",
    )


class DocumentChanges:
    """The changes of documents, as triggers note them, and expiry as it comes."""

    def __init__(self, store: MetadataStore, *, config: Config, clock: Clock) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._ending = False

    def give_way(self) -> None:
        """Let everybody who waits have an answer: the memory is about to be closed, or to go on with other settings."""
        self._ending = True
        self._store.tell()

    def take_up(self) -> None:
        """Let others wait again."""
        self._ending = False

    async def since(self, request: FollowChanges) -> DocumentChangesSince:
        """What happened since a number; waits for something to happen, without a thread."""
        until = time.monotonic() + request.wait_seconds
        while True:
            news = self._store.news
            found = await self._look(request)
            left = until - time.monotonic()
            if found.items or found.reset or left <= 0 or self._ending:
                return found
            request = request.model_copy(update={"since": found.next})
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_AGAIN_SECONDS)):
                    await news.wait()

    async def _look(self, request: FollowChanges) -> DocumentChangesSince:
        now, history = self._clock.now(), self._store.history

        def stale(db: Connection) -> bool:
            """Whether something has to be written first: an expiry, or that these rows are others than those numbered."""
            _, _, after, known = db.run("document_changes_bounds").fetchone()
            return self._is_other(known) or db.run("documents_expired", after=after, now=now).fetchone() is not None

        def note(db: Connection) -> None:
            _, _, after, known = db.run("document_changes_bounds").fetchone()
            if self._is_other(known):
                change_log.forget_documents(db, db.run("document_changes_skip").fetchone()[0])
            change_log.put(db, HISTORY, history)
            db.run("document_changes_expired", after=after, now=now)
            change_log.put(db, EXPIRED, repr(max(now, after)))

        def read(db: Connection) -> DocumentChangesSince | None:
            return None if stale(db) else self._read(db, request)

        while (found := await self._store.read(read)) is None:
            await self._store.write(note)
        return found

    def _is_other(self, known: str | None) -> bool:
        """Whether rows were exchanged since they were numbered: the memory was restored, or made of an export."""
        return (known or self._store.database_id) != self._store.history

    def _read(self, db: Connection, request: FollowChanges) -> DocumentChangesSince:
        floor, last, _, _ = db.run("document_changes_bounds").fetchone()
        since = last if request.since is None else request.since
        if not floor <= since <= last:
            return DocumentChangesSince(reset=True, next=last)
        chat: int | None = None
        if request.chat_id:
            serves = Access(self._store.names, self._config).serves(db, Caller(request.chat_id))
            chat = self._store.names.chat_row(db, request.chat_id) if serves else NOBODY
            chat = NOBODY if chat is None else chat
        kinds = request.kinds or get_args(ChangeKind)
        rows = db.run(
            "document_changes_since", since=since, kinds=array(kinds), chat=chat, limit=request.limit + 1
        ).fetchall()
        page = rows[: request.limit]
        more = len(rows) > len(page)
        items = [
            DocumentChange(number=seq, kind=kind, document=ref, external_id=id_, source=source, chat_id=chat_id or "")
            for seq, kind, ref, id_, source, chat_id in page
        ]
        return DocumentChangesSince(items=_taken_up(items), next=page[-1][0] if more else last, more=more)


def _taken_up(items: list[DocumentChange]) -> list[DocumentChange]:
    """Without what the next change of the same document says again: each part that goes with the whole of it."""
    kept: list[DocumentChange] = []
    following: dict[int, ChangeKind] = {}
    for item in reversed(items):
        after = following.get(item.document)
        following[item.document] = item.kind
        if item.kind != after and not (item.kind == "revised" and after not in (None, "metadata")):
            kept.append(item)
    return kept[::-1]


@ops.operation("memory_runtime_admin", "changes")
async def changes(kernel: SDKMemoryKernel, request: FollowChanges) -> DocumentChangesSince:
    """Tell what became of documents since a number, waiting for it if nothing has happened yet."""
    return await kernel.changes.since(request)

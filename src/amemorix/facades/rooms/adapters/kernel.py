"""`KernelAdapter`: rooms in the memory itself, with facts and profiles read from them, receipts of purges and encryption."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from ....errors import Conflict, InvalidRequest, NotFound, TooLarge
from ...access import Caller, caller_of
from ...texts import Texts
from ..models import MemoryEntry, MemorySearchOptions

if TYPE_CHECKING:
    from ...access import AnyMemory

__all__ = ["PREFIX", "SOURCE_TYPE", "KernelAdapter", "chat_of_room", "room_of_chat"]

log = logging.getLogger(__name__)
SOURCE_TYPE = "room"
PREFIX = "room:"
SPACE = "rooms"
"""Of the vectors that callers bring."""
PAGE = 1_000
LAST_IN_SECONDS = 5137
"""After that year the memory would read seconds as milliseconds."""
LATEST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()
_CHANGED = re.compile(r"\A\s+|\s+\Z|\r|%(?=[0-9A-Fa-f]{2})")
"""What a name of the memory's does not keep, and what stands for it."""


class KernelAdapter:
    """Rooms as chats `room:<roomId>` of a memory, an entry as a document of a source of the same name.

    A room sees nothing of other chats, and nothing that all chats see. A search compares the vectors of the memory's own
    model, and those that callers brought with that of the query, where it has one. `wait` as in `ingest_text`: with
    `vectors` an entry is found by meaning as soon as it is stored; words find it in any case. With `derive` facts are read
    from entries. With `purge` what is deleted is erased at once.
    """

    vectors = True

    def __init__(
        self, memory: AnyMemory | Caller | str | Path | None = None, *, wait: Literal["", "indexed", "vectors"] = "",
        derive: bool = True, purge: bool = False,
    ) -> None:  # fmt: skip
        self._memory = memory
        self._caller: Caller | None = None
        self._wait, self._derive, self._purge = wait, derive, purge
        self._dimension = 0
        """Of the vectors that callers brought, once it is known."""

    async def init(self) -> None:
        if self._caller is None:
            self._caller = await asyncio.to_thread(caller_of, self._memory)

    async def close(self) -> None:
        """The memory stays open for who shares it."""

    async def call(self, component: str, **arguments: Any) -> dict[str, Any]:
        """The answer of an operation."""
        await self.init()
        assert self._caller is not None
        return await self._caller.call(component, arguments)

    async def create_memory(self, input: MemoryEntry) -> MemoryEntry:
        texts, id = self._texts(input.room_id), _name(input.id)
        if input.embedding and len(input.embedding) != self._dimension:
            asked = {"space": SPACE, "dimension": len(input.embedding)}
            try:
                await self.call("memory_vector_admin", action="create_space", **asked)
            except Conflict as exc:
                raise InvalidRequest(f"embedding: {exc}", field="embedding") from exc
            self._dimension = len(input.embedding)
        expires = input.expires_at.timestamp() if input.expires_at else "never"
        if input.expires_at and input.expires_at.year > LAST_IN_SECONDS:
            expires = input.expires_at.isoformat()
        try:
            answer = await texts.put(
                external_id=id, text=input.data, expires_at=expires, wait=self._wait,
                metadata={"createdAt": input.created_at.isoformat(), "embedding": input.embedding is not None},
            )  # fmt: skip
        except (InvalidRequest, TooLarge) as exc:
            if exc.details.get("field") != "text":
                raise
            raise type(exc)(f"data: {exc}", **{**exc.details, "field": "data"}) from exc
        if answer["wait_error"]:
            log.warning("An entry is stored, but %s", answer["wait_error"])
        if input.embedding:
            chat = texts.source
            ref = {"source": chat, "external_id": id, "chat_id": chat}
            row = {"id": _vector_id(chat, id), "vector": input.embedding, "attributes": {"room": chat}, "ref": ref}
            await self.call("memory_vector_admin", action="add", space=SPACE, items=[row])
        elif answer["reason"] or answer["superseded_ids"]:
            await self._vectors("delete", ids=[_vector_id(texts.source, id)])
        return input

    async def get_memory_by_id(self, id: str, room_id: str) -> MemoryEntry | None:
        return next(iter(await self._entries(room_id, [_name(id)])), None)

    async def search_memory(self, query: str, options: MemorySearchOptions) -> list[MemoryEntry]:
        texts = self._texts(options.room_id)
        found = dict.fromkeys(await self._near(texts.source, options))
        if len(found) < options.limit:
            hits, _ = await texts.search(query, options.limit, gate=False, min_similarity=options.min_similarity)
            found |= dict.fromkeys(hit["external_id"] for hit in hits)
        return await self._entries(options.room_id, list(found)[: options.limit])

    async def get_all_memories(self, room_id: str) -> list[MemoryEntry]:
        entries = await self.read_entries([one async for one in self._texts(room_id).every()])
        return sorted(entries, key=lambda one: one.created_at)

    async def delete_memory_by_id(self, id: str, room_id: str) -> None:
        texts, name = self._texts(room_id), _name(id)
        await self._vectors("delete", ids=[_vector_id(texts.source, name)])  # first: with the document they are hidden
        await texts.delete(external_ids=[name], purge=self._purge)

    async def clear_memories(self, room_id: str) -> None:
        texts = self._texts(room_id)
        await self._vectors("delete", filters={"room": texts.source})
        await texts.delete(purge=self._purge)

    async def read_entries(self, documents: Iterable[Mapping[str, Any]]) -> list[MemoryEntry]:
        """Documents as the entries that they were stored for."""
        documents = [one for one in documents if one["source_type"] == SOURCE_TYPE]
        ids = [_vector_id(one["chat_id"], one["external_id"]) for one in documents]
        wanted = [id for id, one in zip(ids, documents, strict=True) if one["metadata"].get("embedding")]
        vectors: dict[str, list[float]] = {}
        for start in range(0, len(wanted), PAGE):
            answer = await self._vectors("get", ids=wanted[start:][:PAGE])
            vectors |= {one["id"]: one["vector"] for one in answer["items"]}
        return [
            MemoryEntry.read({
                "id": unquote(one["external_id"]), "room_id": room_of_chat(one["chat_id"]), "data": one["text"],
                "embedding": vectors.get(id), "expires_at": _moment(one["expires_at"]),
                "created_at": one["metadata"].get("createdAt", one["created_at"]),
            })
            for id, one in zip(ids, documents, strict=True)
        ]  # fmt: skip

    async def _entries(self, room_id: str, external_ids: list[str]) -> list[MemoryEntry]:
        """Those that are there, in this order."""
        return await self.read_entries((await self._texts(room_id).get(external_ids)).values())

    async def _near(self, chat: str, options: MemorySearchOptions) -> list[str]:
        if not options.embedding:
            return []
        asked = {"vector": options.embedding, "limit": options.limit, "filters": {"room": chat}}
        try:
            answer = await self._vectors("search", **asked)
        except InvalidRequest as exc:
            raise InvalidRequest(f"embedding: {exc}", field="embedding") from exc
        least = options.min_similarity or 0
        return [one["ref"]["external_id"] for one in answer["items"] if max(one["score"], 0) >= least]

    async def _vectors(self, action: str, **arguments: Any) -> dict[str, Any]:
        try:
            return await self.call("memory_vector_admin", action=action, space=SPACE, **arguments)
        except NotFound:  # nobody has brought a vector
            return {"items": []}

    def _texts(self, room_id: str) -> Texts:
        return Texts(self.call, SOURCE_TYPE, _name(room_id), derive=self._derive, refused=lambda fault: fault)


def chat_of_room(room_id: str) -> str:
    """The chat as which a room is kept: what a token is bound to, and what facts and profiles are asked for."""
    return f"{PREFIX}{_name(room_id)}"


def room_of_chat(chat_id: str) -> str:
    """The room that is kept as this chat."""
    return unquote(chat_id.removeprefix(PREFIX))


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(min(seconds, LATEST), UTC)


def _name(text: str) -> str:
    """As a name that the memory keeps as it is: blank space around it and carriage returns stand as `%20`, `%0D`."""
    return _CHANGED.sub(lambda found: quote(found[0], safe=""), text)


def _vector_id(chat: str, id: str) -> str:
    return hashlib.sha256(f"{chat}\0{id}".encode()).hexdigest()

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

from ....errors import Conflict, InvalidRequest, TooLarge
from ...access import Caller, caller_of
from ...texts import Texts
from ..models import MemoryEntry, MemorySearchOptions

if TYPE_CHECKING:
    from ...access import AnyMemory

__all__ = ["PREFIX", "SOURCE_TYPE", "KernelAdapter", "chat_of_room", "room_of_chat"]

log = logging.getLogger(__name__)
SOURCE_TYPE = "room"
PREFIX = "room:"
PAGE = 1_000
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
        return await self._create(input, "store")

    async def create_once(self, input: MemoryEntry) -> MemoryEntry:
        return await self._create(input, "keep")

    async def _create(self, input: MemoryEntry, same_text: str) -> MemoryEntry:
        texts, id = self._texts(input.room_id), _name(input.id)
        try:
            answer = await texts.put_with_vector(
                input.embedding, _vector_id(texts.source, id), {}, external_id=id, text=input.data, wait=self._wait,
                expires_at=input.expires_at.timestamp() if input.expires_at else "never",
                metadata={"createdAt": input.created_at.isoformat(), "embedding": input.embedding is not None},
                same_text=same_text,
            )  # fmt: skip
        except Conflict as exc:
            raise InvalidRequest(f"embedding: {exc}", field="embedding") from exc
        except (InvalidRequest, TooLarge) as exc:
            if exc.details.get("field") != "text":
                raise
            raise type(exc)(f"data: {exc}", **{**exc.details, "field": "data"}) from exc
        if answer["wait_error"]:
            log.warning("An entry is stored, but %s", answer["wait_error"])
        if answer["external_id"] == id:
            return input
        return next(iter(await self._entries(input.room_id, [answer["external_id"]])), input)

    async def get_memory_by_id(self, id: str, room_id: str) -> MemoryEntry | None:
        return next(iter(await self._entries(room_id, [_name(id)])), None)

    async def search_memory(self, query: str, options: MemorySearchOptions) -> list[MemoryEntry]:
        texts = self._texts(options.room_id)
        found = dict.fromkeys(await self._near(texts, options))
        if len(found) < options.limit:
            hits, _ = await texts.search(query, options.limit, gate=False, min_similarity=options.min_similarity)
            found |= dict.fromkeys(hit["external_id"] for hit in hits)
        return await self._entries(options.room_id, list(found)[: options.limit])

    async def get_all_memories(self, room_id: str) -> list[MemoryEntry]:
        entries = await self._read(room_id, [one async for one in self._texts(room_id).every()])
        return sorted(entries, key=lambda one: one.created_at)

    async def delete_memory_by_id(self, id: str, room_id: str) -> None:
        texts, name = self._texts(room_id), _name(id)
        await texts.delete_vectors(ids=[_vector_id(texts.source, name)])
        await texts.delete(external_ids=[name], purge=self._purge)

    async def clear_memories(self, room_id: str) -> None:
        texts = self._texts(room_id)
        await texts.delete_vectors()
        await texts.delete(purge=self._purge)

    async def _read(self, room_id: str, documents: Iterable[Mapping[str, Any]]) -> list[MemoryEntry]:
        """Documents of a room as the entries that they were stored for."""
        texts, documents = self._texts(room_id), [one for one in documents if one["source_type"] == SOURCE_TYPE]
        ids = [_vector_id(texts.source, one["external_id"]) for one in documents]
        wanted = [id for id, one in zip(ids, documents, strict=True) if one["metadata"].get("embedding")]
        vectors: dict[str, list[float]] = {}
        for start in range(0, len(wanted), PAGE):
            answer = await texts.vectors("get", ids=wanted[start:][:PAGE])
            vectors |= {one["id"]: one["vector"] for one in answer["items"]}
        return [
            MemoryEntry.read({
                "id": unquote(one["external_id"]), "room_id": room_id, "data": one["text"],
                "embedding": vectors.get(id), "expires_at": _moment(one["expires_at"]),
                "created_at": one["metadata"].get("createdAt", one["created_at"]),
            })
            for id, one in zip(ids, documents, strict=True)
        ]  # fmt: skip

    async def _entries(self, room_id: str, external_ids: list[str]) -> list[MemoryEntry]:
        """Those that are there, in this order."""
        return await self._read(room_id, (await self._texts(room_id).get(external_ids)).values())

    async def _near(self, texts: Texts, options: MemorySearchOptions) -> list[str]:
        if not options.embedding:
            return []
        try:
            answer = await texts.vectors("search", vector=options.embedding, limit=options.limit)
        except InvalidRequest as exc:
            raise InvalidRequest(f"embedding: {exc}", field="embedding") from exc
        least = options.min_similarity or 0
        return [one["ref"]["external_id"] for one in answer["items"] if max(one["score"], 0) >= least]

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

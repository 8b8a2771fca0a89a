"""A memory as adapters hold it: any of the four kinds, awaited, for one user or one chat."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..errors import InvalidRequest, NotReady
from ..frontends.python.blocking import Client, Memory
from ..frontends.python.calls import Answering, AsyncCalls, default_wait, scope_of
from ..frontends.python.memory import AsyncClient, AsyncMemory
from ..frontends.python.results import Hits, Memo

__all__ = ["ITEM", "ITEM_REST", "UNSAID", "AnyMemory", "ScopedMemory", "hit_metadata"]

T = TypeVar("T")
AnyMemory = Memory | Client | AsyncMemory | AsyncClient
ITEM, ITEM_REST = "session_item", "session_item_rest"
"""Keys of a text's metadata that hold the item of a session which it was said in."""
UNSAID = "…"
"""The text of an item in which nobody says anything: no words, so that no question finds it."""


class _Threaded(AsyncCalls):
    """A `Memory` or `Client`, awaited: its calls wait in a thread."""

    def __init__(self, memory: Memory | Client) -> None:
        self._memory = memory

    async def _ready(self) -> Answering:
        return self

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._memory.call, component_name, args or {})

    async def settle(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._memory.settle, timeout)

    async def close(self) -> None:
        await asyncio.to_thread(self._memory.close)


class ScopedMemory:
    """What a memory holds for a user (their private chat) or a chat; nothing beyond it is read or deleted."""

    def __init__(self, memory: AnyMemory, *, user: str = "", chat: str = "") -> None:
        self.user, self.chat = user.strip(), chat.strip()
        if not (self.user or self.chat):
            raise InvalidRequest("user: say for whom (user=), or in which chat (chat=).", field="user")
        self.calls: AsyncCalls = memory if isinstance(memory, AsyncCalls) else _Threaded(memory)
        self.where = scope_of(self.user, self.chat, everything=False)
        self._memory = memory

    @property
    def chat_id(self) -> str:
        """The chat that is written to."""
        return self.chat or f"private:{self.user}"

    def turn(self, role: str, text: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A turn as `ingest_messages` takes it; what the role `user` says is said by the user."""
        who = {"person_id": self.user} if role == "user" and self.user else {"speaker": role}
        return {"text": text, **who, **({"metadata": dict(metadata)} if metadata else {})}

    async def add(self, turns: Sequence[Mapping[str, Any]], *, source: str = "") -> None:
        """Store turns. Raises NotReady where the settings keep the memory from taking them."""
        # A user_id beside a chat would make the chat their private one; who speaks is said by each turn.
        where = {"chat_id": self.chat} if self.chat else {"user_id": self.user}
        answer = await self.calls.call(
            "ingest_messages",
            {"messages": [dict(one) for one in turns], "source": source, "wait": default_wait(len(turns)), **where},
        )
        if answer["reason"]:
            raise NotReady(
                f"The memory took nothing for {self.chat_id!r} ({answer['reason']}).", reason=answer["reason"]
            )

    async def search(self, query: str, *, limit: int, min_confidence: float = 0.0) -> Hits:
        """Find what answers a question."""
        hits = await self.calls.search(
            query, user=self.user, chat=self.chat, limit=limit, min_confidence=min_confidence
        )
        said = [hit for hit in hits if hit.text != UNSAID]
        return Hits(said, hits.facts, weak=hits.weak, corrected=hits.corrected)

    async def context(self, turns: Sequence[Mapping[str, Any]], *, budget: int) -> str:
        """What matters to the last turns, as text for a prompt; may be empty."""
        return (await self.calls.context(turns, user=self.user, chat=self.chat, budget=budget)).text

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work with this memory, for a caller that does not await.

        Raises NotReady if the memory is one that is awaited: it answers in its own event loop alone.
        """
        if isinstance(self._memory, AsyncCalls):
            work.close()
            raise NotReady(
                f"{type(self._memory).__name__} is awaited: call the method that is awaited, or give a Memory or a Client."
            )
        with ThreadPoolExecutor(1) as thread:  # the caller's may have a running event loop
            return thread.submit(asyncio.run, work).result()


def hit_metadata(hit: Memo) -> dict[str, Any]:
    """What is told beside the text of a hit: the metadata that it was stored with, who said it, when and where."""
    own = {key: value for key, value in hit.metadata.items() if key not in (ITEM, ITEM_REST)}
    when = hit.time.isoformat() if hit.time else None
    return {**own, "speaker": hit.speaker, "time": when, "chat": hit.chat, "confidence": hit.confidence}

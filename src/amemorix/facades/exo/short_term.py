"""`ShortTermMemory`: the talk of the moment, held in this process, as a model is given it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...language.normalise import tokens
from ..access import caller_of
from .base import (
    MemoryCategory,
    MemoryError,
    MemoryItem,
    MemoryMetadata,
    MemoryStatus,
    checked_limit,
    item_of,
)

if TYPE_CHECKING:
    from ..access import AnyMemory, Caller

__all__ = ["ShortTermMemory"]

_SCOPES = {"user": ("user_id",), "session": ("user_id", "session_id"), "task": ("user_id", "session_id", "task_id")}


class ShortTermMemory:
    """A `MemoryStore` of turns, in the order in which they were said: `search` gives the last `limit` of them, in that order.

    `scope` says how much of `metadata` is compared: the `user` alone, their `session` too, or the `task` in it.
    `max_rounds` keeps the last rounds, each begun by a human item (0: all), and whatever the system said. A model's item whose
    tool calls have not all been answered is left out, and so is an answer to a call that is not shown. With `memory` human and
    AI items also go into that memory, as messages of the chat `exo:session:<session>`: it reads facts and profiles out of them.
    """

    def __init__(
        self, scope: str = "task", max_rounds: int = 0, *, memory: AnyMemory | Caller | str | None = None
    ) -> None:
        if scope not in _SCOPES:
            raise MemoryError(f"scope: {scope!r} is none of {', '.join(_SCOPES)}.")
        if max_rounds < 0:
            raise MemoryError("max_rounds: has to be at least 0.")
        self.scope, self.max_rounds = scope, max_rounds
        self._caller = None if memory is None else caller_of(memory)
        self._items: dict[str, MemoryItem] = {}

    async def add(self, item: MemoryItem) -> None:
        """Keep a turn, in the place of one of the same id."""
        item = item_of(item)
        if self._caller and item.memory_type in ("human", "ai") and item.content.strip():
            whose = item.metadata.user_id if item.memory_type == "human" else item.metadata.agent_id
            turn = {
                "text": item.content, "external_id": item.id, "time": item.created_at,
                "person_id": whose or {"human": "user", "ai": "assistant"}[item.memory_type],
            }  # fmt: skip
            session = item.metadata.session_id or item.metadata.user_id or "default"
            await self._caller.call(
                "ingest_messages", messages=[turn], chat_id=f"exo:session:{session}", respect_filter=False
            )
        self._items[item.id] = item

    async def get(self, item_id: str) -> MemoryItem | None:
        """The turn of that id, None if there is none."""
        return self._items.get(item_id)

    async def search(
        self, *, query: str = "", metadata: MemoryMetadata | None = None, memory_type: str | None = None,
        category: MemoryCategory | None = None, status: MemoryStatus | None = None, limit: int = 10,
    ) -> list[MemoryItem]:  # fmt: skip
        """The last turns that meet every filter, in the order in which they were said; they have a word of a `query`."""
        checked_limit(limit)
        talk = _whole_calls(self._window([item for item in self._items.values() if self._in_scope(item, metadata)]))
        found = [
            item
            for item in talk
            if memory_type in (None, item.memory_type)
            and category in (None, item.category)
            and (item.status != MemoryStatus.DISCARD if status is None else item.status == status)
            and (not query.strip() or _says(item, query))
        ][-limit:]
        return found if query or memory_type or category or status else _whole_calls(found)

    async def delete(self, item_id: str) -> bool:
        """Forget a turn; whether it was there."""
        return self._items.pop(item_id, None) is not None

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Forget the turns of this metadata, without it all; how many those were."""
        gone = [item.id for item in self._items.values() if self._in_scope(item, metadata)]
        for id_ in gone:
            del self._items[id_]
        return len(gone)

    def _in_scope(self, item: MemoryItem, metadata: Any) -> bool:
        wanted = None if metadata is None else MemoryMetadata.model_validate(metadata)
        return wanted is None or all(
            getattr(wanted, name) in (None, getattr(item.metadata, name)) for name in _SCOPES[self.scope]
        )

    def _window(self, talk: list[MemoryItem]) -> list[MemoryItem]:
        begins = [at for at, item in enumerate(talk) if item.memory_type == "human"]
        if not self.max_rounds or len(begins) <= self.max_rounds:
            return talk
        first = begins[-self.max_rounds]
        return [item for at, item in enumerate(talk) if at >= first or item.memory_type == "system"]


def _says(item: MemoryItem, query: str) -> bool:
    return not set(tokens(query)).isdisjoint(tokens(item.content)) or query.casefold() in item.content.casefold()


def _whole_calls(talk: list[MemoryItem]) -> list[MemoryItem]:
    """The turns without those of tool calls of which a part is missing."""
    answered = {getattr(item, "tool_call_id", "") for item in talk}
    unanswered = [
        item.id
        for item in talk
        if (calls := _calls(item)) and (not calls <= answered if any(calls) else item is talk[-1])
    ]
    asked = {call for item in talk if item.id not in unanswered for call in _calls(item)}
    return [
        item
        for item in talk
        if item.id not in unanswered and (not (call := getattr(item, "tool_call_id", "")) or call in asked)
    ]


def _calls(item: MemoryItem) -> set[str]:
    """Ids of the tool calls of an item; empty ones of calls that have none."""
    calls = cast("list[dict[str, Any]]", getattr(item, "tool_calls", None) or [])
    return {str(call.get("id") or "") for call in calls}

"""`RoomMirror`: the rooms of a memory, copied into any adapter as they change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..texts import listed
from .adapters.kernel import PREFIX, SOURCE_TYPE, KernelAdapter, chat_of_room, room_of_chat
from .models import IMemoryAdapter, MemoryEntry

if TYPE_CHECKING:
    from ..access import AnyMemory, Caller

__all__ = ["RoomMirror"]


class RoomMirror:
    """Copies what is stored, changed, deleted, expired and purged in the rooms of a memory into an adapter.

    `state` is a file in which it notes how far it is, so that it goes on from there; without one it compares every room
    that has entries when it begins. The adapter's rooms are the mirror's alone: an entry that the memory does not have is deleted.
    """

    def __init__(
        self,
        memory: AnyMemory | Caller | str | Path | None,
        adapter: IMemoryAdapter,
        *,
        state: str | Path | None = None,
    ) -> None:
        self._rooms = KernelAdapter(memory)
        self._adapter = adapter
        self._state = Path(state) if state else None
        self._since: int | None = None
        self._known: set[str] = set()
        if self._state and self._state.exists():
            held = json.loads(self._state.read_text("utf-8"))
            self._since, self._known = held["since"], set(held["rooms"])

    async def run(self) -> None:
        """Follow the memory until it is cancelled."""
        while True:
            await self.catch_up(wait_seconds=60)

    async def catch_up(self, *, wait_seconds: float = 0) -> int:
        """Copy what has changed, waiting so long for the first change. Gives how many entries were written or deleted."""
        if self._since is None:
            answer = await self._changes(since=None)
            done = await self._compare_all()
        else:
            done, answer = 0, await self._changes(since=self._since, wait_seconds=wait_seconds)
            # What was purged is named by nothing any more: its room, or every one, is compared.
            unnamed = {one["chat_id"] for one in answer["items"] if one["external_id"] is None}
            rooms = {room_of_chat(chat) for chat in unnamed if chat.startswith(PREFIX)}
            if answer["reset"] or "" in unnamed:
                done += await self._compare_all()
            else:
                done += sum([await self._compare(room) for room in rooms])
                named = ((room_of_chat(one["chat_id"]), unquote(one["external_id"])) for one in answer["items"]
                         if one["chat_id"].startswith(PREFIX) and one["external_id"] is not None)  # fmt: skip
                done += sum([await self._copy(room, id) for room, id in dict.fromkeys(named) if room not in rooms])
        self._since = answer["next"]
        if self._state:
            told = json.dumps({"since": self._since, "rooms": sorted(self._known)}, ensure_ascii=False)
            temporary = self._state.with_name(f"{self._state.name}.new")
            temporary.write_text(told, "utf-8")
            temporary.replace(self._state)
        return done

    async def _changes(self, **asked: Any) -> dict[str, Any]:
        asked = {name: value for name, value in asked.items() if value is not None}
        return await self._rooms.call("memory_runtime_admin", action="changes", scope="all", **asked)

    async def _copy(self, room: str, id: str) -> int:
        found = await self._rooms.get_memory_by_id(id, room)
        if found is None:
            await self._adapter.delete_memory_by_id(id, room)
        else:
            self._known.add(room)
            await self._adapter.create_memory(found)
        return 1

    async def _compare_all(self) -> int:
        chats = {chat_of_room(room) for room in self._known}
        async for one in listed(self._rooms.call, source_type=SOURCE_TYPE, scope="all"):
            chats.add(one["chat_id"])
        return sum([await self._compare(room_of_chat(chat)) for chat in sorted(chats)])

    async def _compare(self, room: str) -> int:
        """Make the adapter's room like that of the memory."""
        self._known.add(room)
        here, there = (
            _by_id(await self._rooms.get_all_memories(room)),
            _by_id(await self._adapter.get_all_memories(room)),
        )
        wrong = [one for id, one in here.items() if id not in there or _compared(there[id]) != _compared(one)]
        for one in wrong:
            await self._adapter.create_memory(one)
        gone = there.keys() - here.keys()
        for id in gone:
            await self._adapter.delete_memory_by_id(id, room)
        return len(wrong) + len(gone)


def _by_id(entries: Iterable[MemoryEntry]) -> dict[str, MemoryEntry]:
    return {one.id: one for one in entries}


def _compared(entry: MemoryEntry) -> tuple[Any, ...]:
    """What has to be the same; a vector comes back as exact as its database keeps it."""
    return entry.data, entry.expires_at, entry.created_at, [round(number, 2) for number in entry.embedding or ()]

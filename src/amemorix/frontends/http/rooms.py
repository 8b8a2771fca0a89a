"""`/api/rooms/…`: the rooms of a memory, for hosts in other languages, in camelCase."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from ...audit_context import Grant, entered_by
from ...errors import Forbidden, InvalidRequest, NotFound
from ...facades.rooms import MemoryEntry, MemoryInput, MemorySearchOptions, Rooms
from ...facades.rooms.adapters.kernel import KernelAdapter, chat_of_room
from ...facades.rooms.models import RoomsModel
from ...host.service import AMemorixHostService
from ...ops import Role

__all__ = ["ROOMS_CALLS", "ROOMS_PATH", "RoomCall", "RoomCalls"]

ROOMS_PATH = "/api/rooms"
Body = dict[str, Any]
Handler = Callable[[Rooms, str, str, Body], Awaitable[Body]]


async def _create(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    return _one(await rooms.create_memory({**body, "roomId": _same_room(room, body)}))


async def _all(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    return _many(await rooms.get_all_memories(room))


async def _get(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    return _one(await rooms.get_memory_by_id(id, room))


async def _search(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    query = body.pop("query", None)
    if not isinstance(query, str):
        raise InvalidRequest("query is required, as a text.", field="query")
    return _many(await rooms.search_memory(query, {**body, "roomId": _same_room(room, body)}))


async def _delete(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    await rooms.delete_memory_by_id(id, room)
    return {"success": True}


async def _clear(rooms: Rooms, room: str, id: str, body: Body) -> Body:  # noqa: ARG001
    await rooms.clear_memories(room)
    return {"success": True}


class RoomCall(NamedTuple):
    """One call: what it is called, its role, what it does, and the models of its body and its answer."""

    name: str
    role: Role
    summary: str
    handle: Handler
    takes: type[RoomsModel] | None = None
    gives: Literal["", "memory", "memories"] = ""


ROOMS_CALLS: dict[str, dict[str, RoomCall]] = {
    "/{roomId}/memories": {
        "POST": RoomCall("create", "write", "Store an entry of a room, in place of the one that has its id; null if it has expired.",
                         _create, MemoryInput, "memory"),
        "GET": RoomCall("list", "read", "Show everything in a room, the oldest first.", _all, None, "memories"),
        "DELETE": RoomCall("clear", "write", "Empty a room.", _clear),
    },
    "/{roomId}/memories/{id}": {
        "GET": RoomCall("get", "read", "Show an entry of a room; null if it is not there.", _get, None, "memory"),
        "DELETE": RoomCall("delete", "write", "Delete an entry of a room; no error if it is not there.", _delete),
    },
    "/{roomId}/search": {
        "POST": RoomCall("search", "read", "Find entries of a room by meaning and words, best first.",
                         _search, MemorySearchOptions, "memories"),
    },
}  # fmt: skip
"""Below the path, by method."""


class RoomCalls:
    """Answers for the rooms of a memory, with the rights of a token."""

    def __init__(self, host: AMemorixHostService) -> None:
        self._rooms = Rooms(KernelAdapter(host), strict=True)

    async def answer(self, method: str, raw_path: bytes, grant: Grant, body: Body) -> Body:
        """The answer to a call at this path, as it was sent: `%2F` is a part of an id. Raises MemoryFault."""
        path = raw_path.decode("latin-1").partition("?")[0].removeprefix(f"{ROOMS_PATH}/")
        try:
            room, *rest = (unquote(part, errors="strict") for part in path.split("/"))
        except UnicodeDecodeError as exc:
            raise InvalidRequest("roomId: the address is no UTF-8.", field="roomId") from exc
        shape = "/".join(["", "{roomId}", *rest[:1], *("{id}" for _ in rest[1:])])
        calls = ROOMS_CALLS.get(shape, {})
        if method not in calls:
            known = f"only {', '.join(calls)}" if calls else f"rooms are at {ROOMS_PATH}/ROOM/memories and …/search"
            raise NotFound(f"There is nothing for {method} at {ROOMS_PATH}/{path}: {known}.", allowed=sorted(calls))
        role, handle = calls[method].role, calls[method].handle
        if not grant.may(role):
            raise Forbidden(f"This needs the role {role}; this token has the role {grant.role}.", role=role)
        if grant.chats and chat_of_room(room) not in grant.chats:
            raise Forbidden(f"roomId: this token is not bound to {chat_of_room(room)!r}.", field="roomId")
        # The facade names one chat in each call; what it is made of (documents, vectors) has operations for admins alone.
        with entered_by("http"):
            return await handle(self._rooms, room, "".join(rest[1:]), body)


def _same_room(room: str, body: Body) -> str:
    if body.pop("roomId", room) != room:
        raise InvalidRequest(f"roomId: the path says {room!r}, the body another.", field="roomId")
    return room


def _one(entry: MemoryEntry | None) -> Body:
    return {"success": True, "memory": entry and entry.to_json()}


def _many(entries: list[MemoryEntry]) -> Body:
    return {"success": True, "memories": [one.to_json() for one in entries]}

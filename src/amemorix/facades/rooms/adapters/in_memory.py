"""`InMemoryAdapter`: rooms that last as long as the process."""

from __future__ import annotations

from ..models import MemoryEntry
from .blocking import BlockingAdapter

__all__ = ["InMemoryAdapter"]


class InMemoryAdapter(BlockingAdapter):
    """Rooms as dictionaries: found by given vectors where the query has one, else by words."""

    def _open(self) -> None:
        self._rooms: dict[str, dict[str, MemoryEntry]] = {}

    def _put(self, entry: MemoryEntry) -> None:
        self._rooms.setdefault(entry.room_id, {})[entry.id] = entry

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        return next((one for one in self._all(room_id) if one.id == id), None)

    def _all(self, room_id: str) -> list[MemoryEntry]:
        now = self.now
        held = (one for one in self._rooms.get(room_id, {}).values() if not one.expires_at or one.expires_at > now)
        return sorted(held, key=lambda one: one.created_at)

    def _delete(self, room_id: str, id: str) -> None:
        self._rooms.get(room_id, {}).pop(id, None)

    def _clear(self, room_id: str) -> None:
        self._rooms.pop(room_id, None)

    def _sweep(self) -> None:
        for room in list(self._rooms):
            self._rooms[room] = {one.id: one for one in self._all(room)}

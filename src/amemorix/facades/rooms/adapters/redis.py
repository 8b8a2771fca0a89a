"""`RedisAdapter`: rooms in a Redis server."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote

import numpy as np

from ....clock import Clock
from ....errors import TooLarge
from ....extras import require
from ..models import MemoryEntry
from .blocking import BlockingAdapter

__all__ = ["RedisAdapter"]

SCRIPT = "if redis.call('exists', KEYS[2]) == 0 then return redis.call('zrem', KEYS[1], ARGV[1]) end"
"""Takes an id out of its room only while its entry is gone: somebody may just have stored it again."""


class RedisAdapter(BlockingAdapter):
    """Rooms in Redis (6.2 or later): a hash for each entry, which the server lets expire, and a sorted set for each room.

    `address` is `redis://…`, `rediss://…` or `unix://…`. Redis compares no vectors: a room is read whole and ranked here, so it
    takes `most` entries; more are refused with TooLarge.
    """

    threads = 8

    def __init__(
        self, address: str = "redis://localhost:6379/0", *, prefix: str = "rooms", most: int = 10_000,
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        require("redis", "RedisAdapter")
        from redis import Redis

        super().__init__(clock=clock)
        self._redis: Any = Redis.from_url(address)
        self._prefix = prefix
        self._most = most

    def _close(self) -> None:
        self._redis.close()

    def _room(self, room_id: str) -> str:
        """The key of a room; in braces, so that a cluster keeps it with its entries."""
        return f"{self._prefix}:{{{quote(room_id, safe='')}}}"

    def _put(self, entry: MemoryEntry) -> None:
        room, db = self._room(entry.room_id), self._redis
        if (
            db.zcard(room) >= self._most
            and db.zscore(room, entry.id) is None
            and len(self._all(entry.room_id)) >= self._most
        ):
            raise TooLarge(f"roomId: the room has {self._most} entries, the most that Redis takes.", field="roomId")
        values: dict[Any, Any] = {"data": entry.data, "createdAt": entry.created_at.isoformat()}
        if entry.expires_at:
            values["expiresAt"] = entry.expires_at.isoformat()
        if entry.embedding:
            values["embedding"] = np.array(entry.embedding, np.float32).tobytes()
            db.set(f"{self._prefix}:dimension", len(entry.embedding), nx=True)
        key = f"{room}:{entry.id}"
        order = db.incr(f"{self._prefix}:order")
        with db.pipeline() as all_or_nothing:
            all_or_nothing.delete(key)
            all_or_nothing.hset(key, mapping=values)
            if entry.expires_at:
                all_or_nothing.pexpireat(key, int(entry.expires_at.timestamp() * 1000) + 1)
            all_or_nothing.zadd(room, {entry.id: order}, nx=True)
            all_or_nothing.execute()

    def _entry(self, room_id: str, id: str, values: dict[bytes, bytes]) -> MemoryEntry | None:
        expires, vector = values.get(b"expiresAt"), values.get(b"embedding")
        expires_at = datetime.fromisoformat(expires.decode()) if expires else None
        if not values or (expires_at and expires_at <= self.now):
            return None
        return MemoryEntry(
            id=id, room_id=room_id, data=values[b"data"].decode(), expires_at=expires_at,
            created_at=datetime.fromisoformat(values[b"createdAt"].decode()),
            embedding=np.frombuffer(vector, np.float32).tolist() if vector else None,
        )  # fmt: skip

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        return self._entry(room_id, id, self._redis.hgetall(f"{self._room(room_id)}:{id}"))

    def _all(self, room_id: str) -> list[MemoryEntry]:
        room, found = self._room(room_id), list[MemoryEntry]()
        ids = [id.decode() for id in self._redis.zrange(room, 0, -1)]
        with self._redis.pipeline(transaction=False) as reads:
            for id in ids:
                reads.hgetall(f"{room}:{id}")
            held = reads.execute()
        for id, values in zip(ids, held, strict=True):
            if entry := self._entry(room_id, id, values):
                found.append(entry)
            elif not values:
                self._redis.eval(SCRIPT, 2, room, f"{room}:{id}", id)
        return sorted(found, key=lambda one: one.created_at)

    def _delete(self, room_id: str, id: str) -> None:
        with self._redis.pipeline() as both:
            both.zrem(self._room(room_id), id)
            both.delete(f"{self._room(room_id)}:{id}")
            both.execute()

    def _clear(self, room_id: str) -> None:
        room = self._room(room_id)
        ids = [id.decode() for id in self._redis.zrange(room, 0, -1)]
        self._redis.delete(room, *(f"{room}:{id}" for id in ids))

    def _stored_dimension(self) -> int:
        return int(self._redis.get(f"{self._prefix}:dimension") or 0)

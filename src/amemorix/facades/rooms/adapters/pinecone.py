"""`PineconeAdapter`: rooms in an index of Pinecone. Tried against a stand-in for the calls it makes, not in our own checks against the service."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx

from ....clock import Clock
from ....errors import InvalidRequest, StorageFailure, TooLarge
from ..models import MemoryEntry, MemorySearchOptions
from .blocking import BlockingAdapter, by_similarity

__all__ = ["PineconeAdapter"]

NEVER = 1e12
"""When an entry without a time expires, in seconds."""
LONGEST_DATA = 38_000
"""Bytes: Pinecone takes 40 KB beside a vector."""
AT_ONCE = 100
"""Ids that are listed, read or deleted by one call."""


class PineconeAdapter(BlockingAdapter):
    """Rooms in an index of Pinecone with the metric cosine, at the address of its host: a namespace for each room.

    Every entry has a vector, given or made by `Rooms(embed=…)`; what has none is refused, and so are zeros. `data` is at
    most 38,000 bytes. Pinecone answers a write before it is read: a search may lag some seconds behind. `transport` is one
    of httpx.
    """

    threads = 4

    def __init__(
        self, address: str, key: str, *, clock: Clock | None = None, transport: httpx.BaseTransport | None = None
    ) -> None:
        super().__init__(clock=clock)
        headers = {"Api-Key": key, "X-Pinecone-API-Version": "2025-04"}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=30, transport=transport)

    def _ask(self, method: str, path: str, body: Any = None, **named: Any) -> Any:
        """The answer, or nothing where the namespace is not there. Raises StorageFailure."""
        answer = self._http.request(method, path, json=body, params=named or None)
        if answer.status_code == 404:
            return {}
        if answer.is_error:
            raise StorageFailure(f"Pinecone answers {answer.status_code} to {path}: {answer.text[:300]}")
        return answer.json()

    def _close(self) -> None:
        self._http.close()

    def _put(self, entry: MemoryEntry) -> None:
        if not any(entry.embedding or ()):
            told = "embedding: Pinecone keeps nothing without a vector that is not zero: give one, or Rooms(embed=…)."
            raise InvalidRequest(told, field="embedding")
        if len(entry.data.encode()) > LONGEST_DATA:
            raise TooLarge(f"data: Pinecone takes {LONGEST_DATA} bytes at most.", field="data")
        expires = entry.expires_at.timestamp() if entry.expires_at else NEVER
        metadata = entry.model_copy(update={"embedding": None}).to_json() | {"expires": expires}
        vector = {"id": _digest(entry.id), "values": entry.embedding, "metadata": metadata}
        self._ask("POST", "/vectors/upsert", {"vectors": [vector], "namespace": _digest(entry.room_id)})

    def _entry(self, vector: dict[str, Any]) -> MemoryEntry:
        kept = {key: value for key, value in vector["metadata"].items() if key != "expires"}
        return MemoryEntry(**kept, embedding=vector["values"])

    def _read(self, room_id: str, keys: list[str]) -> list[dict[str, Any]]:
        found = self._ask("GET", "/vectors/fetch", ids=keys, namespace=_digest(room_id)).get("vectors", {})
        return [one for one in found.values() if one["metadata"]["expires"] > self.now.timestamp()]

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        return next(map(self._entry, self._read(room_id, [_digest(id)])), None)

    def _all(self, room_id: str) -> list[MemoryEntry]:
        found, page = list[MemoryEntry](), {"namespace": _digest(room_id), "limit": AT_ONCE}
        while True:
            told = self._ask("GET", "/vectors/list", **page)
            keys = [one["id"] for one in told.get("vectors", [])]
            held = self._read(room_id, keys) if keys else []
            found += map(self._entry, held)
            if gone := sorted(set(keys) - {one["id"] for one in held}):
                self._ask("POST", "/vectors/delete", {"ids": gone, "namespace": page["namespace"]})
            if not (following := told.get("pagination", {}).get("next")):
                return sorted(found, key=lambda one: one.created_at)
            page["paginationToken"] = following

    def _near(self, options: MemorySearchOptions) -> list[MemoryEntry]:
        asked = {
            "namespace": _digest(options.room_id), "vector": options.embedding, "topK": options.limit,
            "filter": {"expires": {"$gt": self.now.timestamp()}}, "includeMetadata": True, "includeValues": True,
        }  # fmt: skip
        return by_similarity(
            [self._entry(one) for one in self._ask("POST", "/query", asked).get("matches", [])], options
        )

    def _delete(self, room_id: str, id: str) -> None:
        self._ask("POST", "/vectors/delete", {"ids": [_digest(id)], "namespace": _digest(room_id)})

    def _clear(self, room_id: str) -> None:
        self._ask("POST", "/vectors/delete", {"deleteAll": True, "namespace": _digest(room_id)})


def _digest(text: str) -> str:
    """What names a room or an entry: Pinecone takes ASCII alone."""
    return hashlib.sha256(text.encode()).hexdigest()

"""`MeilisearchAdapter`: rooms in an index of Meilisearch. Tried against a stand-in for the calls it makes, not in our own checks against a server."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import httpx

from ....clock import Clock
from ....errors import StorageFailure, TimedOut
from ..models import MemoryEntry, MemorySearchOptions
from .blocking import BlockingAdapter, by_similarity

__all__ = ["MeilisearchAdapter"]

NEVER = 1e12
"""When an entry without a time expires, in seconds."""
EMBEDDER = "rooms"
PAGE = 1000
SECONDS = 30.0
"""Longest wait for an answer, and for a write to be in the index."""


class MeilisearchAdapter(BlockingAdapter):
    """Rooms in Meilisearch (1.13 or later): words by its own ranking; vectors, where `dimension` is given, as user-provided
    ones. A write returns when its task is done. `transport` is one of httpx.
    """

    threads = 4

    def __init__(
        self, address: str, key: str = "", *, index: str = "rooms", dimension: int = 0, clock: Clock | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        super().__init__(clock=clock)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=address, headers=headers, timeout=SECONDS, transport=transport)
        self._index = f"/indexes/{index}"
        self._dimension = dimension
        self.vectors = dimension > 0

    def _ask(self, method: str, path: str, body: Any = None, *, missing: int = 0) -> Any:
        """The answer, for a write that of its finished task; None for the status `missing`. Raises StorageFailure."""
        answer = self._http.request(method, path, json=body)
        if answer.status_code == missing:
            return None
        if answer.is_error:
            raise StorageFailure(f"Meilisearch answers {answer.status_code} to {method} {path}: {answer.text[:300]}")
        told = answer.json()
        return self._finished(told["taskUid"]) if "taskUid" in told else told

    def _finished(self, task: int) -> None:
        wait, until = 0.005, time.monotonic() + SECONDS
        while (told := self._ask("GET", f"/tasks/{task}"))["status"] in ("enqueued", "processing"):
            if time.monotonic() > until:
                raise TimedOut(f"Meilisearch has not finished its task {task} within {SECONDS:g} seconds.")
            time.sleep(wait)
            wait = min(wait * 2, 0.25)
        if told["status"] != "succeeded" and (told["error"] or {}).get("code") != "index_already_exists":
            raise StorageFailure(f"Meilisearch: {told['error']}")

    def _open(self) -> None:
        if self._ask("GET", self._index, missing=404) is None:
            self._ask("POST", "/indexes", {"uid": self._index.removeprefix("/indexes/"), "primaryKey": "key"})
        settings: dict[str, Any] = {
            "searchableAttributes": ["data"],
            "filterableAttributes": ["room", "until", "vector"],
        }
        if self.vectors:
            settings["embedders"] = {EMBEDDER: {"source": "userProvided", "dimensions": self._dimension}}
        self._ask("PATCH", f"{self._index}/settings", settings)

    def _close(self) -> None:
        self._http.close()

    def _put(self, entry: MemoryEntry) -> None:
        document = entry.model_copy(update={"embedding": None}).to_json() | {
            "key": _key(entry.room_id, entry.id), "room": _digest(entry.room_id), "vector": int(bool(entry.embedding)),
            "until": entry.expires_at.timestamp() if entry.expires_at else NEVER,
        }  # fmt: skip
        if self.vectors:
            given = {"embeddings": [entry.embedding], "regenerate": False} if entry.embedding else None
            document["_vectors"] = {EMBEDDER: given}
        self._ask("POST", f"{self._index}/documents", [document])

    def _held(self, room_id: str, *further: str) -> list[str]:
        """Conditions: of this room, and not expired. A room is named by its digest, so that nothing needs quoting."""
        return [f"room = {_digest(room_id)}", f"until > {self.now.timestamp()!r}", *further]

    def _entry(self, document: dict[str, Any]) -> MemoryEntry:
        kept = {key: document[key] for key in ("id", "roomId", "data", "createdAt", "expiresAt") if key in document}
        vectors = ((document.get("_vectors") or {}).get(EMBEDDER) or {}).get("embeddings") or [None]
        return MemoryEntry(**kept, embedding=vectors[0])

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        path = f"{self._index}/documents/{_key(room_id, id)}?retrieveVectors={json.dumps(self.vectors)}"
        found = self._ask("GET", path, missing=404)
        return self._entry(found) if found and found["until"] > self.now.timestamp() else None

    def _all(self, room_id: str) -> list[MemoryEntry]:
        found, offset = list[MemoryEntry](), 0
        while True:
            asked = {"filter": self._held(room_id), "limit": PAGE, "offset": offset, "retrieveVectors": self.vectors}
            page = self._ask("POST", f"{self._index}/documents/fetch", asked)["results"]
            found += map(self._entry, page)
            if len(page) < PAGE:
                return sorted(found, key=lambda one: one.created_at)
            offset += PAGE

    def _found(self, filter: list[str], limit: int, **how: Any) -> list[MemoryEntry]:
        asked = {"filter": filter, "limit": limit, "retrieveVectors": self.vectors, **how}
        return [self._entry(one) for one in self._ask("POST", f"{self._index}/search", asked)["hits"]]

    def _near(self, options: MemorySearchOptions) -> list[MemoryEntry]:
        how = {"q": "", "vector": options.embedding, "hybrid": {"embedder": EMBEDDER, "semanticRatio": 1.0}}
        # Its score of a vector is (1 + cosine) / 2 and may be rounded: what is similar enough is read from the vectors.
        return by_similarity(self._found(self._held(options.room_id, "vector = 1"), options.limit, **how), options)

    def _matching(self, query: str, options: MemorySearchOptions, *, without_vector: bool) -> list[MemoryEntry]:
        filter = self._held(options.room_id, *(["vector = 0"] if without_vector else []))
        return self._found(filter, options.limit, q=query, matchingStrategy="frequency")

    def _delete(self, room_id: str, id: str) -> None:
        self._ask("DELETE", f"{self._index}/documents/{_key(room_id, id)}")

    def _clear(self, room_id: str) -> None:
        self._ask("POST", f"{self._index}/documents/delete", {"filter": f"room = {_digest(room_id)}"})

    def _sweep(self) -> None:
        self._ask("POST", f"{self._index}/documents/delete", {"filter": f"until <= {self.now.timestamp()!r}"})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _key(room_id: str, id: str) -> str:
    """What names a document: its ids may hold letters, digits, `-` and `_` alone."""
    return _digest(f"{room_id}\0{id}")

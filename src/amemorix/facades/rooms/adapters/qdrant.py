"""`VectorDBAdapter`: rooms in a collection of Qdrant."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ....clock import Clock
from ....extras import require
from ..models import MemoryEntry, MemorySearchOptions
from .blocking import BlockingAdapter

__all__ = ["VectorDBAdapter"]

VECTOR = "embedding"
PAGE = 1000


class VectorDBAdapter(BlockingAdapter):
    """Rooms in Qdrant. An entry without a vector, and a query without one, are compared by words here.

    `where` is an address (`http://…`), a folder or `:memory:`. `dimension` is that of the vectors; a collection
    of another is refused by Qdrant.
    """

    def __init__(
        self,
        where: str,
        *,
        dimension: int,
        collection: str = "rooms",
        api_key: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        require("qdrant", "VectorDBAdapter")
        super().__init__(clock=clock)
        self._where = where
        self._api_key = api_key
        self._collection = collection
        self._dimension = dimension

    def _open(self) -> None:
        from qdrant_client import QdrantClient, models

        kind = "url" if "://" in self._where else "location" if self._where == ":memory:" else "path"
        self._db: Any = QdrantClient(**cast("Any", {kind: self._where, "api_key": self._api_key}))
        if not self._db.collection_exists(self._collection):
            size = models.VectorParams(size=self._dimension, distance=models.Distance.COSINE)
            self._db.create_collection(self._collection, vectors_config={VECTOR: size})

    def _close(self) -> None:
        self._db.close()

    def _filter(self, room_id: str = "", *, expired: bool = False) -> Any:
        from qdrant_client import models as m

        room: list[Any] = [m.FieldCondition(key="roomId", match=m.MatchValue(value=room_id))] if room_id else []
        gone = m.FieldCondition(key="expires", range=m.Range(lte=self.now.timestamp()))
        return m.Filter(must=[*room, gone]) if expired else m.Filter(must=room, must_not=[gone])

    def _put(self, entry: MemoryEntry) -> None:
        from qdrant_client import models

        norm = float(np.linalg.norm(entry.embedding or ()))
        # Qdrant keeps unit vectors: the length is beside them.
        payload = entry.model_copy(update={"embedding": None}).to_json() | {"norm": norm if entry.embedding else None}
        if entry.expires_at:
            payload["expires"] = entry.expires_at.timestamp()
        vector: Any = {VECTOR: entry.embedding} if norm else {}
        point = models.PointStruct(id=_point(entry.room_id, entry.id), vector=vector, payload=payload)
        self._db.upsert(self._collection, [point])

    def _entries(self, points: Sequence[Any]) -> list[MemoryEntry]:
        found: list[MemoryEntry] = []
        for point in points:
            values = {key: value for key, value in point.payload.items() if key != "expires"}
            norm = values.pop("norm")
            if norm is not None:
                unit = np.array((point.vector or {}).get(VECTOR, np.zeros(self._dimension)))
                values["embedding"] = (unit * norm).tolist()
            found.append(MemoryEntry(**values))
        return found

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        points = self._db.retrieve(self._collection, [_point(room_id, id)], with_vectors=True)
        return next((one for one in self._entries(points) if not one.expires_at or one.expires_at > self.now), None)

    def _all(self, room_id: str) -> list[MemoryEntry]:
        points, offset = list[Any](), None
        while True:
            page, offset = self._db.scroll(
                self._collection, self._filter(room_id), limit=PAGE, offset=offset, with_vectors=True
            )
            points += page
            if offset is None:
                return sorted(self._entries(points), key=lambda one: one.created_at)

    def _near(self, options: MemorySearchOptions) -> list[MemoryEntry]:
        answer = self._db.query_points(
            self._collection, query=options.embedding, using=VECTOR, query_filter=self._filter(options.room_id),
            limit=options.limit, score_threshold=options.min_similarity, with_vectors=True,
        )  # fmt: skip
        return self._entries(answer.points)

    def _delete(self, room_id: str, id: str) -> None:
        self._db.delete(self._collection, [_point(room_id, id)])

    def _clear(self, room_id: str) -> None:
        from qdrant_client import models

        self._db.delete(self._collection, models.FilterSelector(filter=self._filter(room_id)))
        self._db.delete(self._collection, models.FilterSelector(filter=self._filter(room_id, expired=True)))

    def _sweep(self) -> None:
        from qdrant_client import models

        self._db.delete(self._collection, models.FilterSelector(filter=self._filter(expired=True)))


def _point(room_id: str, id: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{room_id}\0{id}"))

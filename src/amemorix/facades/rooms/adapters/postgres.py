"""`PostgreSQLAdapter`: rooms in a table of a PostgreSQL server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ....clock import Clock
from ....extras import require
from ....language.normalise import tokens
from ....store.queries import queries
from ..models import MemoryEntry, MemorySearchOptions
from .blocking import BlockingAdapter

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgreSQLAdapter"]

STATEMENTS = ("facades/rooms/adapters",)
LONGEST_TERM = 200
"""Letters of a term that count: an index of the server takes no long ones."""


class PostgreSQLAdapter(BlockingAdapter):
    """Rooms in PostgreSQL (13 or later), in the table `room_memories`, which it makes: found by words as the memory reads them,
    and by vectors within the server where its extension `vector` can be made, else here.

    `address` is a connection string (`postgresql://…`).
    """

    def __init__(self, address: str, *, clock: Clock | None = None) -> None:
        require("postgres", "PostgreSQLAdapter")
        super().__init__(clock=clock)
        self._address = address
        self._db: Connection | None = None

    def _run(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        import psycopg

        if self._db is None or self._db.closed:
            self._db = psycopg.connect(self._address, autocommit=True)
        cursor = self._db.execute(queries(STATEMENTS)[name].encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def _open(self) -> None:
        import psycopg

        for statement in ("rooms_table", "rooms_index_of_terms", "rooms_index_of_expiry"):
            self._run(statement)
        with contextlib.suppress(psycopg.Error):  # it is not installed, or only an administrator may
            self._run("rooms_vector_extension")
        self._compares = self._run("rooms_has_vectors")[0][0]

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _put(self, entry: MemoryEntry) -> None:
        self._run("rooms_put", **entry.model_dump(), terms=_terms(entry.data))

    def _entries(self, name: str, room_id: str, **values: Any) -> list[MemoryEntry]:
        rows = self._run(name, room_id=room_id, now=self.now, **values)
        names = ("id", "data", "embedding", "created_at", "expires_at")
        return [MemoryEntry(room_id=room_id, **dict(zip(names, row, strict=True))) for row in rows]

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        return next(iter(self._entries("rooms_get", room_id, id=id)), None)

    def _all(self, room_id: str) -> list[MemoryEntry]:
        return self._entries("rooms_all", room_id)

    def _near(self, options: MemorySearchOptions) -> list[MemoryEntry]:
        if not self._compares:
            return super()._near(options)
        least = options.min_similarity or 0
        return self._entries("rooms_near", options.room_id, query=options.embedding, least=least, limit=options.limit)

    def _matching(self, query: str, options: MemorySearchOptions, *, without_vector: bool) -> list[MemoryEntry]:
        asked = {"terms": _terms(query), "without_vector": without_vector, "limit": options.limit}
        return self._entries("rooms_matching", options.room_id, **asked)

    def _delete(self, room_id: str, id: str) -> None:
        self._run("rooms_delete", room_id=room_id, id=id)

    def _clear(self, room_id: str) -> None:
        self._run("rooms_clear", room_id=room_id)

    def _sweep(self) -> None:
        self._run("rooms_sweep", now=self.now)

    def _stored_dimension(self) -> int:
        return next(iter(self._run("rooms_dimension")), (0,))[0]


def _terms(text: str) -> list[str]:
    return list(dict.fromkeys(term[:LONGEST_TERM] for term in tokens(text)))

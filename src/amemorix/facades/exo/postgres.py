"""`PostgresStore`: items in a table of a PostgreSQL server."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...store.queries import queries
from ..postgres import PostgresStatements, terms_of
from .base import (
    MemoryCategory,
    MemoryError,
    MemoryItem,
    MemoryMetadata,
    MemoryStatus,
    checked_item,
    checked_limit,
    digest_of,
    item_of,
    named_fields,
)
from .migrations import Migration, MigrationRunner

__all__ = ["PostgresStore", "rows_of_exo"]

FOLDER = "facades/exo"
COLUMNS = ("id", "content", "memory_type", "category", "status", "metadata", "fields", "created_at", "updated_at")


class PostgresStore:
    """A `MemoryStore` in PostgreSQL (13 or later), in the table `memory_items`, which it makes and keeps up to date.

    Items are found by words as the memory reads them. `address` is a connection string (`postgresql://…`). It may be used from
    any event loop; close it in the end. A fault of the server is a MemoryError.
    """

    def __init__(self, address: str, namespace: str = "default") -> None:
        self.namespace = namespace
        self._statements = PostgresStatements(address, FOLDER, "Exo's PostgresStore")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="amemorix-exo")
        self._is_ready = False

    async def init(self) -> None:
        """Make the table and bring it up to date; every other call does it too."""
        await self._run(lambda: None)

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, in the place of one of the same id."""
        item = checked_item(item)
        fields = item.model_dump(mode="json", include=set(named_fields(item)), exclude={"embedding"})
        held = item.model_dump(mode="json", include={*COLUMNS} - {"metadata", "fields"})
        metadata, terms = item.metadata.model_dump_json(), [] if hasattr(item, "encrypted") else terms_of(item.content)
        await self._rows(
            "exo_item_put", **held, metadata=metadata, fields=json.dumps(fields), digest=digest_of(item), terms=terms
        )

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""
        return next(iter(await self._items("exo_item_get", id=item_id)), None)

    async def search(
        self, *, query: str = "", metadata: MemoryMetadata | None = None, memory_type: str | None = None,
        category: MemoryCategory | None = None, status: MemoryStatus | None = None, limit: int = 10,
    ) -> list[MemoryItem]:  # fmt: skip
        """Items that meet every filter: what has most words of a query, without one the last stored, first."""
        terms = terms_of(query) if query.strip() else None
        return await self._items(
            "exo_items_found", **_whose(metadata), terms=terms, memory_type=memory_type, category=category, status=status,
            limit=checked_limit(limit),
        )  # fmt: skip

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata, without it all of the namespace; how many those were."""
        return (await self._rows("exo_items_clear", **_whose(metadata)))[0][0]

    async def delete(self, item_id: str) -> bool:
        """Remove an item; whether it was there."""
        return bool(await self._rows("exo_item_delete", id=item_id))

    async def same(self, item: MemoryItem) -> MemoryItem | None:
        """Another item of the same content, type, status and user."""
        named = {"id": item.id, "status": item.status, "digest": digest_of(item), "user_id": item.metadata.user_id}
        return next(iter(await self._items("exo_item_same", **named)), None)

    async def close(self) -> None:
        """End the connection."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._statements.close)
        self._thread.shutdown(wait=False)

    async def _items(self, statement: str, **values: Any) -> list[MemoryItem]:
        found = (dict(zip(COLUMNS, row, strict=True)) for row in await self._rows(statement, **values))
        return [item_of({**held.pop("fields"), **held}) for held in found]

    async def _rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        return await self._run(lambda: self._statements.rows(statement, namespace=self.namespace, **values))

    async def _run(self, work: Any) -> Any:
        import psycopg

        def call() -> Any:
            if not self._is_ready:
                self._statements.rows("exo_items_table")
                asyncio.run(MigrationRunner(_migrations()).run(self._statements.connection))
                self._is_ready = True
            return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except psycopg.Error as exc:
            raise MemoryError(f"PostgreSQL: {exc}") from exc


def rows_of_exo(address: str) -> list[dict[str, Any]]:
    """The rows of the table that Exo's own store made on a server; blocking. Raises MemoryError."""
    import psycopg

    statements = PostgresStatements(address, FOLDER, "The import of an Exo database")
    try:
        return [row for (row,) in statements.rows("exo_foreign_items")]
    except psycopg.Error as exc:
        raise MemoryError(f"source: cannot be read as an Exo database: {exc}") from exc
    finally:
        statements.close()


def _migrations() -> list[Migration]:
    sql = queries((FOLDER,))
    return [
        Migration(version=1, description="The table as it was made first", up_sql=""),
        Migration(version=2, description="A column for categories", up_sql=sql["exo_items_category"]),
        Migration(version=3, description="Indexes", up_sql=sql["exo_items_indexes"]),
    ]


def _whose(metadata: Any) -> dict[str, str]:
    """A filter by metadata as two parameters: ids that are contained, and keys of `extra` that are equal."""
    wanted = MemoryMetadata.model_validate(metadata or {})
    return {
        "whose": wanted.model_dump_json(exclude={"extra"}, exclude_none=True),
        "extra": json.dumps(wanted.extra),
    }

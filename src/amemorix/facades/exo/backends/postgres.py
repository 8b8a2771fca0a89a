"""`PostgresMemoryStore`: items in a table of a PostgreSQL server."""

from __future__ import annotations

from ..postgres import PostgresStore as PostgresMemoryStore

__all__ = ["PostgresMemoryStore"]

"""Numbered changes of a schema, each applied once: for SQLite and PostgreSQL, by whatever connection the caller has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import isawaitable
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from ...store.queries import queries
from .base import MemoryError, now

__all__ = ["Migration", "MigrationError", "MigrationRunner"]


class MigrationError(MemoryError):
    """A step failed: nothing of it was kept, and those before it were."""


class Migration(BaseModel):
    """A step. Without SQL it is recorded alone."""

    model_config = ConfigDict(frozen=True)

    version: int
    description: str
    up_sql: str


class MigrationRunner:
    """Applies the steps that a database does not have yet; a version that is given twice is a ValueError."""

    def __init__(self, migrations: Iterable[Migration]) -> None:
        self._migrations = sorted(migrations, key=lambda one: one.version)
        versions = [one.version for one in self._migrations]
        if twice := sorted({version for version in versions if versions.count(version) > 1}):
            raise ValueError(f"version: {twice[0]} is there twice.")

    async def run(self, db: Any) -> None:
        """Bring a database up to date, step by step; what was pending on the connection is committed.

        `db` is a connection of sqlite3, aiosqlite, psycopg (awaited or not) or asyncpg.
        """
        sql = queries(("facades/exo",))
        await _done(db.execute(sql["exo_migration_table"]))
        await _end(db, "commit")
        for step in self._migrations:
            if step.version <= await self._version(db):
                continue
            # The record first: where two do this at a time the second waits here, and is refused.
            record = sql["exo_migration_record"].format(
                version=step.version, description=step.description.replace("'", "''"), at=now()
            )
            begin = "" if _begins_by_itself(db) else "begin;"
            try:
                await _done(getattr(db, "executescript", db.execute)(f"{begin}{record};\n{step.up_sql}"))
                await _end(db, "commit")
            except Exception as exc:  # of any driver
                await _end(db, "rollback")
                if step.version > await self._version(db):
                    raise MigrationError(f"Migration {step.version} ({step.description}) failed: {exc}") from exc
        await _end(db, "commit")  # what has been read opened a transaction, in some drivers

    async def _version(self, db: Any) -> float:
        statement = queries(("facades/exo",))["exo_migration_version"]
        if hasattr(db, "fetchrow"):
            row = await db.fetchrow(statement)
        else:
            cursor = await _done(db.execute(statement))
            row = await _done(cursor.fetchone())
        found = next(iter(cast(Mapping[str, Any], row).values())) if isinstance(row, Mapping) else row[0]
        return float("-inf") if found is None else found


async def _end(db: Any, how: Literal["commit", "rollback"]) -> None:
    """End the transaction, if there is one."""
    if _begins_by_itself(db):
        await _done(getattr(db, how)())
    elif getattr(db, "in_transaction", True):
        await _done(db.execute(how))


def _begins_by_itself(db: Any) -> bool:
    return getattr(db, "autocommit", None) is False


async def _done(result: Any) -> Any:
    return await result if isawaitable(result) else result

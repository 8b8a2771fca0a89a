"""The items of a database that Exo's own stores wrote, read and stored in this memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ...store.read_only_database import ReadOnlyDatabase
from ..access import shared
from .base import MemoryError, item_of
from .postgres import rows_of_exo
from .store import KernelStore

__all__ = ["Imported", "import_database"]

TABLE = "memory_items"
WHOSE = ("user_id", "session_id", "task_id", "agent_id")
NOT_FIELDS = {"row", "namespace", "digest", "terms", "embedding"}
"""Columns that say nothing of an item."""


@dataclass(slots=True)
class Imported:
    """How many items were stored, and by its id why one was not."""

    stored: int = 0
    left: dict[str, str] = field(default_factory=dict[str, str])


async def import_database(source: str | Path, memory: Any = None, namespace: str = "default") -> Imported:
    """Store every item of a SQLite file, or of the table of a PostgreSQL server (`postgresql://…`); it is not changed.

    The items keep their ids, so that a second import changes nothing, and come in the order in which they were made.
    Raises MemoryError for what is no Exo database.
    """
    place = memory if not str(memory or "").startswith(("http://", "https://")) else shared(url=str(memory))
    store, done = KernelStore(place, namespace), Imported()
    for row in await asyncio.to_thread(lambda: list(_rows(source))):
        try:
            item = item_of(_fields(row))
            await store.add(item)
        except (MemoryError, ValidationError, ValueError) as exc:
            done.left[str(row.get("id"))] = str(exc).splitlines()[0]
        else:
            done.stored += 1
    return done


def _rows(source: str | Path) -> Iterator[Mapping[str, Any]]:
    if str(source).startswith(("postgresql://", "postgres://")):
        yield from rows_of_exo(str(source))
        return
    if not Path(source).is_file():
        raise MemoryError(f"source: there is no file {source}.")
    with ReadOnlyDatabase(Path(source)) as db:
        if not db.has(TABLE, "id", "content"):
            raise MemoryError(f"source: {source} has no table {TABLE} with the columns id and content.")
        yield from db.rows("exo_items")


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """An item's fields: columns that hold JSON are read, those of whom it belongs to go into its metadata."""
    given = {name: _read(value) for name, value in row.items() if value is not None and name not in NOT_FIELDS}
    found = dict[str, Any]()
    for name in ("fields", "extra_fields", "extra_json", "data"):
        inner = given.pop(name, None)
        found |= cast(dict[str, Any], inner) if isinstance(inner, dict) else {}
    given["content"] = str(row.get("content") or "")
    given["id"] = str(row.get("id") or "")
    about = given.pop("metadata", given.pop("metadata_json", {}))
    about = dict(cast(dict[str, Any], about)) if isinstance(about, dict) else {}
    about |= {name: str(given.pop(name)) for name in WHOSE if name in given}
    known = {name: about.pop(name) for name in (*WHOSE, "extra") if name in about}
    extra = {**(known.pop("extra", None) or {}), **about}
    return {**found, **given, "metadata": {**known, "extra": extra}}


def _read(value: Any) -> Any:
    """What a column holds as JSON, if it does; texts stay."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value

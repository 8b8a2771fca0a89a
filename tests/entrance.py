"""Short forms of the calls that the tests make through the entrance."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from reprlib import repr as short
from typing import Any

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.errors import InvalidRequest
from amemorix.frontends.http.tokens import Tokens
from amemorix.host.operations import OPERATIONS
from amemorix.location import TOKEN_ENV, locate
from amemorix.ops import Operation
from database_file import open_database
from pace import PATIENCE

__all__ = ["Turn", "admin_of", "call", "change", "contents", "cut_change_log", "data_of", "fitting", "found", "hits", "one_token", "reading", "refused", "rows", "said", "stats", "told", "written"]  # fmt: skip

Turn = tuple[str, str] | tuple[str, str, str | float]
"""Speaker, text, and the time if it matters."""
_numbers = count(1)
DERIVED = ("episodes", "entities", "relations", "summaries_waiting")
"""Counts that move in the background."""


async def call(host: AMemorixHostService, component: str, action: str = "", **args: Any) -> dict[str, Any]:
    """Any call; it has to succeed."""
    result = await host.invoke(component, {"action": action, **args} if action else args)
    assert result["success"], result
    return result


def admin_of(component: str) -> Callable[..., Awaitable[dict[str, Any]]]:
    """`(host, action, **args)`: the actions of a component; they have to succeed."""
    return lambda host, action, **args: call(host, component, action, **args)


async def told(host: AMemorixHostService, text: str, **args: Any) -> dict[str, Any]:
    """Store a note; it has to succeed."""
    given = {"external_id": f"note-{next(_numbers)}", "source_type": "note", "text": text, **args}
    return await call(host, "ingest_text", **given)


async def said(host: AMemorixHostService, chat_id: str, *turns: Turn, **args: Any) -> dict[str, Any]:
    """Store chat turns; it has to succeed."""
    messages = [dict(zip(("speaker", "text", "time"), turn, strict=False)) for turn in turns]
    return await call(host, "ingest_messages", chat_id=chat_id, messages=messages, **args)


async def found(host: AMemorixHostService, query: str = "", **args: Any) -> dict[str, Any]:
    """The whole answer of a search; it has to succeed."""
    return await call(host, "search_memory", query=query, **args)


async def hits(host: AMemorixHostService, query: str = "", **args: Any) -> list[dict[str, Any]]:
    """The hits of a search."""
    return (await found(host, query, **args))["hits"]


async def contents(host: AMemorixHostService, query: str = "", **args: Any) -> list[str]:
    """The texts of the hits."""
    return [hit["content"] for hit in await hits(host, query, **args)]


async def refused(
    host: AMemorixHostService, component: str, args: Any, field: str = "", code: str = "invalid_request"
) -> str:
    """The sentence of the error that this call has to end in; `field` has to be named in it and in the details."""
    before = await written(host)
    result = await host.invoke(component, args)
    assert not result["success"], (short(args), result)
    assert result["error_code"] == code, (short(args), result)
    if field:
        assert result["details"]["field"] == field, (short(args), result)
        assert field in result["error"], (short(args), result)
    assert await written(host) == before, (short(args), "an error has stored something")
    return result["error"]


async def stats(host: AMemorixHostService) -> dict[str, int]:
    """What is stored, as counts."""
    return {name: value for name, value in (await call(host, "memory_stats")).items() if type(value) is int}


async def written(host: AMemorixHostService) -> dict[str, int]:
    """What callers have stored, without what is derived from it in the background."""
    return {name: value for name, value in (await stats(host)).items() if name not in DERIVED}


def data_of(host: AMemorixHostService) -> Path:
    """The folder of the memory's data."""
    location = locate(host.config_path)
    assert location is not None
    return location.folder


def _database(where: AMemorixHostService | Path) -> Path:
    return (where if isinstance(where, Path) else data_of(where)) / "memory.db"


@contextmanager
def reading(where: AMemorixHostService | Path) -> Iterator[sqlite3.Connection]:
    """The database file of a memory, or of a data folder, as one snapshot that nobody can write to."""
    uri = f"{_database(where).as_uri()}?mode=ro"
    with closing(open_database(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as db:
        db.execute("begin")
        yield db


def rows(
    where: AMemorixHostService | Path, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """What a statement finds in the database file of a memory, or of a data folder."""
    with reading(where) as db:
        return db.execute(sql, values).fetchall()


def change(where: AMemorixHostService | Path, sql: str, values: tuple[Any, ...] | dict[str, Any] = ()) -> None:
    """Do to the database file what the memory itself never does."""
    with closing(open_database(_database(where), timeout=PATIENCE, isolation_level=None)) as db:
        db.execute("pragma foreign_keys = on")
        db.execute(sql, values)


def cut_change_log(where: AMemorixHostService | Path) -> None:
    """Forget every change, whoever has read it: what follows the log has to look at the rows."""
    change(
        where,
        "update meta set value = (select seq from sqlite_sequence where name = 'changes') where key = 'changes_floor'",
    )
    change(where, "delete from changes")


NAMED = {
    "query": "kite", "person_id": "Ada", "text": "kite", "target": "kite", "targets": ["p1"], "external_id": "x", "source_type": "note",
    "messages": [{"text": "hello", "speaker": "Ada"}], "entity": "kite", "attribute": "like", "value": "kites", "episode_id": "e1",
    "fact_id": "f1", "node": "kite", "relation": "r1", "query_tool_id": "q", "alias": "A", "strength": 1, "request_text": "x",
}  # fmt: skip
"""Arguments that many operations need, as those within chat `a`."""


def fitting(op: Operation) -> dict[str, Any] | None:
    """Arguments that the operation takes, None where these do not fit it."""
    known = op.request.known_keys()
    args = {key: value for key, value in NAMED.items() if key in known and key in op.request.model_fields}
    args |= {"chat_id": "a"} if "chat_id" in known else {}
    args |= {"action": op.action} if op.action else {}
    try:
        OPERATIONS.resolve(op.component, args)
    except InvalidRequest:
        return None
    return args


def one_token(token: str) -> Tokens:
    """A token that may do everything, as the environment names it; none if it is empty."""
    return Tokens.read(Http(), {TOKEN_ENV: token}, Path())

"""Rows read out of a database table by table, and written into another one as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .compaction import open_copy
from .connection import SqliteConnection, of_file
from .migrations import build
from .ports import Connection
from .queries import array

__all__ = ["FLOOR", "OWN_KEYS", "building"]

Row = tuple[Any, ...]
PAGE = 500
FLOOR = "changes_floor"
"""Where the change log begins."""
OWN_KEYS = ("database_id", "incarnation", FLOOR)
"""What a database says of itself alone."""


def tables(db: Connection) -> dict[str, list[str]]:
    """Table -> its columns, in the order in which the tables were made."""
    names = [row[0] for row in db.run("tables_listed")]
    return {name: [row[0] for row in db.run("table_columns", table=name)] for name in names}


def required(db: Connection, table: str) -> set[str]:
    """The columns that every row of a table has to bring."""
    return {row[0] for row in db.run("columns_required", table=table)}


def rows(db: Connection, table: str, columns: Sequence[str]) -> Iterator[Row]:
    """Every row of a table, with these columns."""
    sql = db.run("statement_reading", table=table, columns=array(columns)).fetchone()[0]
    cursor = of_file(db).execute(sql)
    while page := cursor.fetchmany(PAGE):
        yield from page


def changes(db: Connection, after: int) -> Iterator[Row]:
    """The change log past a number."""
    cursor = db.run("changes_after", cursor=after)
    while page := cursor.fetchmany(PAGE):
        yield from page


def meta(db: Connection) -> dict[str, str]:
    """What the store keeps of itself, but what is of this database alone."""
    return {key: value for key, value in kept(db).items() if key not in OWN_KEYS}


def kept(db: Connection) -> dict[str, str]:
    """Everything that the store keeps of itself."""
    return dict(db.run("meta_all").fetchall())


def write(db: Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows of a table as they are."""
    sql = db.run("statement_writing", table=table, columns=array(columns)).fetchone()[0]
    of_file(db).executemany(sql, rows)


def finish(db: Connection, floor: int, meta: Mapping[str, str], numbers: Mapping[str, int]) -> None:
    """Write what the store kept of itself, where its change log begins, and how far numbers were given out."""
    for key, value in {**meta, FLOOR: str(floor)}.items():
        db.run("meta_put", key=key, value=value)
    for name, highest in numbers.items():
        db.run("number_counter_raise", name=name, seq=highest)
        db.run("number_counter_add", name=name, seq=highest)


@contextmanager
def building(path: Path, schema: int) -> Generator[SqliteConnection]:
    """A new database of a schema in which nothing follows from what is written, committed at the end.

    Its triggers are there again afterwards. Raises sqlite3.IntegrityError if a row points to nothing.
    """
    with open_copy(path) as db:
        db.execute("pragma synchronous = off")
        db.execute("pragma foreign_keys = off")
        build(db, schema)
        db.execute("begin immediate")
        triggers = db.run("triggers_listed").fetchall()
        for _, drop in triggers:
            db.execute(drop)
        yield db
        for make, _ in triggers:
            db.execute(make)
        if broken := db.run("foreign_keys").fetchone():
            raise sqlite3.IntegrityError(f"a row of {broken[0]} points to a row of {broken[2]} that is not there")
        db.execute("commit")

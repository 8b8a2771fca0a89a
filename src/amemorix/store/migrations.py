"""Numbered schema changes, each applied once and in its own transaction."""

from __future__ import annotations

import logging
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..errors import StorageFailure
from . import driver
from .driver import DatabaseError, OperationalError, PageKey, SqliteConnection
from .private_files import create_private

__all__ = ["build", "check", "migrate", "migrations", "sign", "written_by"]

log = logging.getLogger(__name__)
PROGRAM = "program"
"""Key of the version and commit of the program."""


def migrations() -> list[tuple[int, str, str]]:
    """(number, file name, SQL) in ascending order."""
    folder = files("amemorix.store") / "sql" / "migrations"
    entries = sorted((e for e in folder.iterdir() if e.name.endswith(".sql")), key=lambda e: e.name)
    return [(int(entry.name.split("_")[0]), entry.name, entry.read_text("utf-8")) for entry in entries]


def check(db: SqliteConnection) -> None:
    """Look, and change nothing: StorageFailure if a newer program wrote the database, or another one altogether."""
    version = _version(db)
    newest = migrations()[-1][0]
    if version > newest:
        raise StorageFailure(
            f"The database has schema {version}, this program knows {newest}: a newer version wrote it. Upgrade the program.",
            found=version, known=newest,
        )  # fmt: skip
    tables = {name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")}
    if tables and (version == 0 or not tables >= {"meta", "changes"}):
        raise StorageFailure(
            "The database belongs to another program: it holds other tables.", tables=sorted(tables)[:20]
        )


def migrate(db: SqliteConnection, backup: Path, key: PageKey | None = None) -> list[str]:
    """Bring a database that was checked up to the program's schema; returns the files applied.

    A database that already holds data is copied to `backup` (SQLite backup API) before the first change, with the key of its own.
    """
    version = _version(db)
    pending = [step for step in migrations() if step[0] > version]
    if pending and version:
        create_private(backup)
        with closing(driver.connect(backup, key=key)) as target:
            db.backup(target)
    build(db, migrations()[-1][0])
    _repair(db)
    return [name for _, name, _ in pending]


def written_by(db: SqliteConnection) -> str:
    """The program that last opened the database to write, as `0.1.0 (48bd424)`; empty for one before it said so."""
    row = db.execute("select value from meta where key = ?", (PROGRAM,)).fetchone()
    return "" if row is None else row[0]


def sign(db: SqliteConnection, program: str) -> None:
    """Write down which program has the database open."""
    if written_by(db) != program:
        try:
            db.execute("insert or replace into meta (key, value) values (?, ?)", (PROGRAM, program))
        except OperationalError as exc:  # a full disk: the memory can be read without it
            log.warning("the database could not be told which program has it open: %s", exc)


def build(db: SqliteConnection, schema: int) -> None:
    """Bring a database that is empty, or of an older schema, up to one that may be older than the program's.

    Rows that a change deletes take those along that belong to them, and leave nothing on the pages: a connection that
    was not told so would leave rows that point to nothing.
    """
    db.execute("pragma foreign_keys = on")
    db.execute("pragma secure_delete = on")
    found = _version(db)
    for number, name, sql in migrations():
        if found < number <= schema:
            _apply(db, number, name, sql)


def _repair(db: SqliteConnection) -> None:
    """Make anew what can be made from the tables and is missing or another; StorageFailure for tables that are."""
    wanted, found = _shape_of_the_program(), _shape(db)
    other = sorted(name for (kind, name), sql in wanted.items() if kind == "table" and found.get((kind, name)) != sql)
    if other:
        raise StorageFailure(
            f"The tables {', '.join(other)} are not those of schema {_version(db)}: another state of the program wrote them "
            f"({written_by(db) or 'one that did not say which'}). Export the memory with that one, or, as far as it can be "
            "read, with this one (`amemorix export FILE`); then take the file into a new data folder "
            "(`amemorix import-export FILE`).",
            tables=other,
            older=True,
        )
    for (kind, name), sql in wanted.items():
        if found.get((kind, name)) != sql:
            log.warning("the %s %s of the database was missing or another; it is made anew", kind, name)
            db.executescript(f"begin immediate;\ndrop {kind} if exists {name};\n{sql};\ncommit;")


@cache
def _shape_of_the_program() -> dict[tuple[str, str], str]:
    with closing(driver.connect(":memory:")) as db:
        build(db, migrations()[-1][0])
        return _shape(db)


def _shape(db: SqliteConnection) -> dict[tuple[str, str], str]:
    """(kind, name) -> the statement that makes it, in the order in which they were made."""
    rows = db.execute("select type, name, sql from sqlite_schema where sql is not null and name not like 'sqlite_%'")
    return {(kind, name): sql for kind, name, sql in rows}


def _version(db: SqliteConnection) -> int:
    return db.execute("pragma user_version").fetchone()[0]


def _apply(db: SqliteConnection, number: int, name: str, sql: str) -> None:
    try:
        db.executescript(f"begin immediate;\n{sql}\npragma user_version={number};\ncommit;")
    except DatabaseError as exc:
        if db.in_transaction:
            db.rollback()
        raise StorageFailure(f"Schema change {name} failed: {exc}", migration=name) from exc

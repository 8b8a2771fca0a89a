"""Copies of the database: made while it is in use or row by row, looked at, and made ready to take its place."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StorageFailure
from . import changes as change_log
from . import compaction
from .compaction import one_transaction, open_copy
from .driver import IntegrityError, PageKey
from .keys import Keyring
from .migrations import build, migrations
from .ports import Connection
from .private_files import create_private, sync_file
from .queries import DatabaseError, SqliteConnection, array, connect, of_file
from .sqlite import INCARNATION

__all__ = ["FLOOR", "HIGHEST_NUMBER", "Inventory", "building"]

PAGES = 512
"""Pages copied at a time, about 2 MB."""
HIGHEST_NUMBER = 1 << 53
"""A table that says it has given out more is damaged: nothing could be stored any more."""
BREATH_SECONDS = 0.001
Row = tuple[Any, ...]
FLOOR = "changes_floor"
"""Where the change log begins."""
OWN_KEYS = ("database_id", "incarnation", FLOOR)
"""What a database says of itself alone."""
Step = Callable[[int, int], None]
"""Told how much of how much is done; raises to end the work."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a database says of itself at one moment."""

    database_id: str
    schema: int
    floor: int
    last: int
    """The change log's first and last number, as `ChangeRepository.bounds` gives them."""
    counts: Mapping[str, int]
    """Table -> its rows."""
    numbers: Mapping[str, int]
    """Table -> the highest number that it has given out."""


def inventory(db: Connection) -> Inventory:
    """What the database holds, within the connection's snapshot."""
    floor, last = change_log.bounds(db)
    return Inventory(
        change_log.get(db, "database_id") or "", compaction.version(db), floor, last,
        counts(db), given(db),
    )  # fmt: skip


def counts(db: Connection) -> dict[str, int]:
    statements = db.run("statements_counting").fetchall()
    return {name: of_file(db).execute(sql).fetchone()[0] for name, sql in statements}


def given(db: Connection) -> dict[str, int]:
    """Table -> the highest number that it has given out."""
    return dict(db.run("number_counters").fetchall())


def numbers(path: Path, keys: Keyring | None) -> dict[str, int]:
    """Table -> the highest number that a copy has given out; none of one that cannot be read, and thus not restored."""
    try:
        with open_copy(path, keys, unchanged=True) as db:
            given = db.run("number_counters").fetchall()
        return {name: seq for name, seq in given if isinstance(seq, int) and seq <= HIGHEST_NUMBER}
    except DatabaseError:
        return {}


def copy(db: Connection, to: Path, step: Step, keys: Keyring | None) -> Inventory:
    """Copy what the connection's snapshot sees into one new file, synced; writers go on meanwhile.

    The file is encrypted with the current key.

    The snapshot is held by the first statement, so the copy never begins anew however much is written
    (sqlite.org/c3ref/backup_finish.html: a read transaction that is open already stays open).
    """
    found = inventory(db)

    def progress(_: int, remaining: int, total: int) -> None:
        step(total - remaining, total)
        time.sleep(BREATH_SECONDS)

    with open_copy(to, keys) as target:
        target.execute("pragma synchronous = off")
        of_file(db).backup(target, pages=PAGES, progress=progress)
        target.execute("pragma journal_mode = delete")
    sync_file(to)
    return found


def convert(path: Path, to: Path, read: PageKey, write: PageKey) -> Inventory:
    """Copy a database that nobody writes to into a new file, from plain to encrypted or back; SQLCipher reads both.

    Raises StorageFailure if the copy does not hold what the original holds.
    """
    create_private(to)
    with closing(connect(f"{path.absolute().as_uri()}?immutable=1", key=read, uri=True)) as db:
        found, version = inventory(db), compaction.version(db)
        db.execute("attach database ? as copy key ?", (str(to), write.literal))
        db.execute("select sqlcipher_export('copy')")
        db.execute(f"pragma copy.user_version = {version}")
        db.execute("detach database copy")
    with closing(connect(to, key=write)) as db:
        wrong = faults(db) if inventory(db) == found else ["rows are missing"]
    if wrong:
        raise StorageFailure(f"The copy of {path} is not what it was copied from: {wrong[0]}.")
    sync_file(to)
    return found


def faults(db: Connection) -> list[str]:
    """What SQLite's own whole check finds, and rows that point to nothing; empty if all is well."""
    said = [str(row[0]) for row in db.run("integrity_whole")]
    broken = len(db.run("foreign_keys").fetchall())
    found = [] if said == ["ok"] else said
    return [*found, *([f"{broken} rows point to rows that are not there"] if broken else [])]


def make_ready(path: Path, keys: Keyring | None) -> None:
    """Bring a copy up to the program's schema, with a history of its own: no index that was made of other rows fits it."""
    with open_copy(path, keys) as db:
        build(db, migrations()[-1][0])
        with one_transaction(db):
            change_log.put(db, INCARNATION, secrets.token_hex(8))
    sync_file(path)


def skip_numbers(path: Path, numbers: Mapping[str, int], keys: Keyring | None) -> None:
    """Let a copy give out only higher numbers: so no id ever means two things, in backups either."""
    with open_copy(path, keys) as db, one_transaction(db):
        tables = {row[0] for row in db.run("tables_listed")}
        _raise_counters(db, {name: highest for name, highest in numbers.items() if name in tables})
    sync_file(path)


# row by row


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
    yield from of_file(db).execute(sql)


def changes(db: Connection, after: int) -> Iterator[Row]:
    """The change log past a number."""
    yield from db.run("changes_after", cursor=after)


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
    _raise_counters(db, numbers)


def _raise_counters(db: Connection, numbers: Mapping[str, int]) -> None:
    for name, highest in numbers.items():
        db.run("number_counter_raise", name=name, seq=highest)
        db.run("number_counter_add", name=name, seq=highest)


@contextmanager
def building(path: Path, schema: int, keys: Keyring | None = None) -> Generator[SqliteConnection]:
    """A new database of a schema in which nothing follows from what is written, committed at the end.

    Its triggers are there again afterwards. Raises IntegrityError if a row points to nothing.
    """
    with open_copy(path, keys) as db:
        db.execute("pragma synchronous = off")
        build(db, schema)
        db.execute("pragma foreign_keys = off")
        db.execute("begin immediate")
        triggers = db.run("triggers_listed").fetchall()
        for _, drop in triggers:
            db.execute(drop)
        yield db
        for make, _ in triggers:
            db.execute(make)
        if broken := db.run("foreign_keys").fetchone():
            raise IntegrityError(f"a row of {broken[0]} points to a row of {broken[2]} that is not there")
        db.execute("commit")

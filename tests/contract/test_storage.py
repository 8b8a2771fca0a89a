"""The database: group commit, savepoints, migrations, and the named statements."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import amemorix
from amemorix.errors import NotReady, StorageFailure
from amemorix.store.migrations import migrate, migrations
from amemorix.store.queries import FOREIGN, queries
from amemorix.store.sqlite import Database

PACKAGE = Path(amemorix.__file__).parent


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "memory.db")
    yield made
    made.close()


def put(key: str, value: str = "x"):
    def unit(db: sqlite3.Connection) -> str:
        db.execute("insert into meta (key, value) values (?, ?)", (key, value))
        return key

    return unit


def keys(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("select key from meta where key like 'k%'")}


# units of work


async def test_a_write_is_seen_by_the_next_read(database: Database) -> None:
    assert await database.write(put("k1")) == "k1"
    assert await database.read(keys) == {"k1"}
    assert database.read_here(keys) == {"k1"}


async def test_writes_that_wait_together_share_a_commit(database: Database, tmp_path: Path) -> None:
    """As many writes as came while the writer was busy are one transaction."""
    begun, go_on = threading.Event(), threading.Event()
    depth: list[int] = []

    def hold(db: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait(60)

    def count(db: sqlite3.Connection) -> None:
        depth.append(db.total_changes)
        db.execute("update meta set value = value || 'x' where key = 'k'")
        with sqlite3.connect(tmp_path / "memory.db") as other:
            seen.append(other.execute("select length(value) from meta where key = 'k'").fetchone()[0])
        other.close()

    seen: list[int] = []
    await database.write(put("k", ""))
    first = asyncio.create_task(database.write(hold))
    await asyncio.to_thread(begun.wait, 60)
    rest = [asyncio.create_task(database.write(count)) for _ in range(50)]
    await asyncio.sleep(0.05)
    go_on.set()
    await asyncio.gather(first, *rest)

    assert seen == [0] * 50, "none of them was committed before the others"
    assert len(await database.read(lambda db: db.execute("select value from meta where key = 'k'").fetchone()[0])) == 50


async def test_a_group_is_bounded(tmp_path: Path) -> None:
    small = Database(tmp_path / "memory.db", group_commit_max=3)
    await asyncio.gather(*(small.write(put(f"k{n}")) for n in range(20)))
    assert len(await small.read(keys)) == 20
    small.close()


class Broken(Exception):
    """What a unit of work raises."""


async def test_a_unit_that_fails_takes_nothing_with_it(database: Database) -> None:
    def broken(db: sqlite3.Connection) -> None:
        put("k-broken")(db)
        raise Broken

    outcomes = await asyncio.gather(
        database.write(put("k1")), database.write(broken), database.write(put("k2")), database.write(put("k1")),
        database.write(put("k3")), return_exceptions=True,
    )  # fmt: skip

    assert isinstance(outcomes[1], Broken)
    assert isinstance(outcomes[3], StorageFailure), "the key is there already"
    assert await database.read(keys) == {"k1", "k2", "k3"}


async def test_what_was_remembered_is_dropped_when_a_unit_is_undone(tmp_path: Path) -> None:
    undone: list[str] = []
    made = Database(tmp_path / "memory.db", on_rollback=lambda: undone.append("undone"))

    def broken(db: sqlite3.Connection) -> None:
        raise Broken

    await made.write(put("k1"))
    assert undone == []
    with pytest.raises(Broken):
        await made.write(broken)
    assert undone == ["undone"]
    made.close()


async def test_a_caller_who_goes_away_leaves_the_others_alone(database: Database) -> None:
    gone = asyncio.create_task(database.write(put("k1")))
    await asyncio.sleep(0)
    gone.cancel()
    await database.write(put("k2"))
    assert "k2" in await database.read(keys)


async def test_a_read_sees_one_moment(database: Database) -> None:
    await database.write(put("k1"))
    inside, go_on = threading.Event(), threading.Event()

    def twice(db: sqlite3.Connection) -> tuple[set[str], set[str]]:
        before = keys(db)
        inside.set()
        go_on.wait(60)
        return before, keys(db)

    reading = asyncio.create_task(database.read(twice))
    await asyncio.to_thread(inside.wait, 60)
    await database.write(put("k2"))
    go_on.set()
    before, after = await reading

    assert before == after == {"k1"}


async def test_an_error_of_the_database_is_a_failure_of_storage(database: Database) -> None:
    with pytest.raises(StorageFailure, match="nonsense"):
        await database.read(lambda db: db.execute("select nonsense"))
    with pytest.raises(StorageFailure):
        await database.write(lambda db: db.execute("insert into paragraphs (id) values (1)"))
    await database.write(put("k1"))


async def test_after_closing_nothing_is_taken(tmp_path: Path) -> None:
    made = Database(tmp_path / "memory.db")
    pending = [asyncio.create_task(made.write(put(f"k{n}"))) for n in range(10)]
    await asyncio.sleep(0)
    await asyncio.to_thread(made.close)
    await asyncio.gather(*pending)
    with pytest.raises(NotReady):
        await made.write(put("k-late"))

    again = Database(tmp_path / "memory.db")
    assert len(again.read_here(keys)) == 10
    again.close()


def test_the_files_are_as_safe_as_promised(database: Database, tmp_path: Path) -> None:
    def pragmas(db: sqlite3.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        return {name: db.execute(f"pragma {name}").fetchone()[0] for name in names}

    assert database.read_here(pragmas) == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
    }


# migrations


def test_every_migration_is_numbered_without_a_gap() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    assert migrate(db, tmp_path / "backup") == [name for _, name, _ in migrations()]
    assert migrate(db, tmp_path / "backup") == []
    assert not (tmp_path / "backup").exists()
    db.close()


def test_the_schema_refuses_bad_rows(database: Database) -> None:
    source = "insert into sources (id, name, chat, source_type, created_at) values (1, 's', 0, 't', 0)"
    bad = [
        "insert into changes (kind, id) values ('nonsense', 1)",
        "insert into sessions (source, scope) values (99, 0)",
        "insert into relations (subject, predicate, object, confidence, created_at) values (1, 'p', 1, 0.5, 0)",
        "insert into relations (subject, predicate, object, confidence, created_at) values (1, 'p', 2, 99, 0)",
        "insert into entities (name, norm, created_at) values ('a', 'a', 'no number')",
        "insert into embedding_generations (fingerprint, provider, model, dimension, status, created_at) "
        "values ('f', 'p', 'm', 0, 'serving', 0)",
        f"{source.replace('1,', 'null,', 1)}; {source.replace('1,', 'null,', 1)}",
    ]
    for statement in bad:
        with sqlite3.connect(":memory:", isolation_level=None) as db:
            db.execute("pragma foreign_keys = on")
            migrate(db, Path("unused"))
            with pytest.raises(sqlite3.Error):
                for part in statement.split("; "):
                    db.execute(part)
        db.close()


# statements


def test_every_statement_is_used() -> None:
    """Its name stands in the code as a word of its own, or fits a name that is put together there from such words."""
    code = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    words = set(re.findall(r'"(\w+)"', code))
    words |= {f"{word}s" for word in words} | {"entities"}
    made = [re.sub(r"\{[^}]*\}", r"(\\w+)", name) for name in re.findall(r'f"([a-z_]*\{[^}"]*\}\w*)"', code)]
    unused = {
        name
        for name in set(queries()) - words
        if not any((found := re.fullmatch(pattern, name)) and words >= set(found.groups()) for pattern in made)
    }
    assert sorted(unused) == []


def test_every_statement_that_is_asked_for_exists() -> None:
    asked = set()
    for path in PACKAGE.rglob("*.py"):
        asked |= set(re.findall(r"\bdb\.run(?:_many)?\(\s*\"(\w+)\"", path.read_text("utf-8")))
    assert sorted(asked - set(queries()) - set(queries(FOREIGN))) == []


def test_every_statement_fits_the_schema(database: Database) -> None:
    wrong: list[str] = []
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as db:
        for name, sql in queries().items():
            values = dict.fromkeys(re.findall(r":(\w+)", sql))
            try:
                db.execute(sql if sql.startswith("pragma") else f"explain {sql}", values).fetchall()
            except sqlite3.Error as exc:
                wrong.append(f"{name}: {exc}")
    assert wrong == []


BIG = {"paragraphs", "embeddings", "changes", "paragraph_persons", "paragraph_entities", "terms", "relation_evidence",
       "relation_embeddings"}  # fmt: skip
MAY_SCAN = {
    "stats_counts", "expected_rows", "live_paragraph_count", "column_rows", "term_rows", "vector_rows", "edge_rows", "person_rows",
    "generations_all", "integrity", "foreign_keys", "embeddings_pending_count", "sources_list", "highest_paragraph",
    "paragraphs_of_hashes", "names_kept", "names_staying", "terms_missing", "terms_missing_count",
    "paragraphs_as_of", "import_undated_count", "vectors_misshapen", "relation_vector_rows", "generation_vectors_drop",
    "generation_relations_drop", "generation_delete",
}  # fmt: skip
"""Statements that read a whole table, or all vectors of a generation, on purpose: counts, rebuilds, the list of sources, the
proof of a purge."""


def test_no_statement_reads_a_large_table_from_end_to_end(database: Database) -> None:
    found: list[str] = []
    for name in sorted(set(queries()) - MAY_SCAN):
        sql = queries()[name]
        if sql.startswith(("pragma", "insert")):
            continue  # the plan of an insert holds foreign key checks that run only while a constraint is violated
        values = dict.fromkeys(re.findall(r":(\w+)", sql), "[1]")
        explained = f"explain query plan {sql}"
        plan = [row[3] for row in database.read_here(lambda db, s=explained, v=values: db.execute(s, v).fetchall())]
        aliases = dict(re.findall(r"\b(?:from|join|update) (\w+) (?:as )?([a-z]{1,2})\b", sql))
        tables = {alias: table for table, alias in aliases.items()}
        scans = [
            step
            for step in plan
            if (step.startswith("SCAN") and "INDEX" not in step) or step.endswith("(generation=?)")
        ]
        found += [f"{name}: {step}" for step in scans if tables.get(step.split()[1], step.split()[1]) in BIG]
    assert found == []


# statements that are run on databases of other programs


WHO = (
    "store/read_only_database.py", "store/temp_lookup.py", "importing/readers/amemorix_directory.py",
    "importing/readers/maibot.py", "facades/exo/import_database.py",
)  # fmt: skip


def test_every_foreign_statement_is_used_and_every_one_that_is_asked_for_exists() -> None:
    code = "\n".join((PACKAGE / name).read_text("utf-8") for name in WHO)
    words = set(re.findall(r'"(\w+)"', code))
    asked = set(re.findall(r'(?:rows|last|prepare|_grouped)\(\s*"(\w+)"|_statements\["(\w+)"\]', code))
    assert sorted(set(queries(FOREIGN)) - words) == []
    assert sorted({name for pair in asked for name in pair if name} - set(queries(FOREIGN))) == []


def test_none_changes_a_table_of_the_other_program() -> None:
    """Only what is made in the connection's own temporary store is ever written."""
    own = {"evidence", "paragraph_entities", "external_memory_refs", "repeated", "kept"}
    for name, sql in queries(FOREIGN).items():
        first = sql.split()[0].lower()
        assert first in ("select", "create", "insert", "update"), name
        if first == "create" and not name.startswith("scratch"):
            assert re.match(r"create temp table|create index temp\.", sql), name
        if written := re.match(r"(?:insert(?: or ignore)? into|update) (\w+)", sql):
            assert written[1] in own, name

"""PostgreSQL takes the schema and every named statement, and answers what SQLite answers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from amemorix.storage.dialects import postgres_schema, postgres_statements
from amemorix.storage.queries import queries, sqlite_only
from postgres_server import postgres

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture
def db(address: str) -> Iterator[psycopg.Connection]:
    """An empty memory."""
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("drop schema public cascade; create schema public")
        db.execute(postgres_schema())
        yield db


def test_every_statement_is_prepared(db: psycopg.Connection) -> None:
    refused: dict[str, str] = {}
    for name, statement in postgres_statements().items():
        result = db.pgconn.prepare(name.encode(), statement.text.encode())
        if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
            refused[name] = result.error_message.decode()
    assert refused == {}


def test_what_only_sqlite_has_is_about_its_files_its_catalogue_or_its_settings() -> None:
    about = re.compile(r"^pragma |^reindex$|\bsqlite_(schema|sequence)\b|\bpragma_\w+\(|\bprintf\('(select|insert) ")
    assert [name for name in sorted(sqlite_only()) if not about.search(queries()[name])] == []
    assert set(postgres_statements()) == set(queries()) - sqlite_only()

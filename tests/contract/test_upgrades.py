"""Databases of older programs: a data folder of 0.1.0 opens and answers two hundred questions with the same hits.

Schemas are migrated from the first released one on, and one from before it is carried by an export.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import lzma
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from amemorix import AMemorixHostService, __version__
from amemorix.clock import FrozenClock
from amemorix.errors import StorageFailure
from amemorix.frontends.cli.main import app
from amemorix.store.copies import building
from amemorix.store.migrations import migrations
from amemorix.testing import HashEmbedder, memory_host, scratch_config
from amemorix.version import commit, program
from entrance import found

RELEASED = {"0001_initial.sql": "8998af43cc00f49e492aded8984382f23af79fda71204ccbdab17281d4650d07"}
"""SHA-256 of each file that a database may have been made with. A released file never changes: add another one."""
LINES = (("Mia", "I live in Porto and I love the sea."), ("林澈", "我住在杭州，对花生过敏。"))
DATA = Path(__file__).parents[1] / "data"
ASKED_AT = 1_767_225_600.0
QUERIES = ("Where does Mia live?", "林澈对什么过敏？", "the sea")


def database(folder: Path) -> Path:
    return folder / "data" / "a-memorix" / "memory.db"


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


async def filled(folder: Path) -> None:
    async with memory_host(folder, embed=HashEmbedder()) as host:
        turns = [{"external_id": f"t{n}", "speaker": who, "text": text} for n, (who, text) in enumerate(LINES)]
        await host.call("ingest_messages", {"chat_id": "c", "messages": turns})
        note: Any = await host.call(
            "ingest_text", {"external_id": "n", "source_type": "note", "chat_id": "c", "text": "A kite."}
        )
        await host.call("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": note.stored_ids})
        await host.settle()


async def answers(host: AMemorixHostService) -> list[Any]:
    found = [await host.invoke("search_memory", {"query": query, "chat_id": "c"}) for query in QUERIES]
    return [
        [(hit["content"], hit["score"]) for hit in one["hits"]] + [fact["value"] for fact in one["facts"]]
        for one in found
    ]


def test_a_released_schema_change_never_changes() -> None:
    held = {name: hashlib.sha256(sql.encode()).hexdigest() for _, name, sql in migrations()}
    assert {name: held.get(name) for name in RELEASED} == RELEASED
    names = sorted(path.name for path in (files("amemorix.store") / "sql" / "migrations").iterdir())
    assert names == sorted(held)


def columns(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Table -> its columns."""
    found: dict[str, list[str]] = {}
    of_tables = "select m.name, c.name from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table'"
    for table, name in db.execute(of_tables + " and m.name not like 'sqlite_%' order by m.rowid, c.cid"):
        found.setdefault(table, []).append(name)
    return found


async def test_the_first_schema_is_migrated_with_all_that_is_in_it(tmp_path: Path) -> None:
    """The rows of a memory in a database of schema 1, as far as that has a place for them."""
    await filled(tmp_path / "new")
    async with memory_host(tmp_path / "new", embed=HashEmbedder()) as host:
        expected = await answers(host)
    old = database(tmp_path / "old")
    old.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database(tmp_path / "new"))) as source, building(old, 1) as target:
        there = columns(source)
        target.execute("delete from meta")
        for table, names in columns(target).items():
            both = [f'"{name}"' for name in names if name in there.get(table, ())]
            if both:
                held = source.execute(f"select {', '.join(both)} from {table}")
                target.executemany(
                    f"insert into {table} ({', '.join(both)}) values ({', '.join('?' * len(both))})", held
                )
    assert expected[0]

    async with memory_host(tmp_path / "old", embed=HashEmbedder()) as host:
        await host.settle()
        assert await answers(host) == expected
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report
        assert (await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "d1"}))["success"]
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("pragma user_version").fetchone() == (migrations()[-1][0],)


async def test_the_program_that_wrote_it_stands_in_the_database_and_wherever_one_asks(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        stats = await host.invoke("memory_stats")
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]
    assert (stats["version"], stats["commit"]) == (__version__, commit())
    [told] = [finding["detail"] for finding in report["findings"] if finding["name"] == "database"]
    assert program() in told and f"schema {migrations()[-1][0]}" in told
    with closing(sqlite3.connect(database(tmp_path))) as db:
        assert db.execute("select value from meta where key = 'program'").fetchone() == (program(),)


def shell(folder: Path, *args: str) -> Result:
    config = scratch_config(folder, {"embedding.provider": "none"})
    return CliRunner().invoke(app, [args[0], *args[1:], "-c", str(config)], env={"COLUMNS": "200"})


def older(folder: Path) -> None:
    """As a state before the first released schema left it: a table less, a column more, no word of who wrote it."""
    change(
        database(folder), "drop table audit", "alter table facts add column mood text",
        "delete from meta where key = 'program'",
    )  # fmt: skip


async def test_a_database_from_before_is_refused_with_the_way_out(tmp_path: Path) -> None:
    await filled(tmp_path)
    older(tmp_path)
    before = database(tmp_path).read_bytes()
    with pytest.raises(
        StorageFailure, match=r"audit, facts are not those.*amemorix export FILE.*import-export FILE"
    ) as caught:
        async with memory_host(tmp_path):
            pass
    assert caught.value.details["tables"] == ["audit", "facts"]
    assert database(tmp_path).read_bytes() == before


async def test_a_database_from_before_is_exported_and_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    await filled(tmp_path / "old")
    async with memory_host(tmp_path / "old", embed=HashEmbedder()) as host:
        expected = await answers(host)
    older(tmp_path / "old")
    before = database(tmp_path / "old").read_bytes()
    file = tmp_path / "memory.jsonl"

    told = await asyncio.to_thread(shell, tmp_path / "old", "export", str(file))
    assert told.exit_code == 0, told.output
    assert "Another state of the program wrote this database" in told.output
    assert database(tmp_path / "old").read_bytes() == before
    assert not list((tmp_path / "here").iterdir())
    told = await asyncio.to_thread(shell, tmp_path / "new", "import-export", str(file))
    assert told.exit_code == 0, told.output
    async with memory_host(tmp_path / "new", embed=HashEmbedder()) as host:
        await host.settle()
        assert await answers(host) == expected


async def test_rows_that_lack_what_is_needed_are_not_exported_by_halves(tmp_path: Path) -> None:
    await filled(tmp_path)
    change(database(tmp_path), "create table kept as select * from chats", "pragma foreign_keys = off")
    columns = [row[1] for row in sqlite3.connect(database(tmp_path)).execute("pragma table_info(chats)")]
    change(
        database(tmp_path), "pragma foreign_keys = off", "pragma legacy_alter_table = on",
        "alter table chats rename to gone", f"create table chats as select {columns[0]} from gone", "drop table gone",
    )  # fmt: skip
    told = await asyncio.to_thread(shell, tmp_path, "export", str(tmp_path / "memory.jsonl"))
    assert told.exit_code == 1
    assert "chats have no" in told.output and program() in told.output
    assert not (tmp_path / "memory.jsonl").exists()


async def test_a_memory_of_0_1_0_answers_as_it_did(tmp_path: Path) -> None:
    """The demo's conversations, asked without a model: each question in every chat and in one."""
    database(tmp_path).parent.mkdir(parents=True)
    database(tmp_path).write_bytes(lzma.decompress((DATA / "memory_0_1_0.db.xz").read_bytes()))
    asked = json.loads((DATA / "hits_0_1_0.json").read_text("utf-8"))
    assert len({query for query, _, _ in asked}) > 190

    async with memory_host(tmp_path, clock=FrozenClock(ASKED_AT)) as host:
        for query, chat, expected in asked:
            answer = await found(host, query, limit=10, **({"chat_id": chat} if chat else {}))
            assert [hit["id"] for hit in answer["hits"]] == expected, query


@pytest.mark.parametrize(
    "statement",
    ["drop index facts_over", "drop trigger paragraphs_updated", "drop view fact_rows",
     "create index paragraphs_by_scope2 on paragraphs (scope)"],
)  # fmt: skip
async def test_what_the_tables_can_give_back_is_made_anew(tmp_path: Path, statement: str) -> None:
    await filled(tmp_path)
    change(database(tmp_path), statement)
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        answer = await host.invoke("search_memory", {"query": "林澈住在哪里", "chat_id": "c"})
        assert [fact["value"] for fact in answer["facts"]] == ["杭州"]
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report

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
from amemorix.testing import HashEmbedder, memory_host, scratch_config, stale_indexes
from amemorix.version import commit, program
from entrance import data_of, found, rows, told
from pace import until

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


def in_schema_1(new: Path, old: Path) -> None:
    """Write the rows of a database into one of schema 1, as far as that has a place for them."""
    old.parent.mkdir(parents=True)
    with closing(sqlite3.connect(new)) as source, building(old, 1) as target:
        there = columns(source)
        target.execute("delete from meta")
        for table, names in columns(target).items():
            both = [f'"{name}"' for name in names if name in there.get(table, ())]
            if both:
                held = source.execute(f"select {', '.join(both)} from {table}")
                target.executemany(
                    f"insert into {table} ({', '.join(both)}) values ({', '.join('?' * len(both))})", held
                )


async def test_the_first_schema_is_migrated_with_all_that_is_in_it(tmp_path: Path) -> None:
    await filled(tmp_path / "new")
    async with memory_host(tmp_path / "new", embed=HashEmbedder()) as host:
        expected = await answers(host)
    old = database(tmp_path / "old")
    in_schema_1(database(tmp_path / "new"), old)
    assert expected[0]

    async with memory_host(tmp_path / "old", embed=HashEmbedder()) as host:
        await host.settle()
        assert await answers(host) == expected
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report
        assert (await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "d1"}))["success"]
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("pragma user_version").fetchone() == (migrations()[-1][0],)


async def test_a_copy_of_an_older_schema_is_rewritten_by_a_purge_and_keeps_the_rest(tmp_path: Path) -> None:
    secret, rest = "zanzibar quorum vexillology", "multifarious dodecahedra"
    async with memory_host(tmp_path / "new") as host:
        for chat, text in (("away", secret), ("here", rest)):
            await told(host, text, chat_id=chat)
    in_schema_1(database(tmp_path / "new"), database(tmp_path / "m"))
    async with memory_host(tmp_path / "m") as host:
        (copy,) = data_of(host).glob("*before-migration*")
        done = await host.invoke(
            "memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "away", "purge": True}
        )
        assert done["success"], done
        with closing(sqlite3.connect(copy)) as db:
            assert db.execute("select content from paragraphs").fetchall() == [(rest,)]
        assert secret.encode() not in copy.read_bytes()


HALF_DONE = """
insert into chats (id, chat_id, created_at) values (1, 'c', 1);
insert into derive_tasks (kind, key, revision, since, status, attempts, due_at, leased_until, worker, error, updated_at) values
    ('episodes', 77, 3, 5.0, 'processing', 1, 10, 20, 'gone', '', 11), ('episodes', 78, 1, null, 'failed', 2, 12, null, '', 'no', 13),
    ('profile', 79, 1, null, 'completed', 0, 14, null, '', '', 15);
insert into feedback_tasks (id, query_tool_id, chat, query, asked_at, hits, status, due_at, attempts, worker, leased_until, error,
                            result, updated_at) values
    (4, 'q4', 1, 'where?', 100, '[1]', 'running', 200, 1, 'gone', 250, '', '{}', 210),
    (5, 'q5', 1, 'who?', 100, '[1]', 'failed', 201, 3, '', null, 'no way', '{}', 201),
    (6, 'q6', 1, 'what?', 100, '[1]', 'applied', 202, 2, '', null, '', '{"plan": 9}', 212),
    (9, 'q9', 1, 'gone', 100, '[1]', 'pending', 4e9, 0, '', null, '', '{}', 101);
insert into import_tasks (id, kind, params, status, worker, leased_until, attempts, error, requested_by, created_at, started_at,
                          finished_at, updated_at) values
    (1, 'paste', '{}', 'completed', '', null, 0, '', 'mia', 100, 101, 102, 103),
    (2, 'raw_scan', '{"chat_id": "c"}', 'running', 'gone', 9e9, 1, 'no room', '', 104, 105, null, 106),
    (3, 'paste', '{}', 'queued', '', null, 0, '', '', 107, null, null, 107);
insert into import_files (id, task, name, root, path, format, size, position, share, status, records, counts, sha256) values
    (1, 1, 'a', 'staging', 'u/a', 'txt', 9, 9, 1, 'completed', 1, '{"stored": 1}', 'x'),
    (2, 2, 'f.jsonl', '{root}', 'f.jsonl', 'jsonl', {size}, {half}, 0.5, 'writing', 1, '{"stored": 1}', '{sha256}'),
    (3, 3, 'b', 'staging', 'u/b', 'txt', 9, 0, 0, 'queued', 0, '{}', '');
insert into import_chunks (file, number, start, stop, status, records, counts, done_at) values
    (2, 0, 0, {half}, 'completed', 1, '{"stored": 1}', 105);
insert into import_marks values (1, x'00');
insert into tuning_tasks (id, status, stage, options, baseline, rounds_wanted, result, reason, error, attempts, leased_until,
                          worker, created_at, started_at, finished_at, updated_at) values
    (1, 'running', 'rounds', '{options}', '{}', 1, '{}', 'why', '', 1,
     9e9, 'gone', 300, 301, null, 302),
    (2, 'failed', 'queries', '{options}', '{}', 8, '{}', '', 'too little', 1, null, '', 303, 304, 305, 306);
delete from feedback_tasks where id = 9;
"""


async def test_tasks_of_the_first_schema_are_carried_over_half_done_ones_included(tmp_path: Path) -> None:
    folder, old = tmp_path / "in", database(tmp_path / "m")
    folder.mkdir()
    old.parent.mkdir(parents=True)
    lines = [
        json.dumps({"text": f"a kite {n}", "external_id": str(n), "chat_id": "c"}).encode() + b"\n" for n in range(2)
    ]
    (folder / "f.jsonl").write_bytes(b"".join(lines))
    about = {"options": json.dumps({"objective": "balanced", "sample_size": 9, "top_k": 5, "seed": 1, "use_chat_model": False}), "root": str(folder), "size": len(lines[0]) * 2, "half": len(lines[0]),
             "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}  # fmt: skip
    with building(old, 1) as db:
        script = HALF_DONE
        for name, value in about.items():
            script = script.replace(f"{{{name}}}", str(value))
        for statement in script.split(";\n"):
            db.execute(statement)

    settings: dict[str, Any] = {
        "imports": {"roots": [str(folder)], "enabled": False},
        "tuning": {"enabled": False},
        "feedback": {"enabled": True},
        "episode": {"enabled": False},
        "profile": {"enabled": False},
    }
    async with memory_host(tmp_path / "m", **settings) as host:
        imports = (await host.invoke("memory_import_admin", {"action": "list"}))["items"]
        assert [(t["task_id"], t["status"], t["error"], t["started_at"], t["finished_at"], t["updated_at"]) for t in imports] == [
            ("i3", "queued", "", None, None, 107.0), ("i2", "running", "no room", 105.0, None, 106.0),
            ("i1", "completed", "", 101.0, 102.0, 103.0),
        ]  # fmt: skip
        assert (imports[1]["progress"], imports[1]["counts"], imports[2]["requested_by"]) == (0.5, {"stored": 1}, "mia")
        feedback = (await host.invoke("memory_feedback_admin", {"action": "list"}))["items"]
        assert [(t["task_id"], t["status"], t["attempts"], t["due_at"], t["error"], t["updated_at"]) for t in feedback] == [
            (6, "applied", 2, 202.0, "", 212.0), (5, "failed", 3, 201.0, "no way", 201.0), (4, "running", 1, 200.0, "", 210.0),
        ]  # fmt: skip
        tuning = (await host.invoke("memory_tuning_admin", {"action": "list_tasks"}))["items"]
        assert [(t["task_id"], t["status"], t["error"], t["created_at"], t["finished_at"]) for t in tuning] == [
            (2, "failed", "too little", 303.0, 305.0), (1, "running", "", 300.0, None),
        ]  # fmt: skip
        done = await host.invoke("memory_feedback_admin", {"action": "process_pending"})
        assert done["ends"] == {"skipped": 1}, "what somebody who is gone had begun is taken over"
        turn = {"query_tool_id": "new", "session_id": "c", "query": "x", "structured_content": ["p1"]}
        assert (await host.invoke("enqueue_feedback_task", turn))["task_id"] == 10, "no number is given out twice"
    settings["imports"]["enabled"] = True
    async with memory_host(tmp_path / "m", **settings) as host:

        async def ended() -> bool:
            task = (await host.invoke("memory_import_admin", {"action": "get", "task_id": "i2"}))["task"]
            return task["status"] == "completed" and task["counts"] == {"stored": 2}

        await until(ended, "the import was not gone on with")
    with closing(sqlite3.connect(old)) as db:
        rows = db.execute(
            "select key, revision, since, status, attempts, due_at, error from tasks where key > 70 order by key"
        )
        assert rows.fetchall() == [
            (77, 3, 5.0, "processing", 1, 10.0, ""), (78, 1, None, "failed", 2, 12.0, "no"),
        ]  # fmt: skip


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
        await host.settle(600)
        for query, chat, expected in asked:
            where = {"chat_id": chat} if chat else {}
            answer = await found(host, query, limit=10, **where)
            hits = [hit["id"] for hit in answer["hits"]]
            # names are read otherwise: what follows the first hits since it shares one with them may stand elsewhere
            same = hits[:3] == expected[:3] and len({*hits} - {*expected}) <= 2
            # where it said nothing it may now say something unlikely, or have taken a word for another
            if same or not expected or answer["corrected"] or not query.strip("哈"):
                continue
            every = (await found(host, query, limit=10, gate=False, **where))["hits"]
            assert not hits and max(hit["confidence"] for hit in every) < 0.03, query  # or leave out what was unlikely


async def test_relations_that_rules_read_go_and_those_that_were_told_stay(tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir(parents=True)
    database(tmp_path).write_bytes(lzma.decompress((DATA / "memory_0_1_0.db.xz").read_bytes()))
    told_one = "(select min(id) from relations where origin = 'rule' and deleted_at is null)"
    change(database(tmp_path), f"update relations set origin = 'caller' where id = {told_one}")
    ends = (
        "select s.name, o.name from relations r join entities s on s.id = r.subject join entities o on o.id = r.object"
    )
    with closing(sqlite3.connect(database(tmp_path))) as db:
        origins = dict(db.execute("select origin, count(*) from relations group by origin"))
        assert origins == {"rule": 4, "caller": 1}
        kept = db.execute(f"{ends} where r.origin = 'caller'").fetchall()

    async with memory_host(tmp_path, clock=FrozenClock(ASKED_AT)) as host:
        await host.settle(600)
        page = await host.invoke("memory_graph_admin", {"action": "get_graph", "limit": 500})
        assert page["total_relations"] == origins["caller"]
        assert rows(host, f"{ends} where r.origin = 'caller'") == kept
        assert rows(host, "select count(*) from relations where origin = 'rule'") == [(0,)]
        assert rows(host, "select count(*) from paragraphs where extracted = 0") == [(0,)]
        assert {"左膝", "guy", "阿宁改"}.isdisjoint(node["name"] for node in page["nodes"])
        assert await stale_indexes(host) == []


async def test_facts_that_rules_had_read_are_read_anew_and_those_of_a_hand_stay(tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir(parents=True)
    database(tmp_path).write_bytes(lzma.decompress((DATA / "memory_0_1_0.db.xz").read_bytes()))
    columns = "person, scope, attribute, value, norm, cardinality, stability, authority, status, confidence, valid_from, recorded_at, asserted_at"
    change(
        database(tmp_path),
        *(f"insert into facts ({columns}) select min(id), 0, 'like', '{value}', '{value}', 'set', 'stable', 'direct_user', 'active', 0.9, 1, 1, {asserted} from persons"
          for value, asserted in (("tea", "null"), ("chess", "1"))),
    )  # fmt: skip

    async with memory_host(tmp_path, clock=FrozenClock(ASKED_AT)) as host:
        await host.settle(600)
        listed = (await host.invoke("memory_fact_admin", {"action": "list", "limit": 1000}))["items"]

    assert [item["value"] for item in listed if item["attribute"] == "like"] == ["chess"]
    assert "statement" in {item["attribute"] for item in listed}


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
        assert answer["facts"][0]["value"] == "杭州"
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report

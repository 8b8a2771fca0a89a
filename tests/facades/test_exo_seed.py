"""Exo's scale of similarity, its stores by their names, and its databases."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from amemorix import AMemorixHostService
from amemorix.facades.exo import (
    AIMemory,
    HumanMemory,
    KernelStore,
    MemoryError,
    MemoryItem,
    MemoryMetadata,
    MemoryOrchestrator,
    MemoryStore,
    MemUpdateChecker,
    OrchestratorConfig,
    PostgresStore,
    ToolMemory,
)
from amemorix.facades.exo.backends.postgres import PostgresMemoryStore
from amemorix.facades.exo.backends.sqlite import SQLiteMemoryStore
from amemorix.facades.exo.backends.vector import VectorMemoryStore
from amemorix.facades.exo.import_database import import_database
from amemorix.frontends.python.memory import AsyncMemory
from amemorix.testing import HashEmbedder
from postgres_server import postgres

REFINED = [
    ("I live in Lisbon.", "I live in Lisbon, near the river."), ("Ann likes tea.", "Ann likes green tea with honey."),
    ("The meeting is on Monday.", "The meeting is on Monday at ten o'clock."), ("My dog is called Rex.", "My dog Rex is a brown labrador."),
    ("我住在上海。", "我住在上海浦东的一个小区。"), ("我对花生过敏。", "我对花生和腰果都过敏。"),
    ("Bob works as a nurse.", "Bob works as a nurse in a children's hospital."), ("我喜欢喝咖啡。", "我喜欢喝不加糖的黑咖啡。"),
    ("She plays the violin.", "She has played the violin in an orchestra for ten years."),
    ("The server runs Debian.", "The server runs Debian 12 since May."), ("我养了一只猫。", "我的猫叫咪咪，三岁了。"),
]  # fmt: skip
"""What is known, and the same with more."""
UNRELATED = [
    "The ferry leaves at nine.",
    "明天要下雨。",
    "Bitcoin fell by a fifth.",
    "He forgot his umbrella in the train.",
]
CREATED = "2026-01-02T03:04:05+00:00"


async def test_refinements_reach_the_model_at_the_default_and_nothing_unrelated_does(tmp_path: Path) -> None:
    """By the default model of the memory, in both languages."""
    asked: list[str] = []

    async def model(prompt: str) -> str:
        asked.append(prompt)
        return json.dumps({"action": "add"})

    async with AsyncMemory(tmp_path) as memory:
        store = KernelStore(memory, wait="vectors")
        for n, (known, _) in enumerate(REFINED):
            await store.add(MemoryItem(id=str(n), content=known, memory_type="human"))
        checker = MemUpdateChecker(store, model)
        for known, new in REFINED:
            await checker.check(MemoryItem(content=new, memory_type="human"))
            assert len(asked) == 1 and known in asked.pop(), new
        for new in UNRELATED:
            decision = await checker.check(MemoryItem(content=new, memory_type="human"))
            assert (decision.reason, asked) == ("nothing similar is known", []), new


async def test_an_orchestrator_says_why_it_did_nothing(host: AMemorixHostService) -> None:
    async def nothing(prompt: str) -> str:
        return "[]"

    talk = [HumanMemory(content=f"line {n}") for n in range(3)]
    orchestrator = MemoryOrchestrator(KernelStore(host), nothing)
    for items, types, word in ((talk[:2], None, "min_items"), (talk, (), "extraction_types"), (talk, None, "nothing")):
        done = await orchestrator.process(await orchestrator.submit(items, extraction_types=types))
        assert (done.status, done.result, done.error) == ("completed", [], "") and word in done.reason, done.reason

    async def one(prompt: str) -> str:
        return '["A finding"]'

    orchestrator = MemoryOrchestrator(KernelStore(host), one, OrchestratorConfig(min_items=1))
    done = await orchestrator.process(await orchestrator.submit(talk))
    assert done.result and done.reason == ""


async def test_the_sqlite_store_is_a_memory_in_a_place(tmp_path: Path) -> None:
    (tmp_path / "memory.toml").write_text('[embedding]\nprovider = "none"\n', "utf-8")
    store = SQLiteMemoryStore(str(tmp_path / "memory.toml"))
    assert isinstance(store, MemoryStore)
    await store.add(HumanMemory(id="a", content="I live in Lisbon."))
    again = SQLiteMemoryStore(tmp_path / "memory.toml")
    assert [item.id for item in await again.search(query="Lisbon")] == ["a"]
    store._caller.close()  # type: ignore[union-attr] # pyright: ignore


async def test_the_vector_store_finds_by_vectors_of_any_model(dense_host: AMemorixHostService) -> None:
    asked: list[str] = []

    class Embeddings:
        async def embed(self, text: str) -> Sequence[float]:
            asked.append(text)
            return [1.0, 0.0, 0.1] if "boat" in text or "ship" in text else [0.0, 1.0, 0.1]

    store = VectorMemoryStore(Embeddings(), dense_host, "mine")
    assert isinstance(store, MemoryStore)
    await store.add(HumanMemory(id="a", content="the boat leaks", metadata=MemoryMetadata(user_id="ann")))
    await store.add(HumanMemory(id="b", content="the oven is hot"))
    assert [item.id for item in await store.search(query="a ship", limit=1)] == ["a"] and len(asked) == 3
    assert [item.id for item in await store.search(query="a ship", metadata=MemoryMetadata(user_id="ann"))] == ["a"]
    assert [item.id for item in await store.search()] == ["b", "a"]
    own = VectorMemoryStore(memory=dense_host, namespace="own")
    await own.add(HumanMemory(id="c", content="the kettle sings"))
    await own.add(HumanMemory(id="d", content="an old lamp"))
    assert [item.id for item in await own.search(query="the kettle sings", limit=1)] == ["c"]
    assert len(await own.embed("x")) == len(HashEmbedder()(["x"])[0])


def test_the_postgres_store_has_its_name() -> None:
    assert PostgresMemoryStore is PostgresStore


# databases that Exo wrote

TABLE = """create table memory_items (id text primary key, content text not null, memory_type text not null, {category}
    status text not null default 'accepted', metadata {json} not null default '{{}}', extra_fields {json} not null default '{{}}',
    created_at text not null, updated_at text not null)"""
ITEMS: list[tuple[Any, ...]] = [
    ("h", "I live in Lisbon.", "human", "accepted", {"user_id": "ann", "extra": {"n": 1}}, {}),
    ("a", "Noted, Lisbon.\n  As you said. ", "ai", "draft", {"agent_id": "bot"}, {"tool_calls": [{"id": "t1"}]}),
    ("t", "It rains.", "tool", "accepted", {}, {"tool_call_id": "t1", "tool_name": "weather", "is_error": True}),
    ("d", "I live in Porto.", "human", "discard", {"user_id": "ann", "task": "x"}, {}),
]


def database_of_exo(path: Path, *, category: bool) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(TABLE.format(category="category text," if category else "", json="text"))
        for n, (*text, metadata, fields) in enumerate(ITEMS):
            values = [*text, json.dumps(metadata), json.dumps(fields), CREATED.replace("02T", f"0{2 + n}T"), CREATED]
            names = "id, content, memory_type, status, metadata, extra_fields, created_at, updated_at"
            db.execute(f"insert into memory_items ({names}) values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        if category:
            db.execute("update memory_items set category = 'semantic' where id = 'h'")
    return path


async def assert_imported(store: KernelStore, *, category: bool) -> None:
    found = {id_: await store.get(id_) for id_ in "hatd"}
    human, ai, tool, gone = (found[id_] for id_ in "hatd")
    assert isinstance(human, HumanMemory) and isinstance(ai, AIMemory) and isinstance(tool, ToolMemory)
    assert (human.content, human.metadata.user_id, human.metadata.extra, human.created_at) == (
        "I live in Lisbon.",
        "ann",
        {"n": 1},
        CREATED,
    )
    assert human.category == ("semantic" if category else None)
    assert (ai.content, ai.status, ai.metadata.agent_id, ai.tool_calls) == (
        "Noted, Lisbon.\n  As you said. ",
        "draft",
        "bot",
        [{"id": "t1"}],
    )
    assert (tool.tool_call_id, tool.tool_name, tool.is_error) == ("t1", "weather", True)
    assert gone is not None and (gone.status, gone.metadata.extra) == ("discard", {"task": "x"})
    assert [item.id for item in await store.search(query="Lisbon", metadata=MemoryMetadata(user_id="ann"))] == ["h"]
    assert [item.id for item in await store.search()] == ["t", "a", "h"]


@pytest.mark.parametrize("category", [False, True])
async def test_a_sqlite_database_is_imported_once(host: AMemorixHostService, tmp_path: Path, category: bool) -> None:
    path = database_of_exo(tmp_path / "exo.db", category=category)
    before = path.read_bytes()
    for _ in range(2):
        done = await import_database(path, host, "n")
        assert (done.stored, done.left) == (4, {})
        await assert_imported(KernelStore(host, "n"), category=category)
    assert path.read_bytes() == before
    assert await KernelStore(host, "other").search() == []


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres() as address:
        yield address


async def test_a_postgres_database_is_imported(host: AMemorixHostService, address: str) -> None:
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("drop table if exists memory_items")
        db.execute(TABLE.format(category="category text,", json="jsonb").encode())
        for n, (*text, metadata, fields) in enumerate(ITEMS):
            values = [*text, json.dumps(metadata), json.dumps(fields), CREATED.replace("02T", f"0{2 + n}T"), CREATED]
            names = b"id, content, memory_type, status, metadata, extra_fields, created_at, updated_at"
            db.execute(b"insert into memory_items (" + names + b") values (%s, %s, %s, %s, %s, %s, %s, %s)", values)
        db.execute("update memory_items set category = 'semantic' where id = 'h'")
        try:
            assert (await import_database(address, host)).stored == 4
            await assert_imported(KernelStore(host), category=True)
        finally:
            db.execute("drop table memory_items")


def test_one_command_imports(tmp_path: Path) -> None:
    path = database_of_exo(tmp_path / "exo.db", category=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("insert into memory_items values ('e', ' ', 'human', null, 'accepted', '{}', '{}', '', '')")
    (tmp_path / "memory.toml").write_text('[embedding]\nprovider = "none"\n', "utf-8")

    def command(*given: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "amemorix.facades.exo", *given, "--memory", str(tmp_path / "memory.toml")]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    done = command(str(path))
    assert (done.returncode, done.stdout) == (1, "4 items imported\n") and "left out: e: content" in done.stderr
    missing = command(str(tmp_path / "none.db"))
    assert missing.returncode == 1 and "none.db" in missing.stderr
    (tmp_path / "other.db").write_bytes(b"")
    assert "no SQLite database" in command(str(tmp_path / "other.db")).stderr


async def test_what_is_no_database_of_exo_is_refused(host: AMemorixHostService, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as db, db:
        db.execute("create table other (id text)")
    with pytest.raises(MemoryError, match="memory_items"):
        await import_database(tmp_path / "x.db", host)

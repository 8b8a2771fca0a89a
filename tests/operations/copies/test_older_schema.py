"""Copies of a memory that an older program made: put back, they end as that memory does when it is opened."""

from __future__ import annotations

import asyncio
import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix.clock import FrozenClock
from amemorix.copies.backup_folder import BackupFolder, take_keys_along
from amemorix.copies.portable_file import PortableHeader, PortableWriter, TableShape
from amemorix.store import copies as copy_rows
from amemorix.store.compaction import open_copy
from amemorix.store.keys import KEYS_FILE, Keyring
from amemorix.store.migrations import migrations
from amemorix.store.queries import of_file
from amemorix.testing import memory_host, scratch_config
from command_line import run, words
from encrypted_memory import RAW_KEY, SECRET
from entrance import found
from memory_dump import tables_of

DATA = Path(__file__).parents[2] / "data"
ASKED_AT = 1_767_225_600.0
KEY_VARIABLE = "AMEMORIX_KEY"
QUESTIONS = 8
SCHEMAS = [number for number, _, _ in migrations()]


def settings(encrypted: bool) -> dict[str, Any]:
    return {
        "storage.encryption.enabled": encrypted, "storage.encryption.key_env": KEY_VARIABLE,
        "storage.encryption.key_file": "",
    }  # fmt: skip


def command(folder: Path, *args: str) -> str:
    done = run(*args, "-c", str(folder / "config" / "a_memorix.toml"))
    assert done.exit_code == 0, f"{args}: {words(done)}"
    return words(done)


def of_schema(path: Path, schema: int) -> None:
    """Write the memory of 0.1.0 as the program of a schema left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.decompress((DATA / "memory_0_1_0.db.xz").read_bytes()))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma foreign_keys = on")
        for number, _, sql in migrations()[1:schema]:
            db.executescript(f"begin;\n{sql}\npragma user_version = {number};\ncommit;")
        told = "update facts set asserted_at = 1, pinned = 1 where id = (select max(id) from facts)"
        db.execute(told)  # a hand's stays, and points to what rules had read


def older_memory(folder: Path, schema: int, *, encrypted: bool) -> Keyring | None:
    """A memory as the program of a schema left it; its keys."""
    config, data = (
        scratch_config(folder, {"embedding.provider": "none", **settings(encrypted)}),
        folder / "data" / "a-memorix",
    )
    keys = None
    if encrypted:
        data.mkdir(parents=True)
        command(folder, "key", "init")
        keys = Keyring.read(data / KEYS_FILE, SECRET)
        of_schema(plain := folder / "plain.db", schema)
        copy_rows.convert(plain, data / "memory.db", keys.page_key(plain), keys.page_key())
    else:
        of_schema(data / "memory.db", schema)
    assert config.exists()
    return keys


def backed_up(folder: Path, keys: Keyring | None) -> str:
    """The folder of a backup that the program of its schema made."""
    data = folder / "data" / "a-memorix"
    backups = BackupFolder(data, (), keys)
    draft = backups.begin(backups.home)
    with open_copy(data / "memory.db", keys, unchanged=True) as db:
        held = copy_rows.copy(db, draft / "memory.db", lambda *_: None, keys)
    take_keys_along(data, draft, keys)
    return str(backups.publish(draft, backups.seal(draft, held, reason="manual", now=ASKED_AT)).folder)


def exported(folder: Path, keys: Keyring | None) -> str:
    """An export with vectors that the program of its schema wrote."""
    file = folder / "older.jsonl"
    with open_copy(folder / "data" / "a-memorix" / "memory.db", keys, unchanged=True) as db, file.open("wb") as out:
        held = copy_rows.inventory(db)
        columns = {name: shown for name, shown in copy_rows.tables(db).items() if name not in ("meta", "audit")}
        shapes = {name: TableShape(shown, held.counts[name]) for name, shown in columns.items()}
        header = PortableHeader(
            held.schema,
            ASKED_AT,
            held.database_id,
            True,
            "",
            held.floor,
            dict(held.numbers),
            copy_rows.meta(db),
            shapes,
        )
        writer = PortableWriter(out, header)
        for table, shown in columns.items():
            for row in copy_rows.rows(db, table, shown):
                writer.row(table, row)
        writer.end()
    return str(file)


async def held(folder: Path, *, encrypted: bool) -> tuple[dict[str, Any], list[Any]]:
    """Every row of a memory that was opened and has read all it holds, and what it answers."""
    asked = json.loads((DATA / "hits_0_1_0.json").read_text("utf-8"))
    host = memory_host(folder, clock=FrozenClock(ASKED_AT), environ={KEY_VARIABLE: RAW_KEY}, **settings(encrypted))
    async with host as memory:
        await memory.settle(600)
        report = (await memory.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report
        answers = [
            await found(memory, query, **({"chat_id": chat} if chat else {})) for query, chat, _ in asked[:QUESTIONS]
        ]
        kept = [
            ([(hit["id"], hit["score"]) for hit in one["hits"]], [fact["id"] for fact in one["facts"]])
            for one in answers
        ]
        return await memory.kernel.store.read(lambda db: tables_of(of_file(db))), kept


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_copy_of_an_older_schema_ends_as_the_memory_that_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int, encrypted: bool
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, RAW_KEY)
    live = tmp_path / "live"
    keys = older_memory(live, schema, encrypted=encrypted)
    backup, file = backed_up(live, keys), exported(live, keys)
    expected = asyncio.run(held(live, encrypted=encrypted))
    assert expected[0]["facts"] and any(hits for hits, _ in expected[1])
    carried = str(tmp_path / "carried.jsonl")
    command(live, "export", carried, "--vectors", *(["--plain"] if encrypted else []))

    ways = {
        "restored": ("restore", "--yes", backup),
        "imported": ("import-export", file),
        "carried": ("import-export", carried),
    }
    for name, way in ways.items():
        folder = tmp_path / name
        scratch_config(folder, {"embedding.provider": "none", **settings(encrypted)})
        if encrypted:  # the keys of the memory that the copy is of
            data = folder / "data" / "a-memorix"
            data.mkdir(parents=True)
            (data / KEYS_FILE).write_bytes((live / "data" / "a-memorix" / KEYS_FILE).read_bytes())
        command(folder, *way)
        assert "All is well" in command(folder, "check"), name
        got = asyncio.run(held(folder, encrypted=encrypted))
        assert got[1] == expected[1], name
        for table, rows in expected[0].items():
            assert got[0][table] == rows, (name, table)
        if not encrypted:
            command(folder, "key", "enable")
            assert "Everything can be read" in command(folder, "key", "verify")

"""A database whose schema is not the program's: what can be made from the tables is made anew, the rest is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from amemorix.errors import StorageFailure
from amemorix.testing import HashEmbedder, memory_host


def database(folder: Path) -> Path:
    return folder / "data" / "a-memorix" / "memory.db"


def change(folder: Path, *statements: str) -> None:
    db = sqlite3.connect(database(folder))
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


async def filled(folder: Path) -> None:
    async with memory_host(folder, embed=HashEmbedder()) as host:
        for i, text in enumerate(("I live in Porto", "我住在杭州")):
            turn = {"speaker": ("Mia", "林澈")[i], "text": text}
            await host.invoke("ingest_messages", {"chat_id": "c", "messages": [turn]})
        await host.settle()


@pytest.mark.parametrize(
    "statement",
    ["drop index facts_over", "drop trigger paragraphs_updated", "drop view fact_rows",
     "create index paragraphs_by_scope2 on paragraphs (scope)"],
)  # fmt: skip
async def test_what_the_tables_can_give_back_is_made_anew(tmp_path: Path, statement: str) -> None:
    await filled(tmp_path)
    change(tmp_path, statement)
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        answer = await host.invoke("search_memory", {"query": "林澈住在哪里", "chat_id": "c"})
        assert [fact["value"] for fact in answer["facts"]] == ["杭州"]
        report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check", "deep": True}))["report"]
        assert report["ok"], report


@pytest.mark.parametrize(
    ("statement", "table"), [("alter table facts add column mood text", "facts"), ("drop table audit", "audit")]
)
async def test_other_tables_are_refused_by_name_and_left_alone(tmp_path: Path, statement: str, table: str) -> None:
    await filled(tmp_path)
    change(tmp_path, statement)
    before = database(tmp_path).read_bytes()
    with pytest.raises(StorageFailure, match=f"tables {table} are not those") as caught:
        async with memory_host(tmp_path):
            pass
    assert caught.value.details["tables"] == [table]
    assert database(tmp_path).read_bytes() == before

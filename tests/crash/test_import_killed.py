"""An import that kill -9 ended goes on where it was: every record once, whatever its format."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import closing
from pathlib import Path

import pytest

from amemorix.testing import memory_host
from database_file import open_database
from import_entrance import admin, jsonl, turn
from lives import Life, Tell

ROWS, CHUNK = 300, 7


async def live(tell: Tell, folder: Path, file: Path, chunk: int) -> None:
    """Begin the import, or go on with it; the records stored are told whenever there are more."""
    settings = {"roots": [str(file.parent)], "chunk_records": chunk, "idle_share": 1}
    async with memory_host(folder, imports=settings) as host:
        tasks = (await admin(host, "list"))["items"]
        if not tasks:
            await admin(host, "create_raw_scan", path=str(file), chat_id="c")
        told = -1
        while True:
            task = (await admin(host, "get", task_id="i1"))["task"]
            if task["records"] != told:
                told = task["records"]
                tell(told)
            if task["status"] not in ("queued", "preparing", "running"):
                tell(task["status"])
                return
            await asyncio.sleep(0.001)


def made(folder: Path, name: str) -> Path:
    if name == "jsonl":
        return jsonl(folder / "a.jsonl", *(turn(n % 160) for n in range(ROWS)))
    if name == "csv":
        path = folder / "a.csv"
        path.write_text("内容,备注\n" + "".join(f'"风筝\nkite {n % 160}",{n % 160}\n' for n in range(ROWS)), "utf-8")
        return path
    if name == "chat_log":
        path = folder / "a.txt"
        said = "".join(f"2026-03-01 20:{n % 160 % 60:02}:33 大黄(10001)\n风筝 kite {n % 160}\n\n" for n in range(ROWS))
        path.write_text(f"消息记录（此消息记录为文本格式）\n\n{said}", "gb18030")
        return path
    path = folder / "a.json"
    path.write_text(json.dumps([{"content": f"风筝 kite {n % 160}"} for n in range(ROWS)]), "utf-8")
    return path


@pytest.mark.parametrize("name", ["jsonl", "csv", "chat_log", "json"])
def test_every_record_is_there_once_after_kills(tmp_path: Path, name: str) -> None:
    rng, file = random.Random(name), made(tmp_path, name)
    reached = 0
    for share in (0.2, 0.45, 0.65):
        life, enough = Life(live, tmp_path, file, CHUNK), share * ROWS + rng.randrange(20)
        while (reached := life.heard()) < enough:
            pass
        life.kill()
    assert 0 < reached < ROWS

    *counts, status = Life(live, tmp_path, file, CHUNK).rest()
    assert (status, counts[-1]) == ("completed", ROWS)
    assert counts[0] >= reached, "what was stored is not read again"
    with closing(open_database(tmp_path / "data" / "a-memorix" / "memory.db")) as db:
        assert db.execute("select count(*), count(distinct ref), max(revision) from paragraphs").fetchone() == (
            ROWS,
            ROWS,
            1,
        )
        assert db.execute("select count(distinct content) from paragraphs").fetchone() == (160,)
        chunks = db.execute("select start, stop, records from import_chunks order by number").fetchall()
        assert [chunk[0] for chunk in chunks] == [0, *(chunk[1] for chunk in chunks[:-1])]
        assert sum(chunk[2] for chunk in chunks) == ROWS
        assert db.execute("pragma foreign_key_check").fetchall() == []

"""A purge that kill -9 ended goes on when the memory is opened, and leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from amemorix.services import erasing
from amemorix.testing import memory_host
from entrance import rows, told
from import_entrance import staged_file
from test_purge import admin, left

LIFE = Path(__file__).with_name("purge_life.py")
SEEDS = int(os.environ.get("AMEMORIX_PURGES", "3"))


def begun(what: str, folder: Path, seed: int, backend: str) -> subprocess.Popen[str]:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(LIFE), what, str(folder), str(seed), backend],
        env={**os.environ, **threads}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def lived(what: str, folder: Path, seed: int, backend: str) -> list[str]:
    out, errors = (process := begun(what, folder, seed, backend)).communicate(timeout=180)
    assert process.returncode == 0, errors
    return out.splitlines()


def killed(folder: Path, seed: int, backend: str, delay: float) -> None:
    process = begun("purge", folder, seed, backend)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().strip() == '"ready"', process.stderr.read()
    time.sleep(delay)
    process.kill()
    process.communicate()


@pytest.mark.parametrize("backend", ["native", "fts5"])
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_nothing_is_left_after_a_purge_that_was_killed(tmp_path: Path, seed: int, backend: str) -> None:
    rng = random.Random(seed)
    (filled,) = lived("fill", tmp_path, seed, backend)
    texts = json.loads(filled)
    for _ in range(rng.choice((1, 1, 2))):
        killed(tmp_path, seed, backend, rng.uniform(0.0, 0.12))

    _, ended = lived("finish", tmp_path, seed, backend)

    operation = json.loads(ended)
    assert (operation["status"], operation["receipt"]["found"]) == ("purged", {})
    data = tmp_path / "data" / "a-memorix"
    assert left(data, texts["gone"]) == []
    assert left(data, texts["stays"]), "what stays is there"
    with closing(sqlite3.connect(data / "memory.db")) as db:
        assert db.execute("select count(*), count(deleted_at) from paragraphs").fetchone() == (30, 0)
        assert db.execute("pragma foreign_key_check").fetchall() == []


@pytest.mark.parametrize("staged", [True, False])
async def test_what_an_interruption_leaves_unproved_is_named_and_not_removed(
    staged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "STEP", 1)
    begun = "select id from delete_operations where receipt like '%\"paragraphs\": 1%'"
    async with memory_host(tmp_path) as host:
        for n in range(60):
            await told(host, f"The umbrella of cabinet {n} is in drawer {n * 7}.", chat_id="away", external_id=str(n))
        await host.invoke("memory_runtime_admin", {"action": "export"})
        other = staged_file(host, "talk.txt", b"nothing of it") if staged else None
        done = await admin(host, "execute", mode="chat", selector="away")
        await admin(host, "purge", operation_id=done["operation_id"], wait=False)
        for _ in range(10_000):
            if rows(host, begun):
                break
            await asyncio.sleep(0)
    async with memory_host(tmp_path) as host:
        await host.invoke("memory_delete_admin", {"action": "purge", "operation_id": "d1"})
        receipt = (await admin(host, "get_operation", operation_id="d1"))["operation"]["receipt"]
        assert (receipt["complete"], receipt["found"]) == (not staged, {})
        assert "removed" in [one["done"] for one in receipt["copies"]], "the export"
        assert len(receipt["warnings"]) == staged
        if other:
            assert other.parent.name in receipt["warnings"][0] and "interrupt" in str(receipt["copies"])
            assert other.exists()
        assert left(tmp_path / "data" / "a-memorix", ["The umbrella of cabinet"]) == []

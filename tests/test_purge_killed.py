"""A purge that kill -9 ended goes on when the memory is opened, and leaves nothing."""

from __future__ import annotations

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

from test_purge import left

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
    (told,) = lived("fill", tmp_path, seed, backend)
    texts = json.loads(told)
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

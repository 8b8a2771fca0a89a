"""Random histories, ended by kill -9 at any point: what was acknowledged is there, once, and the indexes agree with it.

`AMEMORIX_HISTORIES=500 pytest tests/crash/test_histories.py` runs more of them, `AMEMORIX_HISTORY_SEED=17` begins at that
seed. The calls of a seed are always the same; the moment of the kill hangs on the machine too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HISTORIES = int(os.environ.get("AMEMORIX_HISTORIES", "25"))
FIRST_SEED = int(os.environ.get("AMEMORIX_HISTORY_SEED", "1"))
SERVERS = min(2, os.cpu_count() or 1)
SERVER = Path(__file__).parents[1] / "history_server.py"


def started(folder: Path, seeds: range) -> subprocess.Popen[str]:
    folder.mkdir()
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(SERVER), str(folder), *map(str, seeds)],
        env={**os.environ, **threads}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def reports(server: subprocess.Popen[str]) -> list[dict[str, Any]]:
    out, errors = server.communicate()
    assert server.returncode == 0, errors
    return [json.loads(line) for line in out.splitlines()]


def told(report: dict[str, Any]) -> str:
    return f"AMEMORIX_HISTORY_SEED={report['seed']} AMEMORIX_HISTORIES=1, kill {report['kills']}:\n{report['wrong']}"


def test_every_acknowledged_write_outlives_a_kill_exactly_once(tmp_path: Path) -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + HISTORIES)
    servers = [started(tmp_path / str(n), seeds[n::SERVERS]) for n in range(SERVERS)]

    found = [report for server in servers for report in reports(server)]

    assert not (wrong := [told(report) for report in found if report["wrong"]]), "\n".join(wrong[:3])
    assert len(found) == HISTORIES
    assert sum(report["kills"] for report in found) >= HISTORIES
    assert sum(report["acknowledged"] for report in found) > HISTORIES

"""The memory that a daemon holds over mixed calls, as it is measured."""

from __future__ import annotations

import csv
from pathlib import Path

from amemorix_bench.soak import LONG, Sample, SoakReport
from command_line import run, words


def test_a_soak_writes_the_memory_over_calls_and_every_call_is_answered(tmp_path: Path) -> None:
    file = tmp_path / "rss.csv"
    done = run("bench", "soak", "--minutes", "0.05", "--csv", str(file), "--data-dir", str(tmp_path / "memory"))
    assert done.exit_code == 0, done.output
    with file.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert all(20 < float(row["rss_mib"]) < 10_000 and int(row["calls"]) >= 100 for row in rows)
    said = words(done)
    assert "slope of the last half" in said
    assert "500" not in said.partition("answers: ")[2].partition("RSS")[0]
    assert LONG[:1_000] not in (tmp_path / "memory" / "daemon.log").read_text("utf-8")


def test_the_slope_is_that_of_the_last_half() -> None:
    filling = [Sample(n, n * 100, 100 + n, 0) for n in range(50)]
    full = [Sample(n, n * 100, 150 + (n - 50) * 0.02, 0) for n in range(50, 101)]
    assert round(SoakReport(filling + full).slope, 3) == 2.0

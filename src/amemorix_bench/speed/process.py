"""What a fresh process takes until its first answer, and how much memory it holds."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemorix.testing import scratch_config

from ..corpus import questions
from ..metrics import percentile
from .search import search_args

__all__ = ["ProcessFigures", "measure_process"]

SEARCHES = 100


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """Seconds from the start of the process (medians; the disk's cache is warm), and MiB after a hundred searches.

    `cpu_seconds` is what all its threads had spent when the first answer was there.
    """

    rows: int
    runs: int
    ready_seconds: float
    answer_seconds: float
    cpu_seconds: float
    rss_mib: float


async def measure_process(folder: Path, rows: int, config: Mapping[str, Any], runs: int = 3) -> ProcessFigures:
    """Open the store below `folder` in processes of their own; nobody else may have it open."""
    path = scratch_config(folder, config)
    asked = [search_args(q, rows, scoped=i % 2 == 0) for i, q in enumerate(questions(SEARCHES + 1, rows, "process"))]
    found = [await _run(path, asked) for _ in range(runs)]
    middle = {key: round(percentile([run[key] for run in found], 50), 3) for key in found[0]}
    return ProcessFigures(
        rows=rows, runs=runs, ready_seconds=middle["ready"], answer_seconds=middle["answered"],
        cpu_seconds=middle["cpu"], rss_mib=middle["rss_mib"],
    )  # fmt: skip


async def _run(config: Path, asked: list[dict[str, Any]]) -> dict[str, float]:
    """What the probe found, its times counted from the start of the process. Raises RuntimeError if it fails."""
    started = time.time()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "amemorix_bench.speed.probe", str(config),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate(json.dumps(asked).encode())
    if process.returncode:
        raise RuntimeError(f"the probe ended with {process.returncode}")
    found: dict[str, float] = json.loads(output)
    return found | {key: found[key] - started for key in ("ready", "answered")}

"""How fast a large file is imported, what searches notice of it, and that kill -9 neither loses nor repeats a record."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amemorix.testing import scratch_config

from .corpus import calls
from .metrics import percentile
from .workspace import answered, open_memory, working_folder

__all__ = ["ImportReport", "Searches", "run"]

COMPONENT = "memory_import_admin"
PAGE = 500
MOST_CHARS = 1_000
"""A longer message would be two paragraphs, and what is counted are records."""


@dataclass(frozen=True, slots=True)
class Searches:
    """Searches made while it ran, in milliseconds; every query is new, the first ones of each process count in `longest` only."""

    count: int
    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import of `rows` records came to."""

    rows: int
    megabytes: float
    kills: int
    seconds: float
    """From the first start to the end, processes that were started again included."""
    rate: float
    """Records a second while it worked."""
    peak_mib: float
    one_chat: Searches
    everything: Searches
    stored: int
    problems: tuple[str, ...]
    """What is not as it has to be; empty if every record is there exactly once."""

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


async def run(
    rows: int, *, kills: int = 0, config: Mapping[str, Any] | None = None, data_dir: Path | None = None, seed: int = 1
) -> ImportReport:
    """Import a made-up chat history in a process of its own, kill it at random places, and look whether all is there."""
    with working_folder(data_dir) as folder:
        file = folder / "history.jsonl"
        await asyncio.to_thread(_write, file, rows)
        settings = {"imports.roots": [str(folder)], **(config or {})}
        path = scratch_config(folder, settings)
        rng, told, started = random.Random(seed), list[dict[str, Any]](), time.perf_counter()
        for at in sorted(rng.randrange(rows // 50, max(rows - rows // 20, rows // 50 + 1)) for _ in range(kills)):
            told += await _life(path, file, rows, at)
        told += await _life(path, file, rows, None)
        seconds = time.perf_counter() - started
        problems = await _problems(folder, settings, rows)
        return ImportReport(
            rows=rows, megabytes=round(file.stat().st_size / 1e6, 1), kills=kills, seconds=round(seconds, 1),
            rate=told[-1]["rate"], peak_mib=max(one["peak_mib"] for one in told),
            one_chat=_searches(told, scoped=True), everything=_searches(told, scoped=False),
            stored=told[-1]["counts"].get("stored", 0), problems=tuple(problems),
        )  # fmt: skip


def _searches(told: Sequence[Mapping[str, Any]], *, scoped: bool) -> Searches:
    these = [one for one in told if one["scoped"] == scoped]
    warm = [one["ms"] for one in these if one["warm"]]
    longest = max((one["ms"] for one in these), default=0.0)
    return Searches(len(these), round(percentile(warm, 50), 1), round(percentile(warm, 95), 1), longest)


def _write(file: Path, rows: int) -> None:
    with file.open("w", encoding="utf-8") as out:
        for call in calls(rows):
            for message in call.messages:
                record = {**message, "text": message["text"][:MOST_CHARS], "chat_id": call.chat_id}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")


async def _life(config: Path, file: Path, rows: int, kill_at: int | None) -> list[dict[str, Any]]:
    """What the process told until it was killed at so many records, or had ended. Raises RuntimeError if it fails."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "amemorix_bench.import_child", str(config), str(file), str(rows), str(kill_at),
        stdout=asyncio.subprocess.PIPE, env={**os.environ},
    )  # fmt: skip
    told: list[dict[str, Any]] = []
    if process.stdout is None:
        raise RuntimeError("the importing process cannot be heard")
    async for line in process.stdout:
        told.append(json.loads(line))
        if kill_at is not None and told[-1]["records"] >= kill_at:
            process.kill()
            break
    await process.wait()
    if kill_at is None and process.returncode:
        raise RuntimeError(f"the importing process ended with {process.returncode}")
    return told


async def _problems(folder: Path, settings: Mapping[str, Any], rows: int) -> list[str]:
    """Whatever shows that a record is missing, or there twice."""
    found: list[str] = []
    quiet = {"extraction.enabled": False, "episode.enabled": False, "facts.enabled": False, "profile.enabled": False}
    async with open_memory(folder, {**settings, **quiet, "embedding.provider": "none"}) as host:
        stats = await answered(host, "memory_stats", {})
        for name, wanted in (("paragraphs", rows), ("external_refs", rows), ("superseded", 0), ("deleted", 0)):
            if stats[name] != wanted:
                found.append(f"{name}: {stats[name]}, not {wanted}")
        sources = (await answered(host, "memory_source_admin", {"action": "list", "limit": 10_000}))["items"]
        held = {item["chat_id"]: item["count"] for item in sources}
        wanted = Counter({call.chat_id: 0 for call in calls(rows)})
        for call in calls(rows):
            wanted[call.chat_id] += len(call.messages)
        found += [
            f"{chat}: {held.get(chat, 0)}, not {count}" for chat, count in wanted.items() if held.get(chat) != count
        ]
        task = (await answered(host, COMPONENT, {"action": "list"}))["items"][0]
        if task["status"] != "completed" or task["records"] != rows:
            found.append(f"the task is {task['status']} with {task['records']} records")
        found += await _gaps(host, task)
    return found[:20]


async def _gaps(host: Any, task: dict[str, Any]) -> list[str]:
    """Places where one chunk does not begin where the one before ended."""
    at, offset, found = 0, 0, list[str]()
    while True:
        args = {"action": "get_chunks", "task_id": task["task_id"], "file_id": task["files"][0]["file_id"],
                "offset": offset, "limit": PAGE}  # fmt: skip
        page = (await answered(host, COMPONENT, args))["items"]
        for chunk in page:
            if chunk["start"] != at:
                found.append(f"chunk {chunk['index']} begins at {chunk['start']}, not {at}")
            at = chunk["stop"]
        offset += len(page)
        if not page:
            return found

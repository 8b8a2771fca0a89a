"""What encryption at rest costs: the same work on a plain and an encrypted memory, taken in turns in one run."""

from __future__ import annotations

import json
import secrets
import statistics
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from amemorix.host.service import AMemorixHostService
from amemorix.testing import HashEmbedder

from .corpus import calls, questions
from .workspace import answered, open_memory, working_folder

__all__ = ["MOST_SEARCH", "LEAST_INGEST", "EncryptionReport", "run"]

MOST_SEARCH, LEAST_INGEST = 1.15, 0.8
"""The bounds: times of a search, and rates of a batched ingest, of the encrypted memory against the plain one."""


@dataclass(frozen=True, slots=True)
class EncryptionReport:
    """Figures of the plain memory and of the encrypted one; a ratio is the encrypted against the plain."""

    rows: int
    ingest_rate: tuple[float, float]
    search_p50_ms: tuple[float, float]
    backup_s: tuple[float, float]
    opening_s: tuple[float, float]

    @property
    def ingest(self) -> float:
        return round(self.ingest_rate[1] / self.ingest_rate[0], 3)

    @property
    def search(self) -> float:
        return round(self.search_p50_ms[1] / self.search_p50_ms[0], 3)

    @property
    def within(self) -> bool:
        """Whether both bounds hold."""
        return self.search <= MOST_SEARCH and self.ingest >= LEAST_INGEST

    def to_json(self) -> str:
        """Every figure, and the ratios."""
        return json.dumps({**asdict(self), "ingest": self.ingest, "search": self.search}, indent=1)


async def run(rows: int, searches: int, config: Mapping[str, Any]) -> EncryptionReport:
    """Fill both memories call by call, ask both every question, back both up and open them again."""
    with working_folder() as folder:
        key = folder / "key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        on = {
            "storage.encryption.enabled": True,
            "storage.encryption.key_env": "",
            "storage.encryption.key_file": str(key),
        }
        patches = [{**config, "storage.encryption.enabled": False}, {**config, **on}]
        places = [folder / "plain", folder / "encrypted"]
        async with AsyncExitStack() as stack:
            hosts = [
                await stack.enter_async_context(open_memory(place, patch, embed=HashEmbedder(384)))
                for place, patch in zip(places, patches, strict=True)
            ]
            ingest = await _filled(hosts, rows)
            search = await _searched(hosts, rows, searches)
            backup = [await _timed(host, "memory_runtime_admin", {"action": "backup"}) for host in hosts]
        opening = [await _opened(place, patch) for place, patch in zip(places, patches, strict=True)]
    return EncryptionReport(rows, _pair(ingest), _pair(search), _pair(backup), _pair(opening))


async def _filled(hosts: list[AMemorixHostService], rows: int) -> list[float]:
    """Rows a second of each."""
    spent = [0.0, 0.0]
    for number, call in enumerate(calls(rows)):
        for which in (0, 1) if number % 2 else (1, 0):
            spent[which] += await _timed(hosts[which], "ingest_messages", call.args())
    for host in hosts:
        await host.settle()
    return [rows / seconds for seconds in spent]


async def _searched(hosts: list[AMemorixHostService], rows: int, count: int) -> list[float]:
    """The median time of a search of each, in milliseconds; half of them in one chat."""
    times: list[list[float]] = [[], []]
    asked = questions(count + 20, rows, "encryption")
    for number, question in enumerate(asked):
        args: dict[str, Any] = {"query": question.text, **({"chat_id": question.chat_id} if number % 2 else {})}
        for which in (0, 1) if number % 4 < 2 else (1, 0):
            times[which].append(await _timed(hosts[which], "search_memory", args))
    return [statistics.median(islice(one, 20, None)) * 1000 for one in times]


async def _timed(host: AMemorixHostService, component: str, args: dict[str, Any]) -> float:
    started = time.perf_counter()
    await answered(host, component, args)
    return time.perf_counter() - started


async def _opened(folder: Path, patch: Mapping[str, Any]) -> float:
    started = time.perf_counter()
    async with open_memory(folder, patch, embed=HashEmbedder(384)) as host:
        await answered(host, "search_memory", {"query": "dinner"})
        return time.perf_counter() - started


def _pair(values: list[float]) -> tuple[float, float]:
    return round(values[0], 3), round(values[1], 3)

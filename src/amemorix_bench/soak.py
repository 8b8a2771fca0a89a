"""Mixed calls at a daemon for many minutes, and the memory that it holds meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import os
import random
import statistics
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from amemorix.errors import StorageFailure, TooLarge
from amemorix.frontends.daemon import daemon_of
from amemorix.testing import scratch_config

from .corpus import questions
from .machine import resident_mib
from .workspace import working_folder

__all__ = ["Sample", "SoakReport", "run"]

CALLS = "/api/webui/memory"
CHATS, LINES = 20, 40
"""Chats that are there at once, and lines of each: an old one is erased for each new one, so that what is stored does not grow."""
EVERY = 100
"""Calls between two looks at the process."""
START_SECONDS = 120
LONG = "a" * 5_000
REFUSED: tuple[tuple[str, str, Any], ...] = (
    ("POST", f"{CALLS}/search_memory", {"query": 7}),
    ("POST", f"{CALLS}/no_such_component", {}),
    ("POST", f"{CALLS}/ingest_text", {"text": "x" * 3_000_000}),
    ("POST", f"{CALLS}/get_person_profile", {"person_id": "nobody"}),
    ("GET", f"/ui/static/{LONG}", None),
    ("GET", f"/{LONG}", None),
)
"""Calls that fail: method, path, body."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The daemon after so many calls: its resident memory in MiB, and the bytes that it has logged."""

    seconds: float
    calls: int
    rss_mib: float
    log_bytes: int


@dataclass(frozen=True, slots=True)
class SoakReport:
    """The samples in order, and how often each status was answered."""

    samples: list[Sample]
    statuses: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def last_half(self) -> list[Sample]:
        """The samples of the last half of the calls."""
        return [one for one in self.samples if one.calls * 2 >= self.samples[-1].calls]

    @property
    def slope(self) -> float:
        """MiB by which the memory grew in 10,000 calls of the last half (least squares)."""
        late = self.last_half
        if len({one.calls for one in late}) < 2:
            return 0.0
        fit = statistics.linear_regression([one.calls for one in late], [one.rss_mib for one in late])
        return fit.slope * 10_000

    def write_csv(self, path: Path) -> None:
        """Write a line for each sample. Raises StorageFailure."""
        try:
            with path.open("w", encoding="utf-8", newline="") as file:
                table = csv.writer(file)
                table.writerow(Sample.__slots__)
                table.writerows(
                    [round(one.seconds, 1), one.calls, round(one.rss_mib, 2), one.log_bytes] for one in self.samples
                )
        except OSError as exc:
            raise StorageFailure(f"{path} cannot be written: {exc.strerror}.", file=str(path)) from exc


async def run(
    minutes: float,
    *,
    config: Mapping[str, Any],
    data_dir: Path | None = None,
    csv_file: Path | None = None,
    seed: int = 1,
) -> SoakReport:
    """Start a daemon over a memory of its own and call it for so long; the file is written anew with each sample.

    Raises StorageFailure if the daemon does not start, or ends by itself.
    """
    with working_folder(data_dir) as folder:
        path = scratch_config(folder, {"embedding.provider": "none", "http.port": 0, **config})
        with (folder / "daemon.log").open("wb") as log:
            command = [
                sys.executable,
                "-c",
                "from amemorix.frontends.cli.main import main; main()",
                "serve",
                "-c",
                str(path),
            ]
            process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        try:
            url = await _address(path, process)
            async with httpx.AsyncClient(base_url=url, timeout=600) as web:
                soak = _Soak(web, random.Random(seed))
                report = SoakReport([], soak.statuses)
                for number in range(CHATS):
                    await soak.new_chat(number)
                started = time.monotonic()
                while (seconds := time.monotonic() - started) < minutes * 60 or not report.samples:
                    for _ in range(EVERY):
                        await soak.call()
                    if process.returncode is not None:
                        raise StorageFailure(f"The daemon ended with {process.returncode}: see {log.name}.")
                    size = os.path.getsize(log.name)
                    report.samples.append(Sample(seconds, soak.calls, resident_mib(process.pid), size))
                    if csv_file:
                        report.write_csv(csv_file)
            return report
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def _address(config: Path, process: asyncio.subprocess.Process) -> str:
    until = time.monotonic() + START_SECONDS
    while process.returncode is None and time.monotonic() < until:
        if found := daemon_of(config):
            return found.url
        await asyncio.sleep(0.1)
    raise StorageFailure("The daemon did not start.")


class _Soak:
    """Calls of many kinds, chosen at random, to a memory that stays as large as it is."""

    def __init__(self, web: httpx.AsyncClient, chance: random.Random) -> None:
        self.calls = 0
        self.statuses = Counter[int]()
        self._web = web
        self._chance = chance
        self._chats: deque[str] = deque()
        self._lines = [one.text for one in questions(500, 10_000, "soak")]
        self._next = CHATS

    async def call(self) -> None:
        """Make one call, in a hundred of which a chat is exchanged for a new one once."""
        chance, chat, query = self._chance, self._chance.choice(self._chats), self._chance.choice(self._lines)
        kind = chance.random()
        if kind < 0.01:
            await self._post("memory_delete_admin/execute", mode="chat", selector=self._chats.popleft(), purge=True)
            await self.new_chat(self._next)
            self._next += 1
        elif kind < 0.45:
            await self._post(
                "search_memory", query=query, limit=10, **({"chat_id": chat} if kind < 0.35 else {"scope": "all"})
            )
        elif kind < 0.55:
            await self._post("get_context", query=query, chat_id=chat)
        elif kind < 0.65:
            await self._post("memory_text_admin/list", chat_id=chat, limit=20)
        elif kind < 0.72:
            await self._post("get_person_profile", person_id=f"p{chance.randrange(10)}", chat_id=chat)
        elif kind < 0.78:
            await self._post("memory_stats")
        elif kind < 0.84:
            await self._post("memory_graph_admin/get_graph", limit=50, scope="all")
        elif kind < 0.92:
            await self._post("ingest_text", external_id=f"{chat}-one", chat_id=chat, text=query)
        else:
            method, path, body = chance.choice(REFUSED)
            await self._send(method, path, body)

    async def new_chat(self, number: int) -> None:
        """Store a chat."""
        name = f"chat{number}"
        turns = [
            {"external_id": f"{name}-{line}", "person_id": f"p{line % 10}", "speaker": f"Person {line % 10}", "text": self._chance.choice(self._lines)}
            for line in range(LINES)
        ]  # fmt: skip
        await self._post("ingest_messages", chat_id=name, messages=turns)
        self._chats.append(name)

    async def _post(self, path: str, **body: Any) -> None:
        await self._send("POST", f"{CALLS}/{path}", body)

    async def _send(self, method: str, path: str, body: Any) -> None:
        self.calls += 1
        try:
            self.statuses[(await self._web.request(method, path, json=body)).status_code] += 1
        except (httpx.ReadError, httpx.WriteError):  # what is too large is not read to its end
            self.statuses[TooLarge.status] += 1

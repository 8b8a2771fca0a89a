"""A thousand calls through twenty changes of the configuration: none fails, and none sees half of a change."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.config import patched
from amemorix.errors import InvalidConfig
from amemorix.host.environment import Surroundings
from amemorix.language.times import local_zone
from amemorix.testing import HashEmbedder, scratch_config
from entrance import rows

CALLS, RELOADS, LAST_CALLS, AT_ONCE = 1_000, 20, 80, 100
"""How many calls, how many changes, how many calls are kept for after the last change, and how many are made at once."""
WATCH_SECONDS = 120.0
UNHURRIED: dict[str, Any] = {
    "embedding.query_timeout_seconds": 120.0,
    "retrieval.lane_budget_ms": 60_000.0,
    "retrieval.rerank.budget_ms": 10_000.0,
}
"""No lane is left out because a thousand calls at once take long: one that is missing was taken away by a change."""
WEIGHTS = (40, 10, 30, 12, 6, 2)
"""Of single texts, batches, searches, looks at the configuration, counts and snapshots."""
REBUILDS: tuple[dict[str, Any], ...] = (
    {"embedding.quantization_type": "float16"},
    {"storage.group_commit_max": 64},
    {"storage.readers": 3},
    {"embedding.quantization_type": "int8"},
)


def settings(number: int) -> dict[str, Any]:
    """Settings that belong together: each tells the number of the change that made it."""
    changes: dict[str, Any] = {
        "retrieval.candidates": 50 + number,
        "ingest.max_messages": 1_000 + number,
        "embedding.model_name": f"model-{number // 4}",
    }
    return changes | (REBUILDS[number // 3 % len(REBUILDS)] if number % 3 == 2 else {})


def number_of(config: dict[str, Any]) -> int:
    """The change that a configuration comes from; AssertionError if it is made of two."""
    number = config["retrieval"]["candidates"] - 50
    assert config["ingest"]["max_messages"] == 1_000 + number, config
    assert config["embedding"]["model_name"] == f"model-{number // 4}", config
    return number


@asynccontextmanager
async def watched(folder: Path) -> AsyncGenerator[AMemorixHostService]:
    """A memory that follows its configuration file."""
    path = scratch_config(folder, {"embedding.provider": "host", **UNHURRIED, **settings(0)})
    around = Surroundings({}, SystemClock(), local_zone(), HashEmbedder(16))
    async with AMemorixHostService(path, surroundings=around) as host:
        yield host


class Load:
    """Calls of every kind, and what was acknowledged."""

    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host
        self._rng = random.Random(1)
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self.running: list[asyncio.Task[None]] = []
        self.texts: dict[str, str] = {}
        self.numbers: list[int] = []
        self.in_flight: list[int] = []
        kinds = (self._write, self._say, self._search, self._see, self._count, self._save)
        self._kinds: tuple[Callable[[int], Coroutine[Any, Any, None]], ...] = kinds

    def begin(self, count: int) -> None:
        """Begin that many more calls."""
        for _ in range(count):
            number = len(self.running)
            kind = self._rng.choices(self._kinds, WEIGHTS)[0]
            self.running.append(asyncio.create_task(kind(number)))

    async def _ask(self, component: str, **args: Any) -> dict[str, Any]:
        async with self._at_once:
            answer = await self._host.invoke(component, args)
        assert answer["success"], (component, args, answer)
        return answer

    async def _write(self, number: int) -> None:
        text = f"Caller {number} keeps the lantern of the harbour"
        await self._ask("ingest_text", external_id=f"n{number}", source_type="note", chat_id="c", text=text)
        self.texts[f"n{number}"] = text

    async def _say(self, number: int) -> None:
        turns = [{"external_id": f"t{number}.{i}", "text": f"Turn {i} of {number}", "speaker": "Ada"} for i in range(4)]
        await self._ask("ingest_messages", chat_id="c", messages=turns)
        self.texts |= {turn["external_id"]: turn["text"] for turn in turns}

    async def _search(self, number: int) -> None:
        mode = ("search", "episode", "aggregate")[number % 3]
        answer = await self._ask("search_memory", query="the lantern of the harbour", mode=mode, chat_id="c")
        assert not answer["degraded"], answer

    async def _see(self, number: int) -> None:
        answer = await self._ask("memory_runtime_admin", action="get_config")
        self.numbers.append(number_of(answer["config"]))
        assert answer["embedding"]["model"] == answer["config"]["embedding"]["model_name"], answer

    async def _count(self, number: int) -> None:
        await self._ask("memory_stats")

    async def _save(self, number: int) -> None:
        await self._ask("memory_runtime_admin", action="save")


async def status(host: AMemorixHostService) -> dict[str, Any]:
    return await host.invoke("memory_runtime_admin", {"action": "reload_status"})


async def until(host: AMemorixHostService, load: Load, name: str, above: int) -> None:
    """Keep calling until a counter of the reload status has grown."""
    deadline = time.monotonic() + WATCH_SECONDS
    while (await status(host))[name] <= above:
        assert time.monotonic() < deadline, await status(host)
        load.begin(max(0, min(2, CALLS - LAST_CALLS - len(load.running))))
        await asyncio.sleep(0.01)


async def change(host: AMemorixHostService, load: Load, number: int) -> None:
    """Every second change is written into the file, as an editor would."""
    load.in_flight.append(sum(not task.done() for task in load.running))
    if number % 2:
        await host.update_config(settings(number))
        return
    before = (await status(host))["reloads"]
    host.config_path.write_text(patched(host.config_path.read_text("utf-8"), settings(number)), "utf-8")
    await until(host, load, "reloads", before)


async def spoil(host: AMemorixHostService, load: Load, text: str, place: dict[str, Any]) -> None:
    """A file that is not valid changes nothing; the status tells the place."""
    before, good = await status(host), host.config_path.read_text("utf-8")
    config = await host.get_config()
    host.config_path.write_text(good + text, "utf-8")
    await until(host, load, "refused", before["refused"])
    now = await status(host)
    assert await host.get_config() == config
    assert now["reloads"] == before["reloads"]
    problem = now["last_error"]["problems"][0]
    lines = good.count("\n") + 1
    assert problem | place == problem and problem["line"] in range(lines, lines + 3), (now, lines)
    assert str(host.config_path) in now["last_error"]["error"]
    with pytest.raises(InvalidConfig):
        await host.reload()
    host.config_path.write_text(good, "utf-8")
    await until(host, load, "reloads", before["reloads"])
    assert (await status(host))["last_error"] is None


async def test_a_thousand_calls_through_twenty_reloads(tmp_path: Path) -> None:
    others = set(threading.enumerate())  # of memories that other tests have left open
    async with watched(tmp_path) as host:
        load = Load(host)
        for number in range(1, RELOADS + 1):
            load.begin((CALLS - len(load.running)) // (RELOADS + 2 - number))
            await change(host, load, number)
            assert number_of(await host.get_config()) == number
        load.begin(CALLS - len(load.running))
        await asyncio.gather(*load.running)
        await host.settle(600)

        assert len(load.running) == CALLS
        assert (await status(host))["reloads"] == RELOADS
        assert set(load.numbers) > {RELOADS}
        await assert_everything_is_there(host, load)
        await assert_one_memory_is_open(others)
        print(f"\ncalls in flight at the changes: {sorted(load.in_flight)}")
        assert sum(load.in_flight) > CALLS / 4
    async with watched(tmp_path) as host:
        await assert_everything_is_there(host, load)


async def assert_one_memory_is_open(others: set[threading.Thread]) -> None:
    """What was replaced has been closed."""
    deadline = time.monotonic() + WATCH_SECONDS
    while True:
        writers = [one for one in threading.enumerate() if one.name.startswith("amemorix-write") and one not in others]
        if len(writers) == 1 or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.02)
    assert len(writers) == 1, writers


async def assert_everything_is_there(host: AMemorixHostService, load: Load) -> None:
    query = """select r.external_id, p.content from paragraphs p join external_memory_refs r on r.id = p.ref
    where p.superseded_at is null and p.deleted_at is null"""
    found = rows(host, query)
    assert len(found) == len(load.texts)
    assert dict(found) == load.texts
    report = (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]
    assert report["ok"], report


async def test_files_that_are_not_valid_change_nothing_under_load(tmp_path: Path) -> None:
    async with watched(tmp_path) as host:
        load = Load(host)
        load.begin(200)
        await spoil(host, load, "\n[retrieval\n", {})
        await spoil(host, load, "\n[filter]\nmodee = 'whitelist'\n", {"path": "filter.modee"})
        await spoil(host, load, "\n[episode]\ngap_hours = -1\n", {"path": "episode.gap_hours", "value": -1})
        await spoil(host, load, "\n[advanced]\ndebug = 'yes'\n", {"path": "advanced.debug", "value": "yes"})
        await asyncio.gather(*load.running)
        assert set(load.numbers) == {0}
        await assert_everything_is_there(host, load)


async def test_a_change_right_after_the_start_is_seen(tmp_path: Path) -> None:
    async with watched(tmp_path) as host:
        host.config_path.write_text(patched(host.config_path.read_text("utf-8"), settings(1)), "utf-8")
        await until(host, Load(host), "reloads", 0)
        assert number_of(await host.get_config()) == 1


async def test_what_update_config_wrote_is_reported_once(tmp_path: Path) -> None:
    async with watched(tmp_path) as host:
        await host.update_config({"filter.enabled": False})
        await asyncio.sleep(1.0)
        now = await status(host)
        assert (now["reloads"], now["last"]["changed"]) == (1, ["filter.enabled"])


async def test_refused_changes_of_the_file_leave_its_text(tmp_path: Path) -> None:
    async with watched(tmp_path) as host:
        load, before = Load(host), host.config_path.read_bytes()
        load.begin(100)
        for patch in ({"retrieval.candidates": 5}, {"retrieval.candidate": 50}, {"embedding.provider": "openai"}):
            with pytest.raises(Exception) as caught:
                await host.update_config(patch)
            assert getattr(caught.value, "code", "") in ("invalid_config", "model_unavailable")
            assert host.config_path.read_bytes() == before
        await asyncio.gather(*load.running)
        assert number_of(await host.get_config()) == 0

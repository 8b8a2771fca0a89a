"""A memory that is killed while it fades, forgets and restores: what was acknowledged holds, and nothing happens twice."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, memory_host, stale_indexes
from entrance import rows
from lives import Life, Tell

RELATIONS = 400
DAY = 86_400.0
LATER = FrozenClock().now() + 700 * DAY
SETTINGS = {"lifecycle": {"interval_minutes": 100_000_000, "batch": 4}}


async def fill(host: AMemorixHostService) -> None:
    for n in range(0, RELATIONS, 50):
        relations = [{"subject": "风筝", "predicate": "over", "object": f"place {n + i}"} for i in range(50)]
        given = {"external_id": str(n), "source_type": "note", "text": f"kite {n} 风筝", "relations": relations}
        assert (await host.invoke("ingest_text", given))["success"]
    await host.invoke("memory_v5_admin", {"action": "run"})  # from now on none is due before it is asked for


async def live(tell: Tell, folder: Path, what: str, seed: int) -> None:
    """Work until killed, and tell of each operation that was acknowledged."""
    clock = FrozenClock(LATER)
    async with memory_host(folder, clock=clock, **SETTINGS) as host:
        tell("ready")
        if what == "round":
            await host.invoke("memory_v5_admin", {"action": "run"})
            return
        rng = random.Random(seed)
        while True:
            row, action = rng.randint(1, 8), rng.choice(["forget", "restore", "reinforce", "weaken"])
            result = await host.invoke("memory_v5_admin", {"action": action, "target": f"p{row}"})
            if result["success"]:
                tell((result["operation_id"], f"p{row}", result["statuses"][f"p{row}"]))


def killed(folder: Path, what: str, seed: int, words: int, delay: float) -> list[Any]:
    """What a process told before it was killed, some time after so many words."""
    life = Life(live, folder, what, seed)
    told = [life.heard() for _ in range(words)]
    time.sleep(delay)
    return [*told, *life.kill()]


async def logged(host: AMemorixHostService) -> list[tuple[int, str, list[dict[str, Any]]]]:
    found = rows(host, "select id, action, items from memory_v5_operations order by id")
    return [(id_, action, json.loads(items)) for id_, action, items in found]


@pytest.mark.parametrize("seed", range(3))
async def test_a_round_that_is_killed_goes_on_where_it_was(tmp_path: Path, seed: int) -> None:
    async with memory_host(tmp_path, **SETTINGS) as host:
        await fill(host)
    killed(tmp_path, "round", seed, 1, random.Random(seed).uniform(0.02, 0.4))
    async with memory_host(tmp_path, clock=FrozenClock(LATER), **SETTINGS) as host:
        before = sum(len(items) for _, _, items in await logged(host))
        rest = (await host.invoke("memory_v5_admin", {"action": "run"}))["faded"]
        faded = [item["id"] for _, action, items in await logged(host) for item in items if action == "decay"]
        await host.settle(600)
        assert before + rest == RELATIONS
        assert sorted(faded) == sorted(f"r{n + 1}" for n in range(RELATIONS))
        assert rows(host, "select count(*) from relations where deleted_at is null and inactive_at is null") == [(0,)]
        assert await stale_indexes(host) == []


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_acknowledged_before_a_kill_holds(tmp_path: Path, seed: int) -> None:
    async with memory_host(tmp_path, **SETTINGS) as host:
        await fill(host)
    _, *acknowledged = killed(tmp_path, "hand", seed, 30, random.Random(seed).uniform(0, 0.05))
    async with memory_host(tmp_path, clock=FrozenClock(LATER), **SETTINGS) as host:
        operations = await logged(host)
        known = {id_: {item["id"]: item["after"]["state"] for item in items} for id_, _, items in operations}
        for id_, key, state in acknowledged:
            assert known[id_] == {key: state}
        assert len(operations) - len(acknowledged) in (0, 1)
        last = {key: state for _, states in sorted(known.items()) for key, state in states.items()}
        for key, state in last.items():
            (item,) = (await host.invoke("memory_v5_admin", {"action": "status", "target": key}))["items"]
            assert item["state"] == state

"""The deriving of profiles: in bounded work, whatever happens to the process."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.profiles import rows as profile_rows
from amemorix.profiles.builder import ProfileDeriver
from amemorix.testing import FrozenClock, memory_host
from conftest import Open
from entrance import cut_change_log, said
from lives import Life
from pace import until
from profile_life import PERSONS, SETTINGS, batch, live
from test_profiles import admin, profile, say, traits


async def task_counts(host: AMemorixHostService) -> tuple[int, int, int, int]:
    status = await admin(host, "status")
    return status["pending"], status["processing"], status["completed"], status["failed"]


async def statements(host: AMemorixHostService, person: str) -> list[tuple[str, str, tuple[str, ...]]]:
    items = (await profile(host, person))["items"]
    return sorted((one["section"], one["statement"], tuple(one["evidence"])) for one in items if one["kind"] != "topic")


# pace


async def test_a_profile_follows_after_a_pause(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with memory_host(
        tmp_path, clock=clock, profile={"debounce_seconds": 60, "poll_interval_seconds": 0.01}
    ) as host:
        await say(host, "c", "我喜欢茶")

        async def waits() -> bool:
            return (await task_counts(host))[0] == 1

        await until(waits)
        await asyncio.sleep(0.3)
        assert (await profile(host))["version"] == 0
        clock.advance(61)

        async def followed() -> bool:
            return (await profile(host))["version"] == 1

        await until(followed)
        assert await task_counts(host) == (0, 0, 1, 0)


async def test_one_more_line_costs_the_same_however_much_was_said(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    lines = profile_rows.lines

    def counted(*args: Any) -> Any:
        found = lines(*args)
        read.append(len(found))
        return found

    monkeypatch.setattr(profile_rows, "lines", counted)
    for _ in range(3):
        await said(host, "c", *[("林澈", f"我喜欢{n}号茶") for n in range(800)])
        await host.settle(120)
    read.clear()
    await said(host, "c", ("林澈", "我讨厌香菜"))
    await host.settle(120)
    assert sum(read) == 1
    read.clear()
    await admin(host, "refresh", person_id="林澈")
    await host.settle(120)
    assert 2_000 <= sum(read) <= 2_200


async def test_a_profile_that_cannot_be_derived_is_tried_again_and_shown_as_failed(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await opened()
    drafts = ProfileDeriver.drafts
    broken = [True]

    def drafts_or_not(self: ProfileDeriver, db: Any, person: int, *args: Any, **more: Any) -> Any:
        if broken[0] and "scopes" not in more:
            raise RuntimeError("the disk is upside down")
        return drafts(self, db, person, *args, **more)

    monkeypatch.setattr(ProfileDeriver, "drafts", drafts_or_not)
    await say(host, "c", "我喜欢茶")
    await host.settle(120)
    status = await admin(host, "status", status="failed")
    assert "upside down" in status["tasks"][0]["error"]
    assert (status["failed"], status["tasks"][0]["person_id"], status["tasks"][0]["attempts"]) == (1, "u1", 1)
    assert await traits(host) == {"我喜欢茶"}

    broken[0] = False
    assert (await admin(host, "process_pending"))["processed"] == 1
    assert await task_counts(host) == (0, 0, 1, 0)


async def test_a_call_that_gave_up_leaves_nothing_behind(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that was cancelled lets go of its tasks, and the next one stores the result once."""
    begun, go_on = threading.Event(), threading.Event()
    drafts = ProfileDeriver.drafts

    def slow(self: ProfileDeriver, *args: Any, **more: Any) -> Any:
        begun.set()
        go_on.wait(60)
        return drafts(self, *args, **more)

    host = await opened(profile={"poll_interval_seconds": 3600})
    await say(host, "c", "我喜欢茶")
    monkeypatch.setattr(ProfileDeriver, "drafts", slow)
    for patience in (300, 3_000, 30_000):  # a slow machine may not have begun in the first
        gave_up = await host.invoke("memory_profile_admin", {"action": "process_pending"}, timeout_ms=patience)
        assert gave_up["error_code"] == "timed_out"
        if begun.is_set():
            break
    assert begun.is_set()
    assert await task_counts(host) == (1, 0, 0, 0)
    go_on.set()
    await host.settle(120)
    assert await task_counts(host) == (0, 0, 1, 0)
    assert (await profile(host))["version"] == 1


async def test_it_begins_anew_when_the_log_was_pruned(tmp_path: Path) -> None:
    async with memory_host(tmp_path, profile={"enabled": False}) as host:
        await say(host, "c", "我喜欢茶")
        cut_change_log(host)
    async with memory_host(tmp_path) as host:
        await host.settle(120)
        assert await task_counts(host) == (0, 0, 1, 0)
        assert (await profile(host))["version"] == 1


async def test_many_persons_in_many_sources_are_kept_up_with(host: AMemorixHostService) -> None:
    for number in range(100):
        assert (await host.invoke("ingest_messages", batch(number)))["success"]
    await host.settle(120)

    assert await task_counts(host) == (0, 0, PERSONS, 0)
    assert (await admin(host, "list"))["total"] == PERSONS
    assert (await host.invoke("memory_stats"))["lag"]["profiles"] == 0
    for n in range(PERSONS):
        found = await profile(host, f"u{n}")
        assert not found["stale"]
        assert max(len([i for i in found["items"] if i["section"] == s]) for s in ("likes", "dislikes", "habits")) <= 6


@pytest.mark.parametrize("seed", range(3))
async def test_killed_anywhere_it_goes_on_with_nothing_lost_and_nothing_twice(tmp_path: Path, seed: int) -> None:
    rng, stored = random.Random(seed), 0
    for _ in range(3):
        stored = _life(tmp_path / "killed", stored, rng.uniform(0.02, 0.6)) + 1
    async with (
        memory_host(tmp_path / "killed", clock=FrozenClock(), **SETTINGS) as host,
        memory_host(tmp_path / "whole", clock=FrozenClock(), **SETTINGS) as whole,
    ):
        for number in range(stored):
            for one in (host, whole):
                assert (await one.invoke("ingest_messages", batch(number)))["success"]
        await host.settle(120)
        await whole.settle(120)

        assert (await task_counts(host))[::3] == (0, 0)
        known = [one["person_id"] for one in (await admin(whole, "list"))["items"]]
        assert len(known) == PERSONS
        for person in known:
            assert [one[:2] for one in await statements(host, person)] == [
                one[:2] for one in await statements(whole, person)
            ]
            history = (await admin(host, "history", person_id=person, limit=1000))["items"]
            assert len({(one["chat_id"], str(one["items"])) for one in history}) == len(history)


def _life(folder: Path, first: int, seconds: float) -> int:
    """Let a process store batches and kill it so long after the first; the last batch that it may have stored."""
    life = Life(live, folder, first)
    told = [life.heard()]
    time.sleep(seconds)
    return max([*told, *life.kill()]) + 1

"""A purge can be left to the background and asked for."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.forgetting import purge as purging
from amemorix.testing import memory_host
from entrance import data_of
from test_purge import ADMIN, admin, fill, in_copy, left

PHASES = ["records", "rows", "indexes", "copies", "files"]


async def at_once(host: AMemorixHostService) -> dict[str, Any]:
    return await admin(host, "execute", mode="chat", selector="away", purge=True, wait=False)


async def later(host: AMemorixHostService) -> dict[str, Any]:
    done = await admin(host, "execute", mode="chat", selector="away")
    begun = await admin(host, "purge", operation_id=done["operation_id"], wait=False)
    assert begun["purged_count"] == 0
    return begun["operations"][0]


async def by_age(host: AMemorixHostService) -> dict[str, Any]:
    await admin(host, "execute", mode="chat", selector="away")
    return (await admin(host, "purge", grace_hours=0, wait=False))["operations"][0]


@pytest.mark.parametrize("way", [at_once, later, by_age])
async def test_a_purge_that_nobody_waits_for_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, way: Any
) -> None:
    monkeypatch.setattr(purging, "STEP", 1)
    caplog.set_level("INFO")
    async with memory_host(tmp_path) as host:
        gone = await fill(host, random.Random(1), "away", 40)
        await host.invoke("memory_runtime_admin", {"action": "backup"})

        begun = await way(host)

        assert (begun["status"], begun["receipt"]) == ("purging", None)
        phases: list[str] = []

        async def purged() -> bool:
            shown = (await host.invoke(ADMIN, {"action": "get_operation", "operation_id": begun["operation_id"]}))[
                "operation"
            ]
            listed = (await admin(host, "list_operations", status=shown["status"]))["items"]
            assert begun["operation_id"] in [one["operation_id"] for one in listed] or shown["status"] == "purging"
            if shown["progress"]:
                assert 0 <= shown["progress"]["done"] <= shown["progress"]["total"]
                phases.append(shown["progress"]["phase"])
            return shown["status"] == "purged"

        while not await purged():
            pass
        assert "rows" in phases and sorted(phases, key=PHASES.index) == phases
        shown = (await admin(host, "get_operation", operation_id=begun["operation_id"]))["operation"]
        assert (shown["receipt"]["complete"], shown["receipt"]["found"], shown["progress"]) == (True, {}, None)
        assert left(in_copy(data_of(host), tmp_path / "after"), gone) == []
        lines = [record.getMessage() for record in caplog.records if "the purge of d1" in record.getMessage()]
        assert [line.rpartition(": ")[2] for line in lines[:-1]] == PHASES
        assert "is done after" in lines[-1]

"""Deletions that rest on each other come back whole in whatever order they are restored."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from amemorix.testing import FrozenClock, memory_host
from entrance import rows, said, told
from memory_dump import tables
from test_purge import admin
from test_restore import fill, selection

SENTENCES = [("I live in Oslo.", "I moved to Rome."), ("我住在杭州。", "我搬到上海了。")]


@pytest.mark.parametrize("seed", range(1, 9))
async def test_one_round_of_restores_in_any_order_gives_everything_back(tmp_path: Path, seed: int) -> None:
    rng, clock = random.Random(seed), FrozenClock()
    async with memory_host(tmp_path, clock=clock) as host:
        await fill(host, rng)
        await host.settle(120)
        before, done = await tables(host), list[str]()
        for _ in range(rng.randint(3, 5)):
            clock.advance(3_000)
            answer = await host.invoke("memory_delete_admin", {"action": "execute", **selection(rng)})
            done += [answer["operation_id"]] if answer["success"] else []
        rng.shuffle(done)
        for operation in done:
            clock.advance(3_000)
            await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": operation})
        await host.settle(120)

        assert await tables(host) == before
        assert rows(host, "select status from delete_operations where status <> 'restored'") == []


async def test_what_waits_for_another_deletion_is_told_and_comes_back_with_it(tmp_path: Path) -> None:
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    async with memory_host(tmp_path) as host:
        await told(host, "The kite hangs in the hall.", chat_id="c", relations=[hangs])
        await host.settle(120)
        relation = (await admin(host, "execute", mode="relation", selector={"subject": "kite"}))["operation_id"]
        end = (await admin(host, "execute", mode="entity", selector="hall"))["operation_id"]

        first = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": relation})
        assert (first["success"], first["status"], first["error_code"]) == (False, "executed", "conflict")
        assert [one["item_type"] for one in first["not_restored"]] == ["relation"]
        assert end in first["not_restored"][0]["reason"]
        second = await admin(host, "restore", operation_id=end)

        assert second["counts"] == {"entity": 1, "relation": 1}
        assert rows(host, "select deleted_at from relations") == [(None,)]
        assert rows(host, "select distinct status from delete_operations") == [("restored",)]


async def test_a_restore_leaves_what_waits_for_something_else_as_it_was(tmp_path: Path) -> None:
    clock = FrozenClock()
    stamps = "select id, status, restored_at from delete_operations order by id"
    async with memory_host(tmp_path, clock=clock) as host:
        hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
        await told(host, "The kite hangs in the hall.", chat_id="c", relations=[hangs])
        await told(host, "The lamp is red.", chat_id="c")
        await host.settle(120)
        relation = (await admin(host, "execute", mode="relation", selector={"subject": "kite"}))["operation_id"]
        end = (await admin(host, "execute", mode="entity", selector="hall"))["operation_id"]
        lamp = (await admin(host, "execute", mode="paragraph", selector="p2"))["operation_id"]
        waits = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": relation})
        assert waits["error_code"] == "conflict"
        before = rows(host, stamps)

        clock.advance(3_000)
        await admin(host, "restore", operation_id=lamp)
        assert (rows(host, stamps))[:2] == before[:2]
        clock.advance(3_000)
        await admin(host, "restore", operation_id=end)

        assert [row[1] for row in rows(host, stamps)] == ["restored"] * 3
        assert rows(host, "select deleted_at from relations") == [(None,)]


@pytest.mark.parametrize("sentences", SENTENCES)
async def test_a_fact_was_superseded_when_it_was(tmp_path: Path, sentences: tuple[str, str]) -> None:
    clock = FrozenClock()
    async with memory_host(tmp_path, clock=clock) as host:
        for n, text in enumerate(sentences):
            clock.advance(100_000)
            await said(host, "c", ("Ann", text, 1.7e9 + n * 100_000))
            await host.settle(120)
        facts = "select id, status, superseded_at, superseded_by, valid_from, valid_to from facts order by id"
        before = rows(host, facts)
        assert "superseded" in [row[1] for row in before]

        done = await admin(host, "execute", mode="paragraph", selector="p2")
        clock.advance(100_000)
        await host.settle(120)
        assert rows(host, facts) != before
        clock.advance(100_000)
        await admin(host, "restore", operation_id=done["operation_id"])
        await host.settle(120)

        assert rows(host, facts) == before

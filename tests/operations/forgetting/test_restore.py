"""Deleting and restoring whatever, in whatever order, gives the same memory back: the same rows, the same ranking."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from entrance import hits, rows, said, told
from memory_dump import tables
from test_purge import admin

SEEDS = int(os.environ.get("AMEMORIX_RESTORES", "3"))
SPEAKERS = ("Mia", "Bob", "Carla Vane", "林澈", "小雨", "欧阳明")
THINGS = ("kite", "lamp", "hall", "coffee", "花生", "雨伞", "乌龙茶", "周末")
WORDS = (
    "hangs",
    "in",
    "the",
    "old",
    "drinks",
    "black",
    "today",
    "again",
    "不吃",
    "喜欢",
    "下雨了",
    "一起去爬山",
    "提醒我",
)
CHATS = ("c1", "c2", "群聊")


def sentence(rng: random.Random) -> str:
    who = [rng.choice(SPEAKERS)] if rng.random() < 0.3 else []
    words = rng.choices(WORDS, k=rng.randint(2, 7)) + rng.choices(THINGS, k=2) + who
    rng.shuffle(words)
    return " ".join(words)


async def fill(host: AMemorixHostService, rng: random.Random) -> None:
    for n in range(60):
        chat = rng.choice(CHATS)
        if rng.random() < 0.6:
            message = {
                "speaker": rng.choice(SPEAKERS),
                "text": sentence(rng),
                "time": 1.7e9 + n * 5_000,
                "external_id": f"m{n}",
            }
            await host.invoke("ingest_messages", {"chat_id": chat, "messages": [message]})
            continue
        ends = rng.sample(THINGS, 2)
        relation = {"subject": ends[0], "predicate": rng.choice(("belongs_to", "喜欢")), "object": ends[1]}
        await told(
            host, sentence(rng), chat_id=chat, external_id=f"n{rng.randrange(20)}", source=f"s{rng.randrange(3)}",
            relations=[relation], entities=[rng.choice(THINGS)], person_ids=[rng.choice(SPEAKERS)],
            timestamp=1.7e9 + n * 5_000, scope=rng.choice(("chat", "chat", "global")),
        )  # fmt: skip


def selection(rng: random.Random) -> dict[str, Any]:
    mode = rng.choice(("paragraph", "paragraph", "relation", "entity", "source", "person", "chat", "mixed"))
    selectors: dict[str, Any] = {
        "paragraph": rng.choice([rng.sample(range(1, 60), 8), rng.choice(THINGS)]),
        "relation": rng.choice([rng.sample(range(1, 15), 3), rng.choice(THINGS)]),
        "entity": rng.choice(THINGS),
        "source": [f"s{rng.randrange(3)}", f"chat:{rng.choice(CHATS)}"],
        "person": rng.choice(SPEAKERS),
        "chat": rng.choice(CHATS),
        "mixed": {"paragraph_ids": rng.sample(range(1, 60), 5), "entity_names": [rng.choice(THINGS)],
                  "person_ids": [rng.choice(SPEAKERS)]},
    }  # fmt: skip
    chat = rng.choice(CHATS) if mode != "chat" and rng.random() < 0.3 else ""
    return {
        "mode": mode, "selector": selectors[mode], "chat_id": chat, "include_mentions": rng.random() < 0.7,
        "include_paragraphs": rng.random() < 0.5,
    }  # fmt: skip


async def ranking(host: AMemorixHostService, queries: list[dict[str, Any]]) -> list[list[Any]]:
    return [[(hit["id"], hit["score"], hit["explain"]) for hit in await hits(host, **query)] for query in queries]


def queries(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"query": sentence(rng), "limit": 20, **({"chat_id": rng.choice(CHATS)} if n % 2 else {})} for n in range(50)
    ]


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
async def test_deleting_and_restoring_gives_the_same_memory_back(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with memory_host(tmp_path, embed=HashEmbedder(64), retrieval={"noise": {"enabled": False}}) as host:
        await fill(host, rng)
        await host.settle(600)
        asked = queries(rng)
        rows, ranked = await tables(host), await ranking(host, asked)
        assert sum(map(len, ranked)) > 500

        done: list[str] = []
        for _ in range(rng.randint(1, 5)):
            answer = await host.invoke("memory_delete_admin", {"action": "execute", **selection(rng)})
            assert answer["success"] or answer["error_code"] == "not_found", answer
            done += [answer["operation_id"]] if answer["success"] else []
            if rng.random() < 0.5:
                await host.settle(600)
        assert not done or await tables(host) != rows
        rng.shuffle(done)
        for _ in range(2):  # what rests on something that was still deleted comes back in the second round
            for operation in done:
                await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": operation})
        await host.settle(600)

        assert await tables(host) == rows
        assert await ranking(host, asked) == ranked


SENTENCES = [("I live in Oslo.", "I moved to Rome."), ("我住在杭州。", "我搬到上海了。")]


@pytest.mark.parametrize("seed", range(1, 9))
async def test_one_round_of_restores_in_any_order_gives_everything_back(tmp_path: Path, seed: int) -> None:
    rng, clock = random.Random(seed), FrozenClock()
    async with memory_host(tmp_path, clock=clock) as host:
        await fill(host, rng)
        await host.settle(600)
        before, done = await tables(host), list[str]()
        for _ in range(rng.randint(3, 5)):
            clock.advance(3_000)
            answer = await host.invoke("memory_delete_admin", {"action": "execute", **selection(rng)})
            done += [answer["operation_id"]] if answer["success"] else []
        rng.shuffle(done)
        for operation in done:
            clock.advance(3_000)
            await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": operation})
        await host.settle(600)

        assert await tables(host) == before
        assert rows(host, "select status from delete_operations where status <> 'restored'") == []


async def test_what_waits_for_another_deletion_is_told_and_comes_back_with_it(tmp_path: Path) -> None:
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    async with memory_host(tmp_path) as host:
        await told(host, "The kite hangs in the hall.", chat_id="c", relations=[hangs])
        await host.settle(600)
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
        await host.settle(600)
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
            await host.settle(600)
        facts = "select id, status, superseded_at, superseded_by, valid_from, valid_to from facts order by id"
        before = rows(host, facts)
        assert "superseded" in [row[1] for row in before]

        done = await admin(host, "execute", mode="paragraph", selector="p2")
        clock.advance(100_000)
        await host.settle(600)
        assert rows(host, facts) != before
        clock.advance(100_000)
        await admin(host, "restore", operation_id=done["operation_id"])
        await host.settle(600)

        assert rows(host, facts) == before

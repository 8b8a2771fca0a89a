"""What a preview counts is what its execution changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import rows, said, told
from test_purge import admin

SPEAKERS = ("Ann", "Mia", "林澈", "小雨")
CHATS = ("c1", "c2", "群聊")
THINGS = ("kite", "lamp", "风筝", "茶壶")
LINES = (
    "I live in Oslo.", "I live in Lima now.", "I'm allergic to nuts.", "I like jazz.", "My job is a pilot.", "I have a dog.",
    "我住在北京。", "我搬到上海了。", "我对花生过敏。", "我喜欢爬山。", "我是老师。", "It rains.", "下雨了。",
    "Ann likes tea.", "Mia lives in Rome.", "林澈喜欢喝茶。", "Ann saw Mia and 林澈.",
)  # fmt: skip
LIVE = "p.deleted_at is null and p.superseded_at is null"


async def fill(host: AMemorixHostService, rng: random.Random) -> None:
    """Talk in stretches a day apart, notes with relations, and a fact given by hand."""
    for n in range(70):
        chat, text = rng.choice(CHATS), rng.choice(LINES)
        at = 1.7e9 + (n // 3) * 86_400 + n % 3 * 60
        if rng.random() < 0.75:
            await said(host, chat, (rng.choice(SPEAKERS), text, at))
            continue
        ends = rng.sample(THINGS, 2)
        await told(
            host, f"{text} {n}", chat_id=chat, external_id=f"n{rng.randrange(12)}", source=f"s{rng.randrange(3)}",
            relations=[{"subject": ends[0], "predicate": "belongs_to", "object": ends[1]}],
            person_ids=[rng.choice(SPEAKERS)], timestamp=at,
        )  # fmt: skip
    given = {"action": "add", "person_id": "Ann", "attribute": "diet", "value": "vegan"}
    await host.invoke("memory_fact_admin", given)


def selection(rng: random.Random) -> dict[str, Any]:
    mode = rng.choice(("paragraph", "entity", "source", "person", "person", "chat"))
    selectors: dict[str, Any] = {
        "paragraph": rng.sample(range(1, 70), 10), "entity": rng.choice(THINGS), "source": f"s{rng.randrange(3)}",
        "person": rng.choice(SPEAKERS), "chat": rng.choice(CHATS),
    }  # fmt: skip
    wish: dict[str, Any] = {"mode": mode, "selector": selectors[mode], "include_paragraphs": rng.random() < 0.5}
    if mode == "person":
        wish["mentions"] = rng.choice(("delete", "keep"))
    return wish


async def grouped(host: AMemorixHostService, sql: str) -> dict[int, frozenset[int]]:
    """Row -> the paragraphs it rests on."""
    found: dict[int, set[int]] = {}
    for row, paragraph in rows(host, sql):
        found.setdefault(row, set()).add(paragraph)
    return {row: frozenset(some) for row, some in found.items()}


async def facts(host: AMemorixHostService) -> dict[int, frozenset[int]]:
    """Facts that are told, each with the live paragraphs that support it; 0 stands for a hand."""
    return await grouped(
        host,
        "select f.id, p.id from facts f join fact_evidence e on e.fact = f.id and e.stance = 'support' "
        f"join paragraphs p on p.id = e.paragraph and p.scope = f.scope and {LIVE} "
        "where f.deleted_at is null and f.status <> 'retracted' "
        "union select id, 0 from facts where asserted_at is not null and deleted_at is null and status <> 'retracted'",
    )


async def relations(host: AMemorixHostService) -> dict[int, frozenset[int]]:
    return await grouped(
        host,
        "select r.id, p.id from relations r join relation_evidence e on e.relation = r.id "
        f"join paragraphs p on p.id = e.paragraph and {LIVE} where r.deleted_at is null",
    )


async def episodes(host: AMemorixHostService) -> dict[int, frozenset[int]]:
    return await grouped(host, "select episode, paragraph from episode_paragraphs")


async def profiles(host: AMemorixHostService) -> dict[int, frozenset[int]]:
    """Person -> the paragraphs that what is known of them rests on."""
    return await grouped(
        host,
        f"select f.person, e.paragraph from facts f join fact_evidence e on e.fact = f.id join paragraphs p on p.id = e.paragraph and {LIVE} "
        "where f.person is not null and f.deleted_at is null and f.status in ('active', 'conflicted')",
    )


def fates(before: dict[int, frozenset[int]], after: dict[int, frozenset[int]]) -> tuple[int, int]:
    """(how many are gone, how many go on with less)."""
    gone = before.keys() - after.keys()
    return len(gone), sum(bool(before[row] - after[row]) for row in before.keys() - gone)


@pytest.mark.parametrize("seed", range(1, 9))
async def test_a_preview_counts_what_changes(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with memory_host(tmp_path) as host:
        await fill(host, rng)
        counted = 0
        for _ in range(3):
            await host.settle(600)
            wish = selection(rng)
            seen = await host.invoke("memory_delete_admin", {"action": "preview", **wish})
            if not seen["success"]:
                assert seen["error_code"] == "not_found", seen
                continue
            counts = seen["counts"]
            before = await facts(host), await relations(host), await episodes(host), await profiles(host)
            marked = rows(host, "select count(*) from relations where deleted_at is null")

            done = await admin(host, "execute", **wish)

            assert done["counts"] == counts
            assert (counts["facts"], counts["facts_changed"]) == fates(before[0], await facts(host))
            left = rows(host, "select count(*) from relations where deleted_at is null")
            assert counts["relations"] == marked[0][0] - left[0][0]
            assert counts["relations_changed"] == fates(before[1], await relations(host))[1]
            dead = {row[0] for row in rows(host, f"select id from paragraphs p where not ({LIVE})")}
            told_of = {row: some - dead for row, some in before[2].items()}
            fewer = [row for row, some in told_of.items() if some != before[2][row]]
            assert counts["episodes"] == sum(not told_of[row] for row in fewer)
            assert counts["episodes_changed"] == sum(bool(told_of[row]) for row in fewer)
            losing = [person for person, some in before[3].items() if some & dead]
            assert counts["profiles"] + counts["profiles_changed"] == len(losing)

            await host.settle(600)
            remade = {row: some for row, some in (await episodes(host)).items() if row in fewer}
            assert all(not some & dead for some in remade.values())
            counted += counts["facts"] + counts["episodes"] + counts["profiles_changed"]
            await admin(host, "restore", operation_id=done["operation_id"])
    assert counted


async def test_sources_are_counted_as_their_own_component_counts_them(tmp_path: Path) -> None:
    """What is deleted by source are paragraphs; relations and the records of the callers' ids go with them."""
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    answers: list[dict[str, Any]] = []
    for n, (component, wish) in enumerate((
        ("memory_source_admin", {"action": "batch_delete", "sources": ["a", "b", "nothing", " a "]}),
        ("memory_delete_admin", {"action": "execute", "mode": "source", "selector": ["a", "b", "nothing", " a "]}),
        ("memory_delete_admin", {"action": "execute", "mode": "source", "selector": {"sources": ["a", "b", "nothing"]}}),
    )):  # fmt: skip
        async with memory_host(tmp_path / str(n)) as host:
            for i, source in enumerate("aab"):
                await told(
                    host, f"The kite {i} hangs in the hall.", source=source, external_id=f"{i}", relations=[hangs]
                )
            await told(host, "The kite 2 hangs in the attic.", source="b", external_id="2")
            await told(host, "A lamp stands there.", source="kept")
            done = await host.invoke(component, wish)
            asked = {"mode": "source", "selector": ["nothing", "neither"]}
            none = await host.invoke("memory_delete_admin", {"action": "execute", **asked})
        answers.append({key: done[key] for key in (
            "success", "requested_source_count", "matched_source_count", "deleted_paragraph_count", "deleted_count", "sources",
        )})  # fmt: skip
        assert (none["success"], none["requested_source_count"], none["matched_source_count"], none["deleted_count"]) == (
            False, 2, 0, 0,
        )  # fmt: skip
    assert answers == [{
        "success": True, "requested_source_count": 3, "matched_source_count": 2, "deleted_paragraph_count": 3, "deleted_count": 3,
        "sources": ["a", "b"],
    }] * 3  # fmt: skip


async def test_facts_that_were_read_are_counted(host: AMemorixHostService) -> None:
    await said(host, "c1", ("Ann", "I live in Oslo.", 1.7e9), ("Ann", "I'm allergic to nuts.", 1.7e9 + 60))
    await said(host, "群聊", ("林澈", "我对花生过敏。", 1.7e9), ("林澈", "我住在北京。", 1.7e9 + 60))
    await host.settle(600)
    for person in ("Ann", "林澈"):
        counts = (await admin(host, "preview", mode="person", selector=person))["counts"]
        assert counts["facts"] == 2 and counts["episodes"] == 1 and counts["profiles"] >= 1, counts
    half = (await admin(host, "preview", mode="paragraph", selector=["p1"]))["counts"]
    assert (half["facts"], half["episodes"], half["episodes_changed"], half["profiles_changed"]) == (1, 0, 1, 1)

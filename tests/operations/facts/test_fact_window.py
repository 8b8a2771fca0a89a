"""Whatever the order in which statements come and go, the facts are those of the statements that are left, in their order."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from conftest import Open
from entrance import said, told

START = 1_680_000_000.0
MINUTE = 60.0
ALONE: dict[str, Any] = {
    "facts": {"poll_interval_seconds": 3600}, "episode": {"enabled": False}, "profile": {"enabled": False},
}  # fmt: skip
TEXTS = {
    "residence": (("我住在{}", "我搬到{}了", "我不住在{}"), ("上海", "北京", "深圳", "杭州")),
    "occupation": (("我是{}", "我的职业是{}", "我不是{}"), ("律师", "程序员", "医生", "老师")),
    "like": (("我喜欢{}", "我爱吃{}", "我不喜欢{}"), ("花生", "香菜", "苹果", "红茶")),
}
TRUST: tuple[dict[str, Any], ...] = (
    {"trust": "manual_confirmed"}, {"trust": "server_verified"}, {"evidence_source": "user_message"}, {},
)  # fmt: skip
Statement = tuple[str, str, float, dict[str, Any] | None]
"""(key, text, time, metadata of a note or None for a line of the person's own)."""


def statements(rng: random.Random, attribute: str, count: int, *, span: int) -> list[Statement]:
    forms, values = TEXTS[attribute]
    found: list[Statement] = []
    for n in range(count):
        own = rng.random() < 0.6
        text = rng.choice(forms).format(rng.choice(values))
        text = text if own else text.replace("我", "林澈", 1)
        found.append((f"k{n}", text, START + MINUTE * rng.randint(0, span), None if own else rng.choice(TRUST)))
    return found


async def tell(host: AMemorixHostService, some: list[Statement]) -> None:
    for key, text, at, metadata in some:
        if metadata is None:
            message = {"external_id": key, "speaker": "林澈", "text": text, "time": at}
            assert (await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]}))["success"]
        else:
            await told(host, text, external_id=key, source_type="person_fact", person_ids=["林澈"], chat_id="c",
                       time=at, metadata=metadata)  # fmt: skip


async def facts(host: AMemorixHostService) -> list[tuple[Any, ...]]:
    """Every fact that stands, with what rests on it by its text."""
    await host.settle(600)
    items = (await host.invoke("memory_fact_admin", {"action": "list", "limit": 1000}))["items"]
    return sorted(
        (item["attribute"], item["value"], item["denied"], item["status"], item["valid_from"], item["valid_to"] or 0.0,
         item["authority"], item["confidence"], len(item["evidence_ids"]))
        for item in items
    )  # fmt: skip


async def in_order(opened: Open, folder: Path, some: list[Statement]) -> list[tuple[Any, ...]]:
    """The facts of a memory that was told nothing but these, the earliest first."""
    host = await opened(folder, **ALONE)
    await said(host, "c", ("林澈", "你好", START - MINUTE))
    await tell(host, sorted(some, key=lambda one: one[2]))
    return await facts(host)


@pytest.mark.parametrize("attribute", TEXTS)
@pytest.mark.parametrize("seed", range(3))
async def test_any_history_gives_the_facts_of_what_is_left(
    opened: Open, tmp_path: Path, attribute: str, seed: int
) -> None:
    rng = random.Random(f"{attribute}{seed}")
    host = await opened(tmp_path / "any", **ALONE)
    await said(host, "c", ("林澈", "你好", START - MINUTE))
    left: dict[str, Statement] = {}
    gone: dict[str, Statement] = {}
    for one in statements(rng, attribute, rng.randint(2, 24), span=rng.choice([20, 1000])):
        await tell(host, [one])
        left[one[0]] = one
        if rng.random() < 0.5:
            await host.settle(600)
        if rng.random() < 0.3:
            key = rng.choice([*left])
            selector = {"external_ids": [key]}
            done = await host.invoke(
                "memory_delete_admin", {"action": "execute", "mode": "mixed", "selector": selector}
            )
            assert done["success"], done
            gone[done["operation_id"]] = left.pop(key)
        if gone and rng.random() < 0.3:
            operation = rng.choice([*gone])
            await host.settle(600)
            back = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": operation})
            assert back["success"], back
            one = gone.pop(operation)
            left[one[0]] = one
        if rng.random() < 0.2 and await facts(host):
            items = (await host.invoke("memory_fact_admin", {"action": "list", "limit": 1000}))["items"]
            taken = await host.invoke("memory_fact_admin", {"action": "retract", "fact_id": rng.choice(items)["id"]})
            if taken["success"]:
                back = await host.invoke("memory_fact_admin", {"action": "undo", "undo_id": taken["undo_id"]})
                assert back["success"], back

    # of statements that two orders put together differently, the words of what is held may differ
    straight = await in_order(opened, tmp_path / "straight", [*left.values()])
    assert [one for one in await facts(host) if one[0] != "statement"] == [
        one for one in straight if one[0] != "statement"
    ]


@pytest.mark.parametrize("order", ["backward", "shuffled"])
async def test_long_histories_come_to_the_same_in_any_order(opened: Open, tmp_path: Path, order: str) -> None:
    rng = random.Random(order)
    forms, values = TEXTS["residence"]
    everything: list[Statement] = [
        (f"k{n}", forms[0].format(rng.choice(values)), START + n * MINUTE, None) for n in range(200)
    ]
    straight = await in_order(opened, tmp_path / "straight", everything)
    host = await opened(tmp_path / order, **ALONE)
    await said(host, "c", ("林澈", "你好", START - MINUTE))
    await tell(host, everything[::-1] if order == "backward" else rng.sample(everything, len(everything)))

    assert len(straight) >= 4
    assert await facts(host) == straight


@pytest.mark.parametrize("late", [False, True], ids=["in its order", "before all others"])
async def test_one_more_statement_costs_the_same_however_much_was_said(
    opened: Open, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def counted(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db = connect(*args, **kwargs)
        db.set_progress_handler(step, 100)
        return db

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", counted)
    host = await opened(**ALONE, extraction={"enabled": False})
    forms, values = TEXTS["residence"]
    costs: list[int] = []
    for part in range(3):
        turns = [
            ("林澈", forms[0].format(values[n % 4]), START + n * MINUTE) for n in range(part * 400, part * 400 + 400)
        ]
        await said(host, "c", *turns)
        await host.settle(600)
        steps = 0
        at = START + ((part + 1) * 400 - 0.5) * MINUTE if not late else START + (10.5 + part) * MINUTE
        await said(host, "c", ("林澈", "我住在广州", at))
        await host.settle(600)
        costs.append(steps)

    assert costs[2] < 1.5 * costs[0], costs

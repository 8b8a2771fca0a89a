"""What is read does not depend on the order in which the lines arrive."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import rows

ORDERS = int(os.environ.get("AMEMORIX_ORDERS", "4"))
Line = dict[str, Any]


def line(number: int, speaker: str, person: str, text: str, **more: Any) -> Line:
    return {
        "external_id": str(number), "speaker": speaker, "person_id": person, "text": text,
        "time": 1.69e9 + 60 * number, **more,
    }  # fmt: skip


CHINESE = [
    line(1, "林澈", "u1", "小王住在广州"), line(2, "小王", "u2", "大家好，今天天气不错"),
    line(3, "苏晚", "u3", "小王在出版社工作"), line(4, "小王", "u2", "我搬到成都了"), line(5, "林澈", "u1", "苏晚喜欢爬山"),
    line(6, "苏晚", "u3", "我的猫叫馒头"), line(7, "林澈", "u1", "馒头真可爱"), line(8, "小王", "u2", "我对花生过敏"),
]  # fmt: skip
ENGLISH = [
    line(1, "Ada", "u1", "Melanie lives in Oslo."), line(2, "Melanie", "u2", "Hello everybody, nice weather today"),
    line(3, "Bob", "u3", "Melanie works at Siemens."), line(4, "Melanie", "u2", "I moved to Lisbon."),
    line(5, "quill", "u4", "hm"), line(6, "Ada", "u1", "quill likes tea"), line(7, "Bob", "u3", "Ada's birthday is May 5."),
    line(8, "Ada", "u1", "Bob is allergic to peanuts."), line(9, "May", "u5", "good morning"),
    line(10, "Bob", "u3", "May lives in Rome."),
]  # fmt: skip
NAMESAKES = [
    line(1, "Ada", "u1", "Bob lives in Oslo."), line(2, "Bob", "u2", "hello there"), line(3, "Bob", "u3", "good morning"),
    line(4, "林澈", "u4", "小王住在广州"), line(5, "小王", "u5", "大家好"), line(6, "小王", "u6", "早上好"),
]  # fmt: skip
LIVES = {"Chinese": CHINESE, "English": ENGLISH, "namesakes": NAMESAKES}


async def told(host: AMemorixHostService, calls: Sequence[Sequence[Line]], *, settling: bool) -> dict[str, Any]:
    """What the memory knows after these calls."""
    for messages in calls:
        result = await host.invoke("ingest_messages", {"chat_id": "qq:1", "messages": list(messages)})
        assert result["success"], result
        if settling:
            await host.settle(600)
    await host.settle(600)
    return await known(host)


def lasting(profile: str) -> str:
    """A profile without the topics of late, which go by the lines that came last."""
    lines = [line for line in profile.split("\n") if not line.startswith(("近期话题", "Lately about"))]
    return "\n".join(lines) if len(lines) > 1 else ""


async def known(host: AMemorixHostService) -> dict[str, Any]:
    facts = rows(
        host,
        "select p.person_id, f.attribute, f.norm, f.polarity, f.status, f.valid_from, f.valid_to from facts f "
        "join persons p on p.id = f.person where f.deleted_at is null",
    )
    relations = rows(
        host,
        "select s.norm, r.predicate, o.norm, r.confidence from relations r join entities s on s.id = r.subject "
        "join entities o on o.id = r.object where r.deleted_at is null",
    )
    persons = sorted(row[0] for row in rows(host, "select person_id from persons"))
    profiles = {
        person: lasting((await host.invoke("get_person_profile", {"person_id": person, "chat_id": "qq:1"}))["summary"])
        for person in persons
    }
    return {"facts": sorted(facts), "relations": sorted(relations), "profiles": profiles}


@pytest.mark.parametrize("settling", [True, False])
@pytest.mark.parametrize("seed", range(ORDERS))
@pytest.mark.parametrize("life", LIVES)
async def test_any_order_tells_the_same(tmp_path: Path, life: str, seed: int, *, settling: bool) -> None:
    lines = list(LIVES[life])
    async with memory_host(tmp_path / "once") as host:
        expected = await told(host, [lines], settling=False)
    random.Random(seed).shuffle(lines)
    async with memory_host(tmp_path / "turned") as host:
        assert await told(host, [[one] for one in lines], settling=settling) == expected

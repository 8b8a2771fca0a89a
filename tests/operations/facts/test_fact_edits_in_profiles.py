"""Whatever a hand does to facts and undoes: the profile goes along, and is in the end as it was."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host

EDITS = int(os.environ.get("AMEMORIX_EDITS", "4"))
LIVES = {
    "zh": (["我住在上海", "我对花生过敏", "我喜欢咖啡", "我在Google上班", "我搬到成都了"], ["苏州", "北京"]),
    "en": (
        ["I live in Oslo.", "I'm allergic to peanuts", "I like coffee.", "I work at Google.", "I moved to Rome."],
        ["Paris", "Tokyo"],
    ),
}


async def facts(host: AMemorixHostService, action: str, **args: Any) -> dict[str, Any]:
    return await host.invoke("memory_fact_admin", {"action": action, **args})


async def profile(host: AMemorixHostService) -> str:
    await host.settle(600)
    found = await host.invoke("get_person_profile", {"person_id": "u1", "chat_id": "c"})
    assert found["stale"] is False
    return found["summary"]


async def edit(host: AMemorixHostService, rng: random.Random, values: list[str]) -> str:
    """Do something to a fact; the id by which it is undone, empty if it was refused."""
    listed = (await facts(host, "list", chat_id="c", status="active"))["items"]
    action = rng.choice(("retract", "supersede", "add"))
    if action == "add" or not listed:
        given = {"person_id": "u1", "chat_id": "c", "attribute": "residence", "value": rng.choice(values)}
        done = await facts(host, "add", **given)
    else:
        more = {"value": rng.choice(values)} if action == "supersede" else {}
        done = await facts(host, action, fact_id=rng.choice(listed)["id"], **more)
    return done["undo_id"] if done["success"] else ""


@pytest.mark.parametrize("seed", range(EDITS))
@pytest.mark.parametrize("language", LIVES)
async def test_any_edit_and_its_undoing_leave_the_right_profile(tmp_path: Path, language: str, seed: int) -> None:
    rng = random.Random(seed)
    texts, values = LIVES[language]
    async with memory_host(tmp_path) as host:
        messages = [
            {"external_id": f"{n}", "speaker": "Bob", "person_id": "u1", "text": text, "time": 1.69e9 + 60 * n}
            for n, text in enumerate(texts)
        ]
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages})
        before = await profile(host)
        assert before
        undos: list[str] = []
        for _ in range(5):
            if undos and rng.random() < 0.4:
                await facts(host, "undo", undo_id=undos.pop())
            elif undo := await edit(host, rng, values):
                undos.append(undo)
            told = await profile(host)
            held = (await facts(host, "list", chat_id="c", status="active"))["items"]
            assert all(one["value"] in told for one in held)
        for undo in reversed(undos):
            assert (await facts(host, "undo", undo_id=undo))["success"]
        assert await profile(host) == before

"""A purge that kill -9 ended goes on when the memory is opened, and leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from contextlib import closing
from pathlib import Path

import pytest

from amemorix.forgetting import purge
from amemorix.testing import HashEmbedder, memory_host
from database_file import open_database
from entrance import data_of, rows, told
from import_entrance import pasted, staged_file
from lives import Life, Tell
from test_purge import ADMIN, admin, backed_up, fill, left, rare_text

SEEDS = int(os.environ.get("AMEMORIX_PURGES", "2"))


async def live(tell: Tell, what: str, folder: Path, seed: int) -> None:
    """`fill`, `purge`, or `finish`, and tell of each thing that is reached."""
    purge.STEP = 4
    async with memory_host(folder, embed=HashEmbedder(32)) as host:
        if what == "fill":
            gone = await fill(host, random.Random(seed), "away", 60)
            stays = await fill(host, random.Random(-seed), "here", 30)
            rng = random.Random(seed + 100)
            bad = {"speaker": "Mo", "text": rare_text(rng, False, "away"), "time": rare_text(rng, True, "away")}
            done = await pasted(host, "bad.jsonl", json.dumps(bad | {"chat_id": "away"}))
            assert done["status"] == "failed"
            gone += [bad["text"], bad["time"]]
            await host.settle(600)
            await host.invoke("memory_runtime_admin", {"action": "save"})
            backed_up(host, data_of(host) / "memory.before-migration")
            await admin(host, "execute", mode="chat", selector="away")
            tell({"gone": gone, "stays": stays})
            return
        tell("ready")
        if what == "finish":
            await host.settle(600)
        await host.invoke(ADMIN, {"action": "purge", "operation_id": "d1"})
        shown = await admin(host, "get_operation", operation_id="d1")
        tell(shown["operation"])


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_nothing_is_left_after_a_purge_that_was_killed(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    (texts,) = Life(live, "fill", tmp_path, seed).rest()
    for _ in range(rng.choice((1, 1, 2))):
        life = Life(live, "purge", tmp_path, seed)
        assert life.heard() == "ready"
        time.sleep(rng.uniform(0.0, 0.12))
        life.kill()

    _, operation = Life(live, "finish", tmp_path, seed).rest()

    assert (operation["status"], operation["receipt"]["found"]) == ("purged", {})
    data = tmp_path / "data" / "a-memorix"
    assert left(data, texts["gone"]) == []
    assert left(data, texts["stays"]), "what stays is there"
    with closing(open_database(data / "memory.db")) as db:
        assert db.execute("select count(*), count(deleted_at) from paragraphs").fetchone() == (30, 0)
        assert db.execute("pragma foreign_key_check").fetchall() == []


async def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that was closed in the midst of a purge, with an export and a file of something else that waits; that file."""
    monkeypatch.setattr(purge, "STEP", 1)
    begun = "select id from delete_operations where receipt like '%\"paragraphs\": 1%'"
    async with memory_host(folder) as host:
        for n in range(60):
            await told(host, f"The umbrella of cabinet {n} is in drawer {n * 7}.", chat_id="away", external_id=str(n))
        await host.invoke("memory_runtime_admin", {"action": "export"})
        other = staged_file(host, "talk.txt", b"nothing of it")
        done = await admin(host, "execute", mode="chat", selector="away")
        await admin(host, "purge", operation_id=done["operation_id"], wait=False)
        for _ in range(10_000):
            if rows(host, begun):
                break
            await asyncio.sleep(0)
    return other


async def test_a_purge_that_was_interrupted_knows_what_it_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await interrupted(tmp_path, monkeypatch)
    data = tmp_path / "data" / "a-memorix"
    assert (data / "memory.purge-d1").exists()
    async with memory_host(tmp_path) as host:
        await host.invoke("memory_delete_admin", {"action": "purge", "operation_id": "d1"})
        receipt = (await admin(host, "get_operation", operation_id="d1"))["operation"]["receipt"]
        assert (receipt["complete"], receipt["found"], receipt["warnings"]) == (True, {}, [])
        assert [one["done"] for one in receipt["copies"]] == ["removed"], "the export"
        assert other.exists()
        assert left(data, ["The umbrella of cabinet"]) == []
    assert list(data.glob("memory.purge-*")) == []


@pytest.mark.parametrize("how", ["lost", "damaged"])
async def test_files_that_cannot_be_proved_to_hold_nothing_are_named_and_left(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await interrupted(tmp_path, monkeypatch)
    data = tmp_path / "data" / "a-memorix"
    if how == "lost":
        (data / "memory.purge-d1").unlink()
    else:
        (data / "memory.purge-d1").write_bytes(b"nothing that can be read")
    stranger = data / "memory.notes"
    stranger.write_text("of somebody else")
    async with memory_host(tmp_path) as host:
        await host.invoke("memory_delete_admin", {"action": "purge", "operation_id": "d1"})
        receipt = (await admin(host, "get_operation", operation_id="d1"))["operation"]["receipt"]
        assert (receipt["complete"], receipt["found"]) == (False, {})
        assert len(receipt["warnings"]) == 2
        assert other.parent.name in receipt["warnings"][0] and "interrupt" in str(receipt["copies"])
        assert other.exists() and stranger.exists()
        assert left(data, ["The umbrella of cabinet"]) == []

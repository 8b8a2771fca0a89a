"""kill -9 during a backup, a restore or an import: the memory is the one or the other, and no half backup is taken for a whole."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, memory_host
from database_file import open_database
from entrance import admin_of, contents, data_of, stats
from lives import Life, Tell

ADMIN = "memory_runtime_admin"
ROUNDS = int(os.environ.get("AMEMORIX_BACKUP_KILLS", "2"))


def note(name: str) -> dict[str, Any]:
    """A note with a relation: two rows that are there together or not at all."""
    relation = {"subject": f"thing {name}", "predicate": "is", "object": "noted"}
    return {"external_id": name, "source_type": "note", "text": f"Note {name}. " * 20, "relations": [relation]}


def begin(folder: Path) -> Any:
    """The memory of the folder."""
    return memory_host(folder, embed=HashEmbedder(16))


async def write(tell: Tell, host: AMemorixHostService, name: str) -> None:
    number = 0
    while True:
        answer = await host.invoke("ingest_text", note(f"{name}-{number}"))
        assert answer["success"], answer
        tell({"note": f"{name}-{number}"})
        number += 1


async def writing_and(tell: Tell, host: AMemorixHostService, action: dict[str, Any], writers: int) -> None:
    """Write, and do something again and again meanwhile."""
    async with asyncio.TaskGroup() as group:
        for writer in range(writers):
            group.create_task(write(tell, host, f"w{writer}"))
        while True:
            tell({"begun": action["action"]})
            answer = await host.invoke(ADMIN, action)
            assert answer["success"], answer
            tell({"done": answer["backup"]["id"]})


async def live(tell: Tell, what: str, folder: Path) -> None:
    """`backup`, `restore ID`, or `import FILE`, until killed."""
    async with begin(folder) as host:
        action, _, which = what.partition(" ")
        if action == "backup":
            await writing_and(tell, host, {"action": "backup"}, 3)
        if action == "restore":
            await writing_and(tell, host, {"action": "restore_backup", "backup": which}, 0)
        tell({"begun": "import"})
        tell({"done": await host.invoke(ADMIN, {"action": "import_export", "path": which})})
        await asyncio.sleep(60)


def killed(what: str, folder: Path, delay: float) -> list[dict[str, Any]]:
    """What a process told that was killed so long after it had begun."""
    life = Life(live, what, folder)
    first = life.heard()
    time.sleep(delay)
    return [first, *life.kill()]


def names_in(database: Path) -> tuple[set[str], list[int]]:
    """The notes of a database, and how many rows of each kind there are."""
    with closing(open_database(database)) as db:
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert db.execute("pragma foreign_key_check").fetchall() == []
        names = {row[0] for row in db.execute("select external_id from external_memory_refs")}
        kinds = ("external_memory_refs", "paragraphs", "relations", "relation_evidence", "terms")
        return names, [db.execute(f"select count(*) from {kind}").fetchone()[0] for kind in kinds]


admin = admin_of(ADMIN)


def clean(folder: Path) -> list[str]:
    """What is left over in the data directory."""
    data = folder / "data" / "a-memorix"
    over = [*data.glob("*.incoming*"), *data.glob("*.decided*"), *data.glob("backups/.*")]
    return [path.name for path in over]


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_process_killed_during_backups_leaves_whole_ones_only(tmp_path: Path, seed: int) -> None:
    told = killed("backup", tmp_path, random.Random(seed).uniform(0.1, 1.0))

    async with begin(tmp_path) as host:
        await host.settle(600)
        await admin(host, "backup")  # waits for the sweep's lock as well
        listed = (await admin(host, "list_backups"))["backups"]
        for one in listed:
            assert (await admin(host, "verify_backup", backup=one["id"]))["problems"] == []
        live, _ = names_in(data_of(host) / "memory.db")
    assert {line["note"] for line in told if "note" in line} <= live
    assert {line["done"] for line in told if "done" in line} <= {one["id"] for one in listed}
    acknowledged: set[str] = set()
    held_by: dict[str, set[str]] = {}
    for line in told:
        acknowledged |= {line["note"]} if "note" in line else set()
        if "begun" in line:
            before = set(acknowledged)
        if "done" in line:
            held_by[line["done"]] = before
    for one in listed:
        names, counts = names_in(Path(one["path"]) / "memory.db")
        assert names >= held_by.get(one["id"], set()), "all that was acknowledged before it began is in it"
        assert len(set(counts)) == 1, "nothing is there by half"
        for writer in range(3):
            numbers = sorted(int(name.split("-")[1]) for name in names if name.startswith(f"w{writer}-"))
            assert numbers == list(range(len(numbers))), "what came later is not there without what came before"
    assert clean(tmp_path) == []


@pytest.mark.parametrize("seed", range(2 * ROUNDS))
async def test_a_process_killed_during_restores_has_the_old_rows_or_the_new(tmp_path: Path, seed: int) -> None:
    async with begin(tmp_path) as host:
        for number in range(20):
            await host.call("ingest_text", note(f"early-{number}"))
        await host.settle(600)
        await admin(host, "save")
        made = (await admin(host, "backup"))["backup"]
        for number in range(30):
            await host.call("ingest_text", note(f"later-{number}"))
        await host.settle(600)
        await admin(host, "save")

    told = killed(f"restore {made['id']}", tmp_path, random.Random(seed).uniform(0.0, 0.4))

    async with begin(tmp_path) as host:
        await host.settle(600)
        count = (await stats(host))["paragraphs"]
        assert count in ((20,) if any("done" in line for line in told) else (20, 50))
        assert len(await contents(host, "noted thing", limit=100)) == count
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]
        listed = (await admin(host, "list_backups"))["backups"]
        for one in listed:
            assert (await admin(host, "verify_backup", backup=one["id"]))["problems"] == []
        if count == 20:
            aside = [one for one in listed if one["counts"]["paragraphs"] == 50]
            assert aside or len(listed) > 7, "what was there before was set aside"
        assert (await admin(host, "restore_backup", backup=made["id"]))["restored"]
        assert (await stats(host))["paragraphs"] == 20
    assert clean(tmp_path) == []


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_process_killed_during_an_import_is_empty_or_full(tmp_path: Path, seed: int) -> None:
    async with begin(tmp_path / "a") as host:
        for number in range(150):
            await host.call("ingest_text", note(f"n-{number}"))
        done = await admin(host, "export", vectors=True)
    home = tmp_path / "b" / "data" / "a-memorix" / "exports"
    home.mkdir(parents=True)
    shutil.copy(done["path"], home / "x.jsonl")

    told = killed("import x.jsonl", tmp_path / "b", random.Random(seed).uniform(0.0, 0.25))

    async with begin(tmp_path / "b") as host:
        count = (await stats(host))["paragraphs"]
        assert count in ((150,) if any("done" in line for line in told) else (0, 150))
        if not count:
            assert (await admin(host, "import_export", path="x.jsonl"))["imported"]
        await host.settle(600)
        assert (await stats(host))["paragraphs"] == 150
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]
    assert clean(tmp_path / "b") == []

"""A page of the database that was damaged on the disk, in the clear and encrypted: told by the call that met it, found by the
look through all pages, and no harm to what does not need it."""

from __future__ import annotations

import asyncio
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from amemorix.store import driver
from amemorix.store.keys import KEYS_FILE, Keyring
from amemorix.testing import FrozenClock
from doors import web_client
from encrypted_memory import SECRET, encrypted_memory
from entrance import admin_of
from pace import until

runtime = admin_of("memory_runtime_admin")
DAY, NOW, PAGE = 86_400.0, 1_700_000_000.0, 4096
PLAIN = {"storage.encryption.enabled": False}
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_memory", {"query": "the kettle in the harbour", "chat_id": "c1", "limit": 50}),
    ("search_memory", {"query": "kettle", "mode": "time", "time_start": "2023-11-01", "limit": 50}),
    ("memory_source_admin", {"action": "list"}),
    ("get_person_profile", {"person_id": "Ada", "chat_id": "c1"}),
    ("memory_graph_admin", {"action": "get_graph", "limit": 50}),
    ("memory_stats", {}),
)


@pytest.fixture(scope="module", params=[{}, PLAIN], ids=["encrypted", "plain"])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with a memory that was closed, and its settings."""
    folder = tmp_path_factory.mktemp("original")
    asyncio.run(fill(folder, request.param))
    return folder, request.param


async def fill(folder: Path, settings: dict[str, Any]) -> None:
    async with encrypted_memory(folder, **settings) as host:
        for chat in ("c1", "c2"):
            lines = [
                {"external_id": f"t{n}", "speaker": "Ada", "time": 1.7e9 + 60 * n,
                 "text": f"Turn {n}: I like the kettle number {n} in the harbour of Leeds. {'And so on. ' * 20}"}
                for n in range(60)
            ]  # fmt: skip
            await host.call("ingest_messages", {"chat_id": chat, "messages": lines})
        await host.settle(600)


@pytest.fixture
def memory(original: tuple[Path, dict[str, Any]], tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of it."""
    return shutil.copytree(original[0], tmp_path / "copy"), original[1]


def database(folder: Path) -> Path:
    return folder / "data" / "a-memorix" / "memory.db"


def root_page(path: Path, table: str) -> int:
    """The number of the page at which the tree of a table begins."""
    keys = Keyring.read(path.with_name(KEYS_FILE), SECRET) if path.with_name(KEYS_FILE).exists() else None
    with closing(driver.connect(path, key=keys and keys.page_key(path))) as db:
        return db.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()[0]


def flip(path: Path, page: int, at: int = 0, bit: int = 0x40) -> None:
    """Change one bit; at the beginning of a page it is of the kind of the page."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE + at)
        byte = file.read(1)[0]
        file.seek((page - 1) * PAGE + at)
        file.write(bytes([byte ^ bit]))


async def findings(host: AMemorixHostService, **args: Any) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in (await runtime(host, "check", **args))["report"]["findings"]}


async def figure(web: httpx.AsyncClient, name: str) -> float:
    lines = (await web.get("/metrics")).text.splitlines()
    return next(float(value) for key, _, value in (line.rpartition(" ") for line in lines) if key == name)


async def test_a_damaged_page_is_told_by_the_call_that_meets_it_and_spoils_no_other(
    memory: tuple[Path, dict[str, Any]],
) -> None:
    folder, settings = memory
    path = database(folder)
    flip(path, root_page(path, "audit"))
    async with encrypted_memory(folder, **settings) as host, web_client(host) as web:
        assert await figure(web, "amemorix_database_damaged") == 0
        for times in (1, 2):
            told = await host.invoke("memory_runtime_admin", {"action": "audit"})
            assert (told["success"], told["error_code"]) == (False, "storage_failure")
            assert (told["details"]["damaged"], told["details"]["file"]) == (True, str(path))
            assert str(path) in told["error"]
            assert "amemorix check" in told["error"] and "amemorix restore" in told["error"]
            assert await figure(web, "amemorix_database_damage_met_total") == times
        for component, args in ASKED:  # read by the same connections
            assert (await host.invoke(component, args))["success"], component
        written = await host.invoke("memory_runtime_admin", {"action": "set_auto_save", "enabled": True})
        assert written["error_code"] == "storage_failure", "what is written is noted in the audit"
        await host.kernel.decay.round()  # what is not goes on: the connection that writes is no worse for it
        assert await host.kernel.decay.last() is not None
        found = (await findings(host))["damage"]
        assert not found["ok"] and "3 calls" in found["detail"] and found["mend"]
        assert await figure(web, "amemorix_database_damaged") == 1


async def test_whatever_bit_is_flipped_no_answer_is_another_one(memory: tuple[Path, dict[str, Any]]) -> None:
    """In the clear only what makes no sense is noticed; encrypted, every page says whether it is the one that was written."""
    folder, settings = memory
    path, rng = database(folder), random.Random(5)
    whole = path.read_bytes()
    async with encrypted_memory(folder, **settings) as host:
        wanted = [await host.invoke(*one) for one in ASKED]
    whole = path.read_bytes()
    pages, told = len(whole) // PAGE, 0
    for page in rng.sample(range(2, pages + 1), 12):
        path.write_bytes(whole)
        flip(path, page, rng.randrange(PAGE) if not settings else 0)
        try:
            async with encrypted_memory(folder, **settings) as host:
                told += await same_or_refused(host, wanted, path)
                found = (await findings(host, deep=True))["pages"]
                assert not found["ok"] and (settings or f"page {page} is" in found["detail"]), (page, found)
        except StorageFailure as exc:
            assert exc.details["damaged"] and str(path) in str(exc)
            told += 1
    assert told


async def same_or_refused(host: AMemorixHostService, wanted: list[dict[str, Any]], path: Path) -> int:
    """How many questions are refused; the others are answered as they were."""
    refused = 0
    for one, before in zip(ASKED, wanted, strict=True):
        answer = await host.invoke(*one)
        if not answer["success"]:
            assert (answer["error_code"], answer["details"]["file"]) == ("storage_failure", str(path)), answer
            refused += 1
        elif "hits" in answer:
            hits = [[hit["content"] for hit in found["hits"]] for found in (answer, before)]
            assert hits[0] == hits[1], one
    return refused


async def test_every_page_is_looked_through_once_a_week_and_the_result_is_kept(
    memory: tuple[Path, dict[str, Any]],
) -> None:
    folder, settings = memory
    path, clock = database(folder), FrozenClock(NOW)
    async with encrypted_memory(folder, clock=clock, **settings) as host:
        assert "7 days" in (await findings(host))["pages"]["detail"]
        assert await host.kernel.integrity.due()
        assert not await host.kernel.integrity.due()
        found = (await findings(host))["pages"]
        assert found["ok"] and "2023-11-14" in found["detail"]
        clock.advance(7 * DAY - 1)
        assert not await host.kernel.integrity.due()
        clock.advance(1)
        assert await host.kernel.integrity.due()
    flip(path, root_page(path, "audit"))
    async with encrypted_memory(folder, clock=clock, **settings) as host, web_client(host) as web:
        assert (await findings(host))["pages"]["ok"], "nobody has looked"
        assert await figure(web, "amemorix_integrity_check_age_seconds") == 0
        clock.advance(8 * DAY)
        assert await figure(web, "amemorix_integrity_check_age_seconds") == 8 * DAY
        assert await host.kernel.integrity.due()
        assert await figure(web, "amemorix_database_damaged") == 1
    async with encrypted_memory(folder, clock=clock, **settings) as host:
        found = (await findings(host))["pages"]
        assert not found["ok"] and "audit" in found["detail"] and "2023-11-29" in found["detail"]


async def test_a_result_is_of_its_own_database_alone(memory: tuple[Path, dict[str, Any]]) -> None:
    """A backup that is restored is another file: what was found in the one before is not said of it."""
    folder, settings = memory
    path, clock = database(folder), FrozenClock(NOW)
    async with encrypted_memory(folder, clock=clock, **settings) as host:
        backup = (await runtime(host, "backup"))["backup"]["id"]
    flip(path, root_page(path, "chat_usage"))
    async with encrypted_memory(folder, clock=clock, **settings) as host:
        await host.kernel.integrity.due()
        found = (await findings(host))["pages"]
        assert not found["ok"] and backup in found["mend"]
        await runtime(host, "restore_backup", backup=backup)
        found = (await findings(host))["pages"]
        assert found["ok"] and "not been looked through" in found["detail"]


async def test_the_look_goes_on_by_itself_and_can_be_switched_off(memory: tuple[Path, dict[str, Any]]) -> None:
    folder, settings = memory
    off: dict[str, Any] = {**settings, "advanced.integrity_check_days": 0}
    async with encrypted_memory(folder, **off) as host:
        assert not await host.kernel.integrity.due()
        assert "switched off" in (await findings(host))["pages"]["detail"]
    often: dict[str, Any] = {**settings, "advanced.integrity_check_days": 1e-9}
    async with encrypted_memory(folder, **often) as host:

        async def looked() -> bool:
            return "looked through" in (await findings(host))["pages"]["detail"]

        await until(looked)


async def test_a_purge_does_not_wait_for_the_look(memory: tuple[Path, dict[str, Any]]) -> None:
    """A look that rests between pieces holds a snapshot, and the log cannot be emptied under it."""
    folder, settings = memory
    async with encrypted_memory(folder, **settings) as host:
        look = asyncio.create_task(host.kernel.integrity.look())
        done = await admin_of("memory_delete_admin")(host, "execute", mode="chat", selector="c2", purge=True)
        assert done["receipt"]["complete"], done
        assert (await look).damage == ()

"""One process owns a data directory, and only while it lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import Conflict, DirectoryInUse, StorageFailure
from amemorix.frontends.daemon import announced, find_daemon
from amemorix.store import lock as locking
from amemorix.store.lock import DirectoryLock
from amemorix.testing import memory_host, scratch_config
from entrance import data_of

NOTE = {"external_id": "n", "source_type": "note", "text": "The kettle is blue."}
OWNER = """
import asyncio, sys
from pathlib import Path
from amemorix.testing import memory_host
async def main():
    async with memory_host(Path(sys.argv[1])) as host:
        await host.call("ingest_text", {"external_id": "n", "source_type": "note", "text": "The kettle is blue."})
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""


def owner(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the memory of the folder, ready to answer."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


async def test_a_second_process_is_told_who_owns_the_directory(tmp_path: Path) -> None:
    process = owner(tmp_path)
    try:
        with pytest.raises(DirectoryInUse) as caught:
            async with memory_host(tmp_path):
                pass
        assert caught.value.details["pid"] == process.pid
        assert str(process.pid) in str(caught.value)
        assert "amemorix serve" in str(caught.value)
        assert issubclass(DirectoryInUse, Conflict)
    finally:
        assert ended(process) == 0
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("ingest_text", NOTE))["reason"] == "exists"


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
@pytest.mark.parametrize("instead", [None, "", '{"pid": 1}'], ids=["gone", "empty", "forged"])
async def test_removing_the_lock_file_lets_nobody_in(instead: str | None, tmp_path: Path) -> None:
    process, file = owner(tmp_path), tmp_path / "data" / "a-memorix" / ".lock"
    try:
        file.unlink()
        if instead is not None:
            file.write_text(instead, "utf-8")
        with pytest.raises(DirectoryInUse) as caught:
            async with memory_host(tmp_path):
                pass
        if sys.platform == "linux":
            assert caught.value.details["pid"] == process.pid
    finally:
        assert ended(process) == 0
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("ingest_text", NOTE))["reason"] == "exists"


async def test_after_a_kill_the_directory_is_free_and_the_write_is_there(tmp_path: Path) -> None:
    process = owner(tmp_path)
    process.send_signal(signal.SIGKILL)
    assert ended(process) == -signal.SIGKILL
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("ingest_text", NOTE))["reason"] == "exists"


async def test_two_hosts_in_one_process_do_not_share_a_directory(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as first:
        with pytest.raises(DirectoryInUse) as caught:
            async with memory_host(tmp_path):
                pass
        assert caught.value.details["pid"] == os.getpid()
        assert (await first.invoke("ingest_text", NOTE))["success"]
    async with memory_host(tmp_path) as second:
        assert (await second.invoke("memory_stats"))["paragraphs"] == 1


async def test_another_name_of_the_same_directory_is_the_same_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    async with memory_host(tmp_path / "a", storage={"data_dir": str(tmp_path / "real")}):
        with pytest.raises(DirectoryInUse):
            async with memory_host(tmp_path / "b", storage={"data_dir": str(tmp_path / "link")}):
                pass


async def test_a_refused_host_can_be_started_later(tmp_path: Path) -> None:
    refused = AMemorixHostService(scratch_config(tmp_path, {"embedding": {"provider": "none"}}), watch=False)
    async with memory_host(tmp_path):
        with pytest.raises(DirectoryInUse):
            await refused.start()
        assert refused.state == "stopped"
    async with refused as host:
        assert (await host.invoke("memory_stats"))["success"]


async def test_moving_to_a_directory_in_use_is_refused_at_the_restart(tmp_path: Path) -> None:
    async with memory_host(tmp_path / "a") as mine, memory_host(tmp_path / "b") as theirs:
        await mine.call("ingest_text", NOTE)
        answer = await mine.update_config({"storage.data_dir": str(data_of(theirs))})
        assert answer["needs_restart"] == ["storage.data_dir"]
        assert (await mine.invoke("memory_stats"))["paragraphs"] == 1
        await mine.stop()
        with pytest.raises(DirectoryInUse):
            await mine.start()


async def test_a_directory_that_was_left_is_free(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        old = data_of(host)
        await host.update_config({"storage.data_dir": str(tmp_path / "elsewhere")})
        await host.stop()
        await host.start()
        assert (await host.invoke("memory_runtime_admin", {"action": "reload_status"}))["needs_restart"] == []
        async with memory_host(tmp_path / "other", storage={"data_dir": str(old)}) as other:
            assert (await other.invoke("memory_stats"))["success"]
        assert (await host.invoke("ingest_text", NOTE))["success"]


async def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(StorageFailure, match=r"storage\.data_dir"):
        async with memory_host(tmp_path, storage={"data_dir": str(tmp_path / "file" / "data")}):
            pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', "\x00"])
async def test_whatever_stands_in_a_free_lock_file_does_not_matter(content: str, tmp_path: Path) -> None:
    async with memory_host(tmp_path):
        pass
    (tmp_path / "data" / "a-memorix" / ".lock").write_text(content, "utf-8")
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("memory_stats"))["success"]


@pytest.mark.parametrize("told", [True, False], ids=["by the system", "by the file"])
def test_asking_for_a_daemon_neither_locks_nor_writes(
    told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not told:
        monkeypatch.setattr(locking, "LOCKS", tmp_path / "nothing")
    with announced(tmp_path, "http://127.0.0.1:1", tmp_path / "a.toml"):
        DirectoryLock(tmp_path).release()
        file, before = tmp_path / ".lock", {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        with monkeypatch.context() as patch:
            patch.setattr(locking, "_lock", lambda *_: pytest.fail("it was locked"))
            assert find_daemon(tmp_path) is None
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
        lock = DirectoryLock(tmp_path)
        assert find_daemon(tmp_path) is not None
        lock.release()
        assert find_daemon(tmp_path) is None
        if not told:
            process = subprocess.Popen([sys.executable, "-c", ""])
            process.wait()
            file.write_text(f'{{"pid": {process.pid}}}', "utf-8")
            assert find_daemon(tmp_path) is None

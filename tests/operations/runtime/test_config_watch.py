import asyncio
import logging
import os
import shutil

import pytest

from amemorix.config import parse, patched, read_text, watch, write_text
from pace import PATIENCE


class Watched:
    """A watch in the background that counts what it is told."""

    def __init__(self, path, **options):
        self.path = path
        self.calls = asyncio.Queue()
        self.failing = False
        self.stop = asyncio.Event()
        self.options = {"tick_seconds": 0.1, **options}

    async def __aenter__(self):
        seen = self.path.read_bytes() if self.path.exists() else None
        self.task = asyncio.create_task(watch(self.path, self.on_change, stop=self.stop, seen=seen, **self.options))
        await asyncio.sleep(0.2)
        return self

    async def __aexit__(self, *exc):
        self.stop.set()
        await asyncio.wait_for(self.task, PATIENCE)

    async def on_change(self, _content):
        self.calls.put_nowait(None)
        if self.failing:
            raise ValueError("not today")

    async def told(self, times):
        """Wait until told so often, and a little longer to see that it stays so."""
        for _ in range(times):
            await asyncio.wait_for(self.calls.get(), PATIENCE)
        await asyncio.sleep(0.3)
        assert self.calls.empty()


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "a.toml").write_text("[http]\nport = 1\n")
    return folder / "a.toml"


@pytest.mark.parametrize("options", [{}, {"force_polling": True}, {"tick_seconds": 60.0}])
async def test_tells_of_a_change_in_place_and_of_a_rename(path, options):
    async with Watched(path, **options) as watched:
        path.write_text("[http]\nport = 2\n")
        await watched.told(1)
        (path.parent / "x").write_text("[http]\nport = 3\n")
        os.replace(path.parent / "x", path)
        await watched.told(1)
        write_text(path, patched(read_text(path), {"http.port": 4}), backups=2)
        await watched.told(1)
        assert parse(read_text(path)).http.port == 4


async def test_other_files_and_the_same_content_do_not_matter(path):
    async with Watched(path) as watched:
        for name in ("a.toml.backup.1", ".a.toml.1.tmp", "b.toml"):
            (path.parent / name).write_text("x = 1\n")
        path.write_bytes(path.read_bytes())
        path.touch()
        await watched.told(0)


async def test_writes_in_quick_succession_are_told_once(path):
    async with Watched(path) as watched:
        for number in range(20):
            path.write_text(f"[http]\nport = {number}\n")
        await watched.told(1)


async def test_a_file_that_vanishes_and_comes_back(path):
    async with Watched(path) as watched:
        path.unlink()
        await watched.told(0)
        path.write_text("[http]\nport = 1\n")
        await watched.told(0)
        path.write_text("[http]\nport = 2\n")
        await watched.told(1)


async def test_a_folder_that_vanishes_and_comes_back(path):
    async with Watched(path) as watched:
        for number in (2, 3):
            shutil.rmtree(path.parent)
            await asyncio.sleep(0.5)
            path.parent.mkdir()
            path.write_text(f"[http]\nport = {number}\n")
            await watched.told(1)


async def test_a_folder_that_comes_later(tmp_path):
    path = tmp_path / "later" / "a.toml"
    async with Watched(path) as watched:
        path.parent.mkdir()
        path.write_text("[http]\nport = 1\n")
        await watched.told(1)


async def test_a_symbolic_link_that_is_turned(path, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"# {name}\n")
    path.unlink()
    path.symlink_to(tmp_path / "one")
    async with Watched(path) as watched:
        (path.parent / "next").symlink_to(tmp_path / "two")
        os.replace(path.parent / "next", path)
        await watched.told(1)
        (tmp_path / "two").write_text("# three\n")
        await watched.told(1)


async def test_an_exception_is_logged_and_the_watch_goes_on(path, caplog):
    async with Watched(path) as watched:
        watched.failing = True
        with caplog.at_level(logging.ERROR, logger="amemorix"):
            path.write_text("[http]\nport = 2\n")
            await watched.told(1)
        path.write_text("[http]\nport = 3\n")
        await watched.told(1)
    assert "not today" in caplog.text


async def test_stops_at_once(path):
    async with Watched(path, tick_seconds=60.0) as watched:
        watched.stop.set()
        await asyncio.wait_for(watched.task, 30)


async def test_can_be_cancelled(path):
    stop = asyncio.Event()
    task = asyncio.create_task(watch(path, asyncio.Event().wait, stop=stop, tick_seconds=60.0))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)

"""Nobody else on the machine can read what is remembered."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amemorix.frontends.cli.main import app
from amemorix.testing import memory_host, scratch_config
from entrance import said

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def open_to_others(folder: Path) -> list[str]:
    """Files below a folder that others can get at."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not path.is_symlink() and path.stat().st_mode & 0o077
    ]


async def test_a_data_folder_is_its_owners(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    async with memory_host(tmp_path, backup={"roots": [str(outside)]}) as host:
        data = Path((await host.invoke("memory_stats"))["data_dir"])
        await said(host, "c", ("Ada", "the kite"))
        for call in (
            {"action": "save"}, {"action": "backup"}, {"action": "backup", "path": str(outside)},
            {"action": "export", "path": str(outside / "memory.jsonl")},
        ):  # fmt: skip
            assert (await host.invoke("memory_runtime_admin", call))["success"], call
        for path in ("", str(outside / "graph.graphml")):
            drawn = {"action": "export", "format": "graphml", "path": path}
            assert (await host.invoke("memory_graph_admin", drawn))["success"] or path
        assert mode(data) == "0o700"
        for name in ("memory.db", "memory.db-wal", "memory.db-shm", ".lock", ".reserve"):
            assert mode(data / name) == "0o600", name
        assert mode(outside / "memory.jsonl") == "0o600"
        databases = [*data.rglob("memory.db"), *outside.rglob("memory.db")]
        assert len(databases) == 3
        assert {mode(path) for path in databases} == {"0o600"}
        assert {mode(path.parent) for path in databases} == {"0o700"}


async def test_looser_modes_of_before_are_mended_and_foreign_files_left(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        data = Path((await host.invoke("memory_stats"))["data_dir"])
        await said(host, "c", ("Ada", "the kite"))
        await host.invoke("memory_runtime_admin", {"action": "backup"})
    foreign = data / "imports" / "chat.jsonl"
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("{}", "utf-8")
    target = tmp_path / "elsewhere"
    target.write_text("x", "utf-8")
    (data / "memory.link").symlink_to(target)
    for path in (data, *data.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() else 0o666)
    target.chmod(0o644)
    async with memory_host(tmp_path):
        assert mode(data) == "0o700"
        assert sorted(open_to_others(data)) == ["imports", "imports/chat.jsonl"]
        assert mode(target) == "0o644"


def test_the_shell_writes_for_its_owner_alone(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    for command in (["stats"], ["backup"], ["export", str(tmp_path / "data" / "a-memorix" / "backups" / "m.jsonl")]):
        done = CliRunner().invoke(app, [*command, "-c", str(config)])
        assert done.exit_code == 0, done.output
    data = tmp_path / "data" / "a-memorix"
    assert [path for path in open_to_others(data) if not path.startswith("imports")] == []
    assert list(data.rglob("m.jsonl"))

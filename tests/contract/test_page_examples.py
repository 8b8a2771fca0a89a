"""Every example of the pages runs, or is checked as far as it goes, with the reason why it does not run.

Of both languages at once: `test_readme` compares their code.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from amemorix.config import load
from amemorix.frontends.cli.main import app
from amemorix.testing import scratch_config
from daemon_process import daemon, environment

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted(ROOT.glob("docs/*.md")))]
DAEMON = "127.0.0.1:7400"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
NOT_RUN = {
    "from openai import OpenAI": "wants a chat model behind it; test_chat_proxy asks a scripted one in this way",
    "curl -N": "does not end; test_http and test_connections read the stream",
    "amemorix serve": "does not end; test_cli_serve runs it",
    "amemorix ui": "does not end; test_cli_ui runs it",
    "amemorix onebot": "does not end; test_onebot runs it",
    "amemorix restore ID": "stands for a backup; test_cli_backup restores one",
    "amemorix import-export": "wants an empty memory; test_cli_backup fills one",
    "amemorix import": "wants files of the reader's; tests/operations/importing reads some of each kind",
    "amemorix call memory_import_admin": "the same",
    "amemorix config set imports.roots": "wants a folder of the reader's; test_cli_config sets settings",
    "amemorix config set storage.encryption.key_file": "test_cli_key encrypts a memory and changes its keys",
    "amemorix key": "the same",
    "amemorix tune": "takes its time, and wants talk to ask about; tests/operations/tuning runs it",
    'amemorix invoke memory_correction_admin --json \'{"action": "execute"': "the number of the plan differs",
}
"""How a command, or a block of Python, begins, and why it is not run."""
BEFORE = {
    "docs/facades.md": "async def ask_model(prompt): return '{}'",
    "docs/qq.md": """
from types import SimpleNamespace
from amemorix import AsyncMemory
memory, event = AsyncMemory("./memory"), SimpleNamespace(get_plaintext=lambda: "?", group_id=42)
""",
}
"""What the code of a page takes to be there."""
TALK = [
    {"speaker": "林澈", "person_id": "u1", "text": "我住在上海，对花生过敏。"},
    {"speaker": "10002", "text": "I drink coffee, black."},
]
RUN = """
import ast, asyncio, json, sys
page, blocks = json.load(sys.stdin)
names = {"__name__": "__page__"}
with asyncio.Runner() as runner:
    for code in blocks:
        made = eval(compile(code, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if made is not None:
            async def whole(made=made): return await made
            runner.run(whole())
"""


class Block(NamedTuple):
    """A fenced example, with the line on which it begins."""

    language: str
    code: str
    line: int


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text("utf-8")
    return [Block(one[1], one[2], text.count("\n", 0, one.start(2))) for one in BLOCK.finditer(text)]


def reason(code: str) -> str:
    return next((why for begins, why in NOT_RUN.items() if code.startswith(begins)), "")


def pages(*languages: str) -> list[str]:
    return [page for page in PAGES if any(one.language in languages for one in blocks(page))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader stands: beside a memory's folder, and in a project with a configuration."""
    config = scratch_config(tmp_path, {"embedding.provider": "none"})
    (tmp_path / "memory").mkdir()
    shutil.copy(config, tmp_path / "memory" / "a_memorix.toml")
    monkeypatch.setenv("AMEMORIX_CONFIG", str(config))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def at(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The address of a daemon, for the pages whose examples ask one."""
    page = blocks(request.getfixturevalue("page"))
    if any(DAEMON in one.code and one.language in ("python", "console", "sh") and not reason(one.code) for one in page):
        with daemon(folder / "config" / "a_memorix.toml") as running:
            yield running.url.removeprefix("http://")
    else:
        yield DAEMON


@pytest.mark.parametrize("page", pages("python"))
def test_python_runs(page: str, folder: Path, at: str) -> None:
    code = [
        "\n" * one.line + one.code.replace(DAEMON, at)
        for one in blocks(page)
        if one.language == "python" and not reason(one.code)
    ]
    given = json.dumps([page, [BEFORE.get(page, ""), *code]])
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=given, capture_output=True, text=True, timeout=300, env=environment()
    )
    assert done.returncode == 0, done.stderr
    if "我对花生过敏" in "".join(code):
        assert "我对花生过敏" in done.stdout


@pytest.mark.parametrize("page", pages("console", "sh"))
def test_commands_run(page: str, folder: Path, at: str) -> None:
    talk = json.dumps({"chat_id": "qq:42", "messages": TALK}, ensure_ascii=False)
    if at == DAEMON:  # no daemon has the folder
        assert run(["amemorix", "invoke", "ingest_messages", "--json", talk]).exit_code == 0
    for command in commands(page):
        check(command)
        if reason(command):
            continue
        if command.startswith("curl"):
            done = subprocess.run(command.replace(DAEMON, at), shell=True, capture_output=True, text=True, timeout=120)
            assert json.loads(done.stdout)["success"], command
        elif (words := shlex.split(command))[0] in ("amemorix", "echo"):
            given = words[1] if words[0] == "echo" else None
            asked = run(words[words.index("amemorix") :], given)
            assert asked.exit_code == 0, f"{command}\n{asked.output}"


def run(words: list[str], given: str | None = None) -> Any:
    return CliRunner().invoke(app, words[1:], input=given or "y\n")


def commands(page: str) -> list[str]:
    """One after another, without remarks; of a console, what is typed."""
    found: list[str] = []
    for one in blocks(page):
        if one.language == "console":
            found += [re.sub(r"\s+# .*", "", line[2:]) for line in one.code.splitlines() if line.startswith("$ ")]
        elif one.language == "sh":
            found += one.code.replace("\\\n", "").strip().splitlines()
    return [re.sub(r" +", " ", command) for command in found]


def check(command: str) -> None:
    """That what it calls is there: a command with its options, an extra, a script."""
    words = shlex.split(command)
    if "amemorix" in words and words[0] in ("amemorix", "echo"):
        check_options(words[words.index("amemorix") + 1 :], command)
    elif words[:2] == ["pip", "install"]:
        extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
        for extra in re.findall(r"amemorix\[([\w-]+)\]", command):
            assert extra in extras, command
    elif words[0].startswith("./scripts/"):
        assert (ROOT / words[0]).exists(), command
    elif words[0] == "python":
        assert (ROOT / "examples" / words[1]).exists(), command
    else:
        assert words[0] in ("curl", "export", "openssl"), f"{command}: what is to be checked of it?"


def check_options(words: list[str], whole: str) -> None:
    command: Any = get_command(app)
    while hasattr(command, "resolve_command") and words and not words[0].startswith("-"):
        if not words[0].islower():  # whatever the reader puts there
            return
        _, command, words = command.resolve_command(command.context_class(command, info_name=whole), words)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.split("=")[0].replace("_", "-") for word in words if re.match(r"-[a-z]$|--[a-z]", word)]
    assert [one for one in given if one not in {*known, "--help"}] == [], whole


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_are_there(page: str) -> None:
    prose = BLOCK.sub("", (ROOT / page).read_text("utf-8"))
    for command in re.findall(r"`amemorix( [^`]+)`", prose):
        if "'" not in command and '"' not in command:
            check_options(command.replace("[", "").replace("]", "").split(), command)


@pytest.mark.parametrize("page", pages("toml"))
def test_settings_are_accepted(page: str, folder: Path) -> None:
    for one in blocks(page):
        if one.language == "toml":
            (folder / "a_memorix.toml").write_text(one.code, "utf-8")
            load(folder / "a_memorix.toml")


@pytest.mark.parametrize("page", pages("json", "yaml"))
def test_configurations_name_what_is_there(page: str) -> None:
    for one in blocks(page):
        if one.language == "json":
            for server in json.loads(one.code)["mcpServers"].values():
                check_options(server.get("args", []), one.code)
        elif one.language == "yaml":
            named = [module["module"].rsplit(".", 1) for module in yaml.safe_load(one.code)["modules"]]
            own = [(module, name) for module, name in named if module.startswith("amemorix.")]
            assert own and all(hasattr(import_module(module), name) for module, name in own)


def test_every_example_is_of_a_kind_that_is_looked_at() -> None:
    assert {one.language for page in PAGES for one in blocks(page)} <= {
        "", "python", "console", "sh", "toml", "json", "yaml", "nginx",
    }  # fmt: skip


def test_every_reason_is_of_an_example() -> None:
    begun = [command for page in pages("console", "sh") for command in commands(page)]
    begun += [one.code for page in PAGES for one in blocks(page)]
    assert [start for start in NOT_RUN if not any(one.startswith(start) for one in begun)] == []

"""Commands on people and chats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from amemorix import Memory
from amemorix.frontends.cli.main import app
from amemorix.testing import scratch_config


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.setenv("AMEMORIX_CONFIG", str(path))
    monkeypatch.setenv("COLUMNS", "200")
    turns = [{"speaker": "Mia", "text": "I drink coffee, black."}, {"speaker": "林澈", "text": "我对花生过敏"}]
    lines = tmp_path / "turns.jsonl"
    lines.write_text("\n".join(json.dumps(turn) for turn in turns))
    assert run("ingest", str(lines), "--format", "jsonl", "--chat", "friends").exit_code == 0
    return path


def run(*command: str, given: str = "") -> Result:
    return CliRunner().invoke(app, command, input=given)


def test_what_is_stored_is_looked_through(config: Path) -> None:
    assert "friends" in run("chats").stdout and "friends" not in run("chats", "nobody").stdout
    assert {"Mia", "林澈"} <= set(run("people").stdout.split())
    log = run("log", "friends", "--last", "1").stdout
    assert "林澈: 我对花生过敏  [p2]" in log and "Mia" not in log
    assert "amemorix chats" in run("log", "nowhere").stderr
    shown = run("show", "p1", "p9")
    assert (shown.exit_code, "speaker: Mia" in shown.stdout, "no p9" in shown.stderr) == (1, True, True)
    assert "花生" in run("profile", "林澈").stdout
    assert "花生" in run("facts", "林澈").stdout
    assert "花生" in run("context", "今天吃什么", "--chat", "friends", "--user", "林澈").stdout


@pytest.mark.parametrize("config_at", ["memory/a_memorix.toml", "memory/config/a_memorix.toml"])
def test_the_folder_of_a_memory_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config_at: str) -> None:
    monkeypatch.chdir(tmp_path)
    written = scratch_config(tmp_path / "scratch", {"embedding.provider": "none"})
    (tmp_path / config_at).parent.mkdir(parents=True)
    written.rename(tmp_path / config_at)
    with Memory("memory") as memory:
        memory.add("I drink coffee, black.", user="mia")
    assert "private:mia" in run("chats", "-c", "memory").stdout
    monkeypatch.setenv("AMEMORIX_CONFIG", "memory")
    assert "private:mia" in run("chats").stdout


def test_nothing_is_forgotten_without_a_yes(config: Path) -> None:
    refused = run("forget", "Mia", given="n\n")
    assert refused.exit_code == 1 and "I drink coffee" in refused.stdout
    assert "Mia" in run("log", "friends").stdout
    done = run("forget", "Mia", given="y\n").stdout
    assert "restore --operation-id d1" in done and "Mia" not in run("log", "friends").stdout
    assert run("call", "memory_delete_admin", "restore", "--operation-id", "d1").exit_code == 0
    assert "Mia" in run("log", "friends").stdout
    assert "1 texts erased for good" in run("forget", "p1", "--purge", "--yes").stdout
    assert "1 texts" in run("forget", "--chat", "friends", "--yes").stdout
    assert "user: say whom" in run("forget").stderr

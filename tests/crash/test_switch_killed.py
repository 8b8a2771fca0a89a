"""kill -9 in `amemorix key enable|disable`: the memory opens as what its files are, and its settings say so afterwards."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amemorix import Memory
from amemorix.config import load, patched
from amemorix.errors import StorageFailure
from amemorix.store.keys import is_plain
from amemorix.testing import scratch_config
from command_line import run, words
from daemon_process import environment

SECRET, PASSPHRASE = "5a" * 32, "correct horse battery staple"
HOME = Path("project/data/a-memorix")
"""Below the folder of the test."""
TEXT = "I am allergic to peanuts"
DIES = """
import os, signal, sys
left, folder = int(sys.argv[1]), sys.argv[2]
def hook(event, args):
    global left
    if event == "os.rename" and left < 0 and str(args[1]).endswith("a_memorix.toml"):
        os.kill(os.getpid(), signal.SIGKILL)
    if event in ("os.rename", "os.link", "os.remove") and folder in str(args[0]):
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
sys.addaudithook(hook)
sys.argv[1:] = sys.argv[3:]
from amemorix.frontends.cli.main import main
main()
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = {
        "embedding.provider": "none", "storage.encryption.enabled": False, "storage.encryption.key_file": "",
    }  # fmt: skip
    path = scratch_config(tmp_path / "project", settings)
    monkeypatch.setenv("AMEMORIX_KEY", SECRET)
    monkeypatch.setenv("COLUMNS", "900")
    monkeypatch.chdir(tmp_path)
    return path


def done(*command: str) -> str:
    result = run(*command)
    assert result.exit_code == 0, result.output
    return words(result)


def stored(config: Path, command: str) -> None:
    """A memory on which the command is to work."""
    if command == "disable":
        done("key", "init", "-c", str(config))
    with Memory(config) as memory:
        memory.add(TEXT, user="ann")
        memory.search("peanuts", user="ann")
    (HOME / "imports/staging/u00000000000000000000000000000000").mkdir(parents=True)
    if command == "enable":
        (HOME / "imports/staging/u00000000000000000000000000000000/talk.txt").write_text("peanuts everywhere")


def killed(config: Path, command: str, step: int) -> bool:
    """Whether the command was killed before it changed the name of a file for that time; -1: before it writes the settings."""
    argv = [sys.executable, "-c", DIES, str(step), str(config.parents[1]), "key", command, "-c", str(config)]
    ended = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


def texts(config: Path) -> list[str]:
    with Memory(config) as memory:
        return [text.text for text in memory.texts(everything=True)]


def in_the_clear() -> list[Path]:
    return [path for path in HOME.rglob("*") if path.is_file() and b"peanuts" in path.read_bytes()]


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_it_opens_and_its_settings_are_mended(command: str, config: Path) -> None:
    stored(config, command)
    whole = config.parents[2] / "whole"
    shutil.copytree(config.parents[1], whole)
    mended = 0
    for step in range(60):
        was_killed = killed(config, command, step)
        before = load(config).storage.encryption.enabled
        assert texts(config) == [TEXT]
        plain = is_plain(HOME / "memory.db")
        assert load(config).storage.encryption.enabled is not plain
        assert plain or in_the_clear() == []
        assert [path.name for path in config.parent.iterdir() if path.name.endswith(".encryption")] == []
        mended += before is plain
        if not was_killed:
            assert mended > 0, "it was never killed between the exchange and the settings"
            return
        shutil.rmtree(config.parents[1])
        shutil.copytree(whole, config.parents[1])
    raise AssertionError("it never came to its end")


def cut_short(config: Path, command: str) -> None:
    """The command, killed between the exchange of the files and the settings."""
    stored(config, command)
    assert killed(config, command, -1)
    assert is_plain(HOME / "memory.db") is load(config).storage.encryption.enabled


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_the_command_goes_on_where_it_was_cut_short(command: str, config: Path) -> None:
    cut_short(config, command)
    said = done("key", command, "-c", str(config))
    assert ("encrypted" if command == "enable" else "in the clear") in said
    assert texts(config) == [TEXT]
    assert command == "disable" or in_the_clear() == []


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_without_the_secret_it_says_which_command_is_to_be_finished(
    command: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short(config, command)
    monkeypatch.delenv("AMEMORIX_KEY")
    with pytest.raises(StorageFailure, match=f"`amemorix key {command}`") as caught:
        texts(config)
    other = {"enable": "disable", "disable": "enable"}[command]
    assert f"key {other}" not in str(caught.value)


def test_a_plain_database_that_somebody_else_lays_there_is_refused(config: Path) -> None:
    """Also after a command that was cut short: only the file that it made itself takes the place."""
    with Memory(scratch_config(config.parents[2] / "foreign", {"embedding.provider": "none"})) as memory:
        memory.add("I am a forger", user="ann")
    forged = (config.parents[2] / "foreign" / "data/a-memorix/memory.db").read_bytes()
    cut_short(config, "disable")
    (HOME / "memory.db").write_bytes(forged)
    with pytest.raises(StorageFailure, match="not encrypted") as caught:
        texts(config)
    assert load(config).storage.encryption.enabled is True
    assert "key disable" in str(caught.value)


def test_a_switch_that_was_given_up_leaves_no_way_in_for_another_file(config: Path) -> None:
    """The command was killed before the exchange; the memory was opened since, encrypted as it was."""
    stored(config, "disable")
    plain = config.parents[2] / "plain"
    shutil.copytree(config.parents[1], plain)
    done("key", "disable", "-c", str(plain / "config" / "a_memorix.toml"))
    assert killed(config, "disable", 2)
    assert not is_plain(HOME / "memory.db")
    assert texts(config) == [TEXT]
    (HOME / "memory.db").write_bytes((plain / "data/a-memorix/memory.db").read_bytes())
    with pytest.raises(StorageFailure, match="not encrypted"):
        texts(config)


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_a_memory_that_was_switched_without_its_settings_names_the_command(command: str, config: Path) -> None:
    """Its settings were put back by hand, or an earlier version was killed: nothing tells what was asked for."""
    stored(config, command)
    done("key", command, "-c", str(config))
    config.write_text(patched(config.read_text("utf-8"), {"storage.encryption.enabled": command == "disable"}), "utf-8")
    with pytest.raises(StorageFailure, match=f"`amemorix key {command}`"):
        texts(config)
    done("key", command, "-c", str(config))
    assert texts(config) == [TEXT]


@pytest.mark.parametrize("source", ["key_env", "key_file", "key_command"])
@pytest.mark.parametrize("secret", [SECRET, PASSPHRASE, "Wlpa" * 10 + "Wlo="])
def test_a_byte_order_mark_before_a_key_is_passed_over(
    secret: str, source: str, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{secret}\n", "utf-8")
    file.chmod(0o600)
    monkeypatch.delenv("AMEMORIX_KEY")
    if source == "key_env":
        monkeypatch.setenv("AMEMORIX_KEY", secret)
    named: dict[str, object] = {"key_file": str(file), "key_command": ["cat", str(file)], "key_env": "AMEMORIX_KEY"}
    config.write_text(patched(config.read_text("utf-8"), {f"storage.encryption.{source}": named[source]}), "utf-8")
    done("key", "init", "-c", str(config))
    with Memory(config) as memory:
        memory.add(TEXT, user="ann")
    file.write_text(f"\ufeff{secret}\n", "utf-8")
    if source == "key_env":
        monkeypatch.setenv("AMEMORIX_KEY", f"\ufeff{secret}")
    assert texts(config) == [TEXT]

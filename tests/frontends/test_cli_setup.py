"""`amemorix init` and `amemorix doctor`, and the completion that a shell asks for."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from amemorix import Memory
from amemorix.config import Config, default_toml, load
from amemorix.copies import backup_folder
from amemorix.frontends.cli import doctor
from amemorix.frontends.cli.main import COMMANDS, app
from amemorix.models.local import catalog
from amemorix.models.local.install import install
from amemorix.store.lock import DirectoryLock
from amemorix.testing import scratch_config
from command_line import run
from daemon_process import Running, daemon
from endpoint import endpoint
from test_models_tiny import published

SECRETS = {
    "TOKEN_OF_THE_DOCTOR": "tok-3f9a", "TOKENS_OF_THE_DOCTOR": '[{"token": "tok-77c1", "role": "read"}]',
    "KEY_OF_THE_DOCTOR": "sk-b21d",
}  # fmt: skip
SETTINGS = {
    "embedding.provider": "none", "http.token_env": "TOKEN_OF_THE_DOCTOR", "http.tokens_env": "TOKENS_OF_THE_DOCTOR",
    "http.port": 0, "chat.provider": "openai", "chat.base_url": "http://127.0.0.1:9/v1", "chat.model_name": "m",
    "chat.api_key_env": "KEY_OF_THE_DOCTOR",
}  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("AMEMORIX_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stored(place: Path) -> Path:
    """The configuration of a memory that holds a line."""
    config = scratch_config(place, {"embedding.provider": "none", "http.port": 0})
    with Memory(place) as memory:
        memory.add("I live in Leeds", user="ann")
    return config


def examined(*args: str) -> dict[str, list[dict[str, Any]]]:
    """The findings by name."""
    result = run("doctor", "--json", "--no-probe", *args)
    report = json.loads(result.stdout)
    assert (result.exit_code == 0) is report["ok"] is all(one["ok"] for one in report["findings"])
    found: dict[str, list[dict[str, Any]]] = {}
    for one in report["findings"]:
        found.setdefault(one["name"], []).append(one)
    return found


def wrong(found: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    return {name: one["detail"] for name, every in found.items() for one in every if not one["ok"]}


# init


def test_a_project_gets_a_configuration_that_changes_nothing_by_itself(place: Path) -> None:
    done = run("init", "bot")
    assert done.exit_code == 0 and "cd bot" in done.output and "amemorix doctor" in done.output
    config = place / "bot" / "config" / "a_memorix.toml"
    assert load(config) == Config()
    assert len(config.read_text("utf-8")) < len(default_toml()) / 4
    assert not (place / "bot" / "data").exists()
    assert run("config", "set", "general.timezone", "Asia/Shanghai", "-c", str(config)).exit_code == 0
    assert Memory(place / "bot", settings={"embedding.provider": "none"}).close() is None
    assert (load(config).general.timezone, load(config).embedding.provider) == ("Asia/Shanghai", "none")


def test_every_setting_is_written_where_that_is_wished(place: Path) -> None:
    assert run("init", "--full").exit_code == 0
    assert (place / "config" / "a_memorix.toml").read_text("utf-8") == default_toml()


@pytest.mark.parametrize("name", ["config/a_memorix.toml", "a_memorix.toml"])
def test_what_is_there_stays(place: Path, name: str) -> None:
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("[general]\ntimezone = 'Asia/Tokyo'\n", "utf-8")
    done = run("init")
    assert done.exit_code == 0 and "there already" in done.output
    assert [file for file in place.rglob("*") if file.is_file()] == [place / name]
    assert (place / name).read_text("utf-8") == "[general]\ntimezone = 'Asia/Tokyo'\n"


def test_a_file_that_is_gone_and_named_a_folder_is_not_made_up(place: Path) -> None:
    config = scratch_config(place, {"embedding.provider": "none", "storage.data_dir": "elsewhere"})
    Memory(place).close()
    config.unlink()
    done = run("init")
    assert done.exit_code == 1 and "elsewhere" in done.output
    assert not config.exists()


def test_git_is_spoken_of_where_there_is_git(place: Path) -> None:
    assert "gitignore" not in run("init").output
    (place / ".git").mkdir()
    assert "gitignore" in run("init").output


# doctor


def test_a_fresh_project_is_well_and_the_doctor_begins_no_memory(place: Path) -> None:
    assert run("init").exit_code == 0
    assert run("config", "set", "http.port", "0").exit_code == 0
    before = sorted(place.rglob("*"))
    found = examined()
    assert wrong(found) == {}
    assert "nothing is stored yet" in found["memory"][0]["detail"]
    assert "disk" in found and "folder" not in found
    assert sorted(place.rglob("*")) == before


def test_without_a_configuration_it_says_where_one_comes_from(place: Path) -> None:
    assert "amemorix init" in examined("-c", "config/a_memorix.toml")["config"][0]["mend"]
    (place / "home").mkdir()
    (place / "home" / "a_memorix.toml").write_text(default_toml(), "utf-8")
    assert str(place / "home" / "a_memorix.toml") in examined()["config"][0]["mend"]
    assert not (place / "config").exists()


def test_what_is_stored_is_looked_at_as_check_does(stored: Path) -> None:
    found = examined()
    assert wrong(found) == {}
    checked = run("check", "--no-probe").stdout
    for name in ("database", "references", "words", "sparse", "disk"):
        assert name in checked
        assert len(found[name]) == 1
    table = run("doctor", "--no-probe")
    assert table.exit_code == 0 and "All is well." in table.output and str(stored) in table.output


def test_texts_that_wait_to_be_embedded_are_counted(place: Path) -> None:
    with endpoint() as model:
        made = {"embedding.provider": "openai", "embedding.base_url": model.base_url, "embedding.model_name": "small"}
        scratch_config(place, {**made, "http.port": 0})
        with Memory(place) as memory:
            memory.settle()
        model.poison = "Leeds"
        with Memory(place) as memory:
            memory.add("I live in Leeds", user="ann")
        [vectors] = [one for name, every in examined().items() if name.startswith("vectors-") for one in every]
        assert vectors["detail"] == "0 vectors of small; search goes by words so far; texts that wait to be embedded: 1"
        model.status = 503
        assert "texts that wait to be embedded: 1" in examined()["embedding"][0]["detail"]


def test_a_database_that_is_gone_is_missed(stored: Path) -> None:
    assert run("backup").exit_code == 0
    database = next(stored.parent.parent.rglob("memory.db"))
    database.unlink()
    assert "what it held is lost" in str(wrong(examined()))
    assert "nothing is stored yet" not in run("doctor", "--no-probe").output
    assert not database.exists()


def test_a_configuration_that_is_gone_is_missed_and_not_made_up(stored: Path, place: Path) -> None:
    stored.unlink()
    assert "holds a memory" in wrong(examined("-c", str(stored)))["config"]
    elsewhere = scratch_config(place / "other", {"embedding.provider": "none", "storage.data_dir": "elsewhere"})
    Memory(place / "other").close()
    elsewhere.unlink()
    assert "elsewhere" in wrong(examined("-c", str(elsewhere)))["config"]
    assert not stored.exists() and not elsewhere.exists()


def test_an_invalid_configuration_is_said_with_its_line(place: Path) -> None:
    config = scratch_config(place, {})
    config.write_text("[http]\nport = 'many'\n", "utf-8")
    assert "line 2" in wrong(examined())["config"]


def test_a_damaged_database_is_said_with_what_to_do(stored: Path, place: Path) -> None:
    assert run("backup").exit_code == 0
    database = next(place.rglob("data/a-memorix/memory.db"))
    database.write_bytes(database.read_bytes()[:5000])
    found = examined()
    assert "database" in wrong(found)
    assert "amemorix restore" in " ".join(one["mend"] for one in found["database"])


def test_what_another_process_has_open_is_left_alone(stored: Path, place: Path) -> None:
    lock = DirectoryLock(place / "data" / "a-memorix")
    try:
        found = examined()
    finally:
        lock.release()
    assert str(os.getpid()) in found["owner"][0]["detail"]
    assert "database" not in found


def test_a_folder_that_others_may_enter(stored: Path, place: Path) -> None:
    folder = place / "data" / "a-memorix"
    folder.chmod(0o755)
    assert examined()["folder"][0]["mend"] == f"`chmod 700 {folder}`"


def test_a_secret_without_encryption(stored: Path, place: Path) -> None:
    assert "encryption" not in examined()
    assert run("config", "set", "storage.encryption.key_file", str(place / "key")).exit_code == 0
    assert "nothing is encrypted" in wrong(examined())["encryption"]


def test_a_clock_that_was_set_back(stored: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place / "data" / "a-memorix" / "memory.db"
    ahead = file.stat().st_mtime + 7200
    os.utime(file, (ahead, ahead))
    assert "2.0 h before" in wrong(examined())["clock"]


def test_the_zone_in_which_times_are_read_is_told(stored: Path) -> None:
    assert run("config", "set", "general.timezone", "Asia/Shanghai").exit_code == 0
    assert "Asia/Shanghai" in examined()["clock"][0]["detail"]


def test_a_port_that_is_taken_and_a_door_without_a_token(stored: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert run("config", "set", "http.port", str(other.getsockname()[1])).exit_code == 0
        assert "Cannot listen" in wrong(examined())["daemon"]
    assert run("config", "set", "http.host", "0.0.0.0").exit_code == 0
    assert "a token is needed" in wrong(examined())["daemon"]


def test_backups_that_do_not_come(stored: Path, place: Path) -> None:
    assert examined()["backup"][0]["ok"]
    assert run("config", "set", "backup.every_hours", "1").exit_code == 0
    assert wrong(examined())["backup"] == "there is none"
    assert run("backup").exit_code == 0
    assert "backup" not in wrong(examined())
    for manifest in place.rglob("backups/*/manifest.json"):
        backup = backup_folder.read(manifest.parent)
        assert backup is not None
        backup_folder.write(manifest.parent, replace(backup.manifest, created_at=backup.manifest.created_at - 9000))
    assert "2.5 h old" in wrong(examined())["backup"]


def test_a_package_that_does_not_load(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rjieba", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)
        assert name in wrong(examined())["packages"]


def test_a_model_whose_file_was_changed(stored: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CACHE", str(place / "cache"))
    tiny = published(place / "published")
    monkeypatch.setattr(catalog, "MODELS", {tiny.name: tiny})
    assert run("config", "set", "embedding.provider", "auto").exit_code == 0
    assert "amemorix models install" in examined()["models"][0]["mend"]
    folder = install(tiny, place / "published")
    found = examined()
    assert (found["files-tiny"][0]["ok"], "models" in found) == (True, False)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text("utf-8").swapcase(), "utf-8")
    assert "files-tiny" in wrong(examined())


def test_it_leaves_no_trace_in_the_home_folder(stored: Path, place: Path) -> None:
    home = place / "whose"
    home.mkdir()
    left_out = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "CI"}
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    code = "from amemorix.frontends.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "-c", str(stored)], capture_output=True, text=True, check=False,
        env={**env, "HOME": str(home)},
    )  # fmt: skip
    assert (done.returncode, list(home.iterdir())) == (0, []), done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    config = scratch_config(tmp_path_factory.mktemp("served"), SETTINGS)
    with daemon(config, env=SECRETS) as running:
        yield config, running


def test_a_daemon_is_asked_and_nothing_secret_is_told(
    served: tuple[Path, Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, running = served
    monkeypatch.setenv("AMEMORIX_CONFIG", str(config))
    assert "token" in wrong(found := examined())["memory"]
    assert found["daemon"][0]["ok"] and running.url in found["daemon"][0]["detail"]
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    result = run("doctor", "--probe")
    assert result.exit_code == 1 and "1 of" in result.output  # the chat model, which nobody serves there
    assert not [secret for secret in ("tok-3f9a", "tok-77c1", "sk-b21d") if secret in result.output]
    assert wrong(examined()) == {}


def test_a_daemon_of_another_version(served: tuple[Path, Running], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CONFIG", str(served[0]))
    monkeypatch.setattr(doctor, "__version__", "9.9")
    found = examined()["daemon"][0]
    assert not found["ok"] and found["mend"].startswith("Restart it")


# completion


COMPLETE = """
source /dev/stdin <<< "$(_AMEMORIX_COMPLETE=source_bash amemorix)"
COMP_WORDS=({line}) COMP_CWORD={at}
_amemorix_completion amemorix
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("amemorix do", {"doctor"}),
        ("amemorix models v", {"verify"}),
        ("amemorix search --ch", {"--chat"}),
        ("amemorix call memory_source", {"memory_source_admin"}),
    ],
)
def test_bash_completes_commands_and_options(place: Path, line: str, offered: set[str]) -> None:
    command = place / "bin" / "amemorix"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom amemorix.frontends.cli.main import main\nmain()\n", "utf-8")
    command.chmod(0o755)
    script = COMPLETE.format(line=line, at=len(line.split()) - 1)
    env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_offered_every_command_with_its_sentence(shell: str) -> None:
    variables = {"_AMEMORIX_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "amemorix ", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}  # fmt: skip
    done = CliRunner().invoke(app, env=variables, prog_name="amemorix")
    assert [name for name in COMMANDS if name not in done.output] == []

"""The folder in which a memory keeps its data, given where the folder of a memory is asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from amemorix import AMemorixHostService, AsyncMemory, Memory
from amemorix.errors import InvalidConfig, MemoryFault
from amemorix.location import config_file
from amemorix.testing import scratch_config
from command_line import run, words
from daemon_process import COMMAND, daemon, environment
from test_mcp_stdio import ask, client, lines

Place = tuple[Path, Path]
"""The configuration file of a memory that holds a line, and where it keeps its data."""


def in_its_place(folder: Path) -> Place:
    config = scratch_config(folder / "project", {"embedding.provider": "none"})
    return config, folder / "project" / "data" / "a-memorix"


def beside_its_settings(folder: Path) -> Place:
    config = folder / "project" / "a_memorix.toml"
    config.parent.mkdir()
    config.write_text('[embedding]\nprovider = "none"\n', "utf-8")
    return config, folder / "project" / "data" / "a-memorix"


def elsewhere(folder: Path) -> Place:
    data = folder / "disk" / "rows"
    return scratch_config(folder / "project", {"embedding.provider": "none", "storage.data_dir": str(data)}), data


def of_another_name(folder: Path) -> Place:
    config = folder / "project" / "mine.toml"
    config.parent.mkdir()
    config.write_text('[embedding]\nprovider = "none"\n', "utf-8")
    return config, folder / "project" / "data" / "a-memorix"


@pytest.fixture(params=[in_its_place, beside_its_settings, elsewhere, of_another_name])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("AMEMORIX_HOME", str(tmp_path / "home"))
    lay: Callable[[Path], Place] = request.param
    config, data = lay(tmp_path)
    with Memory(config) as memory:
        memory.add("the lamp is red", chat="c", user="Ann")
    return config, data


def texts(folder: Path) -> list[str]:
    with Memory(folder) as memory:
        return [text.text for text in memory.texts(everything=True)]


def begun(data: Path) -> list[Path]:
    """What a memory that is begun within the data would leave there."""
    return [path for path in data.rglob("*") if path.name in ("a_memorix.toml", "data", "config")]


def test_a_memory_is_opened_by_the_folder_of_its_data(place: Place) -> None:
    config, data = place
    with Memory(data) as memory:
        memory.add("the kettle is blue", chat="c", user="Ann")
        assert memory.folder == config.parent.parent if config.parent.name == "config" else config.parent
    assert set(texts(config)) == {"the lamp is red", "the kettle is blue"}
    assert begun(data) == []


async def test_awaited_the_same(place: Place) -> None:
    _, data = place
    async with AsyncMemory(data) as memory:
        assert [text.text for text in await memory.texts(everything=True)] == ["the lamp is red"]
    assert begun(data) == []


@pytest.mark.parametrize("by", ["option", "variable"])
def test_commands_work_on_it(by: str, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, data = place
    file = tmp_path / "note.txt"
    file.write_text("the kettle is blue", "utf-8")
    option = ["-c", str(data)] if by == "option" else []
    if by == "variable":
        monkeypatch.setenv("AMEMORIX_CONFIG", str(data))
    assert "the lamp is red" in words(run("search", "lamp", "--chat", "c", *option))
    stored = run("ingest", str(file), "--chat", "c", *option)
    assert stored.exit_code == 0, stored.output
    assert set(texts(config)) == {"the lamp is red", "the kettle is blue"}
    assert begun(data) == []


@pytest.mark.parametrize("place", [in_its_place, elsewhere], indirect=True)
def test_a_daemon_is_started_by_it_and_found_by_it(place: Place) -> None:
    config, data = place
    with daemon(data) as running:
        assert any(str(config) in line for line in running.banner)
        with Memory(data) as memory:
            memory.add("the kettle is blue", chat="c", user="Ann")
        assert "the lamp is red" in words(run("search", "lamp", "--chat", "c", "-c", str(data)))
    assert set(texts(config)) == {"the lamp is red", "the kettle is blue"}
    assert begun(data) == []


@pytest.mark.parametrize("place", [elsewhere], indirect=True)
def test_what_is_killed_leaves_its_settings_known(place: Place) -> None:
    config, data = place
    script = "import os, sys; from amemorix import Memory; Memory(sys.argv[1]).texts(everything=True); os._exit(1)"
    subprocess.run([sys.executable, "-c", script, str(config)], check=False)
    assert texts(data) == ["the lamp is red"]


@pytest.mark.parametrize("place", [elsewhere], indirect=True)
async def test_an_mcp_client_gets_the_memory_of_the_data(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = place
    async with client(data, "--chat", "c") as one:
        assert lines(await ask(one, "recall", query="lamp")) == ["the lamp is red"]
    monkeypatch.setenv("AMEMORIX_CONFIG", str(data))
    command, *args = COMMAND
    named = StdioServerParameters(command=command, args=[*args, "mcp", "--chat", "c"], env=environment())
    async with Client(named) as one:
        assert lines(await ask(one, "recall", query="lamp")) == ["the lamp is red"]
    assert begun(data) == []


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(MemoryFault) as caught:
        call()
    return str(caught.value)


def test_no_memory_is_begun_within_the_data_of_another(place: Place) -> None:
    config, data = place
    inside = data / "indexes" / "mine"
    assert str(config) in refused(lambda: texts(inside))
    assert str(config) in refused(lambda: texts(data / "mine.toml"))
    for command in (
        ("init", str(data)), ("init", str(inside)), ("chats", "-c", str(inside)), ("config", "get", "http.port", "-c", str(inside)),
        ("serve", "-c", str(inside), "--port", "0"), ("key", "init", "-c", str(inside)), ("demo", "--data-dir", str(data)),
    ):  # fmt: skip
        done = run(*command)
        told = str(done.exception) if isinstance(done.exception, MemoryFault) else words(done)
        assert done.exit_code and str(config) in told, (command, told)
    assert begun(data) == []
    assert not inside.exists()


async def test_a_host_begins_none_there_either(place: Place) -> None:
    config, data = place
    with pytest.raises(InvalidConfig, match="keeps its data") as caught:
        await AMemorixHostService(data / "config" / "a_memorix.toml").start()
    assert str(config) in str(caught.value)
    assert begun(data) == []


def test_data_whose_settings_are_not_known_are_refused(tmp_path: Path) -> None:
    config, data = elsewhere(tmp_path)
    with Memory(config) as memory:
        memory.add("the lamp is red", chat="c", user="Ann")
    config.rename(tmp_path / "moved.toml")
    assert "storage.data_dir" in refused(lambda: texts(data))
    assert "storage.data_dir" in words(run("chats", "-c", str(data)))
    assert begun(data) == []
    assert texts(tmp_path / "moved.toml") == texts(data) == ["the lamp is red"]


def test_settings_that_name_other_data_now_are_not_those_of_the_data(tmp_path: Path) -> None:
    config, data = elsewhere(tmp_path)
    with Memory(config) as memory:
        memory.add("the lamp is red", chat="c", user="Ann")
    config.write_text(config.read_text("utf-8").replace("rows", "other"), "utf-8")
    assert "storage.data_dir" in refused(lambda: texts(data))
    assert begun(data) == []


def test_a_backup_is_no_folder_to_begin_a_memory_in(place: Place) -> None:
    config, data = place
    made = run("backup", "-c", str(config))
    assert made.exit_code == 0, made.output
    (backup,) = (path.parent for path in (data / "backups").rglob("memory.db"))
    assert str(config) in refused(lambda: texts(backup))
    away = data.parents[2] / "away"
    backup.rename(away)
    assert "storage.data_dir" in refused(lambda: texts(away))
    assert begun(away) == []


def test_a_memory_within_another_ones_data_that_is_there_already_is_opened(tmp_path: Path) -> None:
    _, data = in_its_place(tmp_path)
    inner = data / "a_memorix.toml"
    data.mkdir(parents=True)
    inner.write_text('[embedding]\nprovider = "none"\n', "utf-8")
    with Memory(inner) as memory:
        memory.add("the kettle is blue", chat="c", user="Ann")
    with Memory(tmp_path / "project") as memory:
        memory.add("the lamp is red", chat="c", user="Ann")
    assert texts(data) == ["the kettle is blue"]


def test_settings_within_the_data_are_not_believed(tmp_path: Path) -> None:
    """Whoever may write into the data has no say in the settings: a lock that names a file there is passed over."""
    config, data = in_its_place(tmp_path)
    with Memory(config) as memory:
        memory.add("the kettle is blue", user="ann")
    planted = data / "planted.toml"
    planted.write_text('[storage]\ndata_dir = "."\n[embedding]\nprovider = "none"\n', "utf-8")
    (data / ".lock").write_text(json.dumps({"config": str(planted)}), "utf-8")
    assert config_file(data) == config
    with Memory(data) as memory:
        assert [one.text for one in memory.texts(user="ann")] == ["the kettle is blue"]


def test_the_rows_alone_tell_a_data_folder(tmp_path: Path) -> None:
    config, data = elsewhere(tmp_path)
    with Memory(config) as memory:
        memory.add("the kettle is blue", user="ann")
    (data / ".lock").unlink()
    before = sorted(path.name for path in data.iterdir())
    with pytest.raises(InvalidConfig, match="a memory keeps its data"):
        Memory(data).open()
    assert sorted(path.name for path in data.iterdir()) == before

"""A configuration file that is being saved, was cut off, or lost a setting: no memory is changed over for it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.config import default_toml, parse, patched
from amemorix.errors import InvalidConfig
from amemorix.testing import memory_host, scratch_config
from pace import until

QUIET = {"embedding": {"provider": "none"}}


def turn(number: int, chat: str = "open") -> dict[str, Any]:
    return {"chat_id": chat, "messages": [{"external_id": f"m{number}", "text": f"Line number {number}."}]}


def told(log: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in log.records)


async def status(host: AMemorixHostService) -> dict[str, Any]:
    return await host.invoke("memory_runtime_admin", {"action": "reload_status"})


async def saved_slowly(path: Path, text: str, pause: float) -> None:
    """Save in place: truncate, wait, then write in two pieces with a pause between them."""
    with path.open("w", encoding="utf-8") as file:
        await asyncio.sleep(pause)
        half = text.index("\n", len(text) // 2) + 1
        for piece in (text[:half], text[half:]):
            file.write(piece)
            file.flush()
            await asyncio.sleep(pause)


@pytest.mark.parametrize("text", ["", "\n \n", "# all of it\n# is a comment\n", "\ufeff", "[http]\n[storage]\n"])
async def test_a_file_without_a_setting_is_refused(tmp_path: Path, text: str) -> None:
    path = scratch_config(tmp_path, QUIET | {"retrieval": {"candidates": 60}})
    async with AMemorixHostService(path, watch=False) as host:
        path.write_text(text, "utf-8")
        for change in (host.reload(), host.update_config({"retrieval.candidates": 50}), host.update_raw_config(text)):
            with pytest.raises(InvalidConfig, match="holds no setting"):
                await change
        assert (await host.get_config())["retrieval"]["candidates"] == 60
        assert path.read_text("utf-8") == text
    with pytest.raises(InvalidConfig, match="holds no setting"):
        await AMemorixHostService(path, watch=False).start()


async def test_a_running_memory_keeps_its_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    folder = tmp_path / "kept"
    path = scratch_config(tmp_path, QUIET | {"storage": {"data_dir": str(folder)}})
    async with AMemorixHostService(path, watch=False) as host:
        await host.call("ingest_messages", turn(1))
        answer = await host.update_config({"storage.data_dir": str(tmp_path / "other"), "retrieval.candidates": 60})
        assert answer["needs_restart"] == (await status(host))["needs_restart"] == ["storage.data_dir"]
        said = told(caplog)
        assert "configuration applied (live): retrieval.candidates; waits for a restart: storage.data_dir" in said
        await host.call("ingest_messages", turn(2))
        stats = await host.invoke("memory_stats")
        assert (stats["data_dir"], stats["paragraphs"]) == (str(folder), 2)
        assert (await host.get_config())["retrieval"]["candidates"] == 60
        assert not (tmp_path / "other").exists()

        path.write_text(patched(path.read_text("utf-8"), {"storage": None}), "utf-8")
        await host.reload()
        assert (await status(host))["needs_restart"] == ["storage.data_dir"]
        assert (await host.invoke("memory_stats"))["data_dir"] == str(folder)
        assert not (tmp_path / "data").exists()

        await host.update_config({"storage.data_dir": str(folder)})
        assert (await status(host))["needs_restart"] == []


@pytest.mark.parametrize("lost", ["the setting", "the file"])
async def test_a_start_without_the_folder_begins_no_new_memory(tmp_path: Path, lost: str) -> None:
    async with memory_host(tmp_path, storage={"data_dir": "kept"}) as host:
        await host.call("ingest_messages", turn(1))
        path = host.config_path
    if lost == "the file":
        path.unlink()
    else:
        scratch_config(tmp_path, QUIET)
    with pytest.raises(InvalidConfig, match=r"storage\.data_dir.*kept") as caught:
        await AMemorixHostService(path, watch=False).start()
    assert caught.value.details["problems"][0]["path"] == "storage.data_dir"
    assert not (tmp_path / "data").exists()

    async with memory_host(tmp_path, storage={"data_dir": "data/a-memorix"}) as host:  # a new one only if it is said
        assert (await host.invoke("memory_stats"))["paragraphs"] == 0
    async with memory_host(tmp_path) as host:
        assert (await host.invoke("memory_stats"))["success"]


async def test_a_change_that_loses_the_folder_is_refused(tmp_path: Path) -> None:
    async with memory_host(tmp_path, storage={"data_dir": "kept"}) as host:
        before = host.config_path.read_text("utf-8")
        for change in (
            host.update_config({"storage.data_dir": None}),
            host.update_raw_config(before.replace("data_dir", "# data_dir")),
        ):
            with pytest.raises(InvalidConfig, match=r'storage\.data_dir.*kept.*"data/a-memorix"') as caught:
                await change
            assert caught.value.details["problems"][0]["path"] == "storage.data_dir"
        assert host.config_path.read_text("utf-8") == before
        answer = await host.update_config({"storage.data_dir": "data/a-memorix"})
        assert answer["needs_restart"] == ["storage.data_dir"]
    async with AMemorixHostService(host.config_path, watch=False) as again:
        assert (await again.invoke("memory_stats"))["paragraphs"] == 0


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, 0.99])
async def test_a_text_that_says_how_it_ends_is_refused_when_it_was_cut(tmp_path: Path, place: float) -> None:
    whole = patched(default_toml(), QUIET)
    cut = whole[: whole.index("\n", int(len(whole) * place)) + 1]
    path = scratch_config(tmp_path, QUIET)
    path.write_text(whole, "utf-8")
    async with AMemorixHostService(path, watch=False) as host:
        path.write_text(cut, "utf-8")
        with pytest.raises(InvalidConfig, match="cut off"):
            await host.reload()
    with pytest.raises(InvalidConfig, match="cut off"):
        await AMemorixHostService(path, watch=False).start()


def test_a_text_that_is_changed_for_somebody_says_how_it_ends() -> None:
    for patch in ({"advanced": None}, {"http": {"port": 1}}, {"debugging": None}):
        assert parse(patched(default_toml(), patch))


@pytest.mark.parametrize(("pause", "ends"), [(0.5, True), (0.5, False), (1.0, True), (2.0, False)])
async def test_a_slow_save_loses_no_write(tmp_path: Path, pause: float, ends: bool) -> None:
    settings = QUIET | {"storage": {"data_dir": "kept"}, "filter": {"chats": ["closed"]}}
    text = patched(default_toml() if ends else "", {**settings, "retrieval": {"candidates": 50}})
    path = scratch_config(tmp_path, settings)
    path.write_text(text, "utf-8")
    async with AMemorixHostService(path) as host:
        acknowledged = 0
        saving = asyncio.create_task(saved_slowly(path, text.replace("candidates = 50", "candidates = 60"), pause))
        for number in range(1_000_000):
            assert (await host.invoke("ingest_messages", turn(number)))["success"]
            acknowledged += 1
            shut = await host.invoke("ingest_messages", turn(number, "closed"))
            assert not shut.get("stored_ids"), "the filter was off while the file was being saved"
            await asyncio.sleep(0.02)
            if saving.done() and (await host.get_config())["retrieval"]["candidates"] == 60:
                break
        assert (await host.invoke("memory_stats"))["paragraphs"] == acknowledged
        assert (await status(host))["refused"] == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config", "kept"]


async def test_a_save_that_pauses_for_long_is_refused_and_then_applied(tmp_path: Path) -> None:
    path = scratch_config(tmp_path, QUIET | {"retrieval": {"candidates": 50}})
    async with AMemorixHostService(path) as host:
        text = path.read_text("utf-8")
        path.write_text("", "utf-8")

        async def refused() -> bool:
            return (await status(host))["refused"] == 1

        await until(refused)
        assert (await host.get_config())["retrieval"]["candidates"] == 50
        path.write_text(text.replace("50", "60"), "utf-8")

        async def applied() -> bool:
            return (await status(host))["last_error"] is None

        await until(applied)
        assert (await host.get_config())["retrieval"]["candidates"] == 60


async def test_a_folder_that_was_copied_with_its_configuration_is_the_one_that_opens(tmp_path: Path) -> None:
    async with memory_host(tmp_path / "a", storage={"data_dir": "kept"}) as host:
        await host.call("ingest_messages", turn(1))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    async with memory_host(tmp_path / "b", storage={"data_dir": "kept"}) as host:
        stats = await host.invoke("memory_stats")
        assert (stats["data_dir"], stats["paragraphs"]) == (str(tmp_path / "b" / "kept"), 1)

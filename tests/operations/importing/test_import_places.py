"""Imports read nothing outside of their folders, whatever names and links say."""

from __future__ import annotations

import os
import threading
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidRequest, MemoryFault, NotFound
from amemorix.importing.roots import Places
from amemorix.importing.staging import Staging, safe_name
from amemorix.testing import pause_background, resume_background
from conftest import Open
from entrance import contents, refused, stats
from import_entrance import COMPONENT, created, ended, imported, raw_folder

SECRET = "the secret kite"


@pytest.fixture
async def raw(host: AMemorixHostService, tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    return await raw_folder(host)


async def test_paths_that_lead_away_are_refused(host: AMemorixHostService, raw: Path) -> None:
    away = (
        "../secret.txt",
        "a/../../secret.txt",
        "/etc/passwd",
        "~/x",
        "..",
        "a\\..\\..\\x",
        "C:/x",
        "a\0b",
        "//etc/passwd",
    )
    for path, action in product(away, ("resolve_path", "create_raw_scan")):
        result = await host.invoke(COMPONENT, {"action": action, "alias": "raw", "relative_path": path})
        assert (result["success"], result["error_code"]) == (False, "invalid_request"), result
    assert (await stats(host))["paragraphs"] == 0


async def test_links_are_not_followed(host: AMemorixHostService, raw: Path, tmp_path: Path) -> None:
    (raw / "link.txt").symlink_to(tmp_path / "secret.txt")
    (raw / "folder").symlink_to(tmp_path)
    for path in ("link.txt", "folder", "folder/secret.txt"):
        for action in ("resolve_path", "create_raw_scan"):
            result = await host.invoke(COMPONENT, {"action": action, "alias": "raw", "relative_path": path})
            assert (result["error_code"], result["details"]["field"]) == ("invalid_request", "relative_path")
            assert "symbolic link" in result["error"]
    (raw / "own.txt").write_text("my kite")
    task = await imported(host, "create_raw_scan")
    assert [file["name"] for file in task["files"]] == ["own.txt"], "links are passed over"


async def test_what_is_no_file_is_refused(host: AMemorixHostService, raw: Path) -> None:
    os.mkfifo(raw / "pipe")
    result = await host.invoke(COMPONENT, {"action": "create_raw_scan", "alias": "raw", "relative_path": "pipe"})
    assert "neither a file nor a folder" in result["error"]


async def test_a_folder_with_links_is_no_export(host: AMemorixHostService, raw: Path, tmp_path: Path) -> None:
    (raw / "old").mkdir()
    (raw / "old" / "metadata.db").symlink_to(tmp_path / "secret.txt")
    task = await imported(host, "create_raw_scan", relative_path="old", format="a_memorix")
    assert "symbolic links" in task["error"]


async def test_a_file_exchanged_for_a_link_after_it_was_asked_for(
    host: AMemorixHostService, raw: Path, tmp_path: Path
) -> None:
    (raw / "a.txt").write_text("my kite")
    await pause_background(host)
    task = await created(host, "create_raw_scan")
    (raw / "a.txt").unlink()
    (raw / "a.txt").symlink_to(tmp_path / "secret.txt")
    resume_background(host)
    found = await ended(host, task)
    assert (found["status"], found["counts"]) == ("failed", {})
    assert "symbolic link" in found["error"]


async def test_a_root_that_is_no_longer_configured_is_not_read(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    (root / "a.txt").write_text("kite")
    host = await opened(imports={"roots": [str(root)]})
    await pause_background(host)
    task = await created(host, "create_raw_scan", path=str(root / "a.txt"))
    await host.update_config({"imports.roots": []})
    assert "there is no folder" in (await ended(host, task))["error"]


def test_names_that_are_exchanged_while_they_are_followed_lead_nowhere_else(tmp_path: Path) -> None:
    """A thread swaps a folder for a link all the time: what is opened is the file below the root, or nothing."""
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "deep" / "a.txt").write_text(SECRET)
    root = tmp_path / "root"
    (root / "real" / "deep").mkdir(parents=True)
    (root / "real" / "deep" / "a.txt").write_text("my kite")
    (root / "way").symlink_to(tmp_path / "outside")
    places, stop = Places(tmp_path / "data", [str(root)]), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "way", root / "link")
            os.rename(root / "real", root / "way")
            os.rename(root / "way", root / "real")
            os.rename(root / "link", root / "way")

    thread = threading.Thread(target=swap)
    thread.start()
    met: set[str] = set()
    try:
        for _ in range(3000):
            try:
                with places.opened(str(root), "way/deep/a.txt") as opened:
                    met.add(opened.path.read_text())
            except MemoryFault as exc:
                met.add(type(exc).__name__)
    finally:
        stop.set()
        thread.join()
    assert met <= {"my kite", InvalidRequest.__name__, NotFound.__name__}
    assert len(met) > 1


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a.txt", "a.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\茶.md", "茶.md"),
        ("..", "file"),
        ("", "file"),
        ("a\0b\n.txt", "a_b_.txt"),
        (".hidden", "hidden"),
    ],
)
def test_names_of_staged_files_are_harmless(tmp_path: Path, name: str, safe: str) -> None:
    staged = Staging(tmp_path).put(name, b"x")
    assert (staged.name, (tmp_path / staged.path).read_bytes()) == (safe, b"x")


@pytest.mark.parametrize("name", ["x" * 500 + ".jsonl", "字" * 500 + ".md", "x" * 500])
def test_long_names_are_cut_and_keep_their_ending(name: str) -> None:
    safe = safe_name(name)
    assert len(safe.encode()) <= 240
    assert safe.rpartition(".")[2] == name.rpartition(".")[2] or "." not in name


def test_staged_files_that_nobody_wants_are_swept(tmp_path: Path) -> None:
    staging = Staging(tmp_path)
    wanted, used, new, old = (staging.put("a.txt", b"x") for _ in range(4))
    os.utime(tmp_path / old.id, (0, 0))
    assert staging.sweep({wanted.path}, {wanted.path, used.path}, hours=1) == 2
    assert {path.name for path in tmp_path.iterdir()} == {wanted.id, new.id}


def test_only_ids_are_removed_or_found(tmp_path: Path) -> None:
    (tmp_path / "staging").mkdir()
    (tmp_path / "keep").mkdir()
    staging = Staging(tmp_path / "staging")
    faults: list[Any] = []
    for given in ("../keep", "keep", "", ".", "u123", "u" + "0" * 31 + "/"):
        staging.remove(given)
        with pytest.raises(MemoryFault) as caught:
            staging.find(given)
        faults.append(caught.value)
    assert (tmp_path / "keep").is_dir()
    assert {type(fault) for fault in faults} == {InvalidRequest}


async def test_names_that_are_no_utf_8_are_told_by_their_bytes(host: AMemorixHostService, raw: Path) -> None:
    folder = os.fsencode(raw / "深") + b"/\xb2\xe8"
    os.makedirs(folder)
    for name, text in ((b"\xd6\xdc\xc3\xf7.txt", "茶馆九点开门。"), (b"ok.txt", "The oven runs hot.")):
        Path(os.fsdecode(folder + b"/" + name)).write_text(text, "utf-8")
    task = await imported(host, "create_raw_scan", relative_path="深", glob="*.txt")
    assert (task["status"], task["counts"]) == ("completed", {"stored": 2})
    assert [file["name"] for file in task["files"]] == ["\\xd6\\xdc\\xc3\\xf7.txt", "ok.txt"]
    assert await contents(host, "茶馆") == ["茶馆九点开门。"]
    assert await contents(host, "oven") == ["The oven runs hot."]

    path = "深/\\xb2\\xe8/\\xd6\\xdc\\xc3\\xf7.txt"
    answer = await host.invoke(COMPONENT, {"action": "resolve_path", "relative_path": path})
    assert (answer["relative_path"], answer["is_file"]) == (path, True)
    os.mkfifo(os.path.join(folder, b"\xff"))
    told = {"action": "create_raw_scan", "relative_path": "深/\\xb2\\xe8/\\xff"}
    assert "深/\\xb2\\xe8/\\xff is neither" in await refused(host, COMPONENT, told, "relative_path")


async def test_a_name_that_is_really_spelt_like_bytes_is_meant_itself(host: AMemorixHostService, raw: Path) -> None:
    (raw / "a\\xff.txt").write_text("a kite")
    task = await imported(host, "create_raw_scan")
    assert [file["name"] for file in task["files"]] == ["a\\xff.txt"]
    assert await contents(host, "kite") == ["a kite"]


async def test_the_folder_of_a_file_is_what_the_settings_would_allow(opened: Open, tmp_path: Path) -> None:
    host = await opened()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "napcat.jsonl").write_text("{}")
    given = {"action": "create_raw_scan", "path": str(tmp_path / "logs" / "napcat.jsonl"), "chat_id": "c"}
    refused = await host.invoke("memory_import_admin", given)
    assert f"'[\"{tmp_path / 'logs'}\"]'" in refused["error"]

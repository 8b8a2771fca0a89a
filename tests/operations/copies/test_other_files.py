"""Files that others have put into a data directory, named nearly like ours: whatever removes files leaves them, and every key."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.config.write import write_text
from amemorix.copies.backup_folder import BackupFolder
from amemorix.copies.key_switch import BackupSwitch, decrypt, encrypt
from amemorix.forgetting.files import purge_again
from amemorix.forgetting.journals import SearchPatterns
from amemorix.forgetting.purge_file import PurgeFile
from amemorix.store.data_directory import FileKind, kind_of
from amemorix.store.keys import KEYS_FILE, Keyring, Secret
from encrypted_memory import SECRET, encrypted_memory
from entrance import data_of

SOURCE = Path(__file__).parents[3] / "src" / "amemorix"
NEARLY_OURS = (
    "memory.notes", "memory.old-copy", "memory.db.bak", "memory.db.incoming.mine", "memory.keys.bak", "memory.purge-dinner",
    "restoring/list.txt", "indexes/mine.txt", "indexes/vectors-of-mine/a.npy", "indexes/working-on-it.sqlite3",
    "indexes/sparse/snapshot-of-mine/a.txt", "indexes/sparse/current.json.mine", "backups/.partial-mine/a.txt",
    "backups/.aside-mine/a.txt", "exports/.talk.portable.mine.part", "imports/staging/upload/readme.txt",
)  # fmt: skip
"""Names that begin like ours, or stand in our folders."""
Act = Callable[[AMemorixHostService], Awaitable[None]]


async def ask(host: AMemorixHostService, component: str, **request: Any) -> dict[str, Any]:
    answer = await host.invoke(component, request)
    assert answer["success"], answer
    return answer


def put_beside(data: Path) -> dict[Path, bytes]:
    """Put such files into a data directory, and one into each backup; what each of them holds."""
    places = [data / name for name in NEARLY_OURS]
    places += [folder / "why.txt" for folder in data.glob("backups/*Z-*")]
    for path in places:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"mine: {path.name}".encode())
    return {path: path.read_bytes() for path in places}


async def filled(host: AMemorixHostService) -> str:
    """Two texts, indexes on disk, and a backup, whose id is returned."""
    for chat, text in (("away", "the vexillology of zanzibar"), ("here", "the kettle of the tower is blue")):
        await ask(host, "ingest_text", text=text, external_id=chat, source_type="note", chat_id=chat)
    await host.settle(600)
    await ask(host, "memory_runtime_admin", action="save")
    return (await ask(host, "memory_runtime_admin", action="backup"))["backup"]["id"]


async def purge(host: AMemorixHostService) -> None:
    await ask(host, "memory_delete_admin", action="execute", mode="chat", selector="away", purge=True)


async def save(host: AMemorixHostService) -> None:
    await ask(host, "ingest_text", text="one more", external_id="more", source_type="note", chat_id="here")
    await host.settle(600)
    await ask(host, "memory_runtime_admin", action="save")


async def restore(host: AMemorixHostService) -> None:
    (folder,) = data_of(host).glob("backups/*Z-*")
    await ask(host, "memory_runtime_admin", action="restore", backup=folder.name)


async def rotate(host: AMemorixHostService) -> None:
    if host.kernel.store.keys:
        await ask(host, "memory_key_admin", action="rotate")


async def delete_backup(host: AMemorixHostService) -> None:
    (folder,) = data_of(host).glob("backups/*Z-*")
    await ask(host, "memory_runtime_admin", action="delete_backup", backup=folder.name)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("act", [purge, save, restore, rotate, delete_backup], ids=lambda act: act.__name__)
async def test_files_of_others_stay_through(act: Act, encrypted: bool, tmp_path: Path) -> None:
    settings = {} if encrypted else {"storage.encryption.enabled": False}
    async with encrypted_memory(tmp_path, **settings) as host:
        await filled(host)
        data = data_of(host)
    beside = put_beside(data)
    keys = data / KEYS_FILE
    async with encrypted_memory(tmp_path, **settings) as host:
        await act(host)
    async with encrypted_memory(tmp_path, **settings):
        assert {path: path.read_bytes() for path in beside if path.exists()} == beside
        assert keys.exists() == encrypted


async def test_files_of_others_stay_when_encryption_is_switched(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path, **{"storage.encryption.enabled": False}) as host:
        await filled(host)
        data = data_of(host)
        left = PurgeFile(host.kernel.store)
        left.write(7, SearchPatterns())
    beside = put_beside(data)
    (data / "memory.before-migration").write_bytes(b"of ours")
    keys = Keyring.create(data, SECRET, now=0)
    for way, switched in (("on", encrypt), ("off", decrypt)):
        backups = BackupSwitch(data, BackupFolder(data, (), keys), keys, encrypted=way == "on", purge_again=purge_again)
        switched(data, keys)
        backups.carry_out()
        assert {path: path.read_bytes() for path in beside if path.exists()} == beside
        assert not (data / "memory.before-migration").exists()
        raw = (data / "memory.purge-d7").read_bytes()
        assert raw.startswith(b"AMXSEAL1") == (way == "on"), "what a purge looks for is encrypted with the rest"
    Keyring.read(data / KEYS_FILE, SECRET)


def test_copies_of_settings_that_are_not_ours_stay(tmp_path: Path) -> None:
    file = tmp_path / "a_memorix.toml"
    mine = [file.with_name(f"{file.name}.backup.mine"), file.with_name(f".{file.name}.mine.tmp")]
    for path in mine:
        path.write_text("mine")
        os.utime(path, (0, 0))
    for number in range(5):
        write_text(file, f"[http]\nport = {number + 1}\n", backups=2)
    assert all(path.read_text() == "mine" for path in mine)
    assert len(list(tmp_path.glob("*.backup.2*"))) == 2


async def test_a_backup_whose_manifest_is_damaged_is_not_removed_by_a_purge(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        backup = await filled(host)
        folder = data_of(host) / "backups" / backup
        (folder / "manifest.json").write_text("{}")
        await purge(host)
        assert {path.name for path in folder.iterdir()} >= {"memory.db", KEYS_FILE, "manifest.json"}


async def test_the_copy_of_a_purge_of_another_key_is_named_and_left(tmp_path: Path) -> None:
    """A backup that is encrypted with keys which are not there, in an encrypted memory and in one that no longer is."""
    async with encrypted_memory(tmp_path / "other") as host:
        other = await filled(host)
        made = data_of(host) / "backups" / other
    async with encrypted_memory(tmp_path / "own", **{"storage.encryption.enabled": False}) as host:
        await filled(host)
        place = data_of(host) / "backups" / other
        shutil.copytree(made, place)
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        answer = await host.invoke(
            "memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "away", "purge": True}
        )
        receipt = answer["receipt"]
        assert receipt["complete"] is False
        assert set(receipt["unread"]) == {f"backups/{other}/memory.db", f"backups/{other}/memory.toml"}
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before


async def test_a_key_file_that_is_gone_is_noticed_and_written_again(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        keys = data_of(host) / KEYS_FILE
        written = keys.read_bytes()

        def as_pipe() -> None:
            keys.unlink()
            os.mkfifo(keys)

        for damage in (keys.unlink, lambda: keys.write_text("{}"), as_pipe):
            damage()
            told = {"text": "said meanwhile", "external_id": "meanwhile", "source_type": "note", "chat_id": "here"}
            refused = await host.invoke("ingest_text", told)
            assert (refused["success"], refused["error_code"]) == (False, "storage_failure")
            assert "written again from memory" in refused["error"]
            assert keys.read_bytes() == written
            assert (await host.invoke("search_memory", {"query": "meanwhile"}))["hits"] == []
        assert (await host.invoke("ingest_text", told))["success"]
    async with encrypted_memory(tmp_path) as host:
        found = await host.invoke("search_memory", {"query": "meanwhile"})
        assert found["hits"][0]["content"] == "said meanwhile"


async def test_a_backup_made_while_the_key_file_is_gone_has_its_keys(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        (data_of(host) / KEYS_FILE).unlink()
        made = await host.invoke("memory_runtime_admin", {"action": "backup"})
        if made["success"]:
            Keyring.read(Path(made["backup"]["path"]) / KEYS_FILE, SECRET)
        else:
            assert "written again from memory" in made["error"]


def test_a_key_file_that_cannot_be_written_again_refuses_every_write(tmp_path: Path) -> None:
    keys = Keyring.create(tmp_path, SECRET, now=0)
    shutil.rmtree(tmp_path)
    for _ in range(2):
        with pytest.raises(Exception, match="cannot be written again"):
            keys.ensure_on_disk()
    tmp_path.mkdir()
    with pytest.raises(Exception, match="written again from memory"):
        keys.ensure_on_disk()
    keys.ensure_on_disk()
    assert Keyring.read(tmp_path / KEYS_FILE, SECRET).current == keys.current


async def test_encryption_is_taken_away_beside_what_cannot_be_opened(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        data = data_of(host)
        PurgeFile(host.kernel.store).write(1, SearchPatterns())
    keys = Keyring.read(data / KEYS_FILE, SECRET)
    (data / "memory.purge-d1").rename(data / "memory.purge-d1.draft")
    (data / "memory.purge-d77").write_bytes(b"AMXSEAL1" + bytes(200))
    (data / "memory.purge-d9").mkdir()
    linked = tmp_path / "mirror"
    os.link(data / KEYS_FILE, linked)
    decrypt(data, keys)
    encrypt(data, keys)
    assert linked.read_bytes() == (data / KEYS_FILE).read_bytes()
    async with encrypted_memory(tmp_path) as host:
        assert (await ask(host, "search_memory", query="kettle", chat_id="here"))["hits"]


async def test_only_the_file_that_was_written_says_what_a_purge_looks_for(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path, **{"storage.encryption.enabled": False}) as host:
        await filled(host)
        kept = PurgeFile(host.kernel.store)
        written = kept.write(1, SearchPatterns())
        known = kept.read(1, written)
        assert known is not None and known.to_json() == SearchPatterns().to_json()
        file = data_of(host) / "memory.purge-d1"
        whole = file.read_bytes()
        for planted in (b"", whole[:-1], whole + b" ", b"[" * 100_000):
            file.write_bytes(planted)
            assert kept.read(1, written) is None
        file.unlink()
        file.mkdir()
        assert kept.read(1, written) is None
        kept.remove(1)
        kept.keep_only([])
        await purge(host)


async def test_the_secret_of_before_a_change_takes_nothing_back(tmp_path: Path) -> None:
    async with encrypted_memory(tmp_path) as host:
        await filled(host)
        data = data_of(host)
    newer = Secret(bytes(range(32)), is_key=True)
    Keyring.read(data / KEYS_FILE, SECRET).change(newer)
    changed = (data / KEYS_FILE).read_bytes()
    async with encrypted_memory(tmp_path) as host:  # the settings name the older one still
        assert (await ask(host, "search_memory", query="kettle", chat_id="here"))["hits"]
        refused = await host.invoke("memory_key_admin", {"action": "rotate"})
        assert not refused["success"] and "taken back" in refused["error"]
        await ask(host, "ingest_text", text="one more", external_id="more", source_type="note", chat_id="here")
    assert (data / KEYS_FILE).read_bytes() == changed
    async with encrypted_memory(tmp_path, secret=bytes(range(32)).hex()) as host:
        assert (await ask(host, "search_memory", query="one more", chat_id="here"))["hits"]
        await rotate(host)


def test_kinds_of_files(tmp_path: Path) -> None:
    kinds = {
        "memory.db": FileKind.LIVE, "memory.db-wal": FileKind.LIVE, "memory.db.decided": FileKind.DATABASE,
        "memory.db.incoming-journal": FileKind.DATABASE, "memory.replaced": FileKind.DATABASE,
        "memory.before-migration": FileKind.DATABASE, "backups/b/memory.db": FileKind.DATABASE,
        "memory.keys": FileKind.KEYS, "memory.keys.1": FileKind.KEYS, "memory.keys.draft": FileKind.KEYS,
        "backups/b/memory.keys": FileKind.KEYS, "backups/b/memory.toml": FileKind.SETTINGS, ".lock": FileKind.NOTE,
        ".reserve.part": FileKind.NOTE, "memory.purge-d12": FileKind.PURGE, "indexes/sparse/a.npy": FileKind.INDEX,
        "imports/source/raw/memory.db": FileKind.UNKNOWN, "notes/memory.toml": FileKind.UNKNOWN,
        "daemon.json.bak": FileKind.UNKNOWN, ".lock-notes.txt": FileKind.UNKNOWN, "indexes/of-mine/a.npy": FileKind.UNKNOWN,
        "exports/memory.keys": FileKind.EXPORT, "imports/staging/u1/a.txt": FileKind.STAGED,
    }  # fmt: skip
    assert {name: kind_of(tmp_path, tmp_path / name) for name in kinds} == kinds
    unknown = {name: kind_of(tmp_path, tmp_path / name) for name in NEARLY_OURS if "/" not in name}
    assert set(unknown.values()) == {FileKind.UNKNOWN}


REMOVERS = {
    "config/load.py remember_data_dir": "the note of a folder, by its name",
    "config/write.py write_text": "copies of the settings, by the moment in their names",
    "config/write.py _back_up": "its own draft",
    "config/write.py _replace": "its own draft, and those of 16 random digits that are an hour old",
    "copies/backup_folder.py BackupFolder.exchange": "the folder that it has begun",
    "copies/backup_folder.py BackupFolder.remove": "what a backup is made of, by name",
    "copies/backup_folder.py BackupFolder.reseal": "manifest and settings of a backup whose database a purge removed",
    "copies/backup_folder.py BackupFolder.sweep": "folders whose random names are those of a draft, and second names of the database",
    "copies/backups.py BackupService._made": "the folder that it has begun",
    "copies/backups.py put_in_place": "the incoming database",
    "copies/database_swap.py DatabaseTakeover.undo": "the incoming database",
    "copies/key_rotation.py KeyService.rotate": "the second name of the database before",
    "copies/key_rotation.py _Rekeyed.perform": "the second name of the database before",
    "copies/key_switch.py BackupSwitch.carry_out": "the backup that was written anew",
    "copies/key_switch.py _exchange": "the incoming database, the second name of the one before",
    "copies/key_switch.py _staged": "its own drafts",
    "copies/key_switch.py _wipe": "what `encrypt` and `carry_out` name",
    "copies/key_switch.py decrypt": "copies of the database, by name",
    "copies/portable.py PortableService.sweep": "drafts of exports by the name of their process",
    "copies/portable.py _exported": "its own draft",
    "copies/portable.py built": "the incoming database",
    "forgetting/files.py PurgeFiles._mend": "files of ours that were looked into and hold what goes",
    "forgetting/files.py PurgeFiles.remove_staged": "files of failed imports that tell of what goes",
    "forgetting/purge_file.py PurgeFile.keep_only": "what ended purges looked for, by name",
    "forgetting/purge_file.py PurgeFile.remove": "what an ended purge looked for, by name",
    "forgetting/purge_file.py PurgeFile.write": "its own draft",
    "frontends/cli/key.py _switched": "the note of a switch of encryption that is done",
    "frontends/daemon.py announced": "its own note",
    "generated.py write_generated": "generated files of a checkout",
    "graph/export.py GraphExportService._to_file": "its own draft",
    "host/environment.py first_config": "the note of a switch of encryption that is done",
    "importing/staging.py Staging.remove": "the folder of a staged file, by its random id",
    "indexes/projections.py Indexes.open": "files of 0.1.0, by name",
    "indexes/projections.py Projection.save": "the snapshot that it has begun",
    "indexes/snapshot.py discard": "the pointer to a snapshot",
    "indexes/snapshot.py publish": "snapshots by their random names",
    "indexes/snapshot.py remove": "snapshots by their random names, and the pointer to one",
    "indexes/snapshot.py sweep": "snapshots by their random names",
    "models/local/lac.py convert": "files in a scratch folder",
    "store/file_swap.py finish_exchange": "the log of the database before",
    "store/file_swap.py forget_incoming": "the incoming database, the second name of the one before",
    "store/keys.py Keyring.confirm": "its own file of before, and its draft",
    "store/keys.py Keyring.save": "its own file of before",
    "store/reserve.py make_room": "its own draft",
}
"""Every function that removes files, and which; each is met by a test of this file, or removes by a name that it made itself."""


def removers() -> set[str]:
    """The functions of the program that call `unlink`, `rmtree`, `rmdir` or `os.remove` on files."""
    found = set[str]()

    def visit(node: ast.AST, file: str, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}" if name else child.name
            if isinstance(child, ast.Attribute):
                called = ast.unparse(child)
                removes = child.attr in ("unlink", "rmtree", "rmdir") or called == "os.remove"
                if removes and not called.startswith(("entity_rows.", "relation_rows.")):
                    found.add(f"{file} {name}")
            visit(child, file, inner)

    for path in SOURCE.rglob("*.py"):
        visit(ast.parse(path.read_text("utf-8")), path.relative_to(SOURCE).as_posix(), "")
    return found


def test_the_list_of_what_removes_files_is_complete() -> None:
    assert removers() == set(REMOVERS)

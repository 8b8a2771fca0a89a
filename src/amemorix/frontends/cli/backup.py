"""Commands on the memory as a whole: backup, backups, restore, export, import-export."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ...copies.age_files import ExportKey
from ...errors import Conflict, DirectoryInUse, MemoryFault, NotFound, StorageFailure
from ...language.times import local_zone
from ...locale import told, word
from ...store.lock import DirectoryLock
from ..daemon import daemon_of
from .memory_client import answered, opened
from .terminal import (
    DEFAULT_CONFIG,
    ConfigPath,
    MemoryPath,
    columns,
    confirmed,
    out,
    print_stored,
    progress_bars,
    remark,
    say,
)

if TYPE_CHECKING:
    from ...config import Config
    from ...copies.offline import OfflineMemory
    from ...copies.worker import CopyThread

T = TypeVar("T")
ADMIN = "memory_runtime_admin"
LOOK_SECONDS = 0.1
WHY = {"before_restore": "set aside by a restore", "before_import": "set aside by an import"}
"""Why a backup is there, in words for people."""
PassphraseEnv = Annotated[
    str, typer.Option(metavar="NAME", help="A variable with the passphrase of an encrypted file.")
]
Look = Callable[[], Awaitable[dict[str, Any]]]
"""Tells how far the work is."""


def backup(
    to: Annotated[str, typer.Option(metavar="FOLDER", help="Within `backup.roots`; else the data directory.")] = "",
    verify: Annotated[bool, typer.Option("--verify", help="Read it from end to end afterwards.")] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Back the memory up, while it is in use."""
    args = {"action": "backup", "path": to and str(Path(to).absolute()), "check": verify}
    answer = asyncio.run(_asked(config, args))
    made = answer["backup"]
    print_stored(f"{made['id']}: {_size(made['bytes'])}, {made['path']}")
    if answer["problems"]:
        raise StorageFailure(f"The backup is damaged: {'; '.join(answer['problems'])}.")
    if verify:
        say("It is sound.", "green")


def backups(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """List the backups, the newest first."""
    from ...copies.backup_folder import BackupFolder
    from ...store.access import TimeZones

    settings, folder = _settings(config)
    # As they lie there: who lost the database needs them most.
    found = BackupFolder(folder, settings.backup.roots).all()
    zone = TimeZones.configured(settings.general, local_zone()).general
    table = columns("backup", "made", "why", "size", "paragraphs", "state")
    for one in found:
        held = one.manifest
        made = datetime.fromtimestamp(held.created_at, zone).strftime("%Y-%m-%d %H:%M:%S")
        count = held.counts.get("paragraphs", 0)
        table.add_row(held.id, made, told(WHY.get(held.reason, held.reason)), _size(one.bytes), f"{count:,}",
                      "" if one.whole else word("damaged"), style="" if one.whole else "red")  # fmt: skip
    if found:
        out().print(table)
    else:
        say("There is no backup yet.", "dim")


def restore(
    which: Annotated[str, typer.Argument(metavar="BACKUP", help="The id of a backup, or its folder.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Put a backup in the place of all that is stored, which is set aside as a backup first."""
    if not (yes or confirmed("Put the backup in the place of all that is stored?")):
        raise typer.Exit(1)
    done = asyncio.run(_closed(config, lambda memory: memory.restore(which)))
    if done:
        restored, aside = done.backup.manifest.id, done.aside.manifest.id if done.aside else ""
    else:
        given = str(Path(which).absolute()) if len(Path(which).parts) > 1 else which
        answer = asyncio.run(_asked(config, {"action": "restore_backup", "backup": given}))
        restored, aside = answer["backup"]["id"], (answer["set_aside"] or {}).get("id", "")
    say(f"Restored {restored}.", "green")
    if aside:
        say(f"What was there before is the backup {aside}.")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the vectors; else they are made again from the texts.")
    ] = False,
    recipient: Annotated[
        list[str] | None,
        typer.Option("--recipient", metavar="AGE1…", help="Encrypt the file to a public key of age; may be repeated."),
    ] = None,
    passphrase_env: PassphraseEnv = "",
    plain: Annotated[bool, typer.Option("--plain", help="In the clear, though the memory is encrypted.")] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Write the whole memory into one file of JSON lines; `import-export` makes a memory of it."""
    if file.exists():
        raise Conflict(f"{file} is there already.", field="file")
    if not file.absolute().parent.is_dir():
        raise NotFound(f"There is no folder {file.absolute().parent} to write {file.name} into.", field="file")
    try:
        how = {"recipients": recipient or [], "passphrase_env": passphrase_env, **({"plain": True} if plain else {})}
        answer = asyncio.run(_asked(config, {"action": "export", "vectors": vectors, **how}))
        shutil.move(answer["path"], file)
        lines, rows, size = answer["lines"], answer["rows"], answer["bytes"]
    except StorageFailure as exc:
        if not exc.details.get("older"):
            raise
        remark(
            "Another state of the program wrote this database: what this one can read of it is exported, without vectors."
        )
        key = ExportKey.of_environment(os.environ, recipients=recipient or [], passphrase_env=passphrase_env)
        done = asyncio.run(_closed(config, lambda memory: memory.export(file.absolute(), key)))
        if done is None:
            raise Conflict("Another process has the memory open: stop it first.") from exc
        lines, rows, size = done.header.lines, done.header.rows, done.bytes
    say(f"Wrote {lines:,} lines to {file}: {rows:,} rows, the header and the checksum; {_size(size)}.")
    remark("No purge reaches this file: it is yours to keep and to throw away.")


def import_export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `export` wrote.")],
    identity_env: Annotated[
        str, typer.Option(metavar="NAME", help="A variable with the private key of age that opens the file.")
    ] = "",
    passphrase_env: PassphraseEnv = "",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Fill an empty memory with an export."""
    if not file.is_file():
        raise NotFound(f"There is no file {file}.", field="file")
    key = ExportKey.of_environment(os.environ, identity_env=identity_env, passphrase_env=passphrase_env)
    header = asyncio.run(_closed(config, lambda memory: memory.take_in(file, key)))
    asked = {
        "action": "import_export",
        "path": str(file.absolute()),
        "identity_env": identity_env,
        "passphrase_env": passphrase_env,
    }
    say(f"Took {header.rows if header else asyncio.run(_asked(config, asked))['rows']:,} rows in.", "green")


async def _asked(config: Path, args: dict[str, Any]) -> dict[str, Any]:
    async with opened(config) as memory:
        return await _shown(answered(memory, ADMIN, args), lambda: memory.invoke(ADMIN, {"action": "backup_status"}))


async def _closed(config_path: Path, work: Callable[[OfflineMemory], T]) -> T | None:
    """What the work comes to on the data directory, which this process locks meanwhile; None if another has it."""
    if daemon_of(config_path):
        return None
    from ...copies.offline import OfflineMemory
    from ...copies.worker import CopyThread
    from ...forgetting.files import purge_again
    from ...store.keys import open_keyring

    config, folder = await asyncio.to_thread(_settings, config_path)
    try:
        lock = await asyncio.to_thread(DirectoryLock, folder)
    except DirectoryInUse:
        return None
    thread = CopyThread()
    try:
        keys = await asyncio.to_thread(open_keyring, config.storage.encryption, folder, os.environ, now=time.time())
        with thread.doing("work"):
            memory = OfflineMemory(
                folder, config.backup.roots, thread=thread, now=time.time(), purge_again=purge_again, keys=keys
            )
            return await _shown(thread.run(lambda: work(memory)), thread)
    finally:
        await asyncio.to_thread(thread.close)
        lock.release()


def _settings(config_path: Path) -> tuple[Config, Path]:
    from ...host.environment import data_folder, first_config

    config, _ = first_config(config_path.absolute())
    return config, data_folder(config_path.absolute(), config)


# how far it is


async def _shown(work: Awaitable[T], source: Look | CopyThread) -> T:
    """What the work comes to; a bar shows meanwhile how far it is."""
    task = asyncio.ensure_future(work)
    with progress_bars() as bar:
        line = bar.add_task("", total=None, rate="")
        while not task.done():
            await asyncio.wait([task], timeout=LOOK_SECONDS)
            now: dict[str, Any] = {}
            with suppress(MemoryFault):
                if not task.done():
                    now = await source() if callable(source) else source.progress.model_dump()
            if now.get("step"):
                bar.update(line, description=word(now["step"]), completed=now["done"], total=now["total"] or None)
    return await task


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"

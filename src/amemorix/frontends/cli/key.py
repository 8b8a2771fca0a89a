"""Commands on the encryption of a memory."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ...config.model import Config
from ...copies.backup_folder import BackupFolder
from ...copies.key_rotation import FilesByKey
from ...copies.key_switch import BackupSwitch, decrypt, encrypt
from ...errors import Conflict, InvalidRequest, StorageFailure
from ...extras import require
from ...host.environment import data_folder, first_config, patch_file
from ...locale import told, word
from ...location import encryption_note
from ...store.file_swap import DATABASE_FILE
from ...store.keys import KEYS_FILE, Keyring, is_plain, read_secret
from ...store.lock import DirectoryLock
from ...store.private_files import private_opener
from ..daemon import daemon_of
from .memory_client import ask
from .terminal import DEFAULT_CONFIG, ConfigPath, FriendlyGroup, MemoryPath, columns, out, print_stored, remark, say

app = typer.Typer(cls=FriendlyGroup, no_args_is_help=True, help="Encrypt the memory, and look after its keys.")
ADMIN = "memory_key_admin"
NewFile = Annotated[
    Path | None, typer.Option("--new-file", metavar="FILE", help="Write a random key into this file, and have the settings name it.")
]  # fmt: skip


@app.command()
def init(
    new_file: NewFile = None,
    recovery_code: Annotated[
        bool, typer.Option("--from-recovery", help="Ask for what `recovery` printed: memory.keys is made anew of it.")
    ] = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Prepare a data directory for a new memory that is encrypted from the start."""
    _make_secret(new_file, config)
    with _closed(config) as (settings, folder):
        if is_plain(folder / DATABASE_FILE):
            raise Conflict("There is a memory in the clear already: `amemorix key enable` encrypts it.")
        if (folder / KEYS_FILE).exists():
            raise Conflict(
                f"{folder / KEYS_FILE} is there already. If its secret is lost, move it to another place (keep it), and give the "
                "command again."
            )
        secret = read_secret(settings.storage.encryption, folder, os.environ)
        code = typer.prompt(told("Recovery code"), hide_input=True) if recovery_code else ""
        Keyring.create(folder, secret, now=time.time(), recovery=code, database=folder / DATABASE_FILE)
        patch_file(config, {"storage.encryption.enabled": True})
    say("The memory is encrypted from its first start on.", "green")
    remark(
        "Keep the secret elsewhere too, and a recovery code (`amemorix key recovery`): without them nothing can be read."
    )


@app.command()
def enable(
    new_file: NewFile = None,
    backups: Annotated[
        bool, typer.Option("--backups", help="Encrypt its backups too: all of them, or nothing is done.")
    ] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Encrypt a memory that is in the clear."""
    _make_secret(new_file, config)
    with _closed(config) as (settings, folder):
        if (folder / KEYS_FILE).exists():
            keys = _keyring(settings, folder)
        else:
            wanted = settings.storage.encryption
            secret = read_secret(wanted, folder, os.environ)
            keys = Keyring.create(folder, secret, now=time.time(), cache_mb=wanted.cache_mb)
        switched, done, found = _switched(config, settings, keys, encrypted=True, backups=backups)
    left = found.plain
    say("The memory is encrypted." if switched else "The memory was encrypted already.", "green")
    if done:
        say(f"{done} backups are encrypted too.", "green")
    remark("What was in the clear was overwritten and removed, which an SSD need not honour.")
    for name in left:
        print_stored(name)
    if left:
        remark("These are in the clear still. Backups: `amemorix key enable --backups` encrypts them, memory_runtime_admin "
               "delete_backup removes one; an export: remove the file.")  # fmt: skip


@app.command()
def disable(
    backups: Annotated[
        bool, typer.Option("--backups", help="Decrypt its backups too: all of them, or nothing is done.")
    ] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Keep the memory in the clear from now on."""
    with _closed(config) as (settings, folder):
        keys = _keyring(settings, folder)
        switched, done, found = _switched(config, settings, keys, encrypted=False, backups=backups)
    say("The memory is in the clear." if switched else "The memory was in the clear already.", "green")
    if done:
        say(f"{done} backups are in the clear too.", "green")
    left = [*(name for names in found.of_key.values() for name in names), *found.age]
    for name in left:
        print_stored(name)
    if left:
        remark("These stay encrypted. Backups: `amemorix key disable --backups` decrypts them with memory.keys and the secret; "
               "keep both until then. An export opens with what it was encrypted to.")  # fmt: skip


@app.command()
def status(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Show whether the memory is encrypted, with which keys, and what needs each of them."""
    answer = ask(config, ADMIN, {"action": "status"})
    if not answer["encrypted"]:
        say("The memory is in the clear: `amemorix key enable` encrypts it.")
        return
    table = columns("key", "made", "retired", "files", "backups")
    for key in answer["keys"]:
        times = [_day(key["created_at"]), _day(key["retired_at"]) if key["retired_at"] else ""]
        table.add_row(key["id"], *times, str(key["files"]), str(len(key["backups"])))
    out().print(table)
    for what, names in (("in the clear", answer["plain"]), ("cannot be read", answer["unreadable"])):
        for name in names:
            print_stored(f"{word(what)}: {name}")


@app.command()
def change(
    env: Annotated[str, typer.Option("--env", metavar="NAME", help="A variable with the new secret.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="FILE", help="A file with the new secret.")] = "",
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Let another secret open the memory; no page is written."""
    if bool(env) == bool(file):
        raise InvalidRequest("Say where the new secret is: --env NAME or --file FILE.")
    args = {"action": "change", "key_env": env, "key_file": file and str(Path(file).expanduser().absolute())}
    ask(config, ADMIN, args)
    say("The new secret opens the memory.", "green")
    remark("Before the next start storage.encryption has to name it; backups that were made before want the old one.")


@app.command()
def rotate(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Encrypt everything with a new random key, while the memory is in use."""
    answer = ask(config, ADMIN, {"action": "rotate"})
    say(f"The key is {answer['key']} from now on.", "green")
    for name in answer["needed_by"]:
        print_stored(name)
    if answer["needed_by"]:
        remark("These need the key before it, which is kept until the last of them is gone.")


@app.command()
def recovery(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Print the data key, for a safe: with it the memory can be read without the secret."""
    if not sys.stdout.isatty():
        raise Conflict("A recovery code is printed on a terminal only.")
    with _closed(config) as (settings, folder):
        print_stored(_keyring(settings, folder).current.recovery_code)
    remark("Whoever has it can read the memory. It is good until the key is rotated.")


@app.command()
def verify(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Read the database and every encrypted file from end to end; exit code 1 if one is damaged."""
    answer = ask(config, ADMIN, {"action": "verify"})
    for problem in answer["problems"]:
        print_stored(problem)
    if not answer["sound"]:
        raise StorageFailure("Not everything can be read.")
    say("Everything can be read.", "green")


@contextmanager
def _closed(path: Path) -> Generator[tuple[Config, Path]]:
    """The settings and the data directory, which this process locks meanwhile. Raises Conflict beside a daemon."""
    require("encryption", "`amemorix key`", fault=StorageFailure)
    if daemon_of(path):
        raise Conflict("The daemon has the memory open: stop it first.")
    config, _ = first_config(path.absolute())
    folder = data_folder(path.absolute(), config)
    lock = DirectoryLock(folder, path.absolute())
    try:
        yield config, folder
    finally:
        lock.release()


def _keyring(settings: Config, folder: Path) -> Keyring:
    wanted = settings.storage.encryption
    return Keyring.read(folder / KEYS_FILE, read_secret(wanted, folder, os.environ), cache_mb=wanted.cache_mb)


def _switched(
    config: Path, settings: Config, keys: Keyring, *, encrypted: bool, backups: bool
) -> tuple[bool, int, FilesByKey]:
    """Whether the memory was not so before, how many of its backups were switched with it, and all files as they are now."""
    from ...forgetting.files import purge_again

    folder, copies = keys.folder, BackupFolder(keys.folder, settings.backup.roots, keys)
    along = BackupSwitch(folder, copies, keys, encrypted=encrypted, purge_again=purge_again) if backups else None
    note = encryption_note(config)
    switched = (encrypt if encrypted else decrypt)(folder, keys, note)
    patch_file(config, {"storage.encryption.enabled": encrypted})
    note.unlink(missing_ok=True)
    return switched, along.carry_out() if along else 0, FilesByKey.found(folder, copies, keys)


def _make_secret(file: Path | None, config: Path) -> None:
    if file is None:
        return
    with open(file, "x", encoding="utf-8", opener=private_opener) as new:
        new.write(secrets.token_hex(32) + "\n")
    patch_file(config, {"storage.encryption.key_file": str(file.absolute())})


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")

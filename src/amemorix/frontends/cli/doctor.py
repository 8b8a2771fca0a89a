"""The command that looks at all that a memory needs to run: the machine, the settings, the daemon, and what `check` looks at."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import httpx
import typer

from ... import config as configuration
from ...errors import InvalidConfig, MemoryFault
from ...extras import require
from ...host.environment import data_folder
from ...language.times import local_zone
from ...location import data_home, project_folder
from ...models.local.runtime import load_runtime
from ...runtime.checks import FindingItem
from ...runtime.environment_checks import disk_findings
from ...store.access import TimeZones
from ...store.file_swap import DATABASE_FILE
from ...store.keys import KEYS_FILE
from ...store.lock import holder
from ...store.sqlite import remains_beside
from ...version import PACKAGE, __version__, commit, program
from ..daemon import Daemon, daemon_of
from .runtime import examined, show_findings
from .terminal import DEFAULT_CONFIG, ConfigPath, print_json

if TYPE_CHECKING:
    from ...config import Config

COMPILED = ("numpy", "faiss", "rapidfuzz", "opencc", "Stemmer", "rjieba", "ijson", "pydantic", "watchfiles")
"""Modules that are made for one kind of machine, besides the inference runtime: installed is not yet that they load."""
CLOCK_SECONDS = 60.0
HEALTH_SECONDS = 5.0


def doctor(
    probe: Annotated[bool, typer.Option(help="Also ask the models that stand elsewhere.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Look at all that a memory needs to run, and say what to do; exit code 1 if something is wrong.

    No memory is begun where there is none.
    """
    found = [asdict(one) for one in _findings(config, probe)]
    bad = sum(not one["ok"] for one in found)
    if as_json:
        print_json({"ok": not bad, "version": __version__, "findings": found})
    else:
        show_findings(found, f"{bad} of {len(found)} checks found something." if bad else "All is well.")
    if bad:
        raise typer.Exit(1)


def _findings(path: Path, probe: bool) -> Iterator[FindingItem]:
    where = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform(terse=True)}"
    yield FindingItem("program", True, f"amemorix {program()}, {where}, {sys.executable}")
    yield from _packages()
    given = os.path.exists(path)  # of a folder that may not be entered, Path.exists raises
    try:
        if not given:
            configuration.refuse_lost_folder(path, None, f"{path} is gone")
        config = configuration.load(path) if given else configuration.Config()
        folder = data_folder(path.absolute(), config)
    except InvalidConfig as exc:
        yield FindingItem("config", False, str(exc), f"Put {path} right.")
        return
    nearest = next(one for one in (folder, *folder.parents) if os.path.exists(one))
    may_enter, stored = os.access(nearest, os.R_OK | os.W_OK | os.X_OK), os.path.exists(folder / DATABASE_FILE)
    if given:
        yield FindingItem("config", True, f"{path.absolute()} is valid")
    else:
        own = data_home() / path.name
        mend = f"`amemorix init` writes one; `-c {own if own.exists() else 'PATH'}` looks at another."
        told = f"there is no {path}, though {folder} holds a memory" if stored else f"there is no {path}: the defaults"
        yield FindingItem("config", not stored, told, mend)
    yield from _models(config)
    yield _clock(config, [PACKAGE, *([folder / DATABASE_FILE] if stored else [])])
    daemon, owner = daemon_of(path), holder(folder)
    yield _daemon(daemon) if daemon else _port(path, config)
    if daemon and config.http.tokens_file:
        yield _tokens(path, config)
    if not may_enter:
        mend = "Give it leave, or run as its owner."
        yield FindingItem("folder", False, f"this user may not read and write {nearest}", mend)
        return
    if nearest == folder:
        mode = stat.S_IMODE(folder.stat().st_mode)
        alone = os.name == "nt" or not mode & 0o077
        told = f"{folder} is this user's alone" if alone else f"others may enter {folder} (mode {mode:o})"
        yield FindingItem("folder", alone, told, "" if alone else f"`chmod 700 {folder}`")
    if owner and not daemon:
        mend = "Stop it to have what is stored checked, or let `amemorix serve` hold the folder for all."
        yield FindingItem("owner", True, f"process {owner} has {folder} open, and is no daemon", mend)
    secret = config.storage.encryption
    if (secret.key_file or secret.key_command) and not secret.enabled and not os.path.exists(folder / KEYS_FILE):
        mend = "`amemorix key enable` encrypts what is stored."
        yield FindingItem("encryption", False, "a secret is set, but nothing is encrypted", mend)
    begun = stored or bool(remains_beside(folder / DATABASE_FILE))
    if begun:
        yield _backup(folder, config)
    if daemon or (given and begun and not owner):
        yield from _checked(path, probe)
    else:
        yield from disk_findings(nearest, [folder / DATABASE_FILE])
    if not begun:
        yield FindingItem("memory", True, f"nothing is stored yet in {folder}")


def _checked(path: Path, probe: bool) -> Iterator[FindingItem]:
    """What `check` finds."""
    try:
        asked = {"action": "refresh_self_check", "deep": False, "probe": probe}
        for one in asyncio.run(examined(path, asked))["report"]["findings"]:
            if one["name"] != "config" or not one["ok"]:
                yield FindingItem(**one)
    except MemoryFault as exc:
        yield FindingItem(
            "memory", False, f"it cannot be asked: {exc}", "See what is said of the daemon and the models."
        )


def _packages() -> Iterator[FindingItem]:
    """What is installed: of the base, whether it loads; of each extra, whether all of it is there."""
    wanted: dict[str, list[str]] = {}
    with contextlib.suppress(PackageNotFoundError):  # not installed, but put somewhere
        for one in requires("amemorix") or ():
            extra = re.search(r"extra == ['\"]([\w-]+)", one)
            wanted.setdefault(extra[1] if extra else "", []).append(re.split(r"[^\w.-]", one)[0])
    lacking = [name for name in wanted.get("", ()) if not _is_installed(name)]
    for name, loading in {
        "onnxruntime": load_runtime,
        **{one: partial(import_module, one) for one in COMPILED},
    }.items():
        try:
            loading()
        except ImportError as exc:
            lacking.append(f"{name} ({exc})")
    told = f"{', '.join(lacking)} cannot be loaded" if lacking else f"{len(wanted.get('', ()))} are there and load"
    yield FindingItem("packages", not lacking, told, "`pip install --force-reinstall amemorix`" if lacking else "")
    extras = {name: all(map(_is_installed, packages)) for name, packages in wanted.items() if name}
    there, absent = ([name for name, is_there in extras.items() if is_there is wish] for wish in (True, False))
    mend = f"`pip install 'amemorix[NAME]'` brings {', '.join(absent)}, where one is wanted." if absent else ""
    yield FindingItem("extras", True, ", ".join(there) or "none", mend)


def _is_installed(package: str) -> bool:
    try:
        return bool(distribution(package).version)
    except PackageNotFoundError:
        return False


def _models(config: Config) -> Iterator[FindingItem]:
    """Every file of each installed model has the hash that it was installed with, and what the settings ask for is there."""
    from ...models.cache import cache_dir
    from ...models.local import catalog
    from ...models.local.install import installed, verify

    held = [model for model in catalog.installable().values() if installed(model)]
    for model in held:
        try:
            yield FindingItem(f"files-{model.name}", True, f"as they were installed, in {verify(model)}")
        except MemoryFault as exc:
            yield FindingItem(f"files-{model.name}", False, str(exc), f"`amemorix models install {model.name}`")
    if not installed(catalog.LAC):
        told = "lac, which reads Chinese names, is not installed: they are read by rules"
        yield FindingItem("files-lac", True, told, "`amemorix models install lac`, where people write Chinese.")
    asked = config.embedding
    if asked.provider in ("auto", "local") and not any(
        asked.model_name in ("", name) for name in catalog.MODELS if catalog.MODELS[name] in held
    ):
        told = f"{asked.model_name or 'no embedding model'} is not installed in {cache_dir()}: search goes by words"
        must = asked.provider == "local" or bool(asked.model_name)
        yield FindingItem("models", not must, told, f"`amemorix models install {asked.model_name}".rstrip() + "`")


def _clock(config: Config, files: list[Path]) -> FindingItem:
    """The machine's clock against the newest of what has a date, and the zone in which times are read."""
    zone = TimeZones.configured(config.general, local_zone()).general
    now, newest = time.time(), max(file.stat().st_mtime for file in files)
    here = datetime.fromtimestamp(now, zone)
    told, named = f"{here:%Y-%m-%d %H:%M}", config.general.timezone
    told = f"{told} in the zone {named}" if named else f"{told} in the zone of the machine ({here:%Z})"
    if newest > now + CLOCK_SECONDS:
        late = f"{told}, {(newest - now) / 3600:.1f} h before the last change of a file"
        return FindingItem("clock", False, late, "Set the clock: what is said now would stand before what was.")
    unset = not named and not here.utcoffset()
    mend = "If its people live elsewhere, set general.timezone, such as Asia/Shanghai." if unset else ""
    return FindingItem("clock", True, told, mend)


def _backup(folder: Path, config: Config) -> FindingItem:
    from ...copies.backup_folder import ON_PURPOSE, BackupFolder

    made = [one.manifest for one in BackupFolder(folder, config.backup.roots).all() if one.whole]
    last = max((one.created_at for one in made if one.reason in ON_PURPOSE), default=None)
    every = config.backup.every_hours
    if last is None:
        mend = "`amemorix backup` makes one, backup.every_hours lets the memory make them by itself."
        return FindingItem("backup", not every, "there is none", mend)
    hours = (time.time() - last) / 3600
    late = bool(every) and hours > 2 * every
    mend = f"It is to be made every {every:g} h while the memory is open: see the log." if late else ""
    return FindingItem("backup", not late, f"the last is {hours:.1f} h old", mend)


def _daemon(daemon: Daemon) -> FindingItem:
    try:
        health = httpx.get(f"{daemon.url}/healthz", timeout=HEALTH_SECONDS, trust_env=False).json()
    except (httpx.HTTPError, ValueError) as exc:
        return FindingItem(
            "daemon", False, f"process {daemon.pid} does not answer at {daemon.url}: {exc}", "See its log."
        )
    told = f"process {daemon.pid} answers at {daemon.url}, version {health['version']} ({health['commit']})"
    same = (health["version"], health["commit"]) == (__version__, commit())
    return FindingItem("daemon", same, told, "" if same else f"Restart it: installed is {program()}.")


def _tokens(path: Path, config: Config) -> FindingItem:
    """Whether a running daemon could read every line of the file of tokens when it was saved."""
    from ..http.tokens import Tokens, tokens_path

    base = project_folder(path.absolute())
    try:
        Tokens.read(config.http, os.environ, base)
    except MemoryFault as exc:
        mend = "Put it right and save it. Until then a token of a damaged line keeps what it was allowed, and no new one of it counts."
        return FindingItem("tokens", False, str(exc), mend)
    return FindingItem("tokens", True, f"every line of {tokens_path(config.http, base)} can be read")


def _port(path: Path, config: Config) -> FindingItem:
    """Whether a daemon could start: its packages, its tokens, its address."""
    settings = config.http
    try:
        require("server", "A daemon")
    except MemoryFault as exc:
        return FindingItem("daemon", True, "none is running", f"{exc} One program alone does without.")
    from ..http.serving import listening, refuse_open_door
    from ..http.tokens import Tokens

    try:
        tokens = Tokens.read(settings, os.environ, project_folder(path.absolute()))
        refuse_open_door(settings.host, bool(tokens), config)
        with listening(settings.host, settings.port):
            pass
    except MemoryFault as exc:
        return FindingItem(
            "daemon", False, f"none is running, and it would not start: {exc}", "Mend it before `amemorix serve`."
        )
    wants = "a token is wanted" if tokens else "no token is set, so only this machine may call"
    told = f"none is running; {settings.host} port {settings.port} is free, and {wants}"
    return FindingItem("daemon", True, told)

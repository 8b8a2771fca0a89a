"""Replacing the configuration file so that a crash leaves the old text or the new one, whole."""

from __future__ import annotations

import glob
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ..clock import Clock, SystemClock
from ..errors import StorageFailure
from ..lazy_regex import lazy_regex
from .schema import settings
from .section import is_variable_name

__all__ = ["backups_of", "write_text"]

_MOMENT = lazy_regex(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z\.[0-9]{3}")
"""When a copy was made, and the how manieth of that moment it is."""
_STALE_SECONDS = 3600.0
"""A temporary file this much older than ours was left behind by a process that died."""


def write_text(path: Path, text: str, *, backups: int, clock: Clock | None = None) -> Path | None:
    """Replace the file's text in one step, and keep its mode, owner and, if it is a symbolic link, the link.

    The old text, without keys that do not belong there, is first copied to `NAME.backup.TIMESTAMP` beside the file, of which the newest `backups` are kept
    (0: none is made, older ones stay). Returns the copy's path; None if none was made, or if the file already holds this text and was left alone.
    Raises StorageFailure if the folder or the disk refuses.
    """
    data = text.encode("utf-8")
    target = path.resolve()
    try:
        old = target.read_bytes() if target.exists() else None
        if old == data:
            return None
        copy = None if old is None or backups < 1 else _back_up(target, _without_secrets(old), clock or SystemClock())
        _replace(target, data)
        for old_copy in backups_of(target)[:-backups] if backups else ():
            old_copy.unlink(missing_ok=True)
    except OSError as exc:
        raise StorageFailure(f"{path} cannot be written: {exc.strerror or exc}.", file=str(path)) from exc
    return copy


_TEXT = lazy_regex(rb"""(?<![\w-])([\w-]++)(["']?\s*+=\s*+)("(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')""")
_SECRET = lazy_regex(r"key|token|secret|password", re.IGNORECASE)


def _without_secrets(data: bytes) -> bytes:
    """The text without keys that were pasted where none belong; settings, and names of environment variables, stay."""

    def replaced(match: re.Match[bytes]) -> bytes:
        name, value = match[1].decode(), match[3][1:-1].decode("utf-8", "replace")
        fits = not value or is_variable_name(value) if name.endswith("_env") else name in _names()
        return match[0] if fits or not _SECRET.search(name) else match[1] + match[2] + b'""'

    return _TEXT.sub(replaced, data)


@cache
def _names() -> frozenset[str]:
    return frozenset(setting.path.rpartition(".")[2] for setting in settings())


def backups_of(path: Path) -> list[Path]:
    """The copies kept of a configuration file, oldest first."""
    target = path.resolve()
    found = sorted(target.parent.glob(f"{glob.escape(target.name)}.backup.*"))
    return [path for path in found if _MOMENT.fullmatch(path.name.removeprefix(f"{target.name}.backup."))]


def _back_up(target: Path, data: bytes, clock: Clock) -> Path:
    moment = datetime.fromtimestamp(clock.now(), UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    fresh = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        _create(fresh, data, like=target)
        for number in range(1000):
            copy = target.with_name(f"{target.name}.backup.{moment}.{number:03}")
            if not copy.exists():
                os.replace(fresh, copy)
                return copy
    finally:
        fresh.unlink(missing_ok=True)
    raise FileExistsError(f"{target.name}.backup.{moment} exists a thousand times")


def _replace(target: Path, data: bytes) -> None:
    fresh = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        _create(fresh, data, like=target)
        limit = fresh.stat().st_mtime - _STALE_SECONDS
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.tmp"):
            with suppress(FileNotFoundError):
                if leftover.stat().st_mtime < limit:
                    leftover.unlink()
        os.replace(fresh, target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    if sys.platform != "win32":  # makes the renaming itself durable; Windows has no such call and does without
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _create(path: Path, data: bytes, *, like: Path) -> None:
    """Write a new file through to the disk, with the mode and owner of another one if that exists."""
    mode = 0o600 if like.exists() else 0o666
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)
        file.flush()
        if like.exists():
            model = like.stat()
            if sys.platform != "win32":
                with suppress(PermissionError):
                    os.chown(path, model.st_uid, model.st_gid)
            path.chmod(stat.S_IMODE(model.st_mode))
        os.fsync(file.fileno())

"""The configuration that a memory begins with, and the folder that it names."""

from __future__ import annotations

import contextlib
from pathlib import Path

from .. import config as configuration
from ..config import Config
from ..errors import InvalidConfig
from ..location import data_folder as folder_of

__all__ = ["data_folder", "first_config"]


def first_config(path: Path) -> tuple[Config, bytes | None]:
    """The configuration, and the file as it was just before: whatever is written from then on is a change.

    A missing file is written with the defaults. Raises InvalidConfig.
    """
    if not path.exists():
        configuration.load(path, create=True)
    seen = None
    with contextlib.suppress(OSError):
        seen = path.read_bytes()
    return configuration.load(path), seen


def data_folder(path: Path, config: Config) -> Path:
    """The data directory; a relative one is below the folder that holds `config/`. Raises InvalidConfig."""
    given = config.storage.data_dir
    try:
        return folder_of(path, given)
    except (RuntimeError, ValueError, OSError) as exc:
        text = f"storage.data_dir is {given!r}, which is no folder: {exc}"
        problem = {"path": "storage.data_dir", "problem": text, "value": given}
        raise InvalidConfig(f"{path}, {text}.", problems=[problem], file=str(path)) from exc

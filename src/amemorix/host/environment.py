"""What a memory begins with: what its host gives it, its configuration, and the folder that this names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from .. import config as configuration
from ..clock import Clock, SystemClock
from ..config import Config
from ..errors import InvalidConfig
from ..language.times import local_zone
from ..location import data_folder as folder_of
from ..location import encryption_note
from ..models.host.embedder import EmbedFunction
from ..models.registry import GivenChat

__all__ = ["Surroundings", "data_folder", "first_config", "patch_file"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment, the clock and the time zone, and the models of the host's own."""

    environ: Mapping[str, str]
    clock: Clock
    zone: tzinfo
    embed: EmbedFunction | None = None
    chat: GivenChat | None = None
    """A chat model of the host's own, or a function; it outlives the kernel."""

    @classmethod
    def default(cls, embed: EmbedFunction | None = None, chat: GivenChat | None = None) -> Surroundings:
        """The process's own environment, clock and time zone."""
        return cls(os.environ, SystemClock(), local_zone(), embed, chat)


def first_config(path: Path, environ: Mapping[str, str] = os.environ) -> tuple[Config, bytes | None]:
    """The configuration, and the file as it was just before: whatever is written from then on is a change.

    A missing file is written with the defaults. What `amemorix key enable` or `disable` was cut short in is finished, and
    the file says how the memory is then. Raises InvalidConfig, and StorageFailure where that cannot be done.
    """
    if not path.exists():
        configuration.load(path, create=True)
    if (note := encryption_note(path)).exists():
        from ..copies.key_switch import resume_switch

        config = configuration.load(path)
        encrypted = resume_switch(note, config.storage.encryption, data_folder(path, config), environ)
        if encrypted is not None:
            patch_file(path, {"storage.encryption.enabled": encrypted})
        note.unlink(missing_ok=True)
    seen = None
    with contextlib.suppress(OSError):
        seen = path.read_bytes()
    return configuration.load(path), seen


def patch_file(path: Path, patch: Mapping[str, Any]) -> None:
    """Change settings in a configuration file, which is written if it is missing. Raises InvalidConfig, StorageFailure."""
    text = configuration.patched(configuration.read_text(path) if path.exists() else "", patch)
    after = configuration.parse(text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(path, text, backups=after.advanced.config_backups)


def data_folder(path: Path, config: Config) -> Path:
    """The data directory; a relative one is below the folder that holds `config/`. Raises InvalidConfig."""
    given = config.storage.data_dir
    try:
        return folder_of(path, given)
    except (RuntimeError, ValueError, OSError) as exc:
        text = f"storage.data_dir is {given!r}, which is no folder: {exc}"
        problem = {"path": "storage.data_dir", "problem": text, "value": given}
        raise InvalidConfig(f"{path}, {text}.", problems=[problem], file=str(path)) from exc

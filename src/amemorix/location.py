"""Where the memory of a configuration file lies: read from the file alone, without the models of its settings."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "DATA_DIR", "TOKEN_ENV", "Location", "config_file", "configured_language", "data_folder", "data_home", "folder_note", "locate",
    "project_folder",
    "remembered_folder",
]  # fmt: skip

DATA_DIR = "data/a-memorix"
"""`storage.data_dir` where the file does not name it."""
TOKEN_ENV = "AMEMORIX_TOKEN"
"""`http.token_env` where the file does not name it."""


@dataclass(frozen=True, slots=True)
class Location:
    """What has to be known of a memory to find the daemon that has it open."""

    folder: Path
    token_env: str


def locate(path: Path) -> Location | None:
    """The location that a configuration file names; None if it cannot be read, or names none."""
    try:
        tables = tomllib.loads(path.read_text("utf-8-sig"))
        given, token_env = _text(tables, "storage", "data_dir", DATA_DIR), _text(tables, "http", "token_env", TOKEN_ENV)
        return Location(data_folder(path.absolute(), given), token_env)
    except (OSError, ValueError, RuntimeError, TypeError, AttributeError):
        return None


def configured_language(path: Path) -> Literal["en", "zh"] | None:
    """`general.language` where a configuration file chooses one; None for `auto`, and for a file that cannot be read."""
    try:
        text = path.read_text("utf-8-sig")
        if not any(line.partition("=")[0].strip() == "language" and "auto" not in line for line in text.splitlines()):
            return None
        chosen: Any = tomllib.loads(text).get("general", {}).get("language", "")
    except (OSError, ValueError, AttributeError):
        return None
    return chosen if chosen in ("en", "zh") else None


def config_file(folder: Path) -> Path:
    """The configuration file of the memory in a folder, written or not."""
    beside = folder / "config" / "a_memorix.toml"
    return beside if beside.exists() else folder / "a_memorix.toml"


def data_folder(path: Path, given: str) -> Path:
    """The data directory `given` in the file `path`; a relative one is below the folder that holds `config/`.

    Raises RuntimeError, ValueError or OSError: no such user, a NUL character, a loop of links.
    """
    return (project_folder(path) / Path(given).expanduser()).resolve()


def data_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a memory lies that is given no folder: `AMEMORIX_HOME`, else the user's data directory."""
    if given := environ.get("AMEMORIX_HOME"):
        return Path(given)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "amemorix"
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "amemorix"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "amemorix"


def project_folder(path: Path) -> Path:
    """What relative paths of a configuration file start from: the folder that holds `config/`, or the file itself."""
    return path.parent.parent if path.parent.name == "config" else path.parent


def folder_note(path: Path) -> Path:
    """Where the data directory that the memory of a configuration file was last opened in is noted, unless it is `DATA_DIR`."""
    return path.with_name(f".{path.name}.data_dir")


def remembered_folder(path: Path) -> str:
    """`storage.data_dir` as it was when the memory was last opened; empty if that was `DATA_DIR`, or is not known."""
    try:
        return folder_note(path).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _text(tables: dict[str, Any], table: str, name: str, default: str) -> str:
    value = tables.get(table, {}).get(name, default)
    if not isinstance(value, str):
        raise TypeError
    return value

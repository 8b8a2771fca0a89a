"""Where the memory of a configuration file lies: read from the file alone, without the models of its settings."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .errors import InvalidConfig

__all__ = [
    "DATA_DIR", "LOCK_FILE", "TOKEN_ENV", "Location", "config_file", "config_opened_with", "configured_language", "data_folder",
    "data_home", "encryption_note", "folder_note", "locate", "project_folder", "refuse_within_data", "remembered_folder",
]  # fmt: skip

DATA_DIR = "data/a-memorix"
"""`storage.data_dir` where the file does not name it."""
TOKEN_ENV = "AMEMORIX_TOKEN"
"""`http.token_env` where the file does not name it."""
LOCK_FILE = ".lock"
"""The file in a data directory that its process locks; it tells the process and the configuration file."""
ROWS = ("memory.db", "memory.keys", "indexes")
"""Files and folders of which a data directory has one."""


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
    """The configuration file of the memory in a folder, written or not; the folder of its data stands for the memory too."""
    own = _written_in(folder)
    if not own.exists() and _holds_data(data := folder.resolve()):
        return _config_of(data) or own
    return own


def refuse_within_data(path: Path) -> None:
    """Raise InvalidConfig, with the configuration file of that memory, if a configuration file that is not there would
    begin a memory within the data of another."""
    folder = project_folder(path.absolute()).resolve()
    holders = {one: _config_of(one) for one in (folder, *folder.parents) if _holds_data(one)}
    if not holders:
        return
    data, config = next((one for one in holders.items() if one[1]), next(iter(holders.items())))
    if config:
        text = f"{folder} is within {data}, where a memory keeps its data, and no other is begun there: its settings are {config}"
    else:
        text = (
            f"{folder} is within {data}, where a memory keeps its data, and no other is begun there: name the configuration "
            "file whose storage.data_dir it is"
        )
    raise InvalidConfig(f"{text}.", problems=[{"path": "storage.data_dir", "problem": text}], file=str(path))


def config_opened_with(data: Path) -> str:
    """The configuration file that the memory in a data directory was last opened with; empty if that is not known."""
    try:
        noted = json.loads((data / LOCK_FILE).read_text("utf-8"))["config"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return noted if isinstance(noted, str) else ""


def _config_of(data: Path) -> Path | None:
    """The configuration file whose memory keeps its data in a folder: the one its place tells, or the one it was opened with."""
    noted = config_opened_with(data)
    told = [_written_in(data.parents[1])] if data.parts[-2:] == Path(DATA_DIR).parts else []
    found = [file for file in told if file.is_file()]
    # whoever may write into the data has no say in the settings, so that none are taken from there
    if noted and Path(noted).is_file() and not Path(noted).resolve().is_relative_to(data):
        found.append(Path(noted))
    found += told
    for file in found:
        place = locate(file)
        if (
            place is None or place.folder == data
        ):  # one that is missing is written, and names this folder; a broken one tells so
            return file
    return None


def _written_in(folder: Path) -> Path:
    beside = folder / "config" / "a_memorix.toml"
    return beside if beside.exists() else folder / "a_memorix.toml"


def _holds_data(folder: Path) -> bool:
    """Return True for a data directory and for a backup of one."""
    try:
        here = [name for name in ROWS if (folder / name).exists()]
        return bool(here) and (here != ["indexes"] or (folder / LOCK_FILE).exists())
    except OSError:
        return False


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


def encryption_note(path: Path) -> Path:
    """Where it is noted that the encryption of the memory of a configuration file is being switched on or off."""
    return path.with_name(f".{path.name}.encryption")


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

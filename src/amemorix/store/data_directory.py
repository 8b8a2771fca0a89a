"""The files of a data directory: what each is, by its name and place. Nothing counts as ours for how its name begins."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path

from ..lazy_regex import lazy_regex
from .file_swap import DATABASE_FILE, REPLACED

__all__ = [
    "BEFORE_MIGRATION",
    "EXPORTS",
    "INDEXES",
    "NOTES",
    "STAGED",
    "FileKind",
    "index_folders",
    "kind_by_name",
    "kind_of",
    "purge_files",
]

INDEXES, EXPORTS, STAGED = "indexes", "exports", "imports/staging"
"""The folders of the indexes' snapshots, of exports, and of the files that were handed over to be imported."""
BEFORE_MIGRATION = "memory.before-migration"
"""The database as it was before the first migration that was applied to it."""
NOTES = (".lock", "daemon.json", ".daemon.json", ".reserve")
"""What the names of files begin with that hold nothing of the memory: who has it open, and room on the disk."""
_DATABASES = lazy_regex(
    rf"(?:memory\.db(?:\.incoming|\.decided)?|{REPLACED}|{BEFORE_MIGRATION})(?:-wal|-shm|-journal)?"
)
_KEYS = lazy_regex(r"memory\.keys(?:\.[0-9]+|\.draft)?")
_PURGE = lazy_regex(r"memory\.purge-d[0-9]+(?:\.draft)?")
_INDEX = lazy_regex(r"sparse|columns|graph|(?:vectors|relations)-[0-9]+")
_LIVE = tuple(f"{DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm"))


class FileKind(Enum):
    """What a file is."""

    LIVE = auto()
    """The database in use, and its log."""
    DATABASE = auto()
    """A copy of the database, with its log."""
    KEYS = auto()
    """The wrapped keys of an encrypted memory, or of a backup."""
    SETTINGS = auto()
    """The settings of a backup."""
    PURGE = auto()
    """What a purge under way looks for."""
    NOTE = auto()
    """A note of the process that has the memory open, or room that is kept."""
    INDEX = auto()
    """An index."""
    EXPORT = auto()
    """An export."""
    STAGED = auto()
    """A file that was handed over to be imported."""
    UNKNOWN = auto()
    """A file of somebody else."""


def kind_of(folder: Path, path: Path) -> FileKind:
    """What a file is to the memory in `folder`; `path` is below it, or below a folder of backups."""
    name = path.name
    if path.parent == folder:
        if name in _LIVE:
            return FileKind.LIVE
        if name.startswith(NOTES):
            return FileKind.NOTE
        if _PURGE.fullmatch(name):
            return FileKind.PURGE
    for place, kind in ((INDEXES, FileKind.INDEX), (EXPORTS, FileKind.EXPORT), (STAGED, FileKind.STAGED)):
        if folder / place in path.parents:
            return kind
    return kind_by_name(name)


def kind_by_name(name: str) -> FileKind:
    """What a file is wherever it is, in a backup for instance: a copy of the database, keys, settings, or somebody else's."""
    if _KEYS.fullmatch(name):
        return FileKind.KEYS
    if _DATABASES.fullmatch(name):
        return FileKind.DATABASE
    return FileKind.SETTINGS if name == "memory.toml" else FileKind.UNKNOWN


def index_folders(folder: Path) -> list[Path]:
    """The folders of the indexes in a data directory; whatever else lies beside them is somebody else's."""
    found = sorted((folder / INDEXES).glob("*"))
    return [path for path in found if _INDEX.fullmatch(path.name) and path.is_dir() and not path.is_symlink()]


def purge_files(folder: Path) -> list[Path]:
    """The files in a data directory that say what purges under way look for."""
    return [path for path in sorted(folder.glob("memory.purge-d*")) if _PURGE.fullmatch(path.name)]

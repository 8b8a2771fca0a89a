"""The files of a data directory: what each is, by its name and place. Nothing counts as ours for how its name begins."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path

from ..lazy_regex import lazy_regex
from .file_swap import DATABASE_FILE, REPLACED

__all__ = [
    "BACKUPS",
    "BEFORE_MIGRATION",
    "EXPORTS",
    "INDEXES",
    "STAGED",
    "FileKind",
    "index_folders",
    "kind_by_name",
    "kind_of",
    "purge_files",
]

INDEXES, EXPORTS, STAGED, BACKUPS = "indexes", "exports", "imports/staging", "backups"
"""The folders of the indexes' snapshots, of exports, of the files that were handed over to be imported, and of backups."""
BEFORE_MIGRATION = "memory.before-migration"
"""The database as it was before the first migration that was applied to it."""
_NOTES = lazy_regex(r"\.lock|daemon\.json|\.daemon\.json\.[0-9]+|\.reserve(?:\.part)?")
"""Files that hold nothing of the memory: who has it open, and room on the disk."""
_DATABASES = lazy_regex(
    rf"(?:memory\.db(?:\.incoming|\.decided)?|{REPLACED}|{BEFORE_MIGRATION})(?:-wal|-shm|-journal)?"
)
_KEYS = lazy_regex(r"memory\.keys(?:\.[0-9]+|\.draft)?")
_PURGE = lazy_regex(r"memory\.purge-d[0-9]+(?:\.draft)?")
_INDEX = lazy_regex(r"sparse|columns|graph|(?:vectors|relations)-[0-9]+")
_LIVE = tuple(f"{DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm"))


class FileKind(Enum):
    """Kinds of files in a data directory."""

    LIVE = auto()
    """The database in use, and its log."""
    DATABASE = auto()
    """A copy of the database, with its log."""
    KEYS = auto()
    """The wrapped keys of an encrypted memory, or of a backup."""
    SETTINGS = auto()
    """The settings of a backup."""
    PURGE = auto()
    """Search patterns of a purge under way."""
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
    """Return the kind of a file of the memory in `folder`; `path` is below it, or below another folder of backups."""
    try:
        place, *below = path.relative_to(folder).parts
    except ValueError:
        return kind_by_name(path.name)
    if not below:
        if place in _LIVE:
            return FileKind.LIVE
        if _NOTES.fullmatch(place):
            return FileKind.NOTE
        return FileKind.PURGE if _PURGE.fullmatch(place) else kind_by_name(place)
    if place == INDEXES:
        return FileKind.INDEX if len(below) > 1 and _INDEX.fullmatch(below[0]) else FileKind.UNKNOWN
    if place == EXPORTS:
        return FileKind.EXPORT
    if folder / STAGED in path.parents:
        return FileKind.STAGED
    return kind_by_name(path.name) if place == BACKUPS else FileKind.UNKNOWN


def kind_by_name(name: str) -> FileKind:
    """Return the kind that a name alone tells, as in a backup: a copy of the database, keys, settings, or unknown."""
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

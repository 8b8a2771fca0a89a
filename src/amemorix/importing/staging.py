"""Files that were handed over to be imported: each in a folder of its own, named by an id nobody can guess."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import InvalidRequest, NotFound, StorageFailure
from ..lazy_regex import lazy_regex
from ..store.keys import Keyring
from ..store.private_files import make_private
from ..store.sealed_files import new_file, size_of

__all__ = ["Staged", "Staging", "is_staged_id", "safe_name"]

LONGEST_NAME = 150
PORTION = 1 << 20
_ID = lazy_regex(r"u[0-9a-f]{32}")
_UNSAFE = lazy_regex(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]+')


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that was handed over; `path` is below the staging folder."""

    id: str
    name: str
    path: str
    size: int


class Staging:
    """Keeps the files below `folder`; everything here is blocking."""

    def __init__(self, folder: Path, keys: Keyring | None = None) -> None:
        self.folder = folder
        self._keys = keys

    def create(self, name: str) -> tuple[Staged, IO[bytes]]:
        """A new empty file to write to with `write`; `keep` makes it last. Raises StorageFailure."""
        id_, safe = f"u{uuid.uuid4().hex}", safe_name(name)
        place = self.folder / id_
        with self._or_removed(id_):
            make_private(place)
            return Staged(id_, safe, f"{id_}/{safe}", 0), new_file(place / safe, self._keys)

    def write(self, staged: Staged, file: IO[bytes], piece: bytes) -> None:
        """Append to the file. Raises StorageFailure, and then nothing is left of it."""
        with self._or_removed(staged.id, file):
            file.write(piece)

    def keep(self, staged: Staged, file: IO[bytes]) -> Staged:
        """Close the file, durably. Raises StorageFailure, and then nothing is left of it."""
        with self._or_removed(staged.id, file):
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
            file.close()
        return Staged(staged.id, staged.name, staged.path, size)

    def put(self, name: str, content: bytes) -> Staged:
        """Store a small file. Raises StorageFailure, and then nothing is left of it."""
        staged, file = self.create(name)
        self.write(staged, file, content)
        return self.keep(staged, file)

    def adopt(self, source: Path, name: str = "") -> Staged:
        """Stage a copy of a file of this machine. Raises StorageFailure."""
        try:
            with source.open("rb") as content:
                staged, file = self.create(name or source.name)
                while piece := content.read(PORTION):
                    self.write(staged, file, piece)
        except OSError as exc:
            raise StorageFailure(f"{source} cannot be copied: {exc.strerror}.", file=str(source)) from exc
        return self.keep(staged, file)

    @contextlib.contextmanager
    def _or_removed(self, id_: str, file: IO[bytes] | None = None) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()  # writes what it holds, which fails as well
            self.remove(id_)
            raise StorageFailure(f"The file to import cannot be kept: {exc.strerror or exc}.") from exc

    def find(self, given: str) -> Staged:
        """The staged file with this id, or with this path below the staging folder. Raises InvalidRequest, NotFound."""
        id_, _, name = given.partition("/")
        if not _ID.fullmatch(id_):
            raise InvalidRequest("staged: it is no id of a staged file.", field="staged")
        names = [path.name for path in (self.folder / id_).glob("*") if path.is_file() and not path.is_symlink()]
        if not names or (name and name not in names):
            raise NotFound("staged: there is no such file; it may have been imported already.", field="staged")
        return Staged(id_, names[0], f"{id_}/{names[0]}", size_of(self.folder / id_ / names[0]))

    def remove(self, path: str) -> None:
        """Remove a staged file by its id or path."""
        id_ = path.partition("/")[0]
        if _ID.fullmatch(id_):
            shutil.rmtree(self.folder / id_, ignore_errors=True)

    def sweep(self, wanted: Collection[str], used: Collection[str], hours: float) -> int:
        """Remove what is not wanted: what a task has used at once, the rest when it is so old; returns how many."""
        keep, spent = ({path.partition("/")[0] for path in paths} for paths in (wanted, used))
        old, count = time.time() - hours * 3600, 0
        for place in self.folder.glob("u*"):
            if (
                is_staged_id(place.name)
                and place.name not in keep
                and (place.name in spent or place.stat().st_mtime < old)
            ):
                self.remove(place.name)
                count += 1
        return count


def is_staged_id(name: str) -> bool:
    """Whether a folder is called like that of a staged file."""
    return _ID.fullmatch(name) is not None


def safe_name(name: str) -> str:
    """The last part of a name without characters that mean something to a file system; `file` if nothing is left."""
    last = _UNSAFE.sub("_", re.split(r"[/\\]", name.strip())[-1]).strip(". ")
    stem, dot, suffix = last.rpartition(".")
    if len(last) > LONGEST_NAME:
        last = f"{(stem or last)[: LONGEST_NAME - 12]}{dot}{suffix[:10]}" if stem else last[:LONGEST_NAME]
    while len(last.encode()) > 240:
        last = last[1:]
    return last or "file"

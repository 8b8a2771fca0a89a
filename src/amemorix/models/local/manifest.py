"""An installed folder: how it appears, and the record of what it holds."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ...errors import ModelUnavailable

__all__ = ["FORMAT", "MANIFEST", "ConvertedFile", "Manifest", "check_sha256", "whole_folder"]

MANIFEST = "manifest.json"
FORMAT = 3
"""Raised when the conversion of a model changes in a way that changes vectors; older folders are installed anew."""


class ConvertedFile(BaseModel):
    """One file of the folder: size in bytes and SHA-256 in hexadecimal."""

    model_config = ConfigDict(frozen=True)

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> ConvertedFile:
        """Measure a file on disk."""
        return cls(size=path.stat().st_size, sha256=_sha256(path))

    @classmethod
    def all_in(cls, folder: Path) -> dict[str, ConvertedFile]:
        """Measure every file of a folder, by name."""
        return {path.name: cls.of(path) for path in sorted(folder.iterdir())}


class Manifest(BaseModel):
    """Which model a folder holds, where it is from, and the files that must be there."""

    model_config = ConfigDict(frozen=True)

    format: int
    source: str
    model: str
    weights_sha256: str
    max_tokens: int
    dimension: int
    licence: str
    languages: tuple[str, ...]
    files: dict[str, ConvertedFile]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The folder's manifest, or None if there is none of this kind that can be read."""
        try:
            return cls.model_validate_json((folder / MANIFEST).read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, folder: Path) -> None:
        """Put the manifest beside the files."""
        (folder / MANIFEST).write_text(self.model_dump_json(indent=2) + "\n", "utf-8")

    def is_complete(self, folder: Path) -> bool:
        """True if every file has its size; reads no file's content."""
        return all(_size(folder / name) == file.size for name, file in self.files.items())

    def check(self, folder: Path) -> None:
        """Hash every file; ModelUnavailable names the first that is missing or was changed."""
        for name, file in self.files.items():
            check_sha256(folder / name, file.sha256)


@contextmanager
def whole_folder(target: Path, name: str, *, is_good: Callable[[], bool]) -> Generator[Path]:
    """An empty folder to fill, renamed to `target` at the end of the block, and deleted if the block fails.

    A damaged or older `target` is removed; one that appeared meanwhile stays if `is_good` says so. The folder's parent
    is there for scratch files and is deleted at the end. Raises ModelUnavailable, which names `name`, for what the
    file system refuses.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as work:
            new = Path(work) / "new"
            new.mkdir()
            yield new
            if target.exists():
                target.rename(new.parent / "old")
            try:
                new.rename(target)
            except OSError:
                if not is_good():
                    raise
    except OSError as exc:
        raise ModelUnavailable(f"{name} cannot be written to {target}: {exc.strerror}.", model=name) from exc


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as exc:
        raise ModelUnavailable(f"{path} cannot be read: {exc.strerror}.", file=str(path)) from exc


def check_sha256(path: Path, expected: str) -> None:
    """Raise ModelUnavailable if the file has another SHA-256."""
    got = _sha256(path)
    if got != expected:
        raise ModelUnavailable(
            f"{path.name} has the wrong SHA-256: expected {expected}, got {got}.",
            file=path.name, expected=expected, got=got,
        )  # fmt: skip


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1

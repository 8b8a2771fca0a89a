"""The record of what an installed model's folder holds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import ModelUnavailable

__all__ = ["FORMAT", "MANIFEST", "ConvertedFile", "Manifest", "file_sha256", "read_manifest"]

MANIFEST = "manifest.json"
FORMAT = 2
"""Raised when the conversion changes in a way that changes vectors; older folders are installed anew."""


class ConvertedFile(BaseModel):
    """One file of the folder: size in bytes and SHA-256 in hexadecimal."""

    model_config = ConfigDict(frozen=True)

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> ConvertedFile:
        """Measure a file on disk."""
        return cls(size=path.stat().st_size, sha256=file_sha256(path))


class Manifest(BaseModel):
    """What was installed, from where, and the files that must be there."""

    model_config = ConfigDict(frozen=True)

    format: int
    model: str
    source: str
    weights_sha256: str
    dimension: int
    max_tokens: int
    licence: str
    languages: tuple[str, ...]
    files: dict[str, ConvertedFile]


def read_manifest(folder: Path) -> Manifest | None:
    """The folder's manifest, or None if there is none that can be read."""
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; ModelUnavailable if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as exc:
        raise ModelUnavailable(f"{path} cannot be read: {exc.strerror}.", file=str(path)) from exc

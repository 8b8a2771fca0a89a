"""What a measurement was made with: program, machine, settings, memory and disk."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amemorix.host.service import AMemorixHostService
from amemorix.version import __version__

from .machine import Machine, describe_machine, peak_mib, resident_mib
from .workspace import answered

__all__ = ["Conditions", "Footprint", "describe", "folder_bytes", "footprint"]

PACKAGES = ("numpy", "faiss-cpu", "onnxruntime", "tokenizers", "pydantic")
NO_MODEL = "no model"
SECTIONS = ("retrieval", "embedding", "ingest")
"""Settings that recall depends on."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Without these a figure cannot be compared with another."""

    version: str
    packages: Mapping[str, str]
    machine: Machine
    model: str
    settings: Mapping[str, Any]

    @property
    def has_model(self) -> bool:
        """Whether there are vectors."""
        return self.model != NO_MODEL

    def line(self) -> str:
        """One line for people."""
        return f"amemorix {self.version}; {self.model}; {self.machine.line()}"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of the process in MiB, and what the store takes on disk."""

    rss_mib: float
    peak_mib: float
    store_bytes: int


async def describe(host: AMemorixHostService, folder: Path) -> Conditions:
    """The conditions as they are now, `folder` being on the disk that is written to."""
    stats = await answered(host, "memory_stats", {})
    config = await host.get_config()
    packages: dict[str, str] = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    model, settings = stats["embedding"]["model"] or NO_MODEL, {name: config[name] for name in SECTIONS}
    return Conditions(__version__, packages, describe_machine(folder), model, settings)


def footprint(folder: Path) -> Footprint:
    """Memory now and at its highest, and the bytes below `folder`."""
    return Footprint(round(resident_mib(), 1), round(peak_mib(), 1), folder_bytes(folder))


def folder_bytes(folder: Path) -> int:
    """Size of all files below a folder; those that go while they are counted are left out."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total

"""The machine that a measurement was made on."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .metrics import percentile

__all__ = ["Machine", "describe_machine", "load_average", "peak_mib", "resident_mib"]

_BLOCK = b"\0" * 4096


@dataclass(frozen=True, slots=True)
class Machine:
    """What figures depend on; `sync_ms` is the median time to append 4 KB to a file and sync it."""

    cores: int
    cpu: str
    system: str
    python: str
    sqlite: str
    load: float
    sync_ms: float

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.cores} cores {self.cpu}, {self.system}, Python {self.python}, SQLite {self.sqlite}, "
            f"load {self.load:.1f}, synced append of 4 KB {self.sync_ms:.2f} ms"
        )


def describe_machine(folder: Path) -> Machine:
    """The machine as it is now, with the disk that holds `folder`."""
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        cpu=_cpu_model(), system=platform.system(), python=platform.python_version(), sqlite=sqlite3.sqlite_version,
        load=load_average(), sync_ms=round(_sync_milliseconds(folder), 3),
    )  # fmt: skip


def load_average() -> float:
    """Processes that ran or waited to run over the last minute; 0 where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def _sync_milliseconds(folder: Path, times: int = 30) -> float:
    """Median milliseconds of appending 4 KB to a file in `folder` and syncing its data."""
    path = folder / "sync-probe"
    sync = getattr(os, "fdatasync", os.fsync)
    taken: list[float] = []
    with path.open("wb", buffering=0) as file:
        for _ in range(times):
            started = time.perf_counter()
            file.write(_BLOCK)
            sync(file.fileno())
            taken.append((time.perf_counter() - started) * 1000)
    path.unlink()
    return percentile(taken, 50)


def resident_mib(process: int | Literal["self"] = "self") -> float:
    """Resident memory of a process in MiB; the highest so far of this one where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return peak_mib()


def peak_mib() -> float:
    """Highest resident memory of this process so far in MiB; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # pragma: no cover - not on Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

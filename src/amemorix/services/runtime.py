"""What the host tells the kernel about itself: how it was started and reloaded."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["ReloadReport", "RuntimeStatus"]


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """One reload: what changed, how deep it went, or why it was refused."""

    at: float
    ok: bool
    level: str = "none"
    changed: tuple[str, ...] = ()
    error: str = ""
    problems: tuple[dict[str, object], ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class RuntimeStatus:
    """Shared by the kernels of one host."""

    config_file: str = ""
    reloads: int = 0
    refused: int = 0
    last: ReloadReport | None = None
    last_error: ReloadReport | None = None
    notice: str = ""
    needs_restart: tuple[str, ...] = ()
    started: float = field(default_factory=time.monotonic)

    def record(self, report: ReloadReport) -> None:
        """Remember a reload; a good one clears the last error."""
        self.last = report
        if report.ok:
            self.reloads += 1
            self.last_error = None
        else:
            self.refused += 1
            self.last_error = report

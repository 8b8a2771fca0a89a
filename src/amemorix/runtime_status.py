"""What the host tells the kernel about itself: how it was started and reloaded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Configure", "ConfigureText", "Reopen", "ReloadReport", "RuntimeStatus", "Takeover"]


class Takeover(Protocol):
    """An exchange of the rows under a memory; blocking."""

    def ready(self) -> None:
        """Look once more, while the memory is open and nobody calls it; raises if it must not be."""
        ...

    def perform(self) -> None:
        """Exchange, while the memory is closed."""
        ...

    def undo(self) -> None:
        """Take it back: the memory could not be opened."""
        ...


Configure = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Changes settings in the configuration file and applies them, as `AMemorixHostService.update_config` does."""
ConfigureText = Callable[[str], Awaitable[dict[str, Any]]]
"""Replaces the text of the configuration file and applies it, as `AMemorixHostService.update_raw_config` does."""
Reload = Callable[[], Awaitable["ReloadReport"]]
"""Reads the configuration file again and applies it, as `AMemorixHostService.reload` does."""
Reopen = Callable[[Any, Takeover], Awaitable[None]]
"""Closes the memory when the calls in flight have ended, exchanges, and opens it anew; calls wait meanwhile.

The first argument is the kernel whose call asks for it: it is not waited for, and must not be used afterwards.
"""


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
    reopen: Reopen | None = None
    """How the host opens the memory anew over other rows; None if there is no host."""
    rotate: Callable[[], Awaitable[None]] | None = None
    """How the host rotates the key where no caller waits for it; None if there is no host."""
    configure: Configure | None = None
    """How the host changes settings; None if there is no host."""
    configure_text: ConfigureText | None = None
    """How the host replaces the text of its file; None if there is no host."""
    reload: Reload | None = None
    """How the host reads its file again; None if there is no host."""

    def record(self, report: ReloadReport) -> None:
        """Remember a reload; a good one clears the last error."""
        self.last = report
        if report.ok:
            self.reloads += 1
            self.last_error = None
        else:
            self.refused += 1
            self.last_error = report

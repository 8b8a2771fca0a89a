"""The examination as a whole."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ...clock import Clock
from ...errors import MemoryFault
from .finding import Check, Finding

__all__ = ["CheckService", "Examined", "Repaired"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found, and when (epoch seconds)."""

    at: float
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was tried, and how everything is afterwards."""

    done: tuple[str, ...]
    after: Examined


class CheckService:
    """Looks at everything, and mends what can be mended."""

    def __init__(self, checks: Sequence[Check], *, clock: Clock) -> None:
        self._checks = tuple(checks)
        self._clock = clock
        self.last: Examined | None = None

    async def examine(self, *, deep: bool = False, probe: bool = False) -> Examined:
        """Look at everything now."""
        found = [finding for check in self._checks for finding in await _looked(check, deep=deep, probe=probe)]
        self.last = Examined(self._clock.now(), tuple(found))
        return self.last

    async def repair(self) -> Repaired:
        """Look deeply, mend what was found, and look again."""
        done: list[str] = []
        for check in self._checks:
            found = [one for one in await _looked(check, deep=True, probe=False) if one.repairable]
            if found:
                done.append(f"{', '.join(one.name for one in found)}: {await self._mended(check)}")
        return Repaired(tuple(done), await self.examine(deep=True))

    async def _mended(self, check: Check) -> str:
        try:
            return await check.mend()
        except MemoryFault as exc:
            log.warning("a repair failed: %s", exc)
            return f"could not be mended: {exc}"


async def _looked(check: Check, *, deep: bool, probe: bool) -> list[Finding]:
    """What a check finds; that it could not even look is a finding too."""
    try:
        return await check.look(deep=deep, probe=probe)
    except MemoryFault as exc:
        name = type(check).__name__.removesuffix("Check").lower()
        return [Finding(name, False, str(exc), "Restore a backup if the database is damaged.")]

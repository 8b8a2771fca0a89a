"""Examines the memory by a list of checks, and repairs what they find."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..clock import Clock
from ..errors import MemoryFault

__all__ = ["Check", "CheckService", "Examined", "FindingItem"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FindingItem:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    mend: Annotated[str, Field(description="What to do about it.")] = ""
    repairable: Annotated[bool, Field(description="`repair` does it.")] = False


class Check(ABC):
    """Looks at one thing."""

    @abstractmethod
    async def look(self, *, deep: bool, probe: bool) -> list[FindingItem]:
        """How it is; `deep` reads every row that matters, `probe` asks models that may cost money."""

    async def repair(self) -> str:
        """Put right what can be put right; says what was done."""
        return "nothing: a person has to"


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found, and when (epoch seconds)."""

    at: float
    findings: tuple[FindingItem, ...]


class CheckService:
    """Looks at everything, and repairs what can be repaired."""

    def __init__(self, checks: Sequence[Check], *, clock: Clock) -> None:
        self._checks = tuple(checks)
        self._clock = clock
        self.last: Examined | None = None

    async def examine(self, *, deep: bool = False, probe: bool = False) -> Examined:
        """Look at everything now."""
        found = [finding for check in self._checks for finding in await _findings(check, deep=deep, probe=probe)]
        self.last = Examined(self._clock.now(), tuple(found))
        return self.last

    async def repair(self) -> tuple[list[str], Examined]:
        """Look deeply, repair what was found, and look again: (what was done, how everything is afterwards)."""
        done: list[str] = []
        for check in self._checks:
            found = [one.name for one in await _findings(check, deep=True, probe=False) if one.repairable]
            if found:
                try:
                    told = await check.repair()
                except MemoryFault as exc:
                    log.warning("a repair failed: %s", exc)
                    told = f"could not be mended: {exc}"
                done.append(f"{', '.join(found)}: {told}")
        return done, await self.examine(deep=True)


async def _findings(check: Check, *, deep: bool, probe: bool) -> list[FindingItem]:
    """What a check finds; that it could not even look is a finding too."""
    try:
        return await check.look(deep=deep, probe=probe)
    except MemoryFault as exc:
        name = type(check).__name__.removesuffix("Check").lower()
        return [FindingItem(name, False, str(exc), "Restore a backup if the database is damaged.")]

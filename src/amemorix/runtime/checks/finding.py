"""What a check finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

__all__ = ["Check", "Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, what a person can do, and whether `repair` does it."""

    name: str
    ok: bool
    detail: str
    mend: str = ""
    repairable: bool = False


class Check(ABC):
    """Looks at one thing."""

    @abstractmethod
    async def look(self, *, deep: bool, probe: bool) -> list[Finding]:
        """How it is; `deep` reads every row that matters, `probe` asks models that may cost money."""

    async def mend(self) -> str:
        """Put right what can be put right; says what was done."""
        return "nothing: a person has to"

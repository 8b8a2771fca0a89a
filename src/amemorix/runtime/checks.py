"""`memory_runtime_admin`: examine the memory by a list of checks, and repair what they find."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from ..clock import Clock
from ..errors import MemoryFault
from ..ops import NoArguments, Operations, Request, Response

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["Check", "CheckService", "FindingItem"]

log = logging.getLogger(__name__)
ops: Operations[SDKMemoryKernel] = Operations()


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


class Report(BaseModel):
    """What a check found."""

    ok: bool = True
    checked_at: float = 0.0
    message: str = ""
    findings: list[FindingItem] = Field(default_factory=list)


class CheckService:
    """Looks at everything, and repairs what can be repaired."""

    def __init__(self, checks: Sequence[Check], *, clock: Clock) -> None:
        self._checks = tuple(checks)
        self._clock = clock
        self.last: Report | None = None

    async def examine(self, *, deep: bool = False, probe: bool = False) -> Report:
        found = [finding for check in self._checks for finding in await _findings(check, deep=deep, probe=probe)]
        bad = sum(not finding.ok for finding in found)
        message = f"{bad} of {len(found)} checks found something." if bad else "All is well."
        self.last = Report(ok=not bad, checked_at=self._clock.now(), message=message, findings=found)
        return self.last

    async def repair(self) -> tuple[list[str], Report]:
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


# the operations


class CheckNow(Request):
    """How thoroughly."""

    deep: bool = Field(False, description="Also compare the database's indexes with its tables, and read every vector.")
    probe: bool = Field(False, description="Also ask the models that stand elsewhere; this may cost money.")


class Checked(Response):
    """The last report."""

    report: Report = Field(default_factory=Report)


class RepairDone(Checked):
    """What was mended, and how everything is afterwards."""

    done: list[str] = Field(default_factory=list, description="What was found, and what was done about it.")


@ops.operation("memory_runtime_admin", "self_check")
async def self_check(kernel: SDKMemoryKernel, request: NoArguments) -> Checked:  # noqa: ARG001
    """The last report of a check; the first call makes one."""
    return Checked(report=kernel.checks.last or await kernel.checks.examine())


@ops.operation("memory_runtime_admin", "refresh_self_check", "check")
async def refresh_self_check(kernel: SDKMemoryKernel, request: CheckNow) -> Checked:
    """Check the database, the indexes and vectors against the rows, the models, the configuration and the disk."""
    return Checked(report=await kernel.checks.examine(deep=request.deep, probe=request.probe))


@ops.operation("memory_runtime_admin", "repair", effect="write")
async def repair(kernel: SDKMemoryKernel, request: NoArguments) -> RepairDone:  # noqa: ARG001
    """Check deeply, and mend what can be mended: nothing of what was stored is changed."""
    done, after = await kernel.checks.repair()
    return RepairDone(report=after, done=done)

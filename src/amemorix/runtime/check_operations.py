"""`memory_runtime_admin`: check the memory, and repair what the checks find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..ops import Operations, Request, Response
from .checks import Examined, FindingItem

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class LastCheck(Request):
    """No arguments."""


class CheckNow(Request):
    """How thoroughly."""

    deep: bool = Field(False, description="Also compare the database's indexes with its tables, and read every vector.")
    probe: bool = Field(False, description="Also ask the models that stand elsewhere; this may cost money.")


class Report(BaseModel):
    """What a check found."""

    ok: bool = True
    checked_at: float = 0.0
    message: str = ""
    findings: list[FindingItem] = Field(default_factory=list)


class Checked(Response):
    """The last report."""

    report: Report = Field(default_factory=Report)


class RepairNow(Request):
    """No arguments."""


class RepairDone(Checked):
    """What was mended, and how everything is afterwards."""

    done: list[str] = Field(default_factory=list, description="What was found, and what was done about it.")


@ops.operation("memory_runtime_admin", "self_check")
async def self_check(kernel: SDKMemoryKernel, request: LastCheck) -> Checked:  # noqa: ARG001
    """The last report of a check; the first call makes one."""
    return Checked(report=_report(kernel.checks.last or await kernel.checks.examine()))


@ops.operation("memory_runtime_admin", "refresh_self_check", "check")
async def refresh_self_check(kernel: SDKMemoryKernel, request: CheckNow) -> Checked:
    """Check the database, the indexes and vectors against the rows, the models, the configuration and the disk."""
    return Checked(report=_report(await kernel.checks.examine(deep=request.deep, probe=request.probe)))


@ops.operation("memory_runtime_admin", "repair", effect="write")
async def repair(kernel: SDKMemoryKernel, request: RepairNow) -> RepairDone:  # noqa: ARG001
    """Check deeply, and mend what can be mended: nothing of what was stored is changed."""
    done, after = await kernel.checks.repair()
    return RepairDone(report=_report(after), done=done)


def _report(examined: Examined) -> Report:
    bad = sum(not finding.ok for finding in examined.findings)
    message = f"{bad} of {len(examined.findings)} checks found something." if bad else "All is well."
    return Report(ok=not bad, checked_at=examined.at, message=message, findings=list(examined.findings))

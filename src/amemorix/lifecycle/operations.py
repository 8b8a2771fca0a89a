"""`maintain_memory`: the short way to keep, use and let go of memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import AliasChoices, Field

from ..fields import Name
from ..ops import Operations, Request
from ..search.target_resolver import read_keys
from .v5_operations import Bin, ListBin, Maintained, Maintenance, bin_of, maintained, perform

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_HOURS = 1_000_000.0


class Protect(Maintenance):
    """Which memories, and for how long."""

    hours: float = Field(0.0, ge=0, le=MOST_HOURS, description="For so long from now; 0 or none pins them.")


class Used(Request):
    """What a caller has really used."""

    targets: list[Annotated[str, Field(min_length=1, max_length=40)]] = Field(
        min_length=1,
        max_length=200,
        validation_alias=AliasChoices("targets", "ids"),
        description="Ids of hits: paragraphs, relations or episodes (`p12`, `r12`, `e12`).",
    )
    chat_id: Name = Field("", description="Only what this chat may see.")
    reason: str = Field("", max_length=2000, description="Kept with the operation.")
    requested_by: Name = Field("", description="Kept with the operation.")


@ops.operation("maintain_memory", "reinforce", effect="write")
async def reinforce(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Reinforce memories with strength 1, and protect them for a day."""
    return await perform(kernel, request, "reinforce")


@ops.operation("maintain_memory", "protect", effect="write")
async def protect(kernel: SDKMemoryKernel, request: Protect) -> Maintained:
    """Keep memories from being put to rest, for some hours or for good."""
    return await perform(kernel, request, "protect", hours=request.hours)


@ops.operation("maintain_memory", "freeze", effect="write")
async def freeze(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Put relations to rest: they leave the graph until they are restored or reinforced."""
    return await perform(kernel, request, "freeze")


@ops.operation("maintain_memory", "restore", effect="write")
async def restore(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Bring memories back from rest or from the recycle bin, whole."""
    return await perform(kernel, request, "restore")


@ops.operation("maintain_memory", "used", effect="write")
async def used(kernel: SDKMemoryKernel, request: Used) -> Maintained:
    """Say which hits were really used: they and the relations behind them fade later, once in a while."""
    refs, episodes = read_keys(request.targets)
    scopes = await kernel.targets.scopes(request.chat_id)
    done = await kernel.lifecycle.used(refs, episodes, scopes, requested_by=request.requested_by, reason=request.reason)
    return maintained(kernel, "used", done)


@ops.operation("maintain_memory", "recycle_bin")
async def recycle_bin(kernel: SDKMemoryKernel, request: ListBin) -> Bin:
    """List what was forgotten, has faded or has expired, and can be restored."""
    return await bin_of(kernel, request)
